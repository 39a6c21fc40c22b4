"""The handbook's data: written by people as YAML (data/*.yaml, data/claims/*.yaml), read by the program as one JSON file.

`python -m argosy.handbook.data` writes the JSON again after a change; a test tells when it is stale.
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


def from_yaml() -> dict[str, Any]:
    """All data files as one mapping: what the compiled file has to hold."""
    from ruamel.yaml import YAML

    def read(path: Path) -> Any:
        return YAML(typ="safe").load(path.read_text(encoding="utf-8"))

    claims = [entry for path in sorted((FOLDER / "claims").glob("*.yaml")) for entry in read(path)]
    return {path.stem: read(path) for path in sorted(FOLDER.glob("*.yaml"))} | {"claims": claims}


def source_text(keys: str | None) -> str | None:
    """The full text of one or more sources, given by short names ("llama3 megascale") or already written
    out.
    """
    if not keys:
        return None
    known: dict[str, str] = load("sources")
    words = keys.split()
    return "; ".join(known[word] for word in words) if all(word in known for word in words) else keys


if __name__ == "__main__":
    COMPILED.write_text(json.dumps(from_yaml(), ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
