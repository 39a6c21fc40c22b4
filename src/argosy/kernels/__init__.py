"""Compiled inner loops (numba). Import what is needed from the module that has it: compiling is not free.

Lives of a fleet: `lives` (the jobs' states), `beginning` (their start), `strikes` (what fails), `clocks` (when), `progress` (the
running job and its checkpoints), `stock` (spares and repair), on `records` reached by `views`; `memory` says why that way.
A cluster's queue: `placement` (on which nodes), `reservation` (when they come free), `occupancy` (what is taken).
`heap`: a binary heap on plain arrays; `streams`: random numbers addressed by stream and index; `routes`, `fairness`: paths and
flows of a fabric.

Compiled code is cached beside the source (`compiled`); the first use of a version on a machine takes some thirty seconds.
"""
