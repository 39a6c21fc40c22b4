"""Compiled inner loops (numba). Import what is needed from the module that has it: compiling is not free.

`heap`: a binary heap on plain arrays; `streams`: random numbers addressed by stream and index; `life`: the life of
a fleet, event by event.
"""
