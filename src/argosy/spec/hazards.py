"""What a scenario may say about failures beyond constant, independent rates: domains, ages, lemons, bursts, slow nodes."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from argosy.spec.quantity import Fraction, PerSecond, Seconds, Section, Shorthand, Word, setting

OFF = "off unless stated"  # what a scenario leaves out beyond independent failures at constant rates


class Rate(Section):
    """A mean time to failure, or its inverse."""

    mttf: Seconds | None = setting(None, "mean time to failure of one component", "from the rate")
    rate: PerSecond | None = setting(
        None, "failures per second of one component (write 1e-5 /h)", "from the mean time"
    )
    source: str = setting("scenario", "where the number was read", "the scenario itself")

    @model_validator(mode="after")
    def _one_of_both(self) -> Rate:
        if (self.mttf is None) == (self.rate is None) and self._rate_needed:
            raise ValueError("give either mttf or rate; write for example {mttf: 79000 h}")
        if self.mttf is not None and self.rate is not None:
            raise ValueError("mttf and rate say the same twice; write one of them")
        if self.mttf == 0:
            raise ValueError(
                "a mean time to failure of 0 means that nothing ever runs; write for example {mttf: 79000 h}"
            )
        return self

    @property
    def _rate_needed(self) -> bool:
        return True

    @property
    def rate_per_s(self) -> float:
        """Failures per second of one component."""
        return self.rate if self.rate is not None else 1.0 / (self.mttf or float("inf"))


class RateOverride(Rate):
    """Another failure rate for one category: a mean time to failure, or its inverse."""


class Domain(Rate):
    """A failure domain that the job shares: how often one fails, and what that does. `typical` takes the catalog's numbers."""

    nodes: int | None = setting(
        None, "nodes that one domain holds", "from the fabric's cables, the racks and their power", gt=0
    )
    share_lost: Fraction | None = setting(
        None, "share of its nodes that one failure takes", "the catalog's domain", gt=0
    )
    repair: Seconds | None = setting(None, "until its nodes are back", "the catalog's domain")
    lasts: Seconds | None = setting(
        None, "length of an episode that only slows the job", "the catalog's domain"
    )
    slows_by: Fraction | None = setting(
        None, "share of the job's speed that an episode takes", "the catalog's domain, or the fabric"
    )

    @property
    def _rate_needed(self) -> bool:
        return False

    @property
    def given_rate_per_s(self) -> float | None:
        """Failures per second of one domain; None for the catalog's number."""
        return None if self.mttf is None and self.rate is None else self.rate_per_s


def _typical(given: Any) -> Any:
    return {} if given == "typical" else given


ByTypical = Shorthand(_typical, {"const": "typical"})
_TYPICAL = ("rack", "coolant-unit", "leaf-switch", "spine-switch", "power-domain", "link-flap")


def _all_typical(given: Any) -> Any:
    """`none` and `typical` for all domains at once."""
    if given in ("none", None):
        return {}
    if given == "typical":
        return dict.fromkeys(_TYPICAL, "typical")
    if not isinstance(given, dict):
        raise ValueError(
            f"{given!r} names no domains; write typical, none, or a mapping such as {{leaf-switch: typical}}"
        )
    return given


Domains = Annotated[
    dict[str, Annotated[Domain, ByTypical]], Shorthand(_all_typical, {"enum": ["none", "typical"]})
]

_Age = Annotated[
    Seconds | None, Word("stationary"), Shorthand(lambda age: 0 if age == "new" else age, {"const": "new"})
]


def _for_all(given: Any) -> Any:
    return given if isinstance(given, dict) else {"all": given}


class Ages(Section):
    """Parts whose hazard changes with age (Weibull); their mean time to failure stays that of the rate."""

    shapes: dict[str, Annotated[float, Field(gt=0)]] = setting(
        dict,
        "Weibull shape by category or component of nodes: below 1 early failures, above 1 wear",
        "memoryless: measured fleets show both signs, so no shape is a default",
    )
    start: Annotated[dict[str, _Age], Shorthand(_for_all, {"type": "string"})] = setting(
        lambda: {"all": None},
        "age at the start: new, stationary (long in service), or a time such as 8 months; by category, or for all",
        f"{OFF}; then long in service",
    )


class Lemons(Section):
    """Nodes that fail more often than the others; the fleet's mean rate stays."""

    share: Fraction = setting(0.0, "share of the nodes that are lemons", OFF, lt=1)
    factor: float = setting(1.0, "how many times as often they fail", OFF, gt=0)
    evict_after: int = setting(
        0, "failures after which a node is exchanged for a usual one (0: never)", OFF, ge=0
    )


class Bursts(Section):
    """Failures that light another one; the sum of both keeps the rates."""

    share: Fraction = setting(0.0, "share of failures that are followed by another", OFF, lt=1)
    delay: Seconds = setting(600.0, "mean time until it follows", f"{OFF}; then an assumption")


class FailSlow(Rate):
    """Nodes that slow the whole job for a while without failing."""

    lasts: Seconds = setting(
        3600.0, "length of one episode", f"{OFF}; then an assumption: found within an hour"
    )
    slows_by: Fraction = setting(
        0.1,
        "share of the job's speed that it takes",
        "MegaScale (arXiv:2402.15627): slow hosts take 10 %",
        lt=1,
    )

    exchange: bool = setting(
        False,
        "whether the node is found and exchanged when the episode ends",
        f"{OFF}: it recovers by itself",
    )

    @property
    def _rate_needed(self) -> bool:
        return False


class SilentCorruption(Section):
    """Silent data corruption: found late, and then undone."""

    latency: Seconds = setting(
        0.0,
        "from the corruption to knowing of it",
        f"{OFF}; its rate is the category silent-data-corruption",
    )


class RackSpares(Section):
    """Scale-up domains with spares inside: `of` accelerators in a rack, `needed` of them by the job."""

    of: int = setting(72, "accelerators in one rack", "GB200 NVL72", gt=0)
    needed: int = setting(
        64, "accelerators of it that the job uses at a time", "two spare trays of GB200 NVL72", gt=0
    )

    @model_validator(mode="after")
    def _fewer_than_all(self) -> RackSpares:
        if self.needed > self.of:
            raise ValueError(
                f"a rack of {self.of} cannot give {self.needed}; write needed: {self.of} or fewer"
            )
        return self


class Observed(Section):
    """On what the failure rates were counted, where they are not a published preset's: `argosy fit-failures` writes it."""

    accelerators: int | None = setting(
        None, "accelerators of the fleet that was watched", "the preset's", gt=0
    )
    hardware: str | None = setting(
        None, "their kind: a name of the catalog, or its beginning", "the preset's"
    )
    time: Seconds | None = setting(None, "how long they were watched", "not said")
    source: str = setting("", "the log", "not said")
