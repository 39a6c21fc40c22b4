"""Gradient buckets that are sent while the backward pass goes on: what stays exposed.

A bucket may go when its last layer's gradient is there and the link is free. The end of the last transfer
is max over i of (ready_i + Σ_{j ≥ i} d_j): whichever bucket starts the final busy period of the link
decides. Exact for one link that serves buckets in order and for computation that is not slowed by
communication; real kernels share the memory and slow each other.
"""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array, plain


def last_transfer_end(ready: Array, durations: Array) -> Array:
    """Seconds at which the last bucket is through; `ready` (..., n) when each may start, ascending,
    `durations` (..., n), in s.
    """
    remaining = np.cumsum(np.asarray(durations)[..., ::-1], axis=-1)[..., ::-1]
    return plain((np.asarray(ready) + remaining).max(axis=-1))


def exposed_communication(layer_times: Array, bucket_times: Array) -> Array:
    """Seconds of communication after the backward pass has ended.

    `layer_times` (..., n): backward seconds of the layers of each bucket, in the order of the backward
    pass; `bucket_times` (..., n): seconds of each bucket's collective. Limits: one bucket exposes all of
    its time; without computation everything is exposed.
    """
    ready = np.cumsum(layer_times, axis=-1)
    return plain(last_transfer_end(ready, bucket_times) - ready[..., -1])


def hidden_share(layer_times: Array, bucket_times: Array) -> Array:
    """Share (0–1) of the communication that the backward pass hides; arguments as in
    `exposed_communication`.
    """
    total = np.asarray(bucket_times).sum(axis=-1)
    return plain(1.0 - np.divide(exposed_communication(layer_times, bucket_times), total))
