"""Records of the replica kernel: requests, pools of replicas, and what the replicas of a pool have in common."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

AGGREGATED, PREFILL, DECODE = 0, 1, 2  # what a pool does
NOBODY = -1


class Requests(NamedTuple):
    """All requests of a simulation; arrays (n,). Times in s, lengths in tokens.

    Given: `ready` (when the replica may see it: arrival, arrival of its KV cache, retry), `input`, `cached` (prefix
    found in the cache), `output` (≥ 1), `priority` (0 first). Written: `first` and `finish` (NaN until then; a request
    that can never fit gets finish = inf), `produced`, `preempted` (times). The rest is the kernel's own.
    """

    ready: np.ndarray
    input: np.ndarray
    cached: np.ndarray
    output: np.ndarray
    priority: np.ndarray
    first: np.ndarray
    finish: np.ndarray
    produced: np.ndarray
    preempted: np.ndarray
    next: np.ndarray
    base: np.ndarray
    stamp: np.ndarray


class Pool(NamedTuple):
    """State of R replicas with room for M running sequences each and K priorities; arrays (R,) unless said.

    `clock` s; `ticks` decode iterations; `running`, `waiting` requests; `kv` tokens held; `context` sum of the running
    sequences' contexts; `outstanding` tokens still to be computed (prompt and output) of all requests on the replica;
    `part` the request whose prompt is being worked on (−1: none) and `done` its tokens; `busy` s; `area` integral of
    running over time; `steps` iterations; `prefilled`, `decoded` tokens. `keys`, `items` (R·M,) heaps of finishing
    ticks; `head`, `tail` (R, K) queues; `log` (≥ n,) requests that left, in order per call, `logged` (1,) how many.
    """

    clock: np.ndarray
    ticks: np.ndarray
    running: np.ndarray
    waiting: np.ndarray
    kv: np.ndarray
    context: np.ndarray
    outstanding: np.ndarray
    part: np.ndarray
    done: np.ndarray
    busy: np.ndarray
    area: np.ndarray
    steps: np.ndarray
    prefilled: np.ndarray
    decoded: np.ndarray
    peak_kv: np.ndarray
    keys: np.ndarray
    items: np.ndarray
    head: np.ndarray
    tail: np.ndarray
    log: np.ndarray
    logged: np.ndarray
    stamps: np.ndarray


class ReplicaSettings(NamedTuple):
    """What all replicas of a pool have in common.

    `capacity` KV tokens; `per_sequence` tokens' worth besides; `max_batch` sequences; `max_tokens` of an iteration;
    `mixed`: prompts and decodes share iterations; `reserve`: admission sets the whole output aside; `tokens_per_step`
    (speculation); `role`: AGGREGATED, PREFILL or DECODE.
    """

    capacity: float
    per_sequence: float
    max_batch: int
    max_tokens: int
    mixed: bool
    reserve: bool
    tokens_per_step: float
    role: int


def new_requests(
    ready: np.ndarray, input: np.ndarray, output: np.ndarray, cached: np.ndarray | None = None,
    priority: np.ndarray | None = None,
) -> Requests:  # fmt: skip
    """Requests that nobody has seen yet; arrays (n,)."""
    n = len(ready)
    whole = np.zeros(n, np.int64)
    return Requests(
        np.array(ready, float), np.array(input, np.int64), whole.copy() if cached is None else np.array(cached, np.int64),
        np.maximum(np.array(output, np.int64), 1), whole.copy() if priority is None else np.array(priority, np.int64),
        np.full(n, np.nan), np.full(n, np.nan), whole.copy(), whole.copy(), np.full(n, NOBODY), np.zeros(n), whole.copy(),
    )  # fmt: skip


def new_pool(replicas: int, settings: ReplicaSettings, log_size: int, priorities: int = 1) -> Pool:
    """Idle replicas at time 0; `log_size`: at least the number of times that requests can leave."""

    def f() -> np.ndarray:
        return np.zeros(replicas)

    def i() -> np.ndarray:
        return np.zeros(replicas, np.int64)

    room = replicas * settings.max_batch
    return Pool(
        f(), i(), i(), i(), f(), f(), f(), np.full(replicas, NOBODY), i(), f(), f(), i(), f(), f(), f(),
        np.zeros(room), np.zeros(room, np.int64), np.full((replicas, priorities), NOBODY),
        np.full((replicas, priorities), NOBODY), np.zeros(log_size, np.int64), np.zeros(1, np.int64), i(),
    )  # fmt: skip
