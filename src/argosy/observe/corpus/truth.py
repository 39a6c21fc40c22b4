"""What is true of a generated case: the findings that must be made, those that may be, and who may be named."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Culprits:
    """Who is to blame. Naming one of these is right, naming another wrong; empty: nobody in particular."""

    ranks: tuple[int, ...] = ()
    nodes: tuple[str, ...] = ()
    stages: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.ranks or self.nodes or self.stages)


@dataclass(frozen=True)
class Expected:
    """One finding that must be made, by any of `ids`; `culprits` as far as it has any, to be named if `named`; `cause`: a
    word that its first cause must hold.
    """

    ids: tuple[str, ...]
    culprits: Culprits = field(default_factory=Culprits)
    named: bool = False
    cause: str = ""


@dataclass(frozen=True)
class Truth:
    """`tolerated`: findings that are true as well, or follow from the cause, and are no wrong blame while they name nobody
    else; `effect`: what the cause adds to the step, as a share (None: it does not go by time); `stated`: whether the
    recall floor covers a case of this strength.
    """

    family: str
    set_aside: bool
    kind: str
    strength: float
    effect: float | None
    stated: bool
    expected: tuple[Expected, ...]
    tolerated: tuple[str, ...] = ()

    @property
    def culprits(self) -> Culprits:
        """All who may be named."""
        every = [each.culprits for each in self.expected]
        return Culprits(
            _all(each.ranks for each in every),
            _all(each.nodes for each in every),
            _all(each.stages for each in every),
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Truth:
        """The inverse of `to_dict`."""
        expected = tuple(
            Expected(
                tuple(each["ids"]),
                Culprits(**{k: tuple(v) for k, v in each["culprits"].items()}),
                each["named"],
                each["cause"],
            )
            for each in data["expected"]
        )
        return cls(**{**data, "expected": expected, "tolerated": tuple(data["tolerated"])})


def _all(parts: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(each for part in parts for each in part))
