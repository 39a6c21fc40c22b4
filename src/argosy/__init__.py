"""Argosy plans, simulates and diagnoses fleets of ten thousand accelerators and more.

`load → plan → simulate → report` is the same flow in Python, on the command line and in files:

>>> import argosy
>>> scenario = argosy.load("examples/llama3-405b.yaml")  # doctest: +SKIP
>>> answer = argosy.plan(scenario)                       # doctest: +SKIP
>>> lives = argosy.simulate(scenario)                    # doctest: +SKIP

Heavy libraries load where they are used, so importing this package stays cheap.
"""

from typing import Any

__version__ = "0.1.0"
__all__ = ["Fact", "Ledger", "Plan", "Scenario", "__version__", "load", "loads", "plan", "simulate"]

_HOME = {
    "Fact": "argosy.facts",
    "Ledger": "argosy.ledger",
    "Plan": "argosy.planning",
    "Scenario": "argosy.spec",
    "load": "argosy.spec",
    "loads": "argosy.spec",
    "plan": "argosy.planning",
    "simulate": "argosy.planning.simulation",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'argosy' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
