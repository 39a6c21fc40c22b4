"""Control plane and data plane on interfaces of their own: who is told to be broken, and what goes on meanwhile.

`beats` runs on every host and answers on the control plane; `monitor` asks them all; `told` judges; `experiment` breaks things.
"""
