"""Training across sites: what distance costs, how often sites may talk, and where to cut a pipeline.

Light in fibre needs about 4.9 µs per km one way: distance sets the latency, not a floor common to all site
pairs. Whether synchronous training across sites is feasible is a question of the step time against latency
*and* bandwidth. Sources: S. Stich, "Local SGD", arXiv 1805.09767; A. Douillard et al., "DiLoCo", arXiv
2311.08105; ITU-T G.652 single-mode fibre, group index about 1.468 at 1,550 nm.
"""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array, plain, require

LIGHT_IN_VACUUM = 299_792_458.0  # m/s, exact by the SI
FIBRE_GROUP_INDEX = 1.468  # standard single-mode fibre at 1,550 nm (Corning SMF-28 data sheet: 1.4682)
LIGHT_IN_FIBRE = LIGHT_IN_VACUUM / FIBRE_GROUP_INDEX  # m/s
EARTH_RADIUS = 6_371_008.8  # m, mean radius of the International Union of Geodesy and Geophysics


def fibre_latency(distance: Array, speed: Array = LIGHT_IN_FIBRE) -> Array:
    """One-way seconds over `distance` metres of fibre (route length, not great circle), without equipment;
    `speed` in m/s.
    """
    return distance / speed


def great_circle(
    latitude_a: Array, longitude_a: Array, latitude_b: Array, longitude_b: Array, radius: Array = EARTH_RADIUS
) -> Array:
    """Metres between two points on a sphere, degrees north and east, by the haversine formula:
    2 R asin √(sin²(Δφ/2) + cos φa cos φb sin²(Δλ/2)).

    The Earth's flattening changes it by up to 0.5 %; a cable's route is longer, see `fibre_latency`.
    """
    north, other, east, west = (np.radians(x) for x in (latitude_a, latitude_b, longitude_a, longitude_b))
    half = np.sin((other - north) / 2) ** 2
    half = half + np.cos(north) * np.cos(other) * np.sin((west - east) / 2) ** 2
    return plain(2.0 * radius * np.arcsin(np.sqrt(np.minimum(half, 1.0))))


def fibre_distance(latency: Array, speed: Array = LIGHT_IN_FIBRE) -> Array:
    """Metres of fibre that light crosses in `latency` s one way: the inverse of `fibre_latency`."""
    return latency * speed


def cross_site_all_reduce(message_bytes: Array, sites: Array, bandwidth: Array, latency: Array) -> Array:
    """Seconds of a ring all-reduce between `sites` over links of `bandwidth` (byte/s per direction) and
    one-way `latency` (s).

    2 (s-1)/s M/BW + 2 (s-1) α: M is what each site holds after reducing inside itself (bytes).
    """
    return 2.0 * (sites - 1) / sites * message_bytes / bandwidth + 2.0 * (sites - 1) * latency


def lossy_bandwidth(
    segment_bytes: Array, round_trip: Array, loss: Array, segments_per_acknowledgement: Array = 2.0
) -> Array:
    """Byte/s of one TCP connection whose window losses keep small: segment/RTT √(3 / (2 b p)); `round_trip` in s, `loss`: share
    p of segments lost, b: segments that one acknowledgement answers (2: delayed acknowledgements).

    Source: M. Mathis, J. Semke, J. Mahdavi, T. Ott, ACM CCR 27(3), 1997, eq. 3. Range: additive increase and halving (Reno),
    single losses apart from each other, no timeouts: p below some 2 %, and what it gives below the link's own rate. Real
    stacks lie between b = 1 and b = 2.
    """
    require((np.asarray(loss) > 0) & (np.asarray(loss) < 1), "loss must lie in (0, 1)")
    return plain(
        np.divide(segment_bytes, round_trip) * np.sqrt(1.5 / np.multiply(segments_per_acknowledgement, loss))
    )


def synchronous_overhead(step_time: Array, synchronisation: Array, overlap: Array = 0.0) -> Array:
    """Share of the lengthened step that waits for the other sites, x/(T + x) with x = max(sync - overlap ×
    T, 0); times in s.
    """
    exposed = np.maximum(np.subtract(synchronisation, np.multiply(overlap, step_time)), 0.0)
    return plain(exposed / (step_time + exposed))


def local_steps(step_time: Array, synchronisation: Array, overhead: Array) -> Array:
    """Fewest local steps H between synchronisations that hold their share of time at `overhead` (0–1):
    sync/(H T + sync) ≤ overhead.

    Times in s. The statistical price of a large H (drift between sites) is not in this number; DiLoCo
    reports H = 500 with little loss.
    """
    require((np.asarray(overhead) > 0) & (np.asarray(overhead) < 1), "overhead must lie in (0, 1)")
    exact = np.multiply(synchronisation, 1.0 - np.asarray(overhead)) / np.multiply(overhead, step_time)
    return plain(np.maximum(np.ceil(np.round(exact, 9)), 1.0))


def staleness_steps(step_time: Array, one_way_delay: Array, transfer_time: Array) -> Array:
    """Steps by which an asynchronous update is late when it arrives: ceil((delay + transfer) / step); times
    in s. A ratio within 1e-9 of a whole number counts as that number.
    """
    exact = np.divide(np.add(one_way_delay, transfer_time), step_time)
    return plain(np.ceil(np.round(exact, 9)))


def pipeline_cut(
    activation_bytes: Array,
    bandwidth: Array,
    latency: Array,
    forward_time: Array,
    backward_time: Array,
    stages: Array,
    micro_batches: Array,
) -> dict[str, Array]:
    """One pipeline boundary on a wide-area link; all forward passes, then all backward (GPipe).

    Times in s: a stage's `forward_time` and `backward_time` of one micro-batch, one-way `latency`;
    `activation_bytes` per micro-batch and direction, `bandwidth` in byte/s per direction. Two limits are
    told apart: the delay is paid once each way while the pipeline fills and drains ("fill", s per step);
    a transfer longer than a pass slows every micro-batch ("throttle", s per step). "step" is the whole
    step, (m + p - 1)(f + b) + fill + throttle; "bubble" its idle share, (p - 1)/(m + p - 1) without the
    link. A 1F1B schedule reaches the same only with "in_flight" more micro-batches held before the link:
    ⌈2 (α + x)/(f + b)⌉.
    """
    transfer = np.divide(activation_bytes, bandwidth)
    slot = np.add(forward_time, backward_time)
    fill = 2.0 * (np.asarray(latency) + transfer)
    slower = np.maximum(transfer - forward_time, 0.0) + np.maximum(transfer - backward_time, 0.0)
    throttle = (np.asarray(micro_batches) - 1) * slower
    step = (np.add(micro_batches, stages) - 1) * slot + fill + throttle
    bubble = 1.0 - np.multiply(micro_batches, slot) / step
    parts = {"transfer": transfer, "fill": fill, "throttle": throttle, "step": step, "bubble": bubble}
    return {name: plain(value) for name, value in parts.items()} | {"in_flight": plain(np.ceil(fill / slot))}
