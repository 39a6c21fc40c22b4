"""The handbook's data: people write YAML (data/*.yaml, data/claims/*.yaml), the program reads one JSON file.

See `argosy.handbook.compile`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "data"
COMPILED = FOLDER / "handbook.json"


def load(name: str) -> Any:
    """The content of data/`name`.yaml; "claims" are those of all files in data/claims, in their order."""
    return _everything()[name]


@cache
def _everything() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(COMPILED.read_text(encoding="utf-8"))
    return content


def source_text(keys: str | None) -> str | None:
    """The full text of one or more sources, given by short names ("llama3 megascale") or already written
    out.
    """
    if not keys:
        return None
    known: dict[str, str] = load("sources")
    words = keys.split()
    return "; ".join(known[word] for word in words) if all(word in known for word in words) else keys
