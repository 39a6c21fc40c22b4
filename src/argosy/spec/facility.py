"""The facility: where it stands, how it is cooled, what it may draw."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from argosy.spec.carbon import CarbonAccount, KilogramPerJoule
from argosy.spec.power_tree import Hall, PowerTree
from argosy.spec.quantity import (
    Fraction,
    Section,
    Shorthand,
    Unit,
    UsdPerJoule,
    Watts,
    Word,
    required,
    setting,
)


class Site(Section):
    """Where the fleet stands: a named site, and what this scenario changes of it."""

    name: str = required("a site of the catalog (us-texas), or a name of your own with all fields given")
    temperature_c: float | None = setting(
        None, "yearly mean of the outside dry-bulb temperature, °C", "from the site", ge=-60, le=60
    )
    humidity: Fraction | None = setting(None, "yearly mean relative humidity", "from the site")
    carbon_intensity: KilogramPerJoule | None = setting(
        None, "CO2e of the grid's electricity, location-based", "from the site"
    )
    electricity: UsdPerJoule | None = setting(None, "price of electricity", "from the site")


def _site(given: Any) -> Any:
    return {"name": given} if isinstance(given, str) else given


class Facility(Section):
    """The building: site, cooling, power."""

    site: Annotated[Site, Shorthand(_site, {"type": "string"})] = setting(
        lambda: Site(name="us-texas"), "a site of the catalog, or {name, fields…}", "assumption: Texas"
    )
    pue: Annotated[float | None, Word("computed")] = setting(
        None, "facility energy ÷ IT energy; `computed` from cooling, climate and load", "computed", ge=1, le=5
    )
    cooling: Literal["air", "rear-door", "direct-to-chip", "immersion"] = setting(
        "air", "how racks are cooled", "assumption: air"
    )
    power_cap: Annotated[Watts | None, Word("none")] = setting(
        None,
        "limit per accelerator; below the board's own it lowers the clock, and with it the speed",
        "no limit below the board's own",
    )
    envelope: Annotated[Watts | None, Word("none")] = setting(
        None, "power that the site can give to the fleet, cooling included", "not limiting"
    )
    heat_rejection: Literal["dry", "evaporative"] = setting(
        "dry",
        "where heat leaves: dry coolers, or coolers that evaporate water in hours too warm for dry ones",
        "assumption: dry coolers",
    )
    supply_temperature_c: float | None = setting(
        None, "of the liquid to the racks, or of the air where there is none, °C", "of the class", ge=5, le=60
    )
    power_tree: PowerTree = setting(PowerTree, "ratings from the utility to the rack", "sized to the fleet")
    hall: Hall = setting(Hall, "an existing hall that the racks must fit", "built for the fleet")
    ramp_limit: Annotated[float, Field(gt=0), Unit("W/s", "5 MW/s")] | None = setting(
        None, "fastest change of power that the utility accepts", "not limiting"
    )
    start_month: Annotated[int, Field(ge=1, le=12)] | None = setting(
        None,
        "month in which the run begins, 1 to 12, for times of use and hourly carbon",
        "the mean of the year",
    )
    carbon: CarbonAccount = setting(CarbonAccount, "how carbon is counted", "see its fields")
