"""A real training job under injected failures: stop and restart, spare swap, elastic shrink and grow, against the simulator.

`zygote` imports torch once and forks a host's `agent`, which forks its `rank`; `controller` is the job's scheduler: it hears
heartbeats, decides who is dead, and tells the living what their new process group is. `failures` says when what is
killed; `samples` checks which samples the committed steps consumed, `books` where the time went; `predict` asks the engine of
`argosy simulate` the same question. Only `zygote` and `rank` import torch.
"""
