"""Argosy plans, simulates and diagnoses fleets of ten thousand accelerators and more.

`load → plan → simulate → report` is the same flow in Python, on the command line and in files:

>>> import argosy
>>> scenario = argosy.load("examples/llama3-405b.yaml")  # doctest: +SKIP
>>> answer = argosy.plan(scenario)                       # doctest: +SKIP
>>> lives = argosy.simulate(scenario)                    # doctest: +SKIP
>>> fleet = argosy.serve(scenario)                       # doctest: +SKIP
>>> queue = argosy.schedule(scenario)                    # doctest: +SKIP
>>> argosy.compare(answer, argosy.plan(other))           # doctest: +SKIP
>>> argosy.diagnose("run-42/", against=scenario)         # doctest: +SKIP

Heavy libraries load where they are used, so importing this package stays cheap.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argosy.api import (
        Plan,
        calibrate,
        compare,
        diagnose,
        plan,
        recommend,
        schedule,
        sensitivity,
        serve,
        simulate,
    )
    from argosy.facts import Fact
    from argosy.ledger import Ledger
    from argosy.spec.load import load, loads
    from argosy.spec.scenario import Scenario

__version__ = "0.1.0"
__all__ = [
    "Fact",
    "Ledger",
    "Plan",
    "Scenario",
    "__version__",
    "calibrate",
    "compare",
    "diagnose",
    "load",
    "loads",
    "plan",
    "recommend",
    "schedule",
    "sensitivity",
    "serve",
    "simulate",
]

_HOME = {
    "Fact": "argosy.facts",
    "Ledger": "argosy.ledger",
    "Scenario": "argosy.spec",
    "load": "argosy.spec",
    "loads": "argosy.spec",
    **dict.fromkeys(
        (
            "Plan",
            "calibrate",
            "compare",
            "diagnose",
            "plan",
            "recommend",
            "schedule",
            "sensitivity",
            "serve",
            "simulate",
        ),
        "argosy.api",
    ),
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'argosy' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
