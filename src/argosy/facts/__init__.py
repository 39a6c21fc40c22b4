"""Published numbers with their sources: the catalog, overrides, and draws."""

from argosy.facts.fact import Fact
from argosy.facts.values import Values

__all__ = ["Fact", "Values"]
