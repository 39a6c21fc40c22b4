"""Capacity over time: deliveries, bring-up and burn-in, demand, what is rented."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import Field, model_validator

from argosy.spec.quantity import Fraction, Seconds, Section, Shorthand, Unit, UsdPerSecond, required, setting

QUARTER = r"\d{4}-Q[1-4]"
WEEK_S = 7 * 86400.0


def _quarter(given: Any) -> Any:
    if not (isinstance(given, str) and re.fullmatch(QUARTER, given)):
        raise ValueError(f"{given!r} is no quarter; write for example 2027-Q1")
    return given


Quarter = Annotated[str, Shorthand(_quarter, {"pattern": QUARTER, "examples": ["2027-Q1"]})]
Usd = Annotated[float, Field(ge=0), Unit("USD", "40000 USD")]
Growth = Annotated[float, Field(gt=-1, le=10), Unit("1", "15 %", bare=True)]


def quarter_number(label: str) -> int:
    """Quarters since the year 0: 2027-Q1 is 8108."""
    return 4 * int(label[:4]) + int(label[-1]) - 1


def quarter_label(number: int) -> str:
    """The label of `quarter_number`'s result."""
    return f"{number // 4}-Q{number % 4 + 1}"


class Delivery(Section):
    """A tranche of accelerators with their hosts, network and hall; it arrives as its quarter begins."""

    quarter: Quarter = required("quarter of delivery, 2027-Q1")
    accelerators: int = required("accelerators delivered", gt=0, le=10_000_000)
    price: Usd | None = setting(
        None, "of one accelerator with its host, network and storage", "the plan's own purchase price"
    )
    speed: float = setting(
        1.0, "work of one, in accelerators of this scenario: another generation", "the same", gt=0, le=1000
    )
    power: float = setting(1.0, "power of one, in accelerators of this scenario", "the same", gt=0, le=1000)

    @model_validator(mode="after")
    def _priced(self) -> Delivery:
        if self.price is None and (self.speed != 1 or self.power != 1):
            raise ValueError("another generation needs its own price; write for example price: 60000 USD")
        return self


class BurnIn(Section):
    """What happens between the last cable and the first job."""

    duration: Seconds = setting(2 * WEEK_S, "length of the burn-in", "assumption: 2 weeks")
    passing: Fraction = setting(
        0.97,
        "yield: share that passes; the rest is repaired and burned in again",
        "assumption: 97 %",
        alias="yield",
    )
    repair: Seconds = setting(
        4 * WEEK_S, "from failing to burning in again", "assumption: 4 weeks, parts included"
    )

    @model_validator(mode="after")
    def _some_pass(self) -> BurnIn:
        if self.passing == 0:
            raise ValueError("a yield of 0 means that nothing is ever accepted; write for example 97 %")
        return self


class Demand(Section):
    """Accelerators that jobs ask for."""

    accelerators: float = required("accelerators asked for in the first quarter", ge=0, le=1e8)
    growth: Growth = setting(0.0, "growth from one quarter to the next", "assumption: none")
    spread: Fraction = setting(0.05, "standard deviation of that growth", "assumption: 5 points")
    by_quarter: tuple[Annotated[float, Field(ge=0, le=1e8)], ...] = setting(
        tuple, "accelerators asked for in every quarter, instead of growth", "by growth"
    )


class Overflow(Section):
    """What is rented where demand is above what is installed, and what renting everything would cost."""

    hour: UsdPerSecond | None = setting(
        None, "price of one rented accelerator for one hour (kept per second)", "the catalog's on demand"
    )
    decline: Growth = setting(0.0, "fall of that price a year", "assumption: none; prices rose in 2026")
    limit: float | None = setting(
        None, "accelerators that can be rented at most; 0 for none", "no limit", ge=0
    )


class Capacity(Section):
    """A plan of capacity by quarter, for the accelerator and the site of this scenario."""

    start: Quarter = required("first quarter, 2027-Q1")
    quarters: int = setting(12, "quarters looked at", "assumption: three years", ge=1, le=80)
    installed: float = setting(
        0.0, "accelerators in service as it begins, already paid for", "none", ge=0, le=1e8
    )
    deliveries: tuple[Delivery, ...] = setting(tuple, "tranches", "none: everything is rented")
    bring_up: Seconds = setting(
        6 * WEEK_S, "from delivery to the burn-in: racks, power, cables, acceptance", "assumption: 6 weeks"
    )
    slip: Seconds = setting(2 * WEEK_S, "mean delay of a delivery, exponential", "assumption: 2 weeks")
    burn_in: BurnIn = setting(BurnIn, "burn-in and its yield", "see its fields")
    demand: Demand = required("accelerators that jobs ask for")
    rent: Overflow = setting(Overflow, "what is rented", "see its fields")

    @model_validator(mode="after")
    def _in_range(self) -> Capacity:
        first, last = quarter_number(self.start), quarter_number(self.start) + self.quarters - 1
        for delivery in self.deliveries:
            if not first <= quarter_number(delivery.quarter) <= last:
                raise ValueError(
                    f"the delivery of {delivery.quarter} is outside of {self.start} to {quarter_label(last)}; "
                    "write more quarters, or put it under installed"
                )
        if self.demand.by_quarter and len(self.demand.by_quarter) != self.quarters:
            raise ValueError(
                f"demand.by_quarter has {len(self.demand.by_quarter)} numbers for {self.quarters} quarters; "
                "write one for each"
            )
        return self
