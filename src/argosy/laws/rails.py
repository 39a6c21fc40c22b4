"""Which traffic stays on one rail: device i of every node plugs into rail i, and a parallel layout decides
who talks to whom.

Rank order: tensor parallelism fastest, then pipeline, then data parallelism; consecutive ranks fill a node.
Two devices share a rail when their ranks are equal modulo the devices per node. Verified against counting
all edges of all rings.
"""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array, plain, require


def ring_same_rail_share(size: Array, stride: Array, node_devices: Array) -> Array:
    """Share of a ring's edges (0–1) that join devices of one rail: ring of `size` ranks spaced by `stride`,
    closed.

    Of `size` edges all but one span `stride` ranks, and the closing one spans (size - 1) × stride.
    """
    require(np.asarray(size) >= 2, "a ring has at least two ranks")
    along = np.remainder(stride, node_devices) == 0
    closing = np.remainder(np.multiply(np.subtract(size, 1), stride), node_devices) == 0
    return plain((np.subtract(size, 1) * along + closing) / np.asarray(size, dtype=float))


def all_to_all_same_rail_share(size: Array, stride: Array, node_devices: Array) -> Array:
    """Share of the ordered pairs of an all-to-all (0–1) that lie on one rail.

    Every `node/gcd(stride, node)`-th position of the group shares a rail: with period c, size = q c + r, there
    are r rails of q + 1 members and c - r of q. Groups laid across nodes with stride 1 keep about 1/node.
    """
    require(np.asarray(size) >= 2, "an all-to-all has at least two ranks")
    period = np.floor_divide(node_devices, np.gcd(stride, node_devices))
    members, longer = np.divmod(size, period)
    pairs = longer * (members + 1) * members + (period - longer) * members * (members - 1)
    return plain(pairs / np.multiply(size, np.subtract(size, 1.0)))


def same_rail_share(
    tensor_parallel: Array,
    pipeline_parallel: Array,
    data_parallel: Array,
    node_devices: Array,
    pipeline_bytes: Array = 1.0,
    data_bytes: Array = 1.0,
) -> Array:
    """Share of pipeline and data-parallel bytes (0–1) that stay on one rail, rank order TP, PP, DP.

    `pipeline_bytes` and `data_bytes` weigh the two rings' edges (bytes per edge, any unit; equal by
    default); a dimension of size 1 sends nothing. 1 whenever tensor parallelism fills the node;
    tensor-parallel traffic itself stays inside the node and does not count.
    """
    sizes = (np.asarray(pipeline_parallel), np.asarray(data_parallel))
    strides = (np.asarray(tensor_parallel), np.multiply(tensor_parallel, pipeline_parallel))
    weights = [
        np.where(size > 1, weight, 0.0)
        for size, weight in zip(sizes, (pipeline_bytes, data_bytes), strict=True)
    ]
    require(weights[0] + weights[1] > 0, "neither pipeline nor data parallelism sends anything")
    shares = [
        ring_same_rail_share(np.maximum(size, 2), stride, node_devices)
        for size, stride in zip(sizes, strides, strict=True)
    ]
    return plain((weights[0] * shares[0] + weights[1] * shares[1]) / (weights[0] + weights[1]))
