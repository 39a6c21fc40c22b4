"""The experiments of the testbed, in the order of the docs and of the checks."""

ORDER = [
    "collectives",
    "planes",
    "training",
    "checkpoints",
    "hang",
    "policies",
    "sites",
    "failover",
]  # names of commands: `argosy testbed NAME [--short] [--json] [--report PATH]`
NEED_NAMESPACES = frozenset({"planes", "sites"})  # the others also run as plain processes on the loopback
