"""The additive loss tree: where every accelerator-second of a run goes, from peak to useful work.

A ledger is a tree of amounts in which children sum to their parent. It is kept in GPU-seconds of the whole run;
dollars, joules and FLOP are views of it (`scaled`). Where losses multiply, the order in which they are taken is
fixed: peak → kernel efficiency → exposed communication → bubble → other in-step → failures → planned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

_CLOSES = 1e-9  # relative tolerance of a sum: rounding of float64 only, never a modelling gap


class LedgerError(ValueError):
    """Children do not sum to their parent: a bug in the room that built the ledger."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """One node: `amount` in `unit`, the `law` that gave it, the fact paths it rests on, and its parts."""

    name: str
    amount: float
    unit: str = "gpu_s"
    law: str = ""
    facts: tuple[str, ...] = ()
    children: tuple[Ledger, ...] = ()

    def __post_init__(self) -> None:
        if not self.children:
            return
        total = sum(child.amount for child in self.children)
        scale = max(abs(self.amount), sum(abs(child.amount) for child in self.children), 1e-300)
        if abs(total - self.amount) > _CLOSES * scale:
            raise LedgerError(f"{self.name}: children sum to {total!r}, not to {self.amount!r} {self.unit}")
        strangers = {child.unit for child in self.children} - {self.unit}
        if strangers:
            raise LedgerError(f"{self.name} is in {self.unit}, but has children in {sorted(strangers)}")

    @classmethod
    def parent(
        cls, name: str, children: tuple[Ledger, ...], law: str = "", facts: tuple[str, ...] = ()
    ) -> Ledger:
        """The node whose amount is the sum of `children`, in their unit."""
        unit = children[0].unit if children else "gpu_s"
        return cls(name, sum(child.amount for child in children), unit, law, facts, children)

    def scaled(self, factor: float, unit: str) -> Ledger:
        """The same tree in another unit, every amount times `factor` (dollars per GPU-second, watts per GPU...)."""
        children = tuple(child.scaled(factor, unit) for child in self.children)
        return replace(self, amount=self.amount * factor, unit=unit, children=children)

    def walk(self, prefix: str = "") -> Iterator[tuple[str, Ledger]]:
        """Every node with its path (`run/failures/rework`), parents first."""
        path = f"{prefix}/{self.name}" if prefix else self.name
        yield path, self
        for child in self.children:
            yield from child.walk(path)

    def find(self, name: str) -> Ledger | None:
        """The first node called `name`, or None."""
        return next((node for _, node in self.walk() if node.name == name), None)

    def to_dict(self) -> dict[str, Any]:
        """The tree as JSON-ready data; `from_dict` reads it back unchanged."""
        return {
            "name": self.name,
            "amount": self.amount,
            "unit": self.unit,
            "law": self.law,
            "facts": list(self.facts),
            "children": [child.to_dict() for child in self.children],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Ledger:
        """The tree that `to_dict` wrote."""
        children = tuple(cls.from_dict(child) for child in data["children"])
        return cls(data["name"], data["amount"], data["unit"], data["law"], tuple(data["facts"]), children)


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a diff: the same path in two ledgers. A line that only one of them has counts as zero in the other."""

    path: str
    a: float
    b: float

    @property
    def delta(self) -> float:
        """b − a, in the ledgers' unit."""
        return self.b - self.a


def diff(a: Ledger, b: Ledger) -> list[Change]:
    """Line by line, what changed from `a` to `b`; both must be in one unit. Paths keep the order of `a`, then of `b`."""
    if a.unit != b.unit:
        raise ValueError(
            f"ledgers in {a.unit} and {b.unit} cannot be compared: bring one to the other's unit with scaled()"
        )
    left = {path: node.amount for path, node in a.walk()}
    right = {path: node.amount for path, node in b.walk()}
    return [Change(path, left.get(path, 0.0), right.get(path, 0.0)) for path in left | right]


@dataclass(frozen=True, slots=True)
class Interval:
    """A stretch of time in one state, on one place (a rank, a node, the whole job)."""

    start_s: float
    end_s: float
    state: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """A life: simulated (a Run) or measured (an Observation). Both have this one shape, so that a diagnosis is a diff."""

    kind: str
    timeline: tuple[Interval, ...]
    ledger: Ledger


def run(timeline: tuple[Interval, ...], ledger: Ledger) -> Record:
    """A simulated life."""
    return Record("run", timeline, ledger)


def observation(timeline: tuple[Interval, ...], ledger: Ledger) -> Record:
    """A measured life."""
    return Record("observation", timeline, ledger)
