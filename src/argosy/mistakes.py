"""Which errors are the user's: those are told in a message each, everything else is a bug of ours and shows as one."""

from __future__ import annotations

import sys

_NAMED = {
    "UnitError": "argosy.units",
    "FactError": "argosy.facts",
    "ScenarioError": "argosy.spec",
    "NothingReadableError": "argosy.observe.diagnosis",
}


def is_mistake(error: Exception) -> bool:
    """True for errors that the user's input caused: only the named error types of units, facts and spec, and missing files."""
    if isinstance(error, OSError) and error.filename is not None:
        return True
    return any(
        isinstance(error, getattr(sys.modules[home], name))
        for name, home in _NAMED.items()
        if home in sys.modules and hasattr(sys.modules[home], name)
    )
