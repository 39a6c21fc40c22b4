"""What the event engine is told, and the names of the places where it keeps its state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

Floats = np.ndarray
Integers = np.ndarray

# Places in the book of seconds, in the order of `reliability.STATES`.
PRODUCTIVE, CHECKPOINT, REWORK, DETECTION, RESTART, SPARE_WAIT, QUEUE, DEGRADED, MAINTENANCE = range(9)

# Places in the floats of a life. The active clock stands still while the job waits, queues or is maintained.
WALL, ACTIVE, SINCE, BLOCK, PERSIST, HELD, SLOW_UNTIL, FOUND_AT, NEXT_MAINTENANCE = range(9)
FLOATS = 9

# Places in the integers of a life.
HEAP, REPAIRS, FREE_HEAD, FREE, REFILLS, MISSING, DOWN, SAVES, WRITING, CORRUPT, FOLLOWS, LOOPS, ROWS = range(
    13
)
INTEGERS = 13

# How a life ended.
FINISHED, CUT, GAVE_UP = range(3)

# Rows of the timeline: what a stretch of wall-clock time was, or (from EVENT on) a failure of that category.
EVENT = 100


class Job(NamedTuple):
    """One job: its work, its checkpoints, its recovery. Seconds and shares; see `reliability.events`."""

    work_s: float
    interval_s: float
    blocking_s: float
    persist_s: float
    interference: float
    fast: bool
    storage_every: int
    loss_node: float
    loss_job: float
    kept: float
    detection_s: float
    restart_s: float
    queue_s: float
    tolerant: bool
    replicas: int
    pause_s: float
    maintenance_gap_s: float
    maintenance_s: float
    limit_s: float
    give_up_after: int
    silent_latency_s: float


class Fleet(NamedTuple):
    """One fleet: its nodes, what fails in it and how it is repaired. Rates per second of the active clock.

    Memoryless categories of nodes are summed in `node_rate` (per node) and told apart by `node_cumulative` and
    `node_category`; Weibull categories have `shape` and `scale` (W,), ages from `ages` (W, nodes + spares), or, where
    that has no columns, from the quantiles `age_table` (W, T). Shocks strike blocks of `shock_size` (S,) nodes.
    """

    nodes: int
    spares: int
    node_rate: float
    node_cumulative: Floats
    node_category: Integers
    silent: int
    shape: Floats
    scale: Floats
    weibull_category: Integers
    ages: Floats
    age_table: Floats
    lemon_share: float
    lemon_factor: float
    evict_after: int
    job_rate: float
    job_cumulative: Floats
    job_category: Integers
    shock_size: Integers
    shock_rate: Floats
    shock_reach: Floats
    shock_category: Integers
    burst_share: float
    burst_delay_s: float
    slow_rate: float
    slow_s: float
    slow_by: float
    repair_s: float
    repair_random: bool
    crews: int


class Life(NamedTuple):
    """The state of one life: arrays that one pass of the engine writes and the next one overwrites.

    `now`, `stored`, `near`, `pending` are (productive, checkpoint, degraded) seconds that count so far: on this
    timeline, in storage, in the fast tier, and on the way to storage.
    """

    f: Floats
    i: Integers
    book: Floats
    counts: Integers
    now: Floats
    stored: Floats
    near: Floats
    pending: Floats
    clean: Floats
    draws: Integers
    clocks: Floats
    heap_at: Floats
    heap_slot: Integers
    next_at: Floats
    next_category: Integers
    node_in: Integers
    slot_of: Integers
    entered: Floats
    age: Floats
    weight: Floats
    failed: Integers
    repair_at: Floats
    repair_node: Integers
    crew_at: Floats
    crew_item: Integers
    free: Integers
    refill_at: Floats
    refill_slot: Integers
    missing: Integers
    holes: Integers
    rows: Floats


# Clocks of processes that belong to no node; shocks follow from FIRST_SHOCK on.
JOB_CLOCK, FOLLOW_CLOCK, SLOW_CLOCK, FIRST_SHOCK = range(4)


def empty_life(fleet: Fleet, job: Job, categories: int, rows: int) -> Life:
    """The arrays of a life of `job` on `fleet`; `rows` of timeline are kept (0 for none)."""
    total, shocks, weibull = fleet.nodes + fleet.spares, len(fleet.shock_rate), len(fleet.shape)
    floats, integers = np.zeros, np.zeros

    def whole(count: int) -> Integers:
        return integers(count, dtype=np.int64)

    room = 2 * fleet.nodes + fleet.spares + 64
    return Life(
        f=floats(FLOATS),
        i=whole(INTEGERS),
        book=floats(9),
        counts=whole(categories),
        now=floats(3),
        stored=floats(3),
        near=floats(3),
        pending=floats(3),
        clean=floats(3),
        draws=whole(total + FIRST_SHOCK + shocks + 4),
        clocks=floats(FIRST_SHOCK + shocks),
        heap_at=floats(room),
        heap_slot=whole(room),
        next_at=floats(fleet.nodes),
        next_category=whole(fleet.nodes),
        node_in=whole(fleet.nodes),
        slot_of=whole(total),
        entered=floats(total),
        age=floats((weibull, total)),
        weight=floats(total),
        failed=whole(total),
        repair_at=floats(total + 1),
        repair_node=whole(total + 1),
        crew_at=floats(max(fleet.crews, 1)),
        crew_item=whole(max(fleet.crews, 1)),
        free=whole(total + 1),
        refill_at=floats(fleet.nodes + 1),
        refill_slot=whole(fleet.nodes + 1),
        missing=whole(fleet.nodes + 1),
        holes=whole(max(job.replicas, 1)),
        rows=floats((rows, 3)),
    )
