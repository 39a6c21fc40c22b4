"""Published numbers with their sources: the catalog, overrides, and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argosy.facts.catalog import Catalog, Entry, FactError, load_catalog
from argosy.facts.fact import Fact

if TYPE_CHECKING:
    from argosy.facts.values import Values

__all__ = ["Catalog", "Entry", "Fact", "FactError", "Values", "load_catalog"]


def __getattr__(name: str) -> Any:
    """`Values` loads NumPy, so it is imported when it is asked for: listing the catalog needs none."""
    if name == "Values":
        from argosy.facts.values import Values

        return Values
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
