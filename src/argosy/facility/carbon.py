"""Greenhouse gases of a run: electricity by place and by contract, making the machines, and what it means to people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy import units
from argosy.facility.site import SiteNumbers
from argosy.facility.year import hourly, mean_over
from argosy.facts import Values
from argosy.laws import carbon as law
from argosy.laws import site as site_law
from argosy.spec import CarbonAccount

Array = Any  # float or numpy array (n,): one entry per draw
KWH_J = units.convert(1.0, "kWh", "J")
TB = 1e12
PLACES = {"us": "the United States", "eu": "the European Union", "cn": "China"}


@dataclass(frozen=True, slots=True)
class Made:
    """What was made for the fleet: accelerators, nodes that hold them, switches, bytes of storage, IT watts of the
    building. Spares are in it.
    """

    accelerators: Array
    nodes: Array
    switches: Array = 0.0
    storage_bytes: Array = 0.0
    building_w: Array = 0.0


def intensity(account: CarbonAccount, site: SiteNumbers, duration_s: Array) -> Array:
    """kg CO2e per kWh that a constant load meets on the mean of `duration_s` seconds.

    Of the account's hourly profile where it has one, from the first of the site's `start_month` on (else the whole year), and
    the site's yearly mean otherwise.
    """
    profile = account.profile
    if profile is None:
        return site.kg_per_j * KWH_J
    values = np.asarray(profile.hours, dtype=float) if profile.hours else hourly(profile.months)
    return mean_over(values, site.start_month, duration_s) * KWH_J * profile.kg_per_j


def embodied(values: Values, made: Made, duration_s: Array) -> list[dict[str, Any]]:
    """kg CO2e of making each kind of thing, charged to `duration_s` seconds by its share of a used life.

    One line per kind: name, low, central, high (kg), source. The band is that of the fact: sources disagree.
    """
    site_life = values["facility.money.site_life"]
    life, used = values["facility.embodied.life"], values["facility.money.availability"]
    things = [
        ("accelerators", "accelerator", made.accelerators, life),
        ("hosts", "host", made.nodes, life),
        ("network", "switch", made.switches, life),
        ("storage", "storage", made.storage_bytes / TB, life),
        ("building and plant", "building", made.building_w / 1e3, site_life),
    ]
    lines = []
    for name, key, count, lasting in things:
        path = f"facility.embodied.{key}"
        fact = values.facts[path]
        values.used[path] = fact
        low = fact.value if fact.low is None else fact.low
        high = fact.value if fact.high is None else fact.high
        band = law.embodied_kg(count, law.Band(low, fact.value, high), duration_s, lasting, used)
        lines.append({"name": name, **band._asdict(), "source": fact.source})
    return lines


def total(lines: list[dict[str, Any]]) -> dict[str, Array]:
    """The sum of bands, kg: low with low and high with high, the widest that the sources allow."""
    return {key: sum((line[key] for line in lines), start=0.0) for key in ("low", "central", "high")}


def carbon_payload(
    values: Values,
    account: CarbonAccount,
    site: SiteNumbers,
    made: Made,
    it_kwh: Array,
    pue: Array,
    duration_s: Array,
    tokens: float | None = None,
) -> dict[str, Any]:
    """The contract's `carbon` object of `argosy facility`: location-based, market-based, embodied, equivalents.

    `it_kwh`: kWh of the IT over `duration_s` seconds; `pue`: their mean ratio; `tokens`: useful tokens, for the
    figure per million. Location-based (by grid) is the figure that counts; market-based (by contract) stands beside
    it, never in its place.
    """
    per_kwh = intensity(account, site, duration_s)
    located = law.location_based_kg(it_kwh, pue, per_kwh)
    residual = per_kwh if account.residual is None else account.residual * KWH_J
    contracted = law.market_based_kg(it_kwh, pue, residual, account.matched)
    lines = embodied(values, made, duration_s)
    made_kg = total(lines)
    whole = {key: located + made_kg[key] for key in made_kg}
    return {
        "location_based": {
            "kg": located,
            "kg_per_kwh": per_kwh,
            "method": "hourly profile" if account.profile else "yearly mean of the grid",
            "basis": site.carbon_basis,
        },
        "market_based": {
            "kg": contracted,
            "matched": account.matched,
            "residual_kg_per_kwh": residual,
            "method": "energy under contract counts zero, the rest at the residual intensity",
        },
        "embodied": {**made_kg, "lines": lines, "method": "kg × share of a used life; the bounds add up"},
        "total_kg": whole,
        "kg_per_million_tokens": None if not tokens else whole["central"] / tokens * 1e6,
        "equivalents": equivalents(values, account.households, it_kwh * pue, duration_s),
    }


def equivalents(values: Values, place: str, facility_kwh: Array, duration_s: Array) -> dict[str, Any]:
    """Households and towns that use electricity at home as fast as the facility does, with the definitions.

    `facility_kwh` at the meter over `duration_s` seconds; `place`: one of PLACES.
    """
    path = f"facility.equivalents.household_{place}"
    yearly, people = values[path] / KWH_J, values["facility.equivalents.people_per_household"]
    town = values["facility.equivalents.town"]
    households = site_law.households(facility_kwh * KWH_J / duration_s, yearly)
    return {
        "households": households,
        "household": f"{_central(yearly):,.0f} kWh a year at home in {PLACES[place]}: {values.facts[path].source}",
        "towns": households * people / town,
        "town": f"{_central(town):,.0f} people in households of {_central(people):.3g}, electricity at home alone",
    }


def _central(number: Array) -> float:
    return float(np.median(number))
