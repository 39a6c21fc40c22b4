"""`python -m argosy.handbook.compile`: writes data/handbook.json again from the YAML files; a test tells
when it is stale.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from argosy.handbook.data import COMPILED, FOLDER


def from_yaml() -> dict[str, Any]:
    """All data files as one mapping: what the compiled file has to hold."""
    claims = [entry for path in sorted((FOLDER / "claims").glob("*.yaml")) for entry in _read(path)]
    return {path.stem: _read(path) for path in sorted(FOLDER.glob("*.yaml"))} | {"claims": claims}


def _read(path: Path) -> Any:
    from ruamel.yaml import YAML

    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))


def text() -> str:
    """The compiled file's text."""
    return json.dumps(from_yaml(), ensure_ascii=False, indent=0) + "\n"


if __name__ == "__main__":
    COMPILED.write_text(text(), encoding="utf-8")
