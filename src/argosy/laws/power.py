"""Watts and joules of a fleet, each with the boundary at which it is counted.

Impossible arguments raise ValueError; a NaN (a run that never ends) passes through.
"""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array, plain, require

SECONDS_PER_HOUR = 3600.0
JOULES_PER_KWH = 3.6e6
REDUNDANCIES = ("N", "N+1", "2N")


def facility_power(count: Array, device_w: Array, host_share_w: Array, pue: Array) -> Array:
    """Watts at the utility meter: P = n·(P_device + P_host)·PUE.

    `count`: devices; `device_w`: watts of one device (board level); `host_share_w`: watts of its share of the
    server, network and storage; `pue`: facility energy over IT energy, ≥ 1. Says nothing of which power level
    (idle, measured, capped, nameplate) was put in: the caller names it. Source: definition of PUE (ISO/IEC
    30134-2). ValueError for negative counts or powers and for a PUE below 1.
    """
    require(~(np.asarray(count) < 0), "count must not be negative")
    require(~(np.minimum(device_w, host_share_w) < 0), "powers must not be negative")
    require(~(np.asarray(pue) < 1), "pue must be at least 1")
    return count * (device_w + host_share_w) * pue


def power_at_utilization(idle_w: Array, measured_maximum_w: Array, utilization: Array) -> Array:
    """Watts of a node or device at activity u: P = P_idle + (P_measured_max − P_idle)·u.

    `idle_w`, `measured_maximum_w`: watts (measured, not nameplate: nameplates overstate by 18–24 % for 8×H100
    nodes); `utilization`: 0 to about 1 (uncertain draws may pass it). Linear model, good to about 10 % for GPUs
    under training. Source: Fan, Weber, Barroso 2007 (ISCA). ValueError for a negative activity or power.
    """
    require(~(np.asarray(utilization) < 0), "utilization must not be negative")
    require(~(np.minimum(idle_w, measured_maximum_w) < 0), "powers must not be negative")
    return idle_w + (measured_maximum_w - idle_w) * utilization


def energy_kwh(power_w: Array, duration_s: Array) -> Array:
    """Kilowatt-hours of `power_w` watts (mean) over `duration_s` seconds, at least 0."""
    require(~(np.asarray(duration_s) < 0), "duration must not be negative")
    return power_w * duration_s / JOULES_PER_KWH


def step_swing_w(count: Array, compute_w: Array, communication_w: Array) -> Array:
    """Amplitude in watts of the square wave that a synchronous step draws: ΔP = n·(P_compute −
    P_communication).

    `count`: devices that step together; the two powers per device, watts. Upper bound: overlap smooths it.
    """
    require(~(np.asarray(count) < 0), "count must not be negative")
    return count * (compute_w - communication_w)


def conversion_loss_w(load_w: Array, rating_w: Array, fixed: Array, linear: Array, quadratic: Array) -> Array:
    """Watts lost in a transformer, an uninterruptible supply or a busway: rating·(a + b·L + c·L²), L = load ÷ rating.

    `load_w`: watts delivered at the output; `rating_w`: rated output of what is installed, above 0; `fixed` (a),
    `linear` (b), `quadratic` (c): losses over the rating without load, per load, and per squared load (copper).
    Good from no load to about 1.2 of the rating. Source: the usual loss model of transformers and converters
    (IEC 60076-1 for no-load and load loss). ValueError for a negative load and a rating that is not positive.
    """
    require(~(np.asarray(load_w) < 0), "load must not be negative")
    require(~(np.asarray(rating_w) <= 0), "rating must be above 0")
    part = load_w / rating_w
    return rating_w * (fixed + linear * part + quadratic * part**2)


def units_needed(load_w: Array, usable_w: Array, oversubscription: Array = 1.0) -> Array:
    """Whole units that carry a load: ⌈load ÷ (usable·oversubscription)⌉, at least one.

    `load_w`: watts at the output of the level; `usable_w`: watts that one unit may carry for hours (rating × derating);
    `oversubscription`: load over installed capacity that is accepted, 1 or more. A load within 1 part in 10⁹ of a
    whole number of units takes that number. ValueError for an oversubscription below 1 and for units without power.
    """
    require(~(np.asarray(oversubscription) < 1), "oversubscription must be at least 1")
    require(~(np.asarray(usable_w) <= 0), "usable power of a unit must be above 0")
    return plain(np.maximum(np.ceil(load_w / (usable_w * oversubscription) - 1e-9), 1.0))


def usable_units(units: Array, redundancy: str) -> Array:
    """Units that may carry load when redundant ones have failed: n for N, n − 1 for N+1, n/2 for 2N.

    ValueError for another word than N, N+1, 2N.
    """
    require(redundancy in REDUNDANCIES, f"redundancy must be one of {', '.join(REDUNDANCIES)}")
    if redundancy == "2N":
        return units / 2.0
    return units - (1.0 if redundancy == "N+1" else 0.0)


def affinity_power(fraction: Array, floor: Array = 0.0, exponent: Array = 3.0) -> Array:
    """Power of a fan or pump over its rated power at a share of its rated flow: max(share, floor)^3.

    `fraction`: flow ÷ rated flow, 0–1; `floor`: lowest share that the drive runs at; `exponent`: 3 for a duct or
    pipe without a fixed head. Source: affinity laws of fans and pumps (similarity). ValueError for negative shares.
    """
    require(~(np.minimum(fraction, floor) < 0), "fraction and floor must not be negative")
    share = np.maximum(fraction, floor)
    if np.ndim(exponent) == 0 and exponent == 3.0:
        return plain(share * share * share)  # many times quicker than a power
    return plain(share ** np.asarray(exponent, dtype=float))
