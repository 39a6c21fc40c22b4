"""Training across two sites 40 ms apart: synchronous, with local steps (DiLoCo), late, and with a pipeline cut between them.

`plan` says what is run, on which cables; `predict` what the laws of the wide area and the simulators say of it; `exchange` and
`rank_main` (torch) run it in the ranks; `experiment` holds one against the other.
"""
