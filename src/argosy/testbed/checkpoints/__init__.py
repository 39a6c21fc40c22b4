"""Checkpoints that really stop a job, and kills that really tear them: torch.distributed.checkpoint against the law.

`commit` knows a whole checkpoint from a torn one, `plan` says what is run and what is killed when, `predict` asks
`argosy.reliability` about it, `account` reads what the ranks wrote, `experiment` holds one against the other. None of these
needs torch; `rank` and `storage` run in the ranks and do.
"""
