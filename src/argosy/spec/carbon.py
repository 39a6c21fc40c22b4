"""How the carbon of electricity is counted."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from argosy import units
from argosy.spec.quantity import Fraction, Section, Shorthand, Unit, setting

KilogramPerJoule = Annotated[float, Field(ge=0), Unit("kg/J", "0.4 kg/kWh")]
Intensity = Annotated[float, Field(ge=0)]


class Profile(Section):
    """Carbon intensity hour by hour: a typical day of every month, or every hour of a year."""

    unit: Literal["g/kWh", "kg/kWh"] = setting("g/kWh", "unit of the numbers", "grams, as grids publish them")
    months: tuple[tuple[Intensity, ...], ...] = setting(
        tuple, "12 lists of 24 numbers: January to December", "none"
    )
    hours: tuple[Intensity, ...] = setting(tuple, "8,760 numbers from the first hour of January on", "none")

    @model_validator(mode="after")
    def _complete(self) -> Profile:
        if bool(self.months) == bool(self.hours):
            raise ValueError(
                "give either months or hours; write for example {months: [[24 numbers], … 12 of them]}"
            )
        if self.months and (len(self.months) != 12 or any(len(month) != 24 for month in self.months)):
            counts = sorted({len(month) for month in self.months})
            raise ValueError(f"months has {len(self.months)} lists of {counts} numbers; write 12 lists of 24")
        if self.hours and len(self.hours) != 8760:
            raise ValueError(
                f"hours has {len(self.hours)} numbers; write 8760 (leave the 29th of February out of a leap year)"
            )
        return self

    @property
    def kg_per_j(self) -> float:
        """What one of the numbers is in kg/J."""
        return units.convert(1.0, self.unit, "kg/J")


class CarbonAccount(Section):
    """How carbon is counted: whose intensity, hourly or yearly, what contracts cover, whose households compare."""

    basis: Literal["lifecycle", "direct"] = setting(
        "lifecycle", "whether plants' fuel and building are in the grid's intensity, or their chimneys alone",
        "lifecycle, as Our World in Data prints it",
    )  # fmt: skip
    profile: Annotated[
        Profile | None, Shorthand(lambda given: given, {"type": "string", "examples": ["grid-2025.csv"]})
    ] = setting(
        None,
        "hourly intensity: {unit, months | hours}, or a CSV file with a column g_per_kwh",
        "the yearly mean",
    )
    matched: Fraction = setting(
        0.0, "share of energy under zero-carbon contracts (market-based)", "assumption: none"
    )
    residual: KilogramPerJoule | None = setting(
        None, "intensity of energy without a contract (market-based)", "the grid's own"
    )
    households: Literal["us", "eu", "cn"] = setting(
        "us", "whose households the energy is compared with", "United States"
    )
