"""What a checkpoint costs: how long it stops the job, how long until it is safe, which failures undo it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.facts import FactError, Values
from argosy.laws import checkpoint as law

Array = Any  # float or numpy array (n,): one entry per draw
_LEAST_S = 1e-3  # draws and scenarios may say zero, but no checkpoint is free, nor do two coincide


@dataclass(frozen=True, slots=True)
class CheckpointCost:
    """Times of one checkpoint, in seconds, and the tiers that keep it.

    `blocking_s` stops the job; `persist_s` after that the copy is safe in the tier that counts; while it is
    written the job loses the fraction `interference` of its speed. With a fast tier (`fast` is memory or
    local), frequent checkpoints go there in `blocking_s`, and `loss_share` of the failures destroy it, so
    that the last copy in storage counts, which takes `persist_s` to be safe. Every `storage_every`-th copy goes there (None:
    as often as is best).
    """

    size_bytes: Array
    blocking_s: Array
    persist_s: Array
    interference: Array
    load_s: Array
    fast: str = ""
    loss_share: Array = 1.0
    storage_every: Array | None = None

    @property
    def overhead_s(self) -> Array:
        """Seconds by which one checkpoint to storage lengthens the run."""
        return self.blocking_s + self.interference * self.persist_s


def checkpoint_cost(
    values: Values,
    size_bytes: Array,
    accelerators: Array,
    nodes: Array,
    storage_bytes_per_s: Array,
    mode: str = "async",
    tiers: Sequence[str] = ("storage",),
    node_failure_share: Array = 1.0,
) -> CheckpointCost:
    """The cost of a sharded checkpoint of `size_bytes` (the whole job's unique state, written once).

    `accelerators`, `nodes`: that write their shards at the same time; `storage_bytes_per_s`: of the shared
    storage, write bandwidth, which the nodes' own links may undercut. `mode`: `sync` waits until the copy is
    safe; `async` copies to host memory, goes on computing, and writes behind. `tiers`: memory (a copy in a
    peer's memory), local (the node's own disk, lost with the node: `node_failure_share` of failures),
    storage.
    """
    write = law.transfer_time(size_bytes, _write_bandwidth(values, nodes, storage_bytes_per_s))
    copy = np.maximum(
        np.maximum(values["reliability.checkpoint.blocking"], _LEAST_S),
        law.transfer_time(size_bytes / accelerators, values["reliability.checkpoint.host_copy_bandwidth"]),
    )
    fast = next((tier for tier in tiers if tier in ("memory", "local")), "")
    loss_share = 1.0
    if fast and "storage" in tiers:
        loss_share = (
            values["reliability.checkpoint.memory_loss_share"] if fast == "memory" else node_failure_share
        )
    elif fast:
        raise FactError(f"checkpoint tiers {list(tiers)} keep nothing when {fast} is lost: add storage")
    if mode == "sync" and not fast:
        return CheckpointCost(size_bytes, copy + write, 0.0, 0.0, write)
    interference = values["reliability.checkpoint.interference"] if mode == "async" else 1.0
    return CheckpointCost(size_bytes, copy, write, interference, write, fast, loss_share)


def _write_bandwidth(values: Values, nodes: Array, storage_bytes_per_s: Array) -> Array:
    """Bytes per second that the writers reach together: the storage's, or what their own links carry."""
    return np.minimum(
        storage_bytes_per_s * values["reliability.checkpoint.storage_efficiency"],
        nodes * values["storage.SuperPOD.bandwidth_per_node"],
    )


@dataclass(frozen=True, slots=True)
class Cadence:
    """Seconds of compute between checkpoints, and every how many of them one goes to storage."""

    interval_s: Array
    storage_every: Array = 1.0
    limited_by_persist: Any = False

    @property
    def storage_interval_s(self) -> Array:
        """Seconds of compute between checkpoints that reach storage."""
        return self.interval_s * self.storage_every


def cadence(cost: CheckpointCost, mtbf_s: Array, interval_s: Array | None = None) -> Cadence:
    """The interval given, or the exact optimum (which Daly's formula approximates), never shorter than
    persisting takes.

    With a fast tier the interval is that of the fast tier, and storage is written at the best multiple of it.
    A job that never fails (`mtbf_s` = ∞) checkpoints once in a thousand years.
    """
    mtbf = np.minimum(mtbf_s, 3.2e10)
    if not cost.fast:
        best = law.optimal_interval(cost.overhead_s, mtbf) if interval_s is None else interval_s
        shortest = np.maximum(cost.persist_s * (1.0 - np.asarray(cost.interference)), _LEAST_S)
        return Cadence(np.maximum(best, shortest), 1.0, np.asarray(best < shortest)[()])
    fast = law.optimal_interval(cost.blocking_s, mtbf) if interval_s is None else interval_s
    fast = np.maximum(fast, _LEAST_S)
    with np.errstate(divide="ignore"):
        rare = np.minimum(np.divide(mtbf, cost.loss_share), 3.2e10)
    slow = np.maximum(
        law.optimal_interval(cost.interference * cost.persist_s, rare),
        cost.persist_s * (1.0 - np.asarray(cost.interference)),
    )
    every = np.round(slow / fast) if cost.storage_every is None else cost.storage_every
    return Cadence(fast, np.maximum(every, np.ceil(cost.persist_s / fast)).clip(1.0)[()])


def copies_to_keep(latency_s: Array, storage_interval_s: Array) -> Array:
    """Checkpoints to keep so that one is older than corruption that is found `latency_s` later; at least two.

    ⌈latency ÷ interval⌉ + 1: those saved while it was unseen, and the one before. `storage_interval_s`: wall-clock seconds
    between copies that reach storage.
    """
    return np.maximum(np.ceil(np.asarray(latency_s) / np.asarray(storage_interval_s)) + 1.0, 2.0)[()]


def retention_bytes(size_bytes: Array, copies: Array) -> Array:
    """Bytes of storage that keeping `copies` checkpoints of `size_bytes` takes, and the one that is being written."""
    return np.asarray(size_bytes) * (np.asarray(copies) + 1.0)
