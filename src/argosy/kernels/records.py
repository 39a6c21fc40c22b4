"""What the event engine is told and what it remembers: NumPy records, whose fields compiled code reads by name.

A record is a plain piece of memory: handing it to a helper costs nothing, and no references are counted. Seconds,
rates per second and shares throughout; `active` times run on a job's active clock, which stands still while the job
waits, queues or is maintained, because nothing fails then.
"""

from __future__ import annotations

import numpy as np

# States of a job, and places in its book of seconds, in the order of `reliability.STATES`; ENDED is no place.
PRODUCTIVE, CHECKPOINT, REWORK, DETECTION, RESTART, SPARE_WAIT, QUEUE, DEGRADED, MAINTENANCE, ENDED = range(
    10
)
BOOK = 9

# How a life ended.
FINISHED, CUT, GAVE_UP = range(3)

# Clocks of a job; the shocks follow from FIRST_SHOCK on, then the slowdowns, then two cohorts for each wearing category.
NODE_CLOCK, LEMON_CLOCK, JOB_CLOCK, FOLLOW_CLOCK, FIRST_SHOCK = range(5)
HEAP_CLOCK = -1

# Ages of a node that are not numbers yet: of a spare that has not worked, of a node that has worked from the start.
UNKNOWN, ORIGINAL = -1.0, -2.0

# Rows of the timeline: what a stretch of wall-clock time was, or (from EVENT on) a failure of that category.
EVENT = 100

TABLE_HAZARD = 14.0
"""Tables of stationary lifetimes reach to this cumulative hazard: one part in a million lives longer."""

_F, _I = np.float64, np.int64


def _record(floats: str, integers: str, *more: tuple[str, type, tuple[int, ...]]) -> np.dtype:
    fields = [(name, _F) for name in floats.split()] + [(name, _I) for name in integers.split()]
    return np.dtype([*fields, *more], align=True)


FLEET = _record(
    "node_rate usual lemon_share lemon_factor burst_share burst_delay_s repair_s misdiagnosed",
    "nodes spares silent evict_after repair_random crews rack_used rack_spares",
)
"""The nodes of all jobs together, what fails in them and how it is repaired; rates of one node of weight one.

A usual node has the weight `usual`, a lemon `usual` · `lemon_factor`. `rack_used` > 0: racks of so many working
nodes and `rack_spares` inside; the `spares` outside are whole racks then. `silent`: the category that corrupts unseen (-1: none).
`misdiagnosed`: share of lost nodes for which a healthy one is taken out first.
"""

JOB = _record(
    "work_s interval_s blocking_s persist_s interference storage_load loss_node loss_job loss_many kept detection_s"
    " restart_s queue_s pause_s maintenance_gap_s maintenance_s limit_s silent_latency_s job_rate",
    "fast shared storage_every tolerant copies replicas give_up_after first nodes heap_base replica_base",
)
"""One job: its work, its checkpoints, its recovery; its nodes are the slots from `first` on. See `reliability.events`.

`shared`: it writes to the storage of all such jobs, of which it would fill `storage_load`. Tolerant policies: `replicas`
groups of nodes, each there `copies` times; a group counts while one of its copies is whole.
"""

RUN = _record(
    "wall active next_at step speed pace due until since block persist held slow_until found_at next_maintenance waits_from",
    "state cause clock heap missing lost_now down saves writing corrupt loops refills culprit end follows",
    ("now", _F, (3,)), ("stored", _F, (3,)), ("near", _F, (3,)), ("pending", _F, (3,)), ("clean", _F, (3,)),
    ("book", _F, (BOOK,)),
)  # fmt: skip
"""The state of one job in one life.

`now`, `stored`, `near`, `pending`, `clean` are (productive, checkpoint, degraded) seconds that count so far: on this
timeline, in storage, in the fast tier, on the way to storage, and before silent corruption began.
"""

