"""Bill of materials of a cable list: switches, modules and cables, in dollars and watts.

Each end of a cable carries the cheapest module of the catalog whose reach covers the cable's length: passive
copper in a rack, multimode in a row, single-mode across a hall; a twin-port module serves two links. Power
counts switches and the modules in their ports: those in the hosts' cards are in the hosts' own power.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.fabric.analysis import plain_name
from argosy.fabric.cables import CableList

Array = Any


@dataclass(frozen=True)
class BillLine:
    """`count` things called `item`, with what all of them cost (USD) and draw (W); None where nobody
    published it. `fact` is the catalog's entry whose price it is, such as `optics.DR4-400G`; empty without one.
    """

    item: str
    count: float
    usd: Array | None
    w: Array | None
    fact: str = ""


@dataclass(frozen=True)
class Bill:
    """All lines; `usd` and `w` are their sums, None where a line's number is unknown, which `unknown` then
    says.
    """

    lines: tuple[BillLine, ...]

    @property
    def usd(self) -> Array | None:
        """Price of switches, modules and cables (USD)."""
        return _sum([line.usd for line in self.lines])

    @property
    def w(self) -> Array | None:
        """Power of switches and the modules in them (W)."""
        return _sum([line.w for line in self.lines])

    @property
    def unknown(self) -> tuple[str, ...]:
        """One sentence per number that is missing."""
        return tuple(
            f"no {what} is known for {line.item}: give it in assumptions.overrides"
            for line in self.lines
            for what, number in (("price", line.usd), ("power", line.w))
            if number is None
        )


def bill(cables: CableList, values: Any) -> Bill:
    """What a fabric costs and draws. `values`: facts.Values; with draws of shape (n,) the sums have that
    shape.
    """
    return Bill((*_switches(cables, values), *_modules(cables, values)))


def _switches(cables: CableList, values: Any) -> Iterator[BillLine]:
    counts: dict[str, int] = {}
    for group in cables.groups:
        if group.tier:
            counts[group.switch] = counts.get(group.switch, 0) + group.count
    for switch, count in counts.items():
        price, power = (values.get(f"switches.{switch}.{fact}") for fact in ("price", "power"))
        yield BillLine(
            switch or "a switch without a name",
            count,
            None if price is None else count * price,
            None if power is None else count * power,
            f"switches.{switch}",
        )


def _modules(cables: CableList, values: Any) -> Iterator[BillLine]:
    """Modules at both ends, by boundary and rate."""
    hosts = cables.tier_of_nodes() == 0
    host_ends = hosts[cables.a].astype(int) + hosts[cables.b].astype(int)
    kinds = np.stack([cables.boundary, np.round(cables.rate)], axis=1)
    for boundary, rate in np.unique(kinds, axis=0):
        chosen = (cables.boundary == boundary) & (np.round(cables.rate) == rate)
        ends = 2 * int(chosen.sum())
        in_switches = ends - int(host_ends[chosen].sum())
        kind = cables.boundaries[int(boundary)]
        module = cheapest_module(float(rate), kind.length_m, values)
        name = plain_name(kind.name)
        if module is None:
            yield BillLine(
                f"a module of {rate / 1e9:g} Gb/s over {kind.length_m:g} m ({name})", ends, None, None
            )
            continue
        part, share = module
        yield BillLine(
            f"{part} ({name})",
            ends * share,
            ends * share * values[f"optics.{part}.price"],
            in_switches * share * values[f"optics.{part}.power"],
            f"optics.{part}",
        )


def cheapest_module(rate: float, length_m: float, values: Any) -> tuple[str, float] | None:
    """The catalog's cheapest module for a link of `rate` bit/s over `length_m`: (name, modules per end), or
    None.

    A module of twice the rate serves two links: half a module per end. Chosen at central prices.
    """
    found = []
    for path, fact in values.facts.items():
        section, _, rest = path.partition(".")
        part, _, name = rest.rpartition(".")
        if section != "optics" or name != "rate" or fact.value not in (rate, 2 * rate):
            continue
        reach, price = (values.facts.get(f"optics.{part}.{key}") for key in ("reach", "price"))
        if reach is None or price is None or reach.value < length_m:
            continue
        share = rate / fact.value
        found.append((price.value * share, part, share))
    return min(found)[1:] if found else None


def _sum(numbers: list[Array | None]) -> Array | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None
