"""Communication–computation ratio ρ = T_comm(N) / (T_compute / N), and advice ranked by what each change
would do.

ρ compares the time of the communication that one step needs with the computation between two
synchronisations. It is the network's roofline: below 1 the communication can be hidden behind computation
at best, above 1 part of it is exposed whatever is done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from argosy.laws.arrays import Array, plain, require


def ratio(communication_s: Array, computation_s: Array) -> Array:
    """ρ, dimensionless: seconds of communication over seconds of computation per step and device (> 0)."""
    require(np.asarray(computation_s) > 0, "computation_s must be positive")
    return plain(np.divide(communication_s, computation_s))


def exposed_time(communication_s: Array, computation_s: Array, overlap: Array = 1.0) -> Array:
    """Seconds of communication that overlap cannot hide: max(T_comm - overlap × T_compute, 0).

    `overlap` (0–1) is the share of the computation that communication may run beside: 1 is the ideal, 0
    none.
    """
    return plain(np.maximum(np.subtract(communication_s, np.multiply(overlap, computation_s)), 0.0))


def regime(rho: float) -> str:
    """ "computation-bound" (ρ < 1: hideable) or "communication-bound" (ρ ≥ 1: exposed)."""
    return "computation-bound" if rho < 1.0 else "communication-bound"


@dataclass(frozen=True)
class Advice:
    """One change: its name, ρ and step time (s) after it; samples per second of the job, and of each device,
    against the present ones (ratios).
    """

    change: str
    rho: float
    step_s: float
    throughput: float
    per_device: float


def ranked_advice(
    communication: Callable[[float, float], float],
    message_bytes: float,
    devices: int,
    computation_s: float,
    overlap: float = 0.0,
) -> list[Advice]:
    """Changes to a data-parallel step, each computed with the same cost function, best yield of a device
    first.

    `communication(bytes, devices) -> s` is the collective's cost; `message_bytes` the gradient (bytes);
    `computation_s` per step and device. The changes: twice and four times the batch per device (or as many
    accumulation steps), half and a quarter of the devices at the same global batch, 2x and 4x gradient
    compression, full overlap. Fewer devices raise the yield of each and lower the job's throughput: both are
    in the answer. Compression loses precision, a larger batch may lose statistical efficiency (`batch`).
    """

    def advice(
        change: str,
        byte_factor: float = 1.0,
        devices_factor: float = 1.0,
        work_factor: float = 1.0,
        hidden: float = overlap,
    ) -> Advice:
        """One change's ratio, step (s) and yields against the present; factors are multiples of the present."""
        computed = computation_s * work_factor
        talked = communication(message_bytes * byte_factor, devices * devices_factor)
        step = computed + exposed_time(talked, computed, hidden)
        samples = work_factor * devices_factor
        throughput = samples / step * present
        return Advice(change, ratio(talked, computed), step, throughput, throughput / devices_factor)

    present = computation_s + exposed_time(communication(message_bytes, devices), computation_s, overlap)
    changes = [
        advice("as it is"),
        advice("batch per device x2 (or 2 accumulation steps)", work_factor=2.0),
        advice("batch per device x4 (or 4 accumulation steps)", work_factor=4.0),
        advice("half the devices, same global batch", devices_factor=0.5, work_factor=2.0),
        advice("a quarter of the devices, same global batch", devices_factor=0.25, work_factor=4.0),
        advice("gradients compressed 2x", byte_factor=0.5),
        advice("gradients compressed 4x", byte_factor=0.25),
        advice("communication fully overlapped", hidden=1.0),
    ]
    return sorted(changes, key=lambda each: (-each.per_device, -each.throughput))
