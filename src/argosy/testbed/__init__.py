"""A small real fleet on this machine: hosts as network namespaces, links shaped by tc, collectives that really run.

`fabrics` says which cables there are, `wiring` what must be typed for them, `hosts` does it and takes it away again;
`collectives` are run by `worker` in every rank; `predict` asks the flow simulator about the same cables, and `experiment`
holds one against the other.
"""
