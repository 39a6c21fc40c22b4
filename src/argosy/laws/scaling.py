"""Strong and weak scaling: Amdahl, Gustafson, and how to read a measured curve.

Two shares are easily confused. Amdahl's s is the serial share of the *one-device* time; the share f of
wall-clock time that is seen on N devices is Gustafson's. `amdahl_share` and `wall_clock_share` convert.
Sources: G. Amdahl, AFIPS 1967; J. Gustafson, Communications of the ACM 31(5), 1988; A. Karp and H. Flatt,
Communications of the ACM 33(5), 1990.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from argosy.laws.arrays import Array, plain, require


def amdahl_speedup(serial_share: Array, devices: Array) -> Array:
    """S = 1 / (s + (1 - s)/N) against one device; `serial_share` s (0–1) of the one-device time, `devices`
    N ≥ 1. Fixed problem.
    """
    require(
        (np.asarray(serial_share) >= 0) & (np.asarray(serial_share) <= 1), "serial_share must lie in [0, 1]"
    )
    return 1.0 / (serial_share + (1.0 - serial_share) / devices)


def amdahl_limit(serial_share: Array) -> Array:
    """The speed-up that no number of devices exceeds, 1/s; `serial_share` in (0, 1]."""
    require(np.asarray(serial_share) > 0, "without a serial share there is no limit")
    return 1.0 / serial_share


def amdahl_efficiency(serial_share: Array, devices: Array) -> Array:
    """Speed-up per device, S/N, 0–1; arguments as in `amdahl_speedup`."""
    return amdahl_speedup(serial_share, devices) / devices


def serial_share(parts: Mapping[str, Array]) -> Array:
    """Sum of itemised serial shares (each 0–1 of the one-device time): barriers, bubbles, checkpoints,
    recovery, maintenance, host code.

    Adding them assumes that they do not overlap; those that do make this an upper bound.
    """
    return sum(parts.values())


def itemised_speedup(parts: Mapping[str, Array], devices: Array) -> dict[str, Array]:
    """Amdahl with itemised serial parts: "speedup", "limit", and per part what removing it alone would gain
    (a ratio ≥ 1).
    """
    whole = serial_share(parts)
    speedup = amdahl_speedup(whole, devices)
    gains = {
        f"gain without {name}": amdahl_speedup(whole - part, devices) / speedup
        for name, part in parts.items()
    }
    return {"speedup": speedup, "limit": amdahl_limit(whole), **gains}


def karp_flatt_share(speedup: Array, devices: Array) -> Array:
    """The serial share that a measured speed-up implies, s = (N/S - 1)/(N - 1), N > 1. Constant over N only
    where Amdahl's law holds.
    """
    require(np.asarray(devices) > 1, "one device shows no serial share")
    return (devices / speedup - 1.0) / (devices - 1.0)


def fitted_serial_share(devices: Array, speedups: Array) -> float:
    """Serial share by least squares of 1/S = s + (1 - s)/N, i.e. of (1/S - 1/N) on (1 - 1/N); arrays of
    shape (n,).
    """
    inverse = 1.0 / np.asarray(devices, dtype=float)
    left, right = 1.0 / np.asarray(speedups, dtype=float) - inverse, 1.0 - inverse
    return float(left @ right / (right @ right))


def amdahl_share(wall_clock: Array, devices: Array) -> Array:
    """Amdahl's s from the share f of wall-clock time seen on N devices: s = f / (f + (1 - f) N). Both
    0–1.
    """
    return wall_clock / (wall_clock + (1.0 - wall_clock) * devices)


def wall_clock_share(amdahl: Array, devices: Array) -> Array:
    """The share of wall-clock time that Amdahl's s takes on N devices: f = s / (s + (1 - s)/N). Inverse of
    `amdahl_share`.
    """
    return amdahl / (amdahl + (1.0 - amdahl) / devices)


def gustafson_speedup(wall_clock: Array, devices: Array) -> Array:
    """Scaled speed-up s + (1 - s) N for a problem that grows with N; `wall_clock` is the serial share (0–1)
    of the time on N devices.
    """
    return wall_clock + (1.0 - wall_clock) * devices


def strong_efficiency(
    time_before: Array, devices_before: Array, time_after: Array, devices_after: Array
) -> Array:
    """Retention on a fixed problem: (T1 n1) / (T2 n2), 1 = perfect. Times in s."""
    return time_before * devices_before / (time_after * devices_after)


def weak_efficiency(
    throughput_before: Array, devices_before: Array, throughput_after: Array, devices_after: Array
) -> Array:
    """Retention with a problem that grows with the devices: throughput per device after over before (any
    unit, the same for both).
    """
    return (throughput_after / devices_after) / (throughput_before / devices_before)


def speedup_from_mfu(
    devices_before: Array, mfu_before: Array, devices_after: Array, mfu_after: Array
) -> Array:
    """Throughput ratio (n2 MFU2) / (n1 MFU1): what more devices bring after the loss of utilisation."""
    return devices_after * mfu_after / (devices_before * mfu_before)


def slope_per_doubling(devices: Array, values: Array) -> float:
    """Change of `values` (MFU points, efficiency, ...) per doubling of `devices`, by least squares on log2;
    shape (n,), n ≥ 2.

    The health report of a fabric: near 0 under weak scaling, and always negative under strong scaling.
    """
    return float(np.polyfit(np.log2(np.asarray(devices, dtype=float)), np.asarray(values, dtype=float), 1)[0])


def interpolated_efficiency(devices: Array, table_devices: Array, table_efficiency: Array) -> Array:
    """Efficiency (0–1) between the rows of a table, linear in log2(devices); constant beyond both ends
    (outside its range).

    `table_devices` ascending (n,), `table_efficiency` (n,). The table's date and conditions belong beside
    every result.
    """
    return plain(np.interp(np.log2(devices), np.log2(table_devices), table_efficiency))
