"""Effective FLOP/s after all losses, each counted once; the worth of one more GPU; diagnosis of a
disappointing scale-up.

R_eff = N R × MFU × η_scaling × η_operational holds only when the three factors do not overlap: MFU of one
replica (no scaling loss in it), η what scaling takes, and operational losses that happen outside the step.
MFU reported at scale already contains η, and MFU always contains the pipeline bubble; the functions here
refuse both double counts.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from argosy.laws.arrays import Array, plain, require

IN_STEP_LOSSES = frozenset({"bubble", "pipeline bubble", "exposed communication", "straggler", "kernel"})


class DoubleCountError(ValueError):
    """A loss was about to be taken twice."""


def operational_share(losses: Mapping[str, Array]) -> Array:
    """Share of wall-clock time left after additive losses (each 0–1 of wall-clock time), 1 - Σ losses."""
    total = sum(losses.values(), start=0.0)
    require(np.asarray(total) <= 1, "losses add up to more than the whole time")
    return 1.0 - total


def effective_flops(
    devices: Array,
    peak_flops: Array,
    mfu: Array,
    mfu_scope: str,
    scaling_efficiency: Array | None = None,
    losses: Mapping[str, Array] | None = None,
) -> Array:
    """Useful FLOP/s of a fleet: N R × MFU × η × (1 - Σ losses).

    `peak_flops` in FLOP/s per device (dense); `mfu` 0–1 with its `mfu_scope`: "replica" (measured where
    nothing scales out; then `scaling_efficiency` 0–1 is needed) or "fleet" (measured at N devices; then it
    must be left out). `losses`: shares of wall-clock time outside the step, by name. Raises
    DoubleCountError for η beside a fleet MFU, and for in-step losses (the bubble) among `losses`.
    """
    losses = losses or {}
    if mfu_scope not in ("replica", "fleet"):
        raise ValueError(
            f"mfu_scope {mfu_scope!r}: write 'replica' (measured alone) or 'fleet' (on all devices)"
        )
    if mfu_scope == "fleet" and scaling_efficiency is not None:
        raise DoubleCountError(
            "MFU measured on the fleet already contains the scaling loss: "
            "leave scaling_efficiency out, or give the replica's MFU"
        )
    if mfu_scope == "replica" and scaling_efficiency is None:
        raise ValueError("MFU of one replica needs a scaling_efficiency to speak for the fleet")
    twice = IN_STEP_LOSSES & losses.keys()
    if twice:
        raise DoubleCountError(
            f"{', '.join(sorted(twice))}: MFU contains what happens in the step; leave it out of losses"
        )
    eta = 1.0 if scaling_efficiency is None else scaling_efficiency
    return devices * peak_flops * mfu * eta * operational_share(losses)


def loss_waterfall(peak: Array, factors: Mapping[str, Array]) -> dict[str, Array]:
    """What each retention factor (0–1) takes off `peak`, in order; the entries and "useful" add up to
    `peak` (any unit).
    """
    left, parts = peak, {}
    for name, factor in factors.items():
        parts[name] = left * (1.0 - factor)
        left = left * factor
    return parts | {"useful": left}


def marginal_worth(
    devices_before: Array, efficiency_before: Array, devices_after: Array, efficiency_after: Array
) -> Array:
    """Worth of each added device in units of one alone: (N2 η2 - N1 η1) / (N2 - N1). Negative: the fleet
    got slower.
    """
    require(
        np.asarray(devices_after) != np.asarray(devices_before),
        "the two fleets have the same size: nothing was added",
    )
    return (devices_after * efficiency_after - devices_before * efficiency_before) / (
        devices_after - devices_before
    )


def scale_up_diagnosis(
    ratio: Array,
    devices_before: Array,
    devices_after: Array,
    efficiency_before: Array,
    efficiency_expected: Array,
) -> dict[str, Array]:
    """Whether a scale-up fell short of what the efficiency curve promised.

    `ratio`: throughput after over before; efficiencies 0–1 against one device, the expected one at
    `devices_after`. Gives "efficiency" (absolute), "relative_efficiency" (against the smaller run),
    "expected_ratio", and "shortfall" (1 - ratio/expected: what physics does not explain).
    """
    growth = np.divide(devices_after, devices_before)
    expected = growth * efficiency_expected / efficiency_before
    parts = {
        "efficiency": ratio * efficiency_before / growth,
        "relative_efficiency": ratio / growth,
        "expected_ratio": expected,
        "shortfall": 1.0 - ratio / expected,
    }
    return {name: plain(value) for name, value in parts.items()}


def verdict_on_shortfall(shortfall: float, tolerance: float = 0.1) -> str:
    """ "physics" when a shortfall (0–1) is within `tolerance` (assumption: tables of efficiency are no
    better), else "engineering".
    """
    return "physics" if shortfall <= tolerance else "engineering"
