"""The prices: how the fleet is paid for, what electricity costs, over how long things are written off."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from argosy import units
from argosy.spec.quantity import (
    Fraction,
    PerSecond,
    Seconds,
    Section,
    Shorthand,
    Unit,
    UsdPerJoule,
    UsdPerSecond,
    required,
    setting,
)

_YEAR = 365.25 * 86400.0
_LIFE = "years over which {} written off"

Lifetime = Annotated[Seconds, Field(gt=0, le=100 * _YEAR)]
UsdPerWatt = Annotated[float, Field(ge=0), Unit("USD/W", "12 USD/kW")]
Path = Literal["auto", "own", "on-demand", "contract", "reserved-1y", "reserved-3y", "spot"]


class Period(Section):
    """Hours in which a kilowatt-hour has another price than the tariff's own."""

    price: UsdPerJoule = required("price of electricity in these hours")
    hours: tuple[int, int] = setting(
        (0, 24),
        "from the first hour of the day to before the second; [22, 6] goes past midnight",
        "the whole day",
    )
    months: tuple[Annotated[int, Field(ge=1, le=12)], ...] = setting(
        tuple(range(1, 13)), "months, 1 to 12", "the whole year", min_length=1
    )
    days: Literal["all", "weekdays", "weekend"] = setting("all", "days of the week", "all days")

    @model_validator(mode="after")
    def _hours_of_a_day(self) -> Period:
        if not all(0 <= hour <= 24 for hour in self.hours) or self.hours[0] == self.hours[1]:
            raise ValueError(f"hours {list(self.hours)} are no part of a day; write for example [16, 21]")
        return self


class Tariff(Section):
    """What the utility charges beside one price for every kilowatt-hour."""

    periods: tuple[Period, ...] = setting(
        tuple, "times of use with their own price; the last that fits holds", "none"
    )
    demand_charge: UsdPerWatt = setting(
        0.0, "for each kW of the highest load at the meter, per month (write 12 USD/kW)", "assumption: none"
    )


def _day(given: Any) -> Any:
    """YAML may read a day as text; anything that is no day is refused with an example."""
    text = str(given)
    if not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])(-([0-2]\d|3[01]))?", text):
        raise ValueError(f"{text!r} is no day; write for example 2026-11-28")
    return text


class Currency(Section):
    """What one unit of another currency is worth. Argosy carries no exchange rates: they are yours, with their date."""

    usd: Annotated[float, Field(gt=0)] = required("US dollars for one unit, such as 0.14")
    date: Annotated[str, Shorthand(_day, {"examples": ["2026-11-28"]})] = required(
        "day of the rate, 2026-11-28"
    )
    source: str = setting("scenario", "where the rate was read", "the scenario itself")


class Prices(Section):
    """What things cost. Amounts of the whole scenario may be in a currency whose rate stands under `currencies`."""

    path: Path = setting(
        "auto",
        "how the fleet is paid for: bought, or rented at the catalog's price of that kind (or at accelerator_hour)",
        "rented where accelerator_hour is given, else bought",
    )
    accelerator_hour: UsdPerSecond | None = setting(
        None,
        "price of one accelerator for one hour (kept per second)",
        "computed from capital, lifetime and electricity",
    )
    spot_interruptions: PerSecond | None = setting(
        None,
        "how often the provider takes one spot node back (write 0.05 1/day)",
        "from the catalog, on path spot",
    )
    electricity: UsdPerJoule | None = setting(None, "price of electricity (kept per joule)", "from the site")
    tariff: Tariff = setting(Tariff, "times of use and demand charge", "see its fields")
    discount_rate: Fraction = setting(0.08, "yearly rate at which capital is written off", "assumption: 8 %")
    lifetime: Lifetime = setting(
        5 * _YEAR, _LIFE.format("accelerators, hosts, storage and network are"), "assumption: 5 yr"
    )
    network_lifetime: Lifetime | None = setting(None, _LIFE.format("the network is"), "lifetime")
    plant_lifetime: Lifetime | None = setting(
        None, _LIFE.format("power and cooling plant are"), "facility.money.site_life of the catalog"
    )
    building_lifetime: Lifetime | None = setting(
        None, _LIFE.format("the building is"), "facility.money.site_life of the catalog"
    )
    residual: Fraction = setting(
        0.0,
        "share of their price that accelerators and hosts fetch at the end of their life",
        "assumption: nothing",
    )
    currencies: dict[str, Currency] = setting(dict, "rates: currency → {usd, date, source}", "none")
    show_in: str | None = setting(
        None, "currency of currencies in which money is also shown", "US dollars alone"
    )

    @model_validator(mode="after")
    def _known_currencies(self) -> Prices:
        for code in self.currencies:
            if code not in units.CURRENCIES or code == "USD":
                others = ", ".join(code for code in units.CURRENCIES if code != "USD")
                raise ValueError(f"{code!r} is no currency that is known here; write one of {others}")
        if self.show_in not in (None, "USD", *self.currencies):
            raise ValueError(
                f"show_in {self.show_in!r} has no rate; write currencies: {{{self.show_in}: {{usd: …, date: …}}}}"
            )
        return self
