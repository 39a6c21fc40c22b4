"""Water of a run: used on site, and evaporated where its electricity was made."""

from __future__ import annotations

from typing import Any

from argosy.facts import Values
from argosy.laws import cooling as law

Array = Any  # float or numpy array (n,): one entry per draw


def water_payload(
    values: Values, wue: Array, it_kwh: Array, pue: Array, tokens: float | None = None
) -> dict[str, Any]:
    """The contract's `water` object of `argosy facility`, in litres (one is a kilogram).

    `wue`: litres per IT kWh; `it_kwh`: kWh of the IT; `pue`: facility over IT. On site WUE × E_IT: WUE is defined
    per IT kilowatt-hour, so PUE does not enter (two known tools multiply by it as well, and overstate by that
    factor). At the power plants EWIF × PUE × E_IT: there it does, the whole facility buys from the grid.
    """
    intensity = values["facility.water.grid_intensity"]
    on_site, at_source = law.water_litres(it_kwh, wue), law.water_at_source_litres(it_kwh, pue, intensity)
    return {
        "on_site_litres": on_site,
        "wue_litres_per_it_kwh": wue,
        "on_site_basis": "WUE × IT energy",
        "at_source_litres": at_source,
        "grid_litres_per_kwh": intensity,
        "at_source_basis": "EWIF × PUE × IT energy, consumed by power plants",
        "total_litres": on_site + at_source,
        "litres_per_million_tokens": None if not tokens else (on_site + at_source) / tokens * 1e6,
    }
