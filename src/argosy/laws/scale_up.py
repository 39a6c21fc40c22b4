"""The scale-up domain (NVLink, super-node): what fits inside, and what traffic has to leave it.

Ranks fill domains in order. A domain of 8, 72 or 384 devices changes which parallel dimensions stay on the
fast links: tensor parallelism always should, expert parallelism may.
"""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array, plain, require


def all_to_all_leaving_share(group: Array, domain: Array) -> Array:
    """Share (0–1) of an all-to-all's bytes that leave the domain: (g - min(g, d))/(g - 1), every pair
    alike.

    `group` g ≥ 2 ranks, consecutive; `domain` d devices. Exact when d divides g or g fits inside.
    """
    require(np.asarray(group) >= 2, "an all-to-all has at least two ranks")
    return plain(np.subtract(group, np.minimum(group, domain)) / np.subtract(group, 1.0))


def all_reduce_leaving_bytes(message_bytes: Array, group: Array, domain: Array) -> Array:
    """Bytes that each device sends out of its domain in a hierarchical all-reduce: 2 (k - 1)/k × M/d, k =
    g/d domains.

    `message_bytes` M per rank; `group` g and `domain` d devices, d dividing g. 0 when the group fits
    inside.
    """
    inside = np.minimum(group, domain)
    domains = np.divide(group, inside)
    return plain(2.0 * (domains - 1.0) / domains * message_bytes / inside)


def expert_exchange_time(
    bytes_per_device: Array,
    group: Array,
    domain: Array,
    scale_up_bandwidth: Array,
    scale_out_bandwidth: Array,
) -> Array:
    """Seconds of one expert all-to-all by bandwidth alone: the slower of what stays and what leaves, both
    at once.

    `bytes_per_device` is each device's send buffer; bandwidths in byte/s one way per device; group and
    domain as above.
    """
    leaving = all_to_all_leaving_share(group, domain)
    sent = np.multiply(bytes_per_device, np.subtract(group, 1.0)) / group
    return plain(
        np.maximum(sent * (1.0 - leaving) / scale_up_bandwidth, sent * leaving / scale_out_bandwidth)
    )


def largest_model(
    domain: Array, memory_bytes: Array, bytes_per_parameter: Array, usable: Array = 0.9
) -> Array:
    """Parameters whose state fits in one domain: d × memory × usable / bytes per parameter.

    `memory_bytes` per device; `usable` (0–1, an assumption) leaves room for activations and buffers.
    """
    return domain * memory_bytes * usable / bytes_per_parameter
