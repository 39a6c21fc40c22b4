"""A power cap on an accelerator's board: the clock it leaves, by dynamic voltage and frequency scaling."""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array, plain, require


def power_at_clock(clock: Array, full_w: Array, static_w: Array, exponent: Array = 3.0) -> Array:
    """Watts at a clock: P = P_static + (P_full − P_static)·s^α.

    `clock` (s): of the clock at `full_w`, 0–1; `full_w`: watts at full clock under the load in question; `static_w`:
    what does not follow the clock (leakage, memory, its links), below `full_w`; `exponent` (α): 3 where voltage is
    proportional to frequency (P ∝ f·V²), 1 where the voltage has reached its floor, 4 and more at the top of the curve.
    Source: Burd and Brodersen 1995; Chandrakasan, Sheng, Brodersen 1992 (dynamic power C·V²·f). ValueError for clocks
    outside of 0–1 and static power that is not below the whole.
    """
    require((np.asarray(clock) >= 0) & (np.asarray(clock) <= 1), "clock must be between 0 and 1")
    _check(full_w, static_w, exponent)
    return plain(static_w + (full_w - static_w) * np.power(clock, exponent))


def clock_at_cap(cap_w: Array, full_w: Array, static_w: Array, exponent: Array = 3.0) -> Array:
    """Share of the full clock at which the power is just the cap: s = ((P_cap − P_static)/(P_full − P_static))^(1/α).

    1 for a cap that does not bind, 0 for one at or below the static power, which no clock can hold. Arguments as in
    `power_at_clock`, of which it is the inverse.
    """
    _check(full_w, static_w, exponent)
    room = np.clip((cap_w - static_w) / (np.asarray(full_w, dtype=float) - static_w), 0.0, 1.0)
    return plain(np.power(room, 1.0 / np.asarray(exponent, dtype=float)))


def speed_at_clock(clock: Array, clocked_share: Array) -> Array:
    """Speed of a step over its speed at full clock: 1/(c/s + 1 − c), Amdahl's law with the clock as the speed-up.

    `clock` (s): of the full clock, above 0; `clocked_share` (c): share of the step's time at full clock that follows
    the clock (matrix products), 0–1; memory and network do not. Source: Amdahl 1967. ValueError outside of the ranges.
    """
    require(np.asarray(clock) > 0, "clock must be above 0")
    require(
        (np.asarray(clocked_share) >= 0) & (np.asarray(clocked_share) <= 1), "clocked share must be 0 to 1"
    )
    return plain(1.0 / (clocked_share / np.asarray(clock, dtype=float) + 1.0 - clocked_share))


def capped_fleet_gain(speed: Array, device_w: Array, capped_device_w: Array) -> Array:
    """Throughput of a capped fleet over an uncapped one within the same watts: speed·P/P_capped − 1.

    `speed`: of one capped device over its uncapped self; `device_w`, `capped_device_w`: watts that each device takes
    of the envelope, with its share of host, network and cooling. The work is taken to divide over any number.
    """
    return plain(speed * device_w / np.asarray(capped_device_w, dtype=float) - 1.0)


def _check(full_w: Array, static_w: Array, exponent: Array) -> None:
    require(np.asarray(static_w) < np.asarray(full_w), "static power must be below the whole")
    require(np.asarray(exponent) > 0, "exponent must be above 0")
