"""The place: climate, grid, tariff. From the scenario where it says, else from the catalog."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from argosy import units
from argosy.facility.climate import Shape, shape_of, temperatures_c, wet_bulbs_c
from argosy.facts import FactError, Values, load_catalog
from argosy.spec import Facility, Prices

Array = Any  # float or numpy array (n,): one entry per draw

# which fact of a region is the carbon intensity, by the basis on which the scenario counts
INTENSITIES = {"lifecycle": "carbon_intensity", "direct": "carbon_intensity_direct"}


@dataclass(frozen=True, slots=True)
class SiteNumbers:
    """What the model needs of a place. Energy prices and intensities are per joule, temperatures in °C."""

    name: str
    temperature_c: Array
    seasonal_c: Array
    daily_c: Array
    spread_c: Array
    usd_per_j: Array
    kg_per_j: Array
    carbon_basis: str
    humidity: Array = 0.65
    region: str = ""
    start_month: int | None = None

    @property
    def shape(self) -> Shape:
        """How temperature and humidity run over the year."""
        return shape_of(self.region)

    def outside_c(self) -> np.ndarray:
        """Outside temperatures of a year, equally likely: shape (n, 288), or (288,) for scalars; see `climate`."""
        return temperatures_c(self.shape, self.temperature_c, self.seasonal_c, self.daily_c, self.spread_c)

    def wet_bulb_c(self) -> np.ndarray:
        """Wet-bulb temperatures of the same moments, of the same shape."""
        return wet_bulbs_c(self.shape, self.outside_c(), self.humidity)


def site_numbers(values: Values, facility: Facility, prices: Prices) -> SiteNumbers:
    """The numbers of the scenario's site: those it gives, then the region's in the catalog, then assumptions.

    Raises FactError where neither the scenario nor the catalog knows the site's price or carbon, or its
    temperature when the PUE is to be computed (where the settings give one, an unknown temperature is None).
    """
    site = facility.site
    price = next((x for x in (prices.electricity, site.electricity) if x is not None), None)
    carbon = site.carbon_intensity
    place = _region(values, site.name)
    region = f"regions.{place}"
    intensity = INTENSITIES[facility.carbon.basis]
    fact = values.facts.get(f"{region}.{intensity}")
    basis = "given in the scenario" if carbon is not None else (fact.kind if fact else "")
    temperature = site.temperature_c
    if temperature is None and (facility.pue is None or f"{region}.temperature" in values):
        temperature = _or(None, values, f"{region}.temperature", "°C", "temperature_c")
    dollars = _or(price, values, f"{region}.electricity", "USD/J", "electricity")
    grid = _or(carbon, values, f"{region}.{intensity}", "kg/J", "carbon_intensity")
    if carbon is None:
        grid = grid * values["facility.grid.agreement"]  # what a country's mean says of one site in one year
    return SiteNumbers(
        site.name,
        temperature,
        _get(values, f"{region}.seasonal_amplitude", "facility.climate.seasonal_amplitude"),
        values["facility.climate.daily_amplitude"],
        values["facility.climate.spread"],
        dollars,
        grid,
        f"location-based, grid of {site.name}: {basis}",
        site.humidity if site.humidity is not None else values.get(f"{region}.humidity", 0.65),
        place,
        facility.start_month,
    )


def _region(values: Values, name: str) -> str:
    """The catalog's own name for a site that may be written as an alias; the name itself where it has
    none."""
    if f"regions.{name}.carbon_intensity" in values:
        return name
    try:
        return load_catalog().entry("regions", name).name
    except FactError:
        return name


def _get(values: Values, path: str, otherwise: str) -> Array:
    return values[path] if path in values else values[otherwise]


def _or(given: Array | None, values: Values, path: str, unit: str, field: str) -> Array:
    """The given number, or the catalog's in `unit`."""
    if given is not None:
        return given
    if path not in values:
        known = [entry.name for entry in load_catalog().section("regions") if "temperature" in entry.facts]
        name = path.split(".")[1]
        near = get_close_matches(name, known, n=3)
        sites = ", ".join(near or known)
        raise FactError(
            f"no {field} is known for the site {name}: write facility.site.{field}, or one of {sites}"
        )
    return values[path] * units.convert(1.0, values.facts[path].unit, unit)
