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


def by_tier(given: list[str], option: str, tiers: tuple[str, ...]) -> tuple[str | None, dict[str, str]]:
    """`["64", "spine:128"]` as ("64", {"spine": "128"}): what holds everywhere, and what in one of `tiers`."""
    everywhere, single = None, {}
    for text in given:
        tier, colon, value = text.partition(":")
        if not colon:
            everywhere = text
        elif tier.strip() in tiers and value.strip():
            single[tier.strip()] = value.strip()
        else:
            raise typer.BadParameter(
                f"{option} {text!r}: write a value, or TIER:VALUE with one of {', '.join(tiers)}"
            )
    return everywhere, single


def count(text: str, option: str) -> int:
    """A whole number above zero."""
    if not text.isdigit() or int(text) == 0:
        raise typer.BadParameter(f"{option} {text!r}: write a whole number above zero")
    return int(text)


def host_rates(given: list[str]) -> tuple[tuple[int, float], ...]:
    """`["64:200 Gb/s"]` as ((64, 200e9),): the first 64 hosts have cards of this rate."""
    found = []
    for text in given:
        hosts, colon, rate = text.partition(":")
        if not colon:
            raise typer.BadParameter(f"--host-rate {text!r}: write HOSTS:RATE, such as '64:200 Gb/s'")
        found.append((count(hosts.strip(), "--host-rate"), parse(rate.strip(), "bit/s", "--host-rate")))
    return tuple(found)


def numbers(text: str | None, option: str) -> tuple[int, ...]:
    """`5,17,20-23` as whole numbers."""
    if text is None:
        return ()
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise typer.BadParameter(f"{option} {text!r}: write numbers such as 5,17,20-23")
        found += range(int(first), int(last if dash else first) + 1)
    return tuple(found)


def faults(given: list[str], option: str) -> int | list[str]:
    """`["3"]` as 3, `["leaf-1:spine-2", "spine-4"]` as these names, none as 0."""
    if not given:
        return 0
    if given[0].lstrip("-").isdigit():
        if len(given) > 1:
            raise typer.BadParameter(f"{option}: write one number, or names alone")
        return int(given[0])
    return given


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