SLOT = _record("next_at", "node wearing")
"""A place in a job: its node (-1: none), and when and of what a worn part of it fails next."""

NODE = _record("entered", "slot lemon failed draws")
"""A node: where it works (-1: nowhere) and since when (active time), whether it is a lemon, how often it failed."""

CAUSE = _record("cumulative", "category")
WEAR = _record("shape scale age", "category stationary")
"""A wearing category: Weibull shape and scale (s); `age` of all nodes at the start, or `stationary` ones."""

SHOCK = _record("rate reach repair_s", "size domains category")
"""A shared cause: it strikes one of `domains` blocks of `size` neighbours, `rate` times a second in all of them together."""

SLOWDOWN = _record("rate lasts by", "exchange")
"""Episodes that take `by` of the speed for `lasts` seconds, `rate` times a second on a job with all of the nodes.

`exchange`: then the slow node is found and exchanged, in a planned stop.
"""

COHORT = _record("hazard drawn", "members")
"""Nodes of one job that have worked since the start, of one weight and one wearing category: they share an age."""

POOL = _record("", "repairs head free racks repair_luck rows")
"""The spares and the repair shop that all jobs share."""


def empty_world(
    fleet: np.ndarray,
    jobs: np.ndarray,
    wear: np.ndarray,
    tables: np.ndarray,
    node_causes: np.ndarray,
    job_causes: np.ndarray,
    shocks: np.ndarray,
    slowdowns: np.ndarray,
    given: np.ndarray,
    categories: int,
    rows: int,
) -> dict[str, np.ndarray]:
    """The arrays of lives of `jobs` on `fleet`; `rows` of timeline are kept (0 for none). Sets the jobs' places; see `views`."""
    many, working = len(jobs), int(fleet["nodes"][0])
    outside, kept = int(fleet["spares"][0]), len(wear)
    clocks = FIRST_SHOCK + len(shocks) + len(slowdowns) + 2 * kept
    groups = jobs["replicas"] * jobs["copies"]
    jobs["first"] = np.cumsum(jobs["nodes"]) - jobs["nodes"]
    jobs["replica_base"] = np.cumsum(groups) - groups
    used, inside = int(fleet["rack_used"][0]), int(fleet["rack_spares"][0])
    racks = -(-working // used) if used else 0
    total = working + (racks * inside if used else outside)
    room = 2 * jobs["nodes"] + total + 64
    jobs["heap_base"] = np.cumsum(room) - room

    def whole(*shape: int) -> np.ndarray:
        return np.zeros(shape, dtype=np.int64)

    return {
        "fleet": fleet, "pool": np.zeros(1, POOL), "jobs": jobs, "runs": np.zeros(many, RUN), "slots": np.zeros(working, SLOT),
        "nodes": np.zeros(total, NODE), "ages": np.zeros((kept, total)), "given": given,
        "wear": wear, "tables": tables, "cohorts": np.zeros((many, 2 * kept), COHORT), "node_causes": node_causes,
        "job_causes": job_causes, "shocks": shocks, "slowdowns": slowdowns, "slow_until": np.zeros((many, len(slowdowns))),
        "clocks": np.zeros((many, clocks)),
        "draws": whole(many, clocks + 1), "heap_at": np.zeros(int(room.sum())), "heap_slot": whole(int(room.sum())),
        "repair_at": np.zeros(2 * total + outside + 64), "repair_node": whole(2 * total + outside + 64),
        "crew_at": np.zeros(max(int(fleet["crews"][0]), 1)), "free": whole(total + 1), "shelf": whole(racks, used + inside + 1),
        "shelved": whole(racks), "epochs": whole(racks), "lemons": whole(total + 1),
        "refill_at": np.zeros(working + many), "refill_slot": whole(working + many), "missing": whole(working),
        "holes": whole(int(groups.sum())), "counts": whole(many, categories), "rows": np.zeros((rows, 3)),
    }  # fmt: skip
