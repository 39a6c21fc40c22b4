"""What the simulation of an inference fleet is told and what it remembers: NumPy records, see `records` for the way.

Seconds and tokens throughout. A pool is a group of replicas alike: one pool serves whole requests; of two, the first does the
prompts and the second generates.
"""

from __future__ import annotations

import numpy as np

# States of a replica, and the first places in a pool's book of replica-seconds.
OFF, WARMING, UP, DRAINING, DOWN = range(5)
# What an UP or DRAINING replica does: nothing, a run of decode iterations alike, one iteration with prompt tokens in it.
IDLE, DECODING, STEPPING = range(3)
# How a request ended; UNFINISHED when the simulation stopped before it did.
UNFINISHED, DONE, SHED, FAILED, LATE = range(5)
# Routers.
ROUND_ROBIN, LEAST_WORK, POWER_OF_TWO, PREFIX_AWARE = range(4)
# Planned events.
STRIKE, UPGRADE = range(2)

# Places in a pool's book after the five states: seconds in which iterations run, by what they carry; tokens made and lost.
(
    PREFILL_S,
    DECODE_S,
    PROMPT_TOKENS,
    CACHED_TOKENS,
    OUTPUT_TOKENS,
    LOST_PROMPT,
    LOST_OUTPUT,
    KV_PEAK,
    KV_SECONDS,
    INSIDE_SECONDS,
    PREEMPTIONS,
    FAILURES,
    OUTSIDE_SECONDS,  # of requests that found no replica to take them, and wait at the client
    EVICTED_TOKENS,  # of prefixes that were at the replica, and had to make room
) = range(5, 19)
BOOK = 19

_F, _I = np.float64, np.int64


def _record(floats: str, integers: str) -> np.dtype:
    fields = [(name, _F) for name in floats.split()] + [(name, _I) for name in integers.split()]
    return np.dtype(fields, align=True)


REQUEST = _record(
    "arrival first finish home",
    "input output prefix priority stage prompt rest left cached replica next tries end order block first_block blocks",
)
"""A request. `prompt`: tokens to be seen before its next token (input, after a preemption with what was generated), `left`: those
not yet seen, `rest`: tokens to come after the one that the prompt gives; `next`: behind it in its list (-1: none); `home`: 0–1,
where its prefix lies in the pool; its prefix is `blocks` of `block` tokens, whose reuse distances begin at `first_block`."""

REPLICA = _record(
    "start step slope share kv pending claimed work since looked upgrade_s back_at",
    "pool state phase steps clock running prefilling waiting first_prefill last_prefill base upgrading admitted away"
    " unnoticed",
)
"""A replica. A stretch of `steps` decode iterations began at `start`, the i-th taking step + i · slope; a mixed iteration takes
`step`, of which `share` would be spent on decoding alone. `kv`: tokens that running sequences hold, `pending`: prompts being
seen, `claimed`: what both may come to hold. `clock` counts its decode iterations. `away`: taken for an upgrade and not yet back;
`unnoticed`: it failed and the router does not know yet, `back_at`: when it is repaired then."""

POOL = _record(
    "kv_capacity kv_per_sequence tokens_per_step slots expected_output inside inside_since upgrade_s",
    "first count initial least most chunk least_chunk max_batch evicts mixed prefill_only spares turn low_since_tick up"
    " to_upgrade together away",
)
"""A pool: its replicas are `count` from `first` on, `initial` of them up at the start and `least` to `most` wanted by the
autoscaler, which reckons with `slots` requests in each. `evicts`: admits by what is held now and preempts, else by what may be
held. Not `mixed`: prompts have iterations of their own, before all else. `to_upgrade`: its last replicas that a rolling upgrade
has not come to yet, `together` at a time; `away`: those that it has taken and that are not yet back."""

SETTINGS = _record(
    "retry_s timeout_s queue_limit transfer_s transfer_s_per_token tick_s target cold_s detection_s stay_s everywhere"
    " affinity_bound stop_s unnoticed_s",
    "router tries scales delay_ticks classes pools",
)
"""The fleet: the router, retries, shedding, the KV transfer between pools, the autoscaler (`scales`), the prefix cache.
`unnoticed_s`: after a failure, seconds in which the router still sends requests to the replica."""

PLANNED = _record("at lasts_s", "kind first last together")
"""A planned event: replicas `first` to `last` fail and take `lasts_s` to repair, or a rolling upgrade of this pool begins, in
which each is down for `lasts_s`, `together` at a time."""

SERIES = _record("at", "arrived inside up warming draining down")
"""A row of the time series of a pool, at a tick."""


def places(count: int) -> int:
    """Places of a tournament of `count` (≥ 1) entries: the power of two that holds them, 2 at least."""
    return max(2, 1 << (count - 1).bit_length())


def empty_world(
    settings: np.ndarray, pools: np.ndarray, requests: np.ndarray, planned: np.ndarray, marks: np.ndarray,
    reuse: np.ndarray, ticks: int,
) -> dict[str, np.ndarray]:  # fmt: skip
    """The arrays of one run; sets the replicas' pools and the places of their heaps. See `serving_views`.

    `marks`: times in order at which the books are copied; the run lasts until the last of them at least. `reuse`: distances of
    the requests' blocks (see `serving.traffic.Reuse`).
    """
    total = int(pools["count"].sum())
    pools["first"] = np.cumsum(pools["count"]) - pools["count"]
    replicas = np.zeros(total, REPLICA)
    replicas["pool"] = np.repeat(np.arange(len(pools)), pools["count"])
    room = pools["max_batch"][replicas["pool"]] + 1
    replicas["base"] = np.cumsum(room) - room
    replicas["first_prefill"] = replicas["last_prefill"] = -1
    size, classes = places(total), int(settings["classes"][0])
    delayed = len(requests) + int(pools["spares"].sum()) + 64
    return {
        "settings": settings, "pools": pools, "requests": requests, "planned": planned, "replicas": replicas,
        "due": np.full(int(room.sum()), np.inf), "due_request": np.zeros(int(room.sum()), np.int64),
        "next_at": np.full(size, np.inf), "next_winner": np.zeros(size, np.int64),
        "load": np.full((len(pools), size), np.inf), "load_winner": np.zeros((len(pools), size), np.int64),
        "queue_first": np.full((total, classes), -1, np.int64), "queue_last": np.full((total, classes), -1, np.int64),
        "delayed_at": np.zeros(delayed), "delayed_item": np.zeros(delayed, np.int64), "delayed_size": np.zeros(1, np.int64),
        "reuse": reuse, "marks": marks, "marked": np.zeros((len(marks) * len(pools), BOOK)),
        "book": np.zeros((len(pools), BOOK)), "series": np.zeros(ticks * len(pools), SERIES),
        "desired": np.zeros((len(pools), int(settings["delay_ticks"][0]) + 1), np.int64),
    }  # fmt: skip
