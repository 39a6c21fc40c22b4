"""Bill of materials of a cable list: switches, modules and cables, in dollars and watts.

Each cable has the length that the hall gives it, and at both ends the cheapest part of the catalog that reaches
that far: passive or active copper in and about a cabinet, an active optical cable or multimode modules in a
row, single-mode across a hall; a module of two or four times the rate serves as many links, in hosts too (cards
with a cage each take single modules: a few per cent of a link more). Cables with plugs are counted by their ends,
fibres between modules as such. Power counts switches and the modules in their ports: those in the hosts' cards
are in the hosts' own power.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from argosy.fabric.analysis import plain_name
from argosy.fabric.cables import CableList
from argosy.fabric.hall import lay_out
from argosy.fabric.topologies.design import Topology

Array = Any

FIBRE = "MPO-fibre"  # the catalog's fibre between two modules
SHARES = (1, 2, 4)  # links that one module may serve


@dataclass(frozen=True)
class BillLine:
    """`count` things called `item`, with what all of them cost (USD) and draw (W); None where nobody
    published it.

    `kind`: switch, module (or one end of a cable with plugs: then it has `metres`) or cable; `metres`: of all of
    them; `fact`: the catalog's entry whose price it is, such as `optics.DR4-400G`, empty without one.
    """

    item: str
    count: float
    usd: Array | None
    w: Array | None
    fact: str = ""
    kind: str = "switch"
    metres: float | None = None


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


def bill(topology: Topology, values: Any) -> Bill:
    """What a fabric costs and draws. `values`: facts.Values; with draws of shape (n,) the sums have that
    shape.
    """
    return Bill((*_switches(topology.cables, values), *_together(_modules(topology, values))))


def parts_of_cables(topology: Topology, values: Any) -> tuple[np.ndarray, list[str], np.ndarray]:
    """What each cable is: an index into the names returned, shape (cables,), the names (a part of the catalog, or
    what none covers), and the lengths (m).
    """
    length = lay_out(topology, values).length_m
    index = np.zeros(len(length), dtype=np.int64)
    names: list[str] = []
    for rate, shortest, longest in _classes(topology.cables, length, values):
        chosen = _in_class(topology.cables.rate, length, rate, shortest, longest)
        if chosen.any():
            part = cheapest_module(rate, float(length[chosen].max()), values)
            index[chosen] = len(names)
            names.append(part[0] if part else _nameless(rate, float(length[chosen].max())))
    return index, names, length


def cheapest_module(rate: float, length_m: float, values: Any) -> tuple[str, float] | None:
    """The catalog's cheapest part for a link of `rate` bit/s over `length_m`: (name, parts per end), or None.

    A module of twice or four times the rate serves as many links: a half or a quarter per end. Fibres are
    counted where the part is a module. Chosen at central prices.
    """
    facts = values.facts
    found = []
    for part in _parts(rate):
        reach, price = (facts.get(f"optics.{part}.{key}") for key in ("reach", "price"))
        if reach is None or price is None or reach.value < length_m:
            continue
        share = rate / facts[f"optics.{part}.rate"].value
        fibre = facts[f"optics.{FIBRE}.price"].value / 2 if _has_fibre(part) else 0.0
        found.append((price.value * share + fibre, part, share))
    return min(found)[1:] if found else None


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
            fact=f"switches.{switch}",
        )


def _modules(topology: Topology, values: Any) -> Iterator[BillLine]:
    """Parts at both ends by boundary, rate and reach, then the fibres between modules."""
    cables = topology.cables
    part_of, names, length = parts_of_cables(topology, values)
    hosts = cables.tier_of_nodes() == 0
    host_ends = hosts[cables.a].astype(int) + hosts[cables.b].astype(int)
    plain = [plain_name(boundary.name) for boundary in cables.boundaries]
    known = sorted(set(plain), key=plain.index)
    boundary = np.array([known.index(name) for name in plain])[cables.boundary]
    fibres, metres = 0, 0.0
    kinds = boundary * len(names) + part_of
    for kind in np.flatnonzero(np.bincount(kinds)):
        where, part = divmod(int(kind), len(names))
        chosen = kinds == kind
        ends = 2 * int(chosen.sum())
        in_switches = ends - int(host_ends[chosen].sum())
        name, all_metres = names[part], float(length[chosen].sum())
        if f"optics.{name}.price" not in values.facts:
            yield BillLine(f"{name} ({known[where]})", ends, None, None, kind="module", metres=all_metres)
            continue
        share = float(cables.rate[chosen][0]) / values.facts[f"optics.{name}.rate"].value
        if _has_fibre(name):
            fibres, metres = fibres + ends // 2, metres + all_metres
        yield BillLine(
            f"{name} ({known[where]})",
            ends * share,
            ends * share * values[f"optics.{name}.price"],
            in_switches * share * values[f"optics.{name}.power"],
            f"optics.{name}",
            "module",
            None if _has_fibre(name) else all_metres,
        )
    if fibres:
        price = values[f"optics.{FIBRE}.price"]
        yield BillLine(FIBRE, fibres, fibres * price, 0.0, f"optics.{FIBRE}", "cable", metres)


def _together(lines: Iterator[BillLine]) -> Iterator[BillLine]:
    """Lines of one item (the same part within several lengths or rates) as one."""
    alike: dict[str, list[BillLine]] = {}
    for line in lines:
        alike.setdefault(line.item, []).append(line)
    for same in alike.values():
        metres = [line.metres for line in same if line.metres is not None]
        yield replace(
            same[0],
            count=sum(line.count for line in same),
            usd=_sum([line.usd for line in same]),
            w=_sum([line.w for line in same]),
            metres=sum(metres) if metres else None,
        )


def _classes(cables: CableList, length: np.ndarray, values: Any) -> Iterator[tuple[float, float, float]]:
    """(rate, lower, upper length): within each one the same part is the cheapest."""
    for rate in np.unique(np.round(cables.rate)):
        reaches = {values.facts[f"optics.{part}.reach"].value for part in _parts(float(rate))}
        edges = [0.0, *sorted(reaches), np.inf]
        yield from ((float(rate), low, high) for low, high in pairwise(edges))


def _in_class(
    rates: np.ndarray, length: np.ndarray, rate: float, shortest: float, longest: float
) -> np.ndarray:
    chosen: np.ndarray = (np.round(rates) == rate) & (length > shortest) & (length <= longest)
    return chosen


def _nameless(rate: float, length_m: float) -> str:
    return f"a module of {rate / 1e9:g} Gb/s over {length_m:.0f} m"


@lru_cache(maxsize=64)
def _parts(rate: float) -> tuple[str, ...]:
    """Names of the catalog's parts that carry links of `rate`, alone or several."""
    from argosy.facts import load_catalog

    return tuple(
        entry.name
        for entry in load_catalog().section("optics")
        if {"rate", "reach", "price", "power"} <= entry.facts.keys()
        and entry.facts["rate"].value in [rate * links for links in SHARES]
    )


@lru_cache(maxsize=256)
def _has_fibre(part: str) -> bool:
    """Whether a part is a module, to be joined by a fibre, rather than a whole cable."""
    from argosy.facts import load_catalog

    return "fibre" in load_catalog().entry("optics", part).text.get("medium", "")


def _sum(numbers: list[Array | None]) -> Array | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None
