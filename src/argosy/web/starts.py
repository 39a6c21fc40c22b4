"""Scenarios to start from: the examples that ship, as far as they name no other file."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import argosy

_PACKAGE = Path(argosy.__file__).parent
_FOLDERS = (_PACKAGE / "examples", _PACKAGE.parent.parent / "examples")  # installed; in a checkout
FIRST = "llama3-70b-512"


@cache
def starts() -> dict[str, str]:
    """Name → text of every example that can be read without a file beside it; the one to begin with comes first."""
    from argosy.spec import ScenarioError
    from argosy.spec.sealed import loads_sealed

    folder = next((each for each in _FOLDERS if each.is_dir()), None)
    found = {}
    for path in sorted(folder.glob("*.yaml")) if folder else ():
        text = path.read_text(encoding="utf-8")
        try:
            loads_sealed(text)
        except ScenarioError:
            continue  # it extends a file beside it
        found[path.stem] = text
    return {FIRST: found[FIRST], **found} if FIRST in found else found
