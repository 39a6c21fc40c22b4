"""A site: whether existing racks can take other machines, and what a load means to people.

All limits are the caller's (a floor's kg/m², a circuit's W, an air limit): none is built in.
"""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array, plain

SECONDS_PER_YEAR = 365.0 * 86400.0


def retrofit_loads(
    rack_w: Array,
    rack_kg: Array,
    footprint_m2: Array,
    cooling_w: Array,
    circuit_w: Array,
    floor_kg_per_m2: Array,
) -> dict[str, Array]:
    """How much of each limit of a hall a rack would use (1 = exactly): "cooling", "power", "floor".

    `rack_w` and `rack_kg` of the new rack on `footprint_m2`; `cooling_w` per rack position, `circuit_w` its
    feed, `floor_kg_per_m2` the floor's rating.
    """
    return {
        "cooling": np.divide(rack_w, cooling_w),
        "power": np.divide(rack_w, circuit_w),
        "floor": np.divide(rack_kg, np.multiply(footprint_m2, floor_kg_per_m2)),
    }


def retrofit_verdict(
    rack_w: float,
    rack_kg: float,
    footprint_m2: float,
    cooling_w: float,
    circuit_w: float,
    floor_kg_per_m2: float,
) -> tuple[bool, str]:
    """Whether a rack fits, and the limit that decides with its load: (False, "cooling 2.33x"). Units as in
    `retrofit_loads`; scalars.
    """
    loads = retrofit_loads(rack_w, rack_kg, footprint_m2, cooling_w, circuit_w, floor_kg_per_m2)
    worst = max(loads, key=lambda name: float(loads[name]))
    return bool(loads[worst] <= 1.0), f"{worst} {float(loads[worst]):.3g}x"


def devices_within_limits(
    device_w: Array,
    device_kg: Array,
    footprint_m2: Array,
    cooling_w: Array,
    circuit_w: Array,
    floor_kg_per_m2: Array,
) -> Array:
    """Most devices (whole) that one rack position can take, given each device's W and kg with its share of
    the host.
    """
    by_power = np.minimum(cooling_w, circuit_w) / np.asarray(device_w, dtype=float)
    by_floor = np.multiply(footprint_m2, floor_kg_per_m2) / np.asarray(device_kg, dtype=float)
    return plain(np.floor(np.minimum(by_power, by_floor)))


def households(power_w: Array, household_kwh_per_year: Array) -> Array:
    """Households that use as much electricity in a year as `power_w` (W) does, at `household_kwh_per_year`
    each (a national mean).
    """
    return power_w * SECONDS_PER_YEAR / 3.6e6 / household_kwh_per_year
