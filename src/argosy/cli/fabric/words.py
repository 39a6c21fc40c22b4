"""Words of the command line as numbers: rates, sides of a torus, oversubscription."""

from __future__ import annotations

import math

import typer


def parse(text: str, unit: str, where: str) -> float:
    """`400 Gb/s` as the number in `unit`; `where` names the option in messages. UnitError for other units."""
    from argosy import units

    return units.parse(text, unit, where=where)


def sides(shape: str | None) -> tuple[int, ...] | None:
    """`16x16x24` as (16, 16, 24)."""
    if shape is None:
        return None
    parts = shape.lower().replace("×", "x").split("x")
    if not all(part.isdigit() and int(part) > 0 for part in parts):
        raise typer.BadParameter(f"--shape {shape!r} is not read; write sides such as 16x16x24")
    return tuple(int(part) for part in parts)


def places(shape: tuple[int, ...] | None) -> int | None:
    """Accelerators of a torus of this shape."""
    return None if shape is None else math.prod(shape)


def oversubscriptions(given: list[str]) -> tuple[tuple[str, float], ...]:
    """`pod-uplink:7` as ("pod-uplink", 7.0)."""
    from argosy.fabric.request import TIER_KEYS

    found = []
    for text in given:
        tier, _, ratio = text.partition(":")
        if tier not in TIER_KEYS:
            raise typer.BadParameter(
                f"--oversubscription {text!r}: write TIER:X with one of {', '.join(TIER_KEYS)}"
            )
        found.append((tier, parse(ratio.partition(":")[0], "ratio", f"--oversubscription {text}")))
        if found[-1][1] < 1:
            raise typer.BadParameter(
                f"--oversubscription {text!r}: capacity below over capacity above is at least 1"
            )
    return tuple(sorted(found))
