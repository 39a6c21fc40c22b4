"""The handbook's data files, read once; sources by their short names."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "data"


@cache
def load(name: str) -> Any:
    """The content of data/`name`.yaml."""
    return read_yaml(FOLDER / f"{name}.yaml")


def read_yaml(path: Path) -> Any:
    """One of our own YAML files as plain data."""
    from ruamel.yaml import YAML

    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))


def source_text(keys: str | None) -> str | None:
    """The full text of one or more sources, given by short names ("llama3 megascale") or already written out."""
    if not keys:
        return None
    known: dict[str, str] = load("sources")
    words = keys.split()
    return "; ".join(known[word] for word in words) if all(word in known for word in words) else keys
