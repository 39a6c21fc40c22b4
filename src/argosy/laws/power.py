"""Watts and joules of a fleet, each with the boundary at which it is counted.

Impossible arguments raise ValueError; a NaN (a run that never ends) passes through.
"""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array, require

SECONDS_PER_HOUR = 3600.0
JOULES_PER_KWH = 3.6e6


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
