"""Shares of a bill, and how the total moves with one line of it."""

from __future__ import annotations

from collections.abc import Mapping

from argosy.laws.arrays import Array


def shares(lines: Mapping[str, Array]) -> dict[str, Array]:
    """Each line's share (0–1) of the sum; amounts in one currency. They add up to 1."""
    total = sum(lines.values())
    return {name: amount / total for name, amount in lines.items()}


def total_after(lines: Mapping[str, Array], changes: Mapping[str, Array]) -> Array:
    """The sum after relative changes (0.1 = 10 % dearer) of some lines. Raises KeyError for a line that is
    not there.
    """
    unknown = changes.keys() - lines.keys()
    if unknown:
        raise KeyError(f"no such line: {', '.join(sorted(unknown))}")
    return sum(amount * (1.0 + changes.get(name, 0.0)) for name, amount in lines.items())


def elasticity(lines: Mapping[str, Array], name: str) -> Array:
    """Relative change of the total per relative change of one line: its share. 0.6 for accelerators means
    10 % off them is 6 % off all.
    """
    return shares(lines)[name]
