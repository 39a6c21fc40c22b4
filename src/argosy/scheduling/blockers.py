"""Why is this job pending: what blocks it at one moment, and what would let it start. Read from the outcome, not the engine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from argosy.kernels import placement
from argosy.scheduling.jobs import SERVICE
from argosy.scheduling.life import Life
from argosy.scheduling.moment import Moment, first_wait, moment
from argosy.scheduling.outcome import CODE, STATUSES, Outcome
from argosy.scheduling.ranks import Ranks
from argosy.scheduling.shapes import Shape, shape_of

KINDS = (
    "cluster",
    "crash-loop",
    "quota",
    "gang-size",
    "fragmentation",
    "topology",
    "resources",
    "nodes",
    "priority",
    "order",
)
"""cluster: it can never run here; nodes: some are out of service; resources: processors or memory; order: others come first."""
NAMED = 3  # jobs named in one sentence


@dataclass(frozen=True, slots=True)
class Blocker:
    """One thing that keeps a job waiting, in words, and what would end that."""

    kind: str
    detail: str
    unblocked_by: str


def blockers(outcome: Outcome, job: str, at_s: float | None = None) -> list[Blocker]:
    """What blocks `job` at `at_s`; without it at the end where it still waits, else at the first moment at which it had to
    wait. Empty where it does not wait then. Raises KeyError for an unknown job."""
    names = [one.job for one in outcome.jobs]
    if job not in names:
        raise KeyError(f"no job {job!r}")
    number = names.index(job)
    status = STATUSES[int(outcome.status[number])]
    if status == "rejected":
        return [_rejected(outcome, number)]
    now = at_s
    if now is None:
        now = outcome.horizon_s if status == "pending" else first_wait(outcome, number)
    if now is None:
        return []
    state = moment(outcome, now)
    if number in state.delayed:
        return [_backing_off(outcome, number)]
    if number not in state.waiting:
        return []
    found = _by_quota(state, number) + _by_room(state, number)
    found = found + _by_turn(state, number) if found else _by_order(state, number)
    return [
        *found[:-1],
        replace(found[-1], unblocked_by=found[-1].unblocked_by + _in_fact(outcome, number, now)),
    ]


def _rejected(outcome: Outcome, number: int) -> Blocker:
    """Which single change of the request would let it run on the empty cluster: its quota, type, size, or topology."""
    job, cluster, policy = outcome.jobs[number], outcome.cluster, outcome.policy
    kinds = job.accelerator.replace("|", " or ") or "accelerators"
    asks = f"asks for {job.fraction or job.accelerators:g} {kinds}"
    asks += "" if job.topology == "any" else f" ({job.topology})"
    empty = moment(outcome, -1.0)
    idle = empty.freed([])

    def fits(**changes: object) -> bool:
        return empty.fits(shape_of(replace(job, **changes), cluster, 0, policy.gang), idle)  # type: ignore[arg-type]

    has = f"the cluster has {cluster.total:,} on {cluster.nodes:,} nodes of up to {cluster.largest_node}, empty or not"
    if fits():
        most = empty.quotas.most(job.tenant)
        return Blocker(
            "cluster",
            f"{asks}; tenant {job.tenant} may have {most:g} at most, borrowed ones included",
            "a larger quota, more that its cohort lends, or a smaller request",
        )
    known = job.accelerator.split("|") if job.accelerator else list(cluster.types)
    if not set(known) & set(cluster.types):
        there = ", ".join(name for name in cluster.types if name) or "accelerators whose type is not told"
        return Blocker("cluster", f"{asks}; the cluster has {there}", "a type that is there")
    if (job.cpus or job.memory_bytes) and fits(cpus=0.0, memory_bytes=0.0):
        return Blocker(
            "cluster", f"{asks}; no node has the processors or memory of its workers", "less of both"
        )
    if job.topology != "any" and fits(topology="any"):
        detail = f"{asks}; so many never stand within {_within(job.topology)}; {has}"
        return Blocker("cluster", detail, "a wider topology, or a smaller request")
    if job.worker and fits(worker=0):
        return Blocker("cluster", f"{asks}, {job.worker} on each node; {has}", "smaller workers")
    return Blocker("cluster", f"{asks}; {has}", "a smaller request")


def _backing_off(outcome: Outcome, number: int) -> Blocker:
    return Blocker(
        "crash-loop",
        f"failed by itself, or waited incomplete: out of the queue for a while (stops so far: {int(outcome.restarts[number])})",
        "the end of the back-off; a program that does not fail",
    )


def _by_quota(state: Moment, number: int) -> list[Blocker]:
    job, shape = state.outcome.jobs[number], state.shape(number)
    room = state.quotas.room(job.tenant)
    if shape.fewest <= room + 1e-9:
        return []
    quota = state.quotas.known[job.tenant]
    used = state.quotas.used.get(job.tenant, 0.0)
    own = [other for other in state.running if state.outcome.jobs[other].tenant == job.tenant]
    detail = f"tenant {job.tenant} uses {used:g} of its {quota.accelerators} accelerators; {max(room, 0):g} more may be taken, "
    detail += f"{shape.fewest:g} are needed"
    if state.quotas.rule == "borrow" and quota.cohort:
        detail += f" (cohort {quota.cohort} lends no more)"
    ways = f"{shape.fewest - room:g} more quota" + (f", or the end of {_named(state, own)}" if own else "")
    return [Blocker("quota", detail, ways)]


def _by_room(state: Moment, number: int) -> list[Blocker]:
    """That it does not fit now: for want of accelerators, of whole pieces, of a common group, of processors or memory."""
    job, shape = state.outcome.jobs[number], state.shape(number)
    avail = state.freed([])
    if state.fits(shape, avail):
        return []
    type_index = max(
        {int(option.request[placement.TYPE]) for option in shape.options},
        key=lambda at: int(avail[state.machine.types == at].sum()),
    )
    option = next(one for one in shape.options if int(one.request[placement.TYPE]) == type_index)
    mine = np.where(state.machine.types == type_index, avail, 0)
    total, size, need = int(mine.sum()), option.size, option.fewest
    pieces = int((mine // size).sum())
    name = state.outcome.cluster.types[type_index] or "accelerators"
    ways = _ways(state, number, shape)
    if total < need * size:
        kind, detail = "gang-size", f"needs {need * size} {name} at once; {total} are free"
    elif pieces < need:
        kind = "fragmentation"
        detail = f"{total} {name} are free, but in pieces: {pieces} of {need} workers of {size} fit on a node"
    elif shape.special and state.fits(replace_special(shape), avail):
        kind, detail = "resources", f"{need} workers of {size} {name} fit, their processors or memory do not"
    else:
        kind = "topology"
        most = placement.most(
            avail, state.machine.types, state.machine.groups, np.zeros(0, np.int64), option.request
        )
        detail = (
            f"{pieces} workers of {size} {name} fit, but within {_within(job.topology)} {int(most)} of {need}"
        )
        ways = f"topology any would start it now; {ways}"
    found = [Blocker(kind, detail, ways)]
    return found + _by_nodes(state, shape) + _by_priority(state, number, shape)


def replace_special(shape: Shape) -> Shape:
    """The same shape, without processors and memory."""
    return Shape(0, shape.options, shape.rows, shape.steps, 0.0, 0.0, shape.tenant, shape.fewest)


def _within(topology: str) -> str:
    return f"{topology.partition(':')[2]} leaves" if topology.startswith("leaves:") else f"one {topology}"


def _ways(state: Moment, number: int, shape: Shape) -> str:
    """The running jobs whose ends make room, those first that end first by estimate."""
    ending = sorted(
        (job for job in state.held if job != number), key=lambda job: (state.estimated_end(job), job)
    )
    low, high = 0, len(ending)
    if not state.fits(shape, state.freed(ending)):
        return "nothing that runs would leave enough room: nodes must come back first"
    while low < high:  # room only grows with the jobs that end
        middle = (low + high) // 2
        if state.fits(shape, state.freed(ending[:middle])):
            high = middle
        else:
            low = middle + 1
    needed = ending[:low]
    for job in list(needed[:-1]) if low <= 64 else []:  # those that do not matter are not named
        without = [one for one in needed if one != job]
        if state.fits(shape, state.freed(without)):
            needed = without
    last = max((state.estimated_end(job) for job in needed), default=state.now)
    when = f", by estimate at {last:.0f} s" if last < inf else ""
    return f"the end of {_named(state, needed)}{when}"


def _named(state: Moment, jobs: list[int]) -> str:
    names = [state.outcome.jobs[job].job for job in jobs]
    if len(names) <= NAMED:
        return " and ".join(names)
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"


def _count(number: int, name: str) -> str:
    return f"1 {name} is" if number == 1 else f"{number} {name}s are"


def _by_nodes(state: Moment, shape: Shape) -> list[Blocker]:
    out = np.flatnonzero(~state.machine.opened)
    if not len(out) or not state.fits(shape, state.freed([], nodes=True)):
        return []
    return [
        Blocker(
            "nodes",
            f"{_count(len(out), 'node')} out of service or drained, with {int(state.machine.idle[out].sum())} accelerators",
            "their return: it would fit on all nodes",
        )
    ]


def _by_priority(state: Moment, number: int, shape: Shape) -> list[Blocker]:
    """With preemption by priority: from which priority on it could evict enough."""
    jobs, policy = state.outcome.jobs, state.outcome.policy
    if policy.preemption != "priority":
        return []
    own = jobs[number].priority
    mine = [job for job in state.running if jobs[job].kind != SERVICE and job not in state.leaving]
    for above in sorted({jobs[job].priority for job in mine if jobs[job].priority >= own}):
        if state.fits(shape, state.freed([job for job in mine if jobs[job].priority <= above])):
            return [
                Blocker(
                    "priority",
                    f"its priority is {own}; enough of what runs has priority {own} or more, and is not evicted for it",
                    f"priority {above + 1}",
                )
            ]
    return []


def _ahead(state: Moment, number: int) -> list[int]:
    """Who waits before a job, in order; those apart whom their quota holds back, since nobody waits for them."""
    jobs = state.outcome.jobs
    services = [job.duration_s * (job.fraction or job.accelerators) for job in jobs]
    ranks = Ranks(state.outcome.policy, services)
    mine = (*_rank(state, ranks, number), number)
    rows = sorted((*_rank(state, ranks, job), job) for job in state.waiting if job != number)
    before = [int(row[-1]) for row in rows if row < mine]
    return [job for job in before if state.shape(job).fewest <= state.quotas.room(jobs[job].tenant) + 1e-9]


def _by_turn(state: Moment, number: int) -> list[Blocker]:
    """It does not fit now; beside that, whether what comes free is another's first."""
    ahead, policy = _ahead(state, number), state.outcome.policy
    if not ahead:
        return []
    first = state.outcome.jobs[ahead[0]].job
    detail = f"before it {_count(len(ahead), 'job')} waiting ({policy.order}), {first} first: "
    if policy.backfill == "none":
        return [Blocker("order", f"{detail}nobody passes the first", f"the start of {_named(state, ahead)}")]
    if policy.backfill == "skip":
        return [
            Blocker("order", f"{detail}what comes free is offered to them first", "enough for it beside them")
        ]
    return [
        Blocker(
            "order",
            f"{detail}what comes free is theirs first, and nobody may delay a reservation ({policy.backfill} backfill)",
            f"the start of {first}, or room that no reservation needs",
        )
    ]


def _by_order(state: Moment, number: int) -> list[Blocker]:
    """It would fit, and others come first: the rule of the queue holds it back."""
    outcome, policy = state.outcome, state.outcome.policy
    ahead = _ahead(state, number)
    if state.leaving:
        detail = f"it would fit, but {_named(state, sorted(state.leaving))} is leaving to make room for a job before it"
        return [Blocker("order", detail, "the start of that job")]
    if not ahead:
        return [Blocker("order", "it would fit; it is decided on at the next event", "the next event")]
    first = outcome.jobs[ahead[0]].job
    detail = (
        f"it would fit, but before it {_count(len(ahead), 'job')} waiting ({policy.order}), {first} first"
    )
    if policy.backfill == "none":
        return [Blocker("order", detail, f"the start of {_named(state, ahead)}, or backfill (easy, skip)")]
    return [
        Blocker(
            "order",
            f"{detail}: started now it could delay their reservation ({policy.backfill} backfill)",
            f"the start of {first}, or an estimate that is short enough (it is {outcome.jobs[number].estimate_s:.0f} s)",
        )
    ]


def _rank(state: Moment, ranks: Ranks, job: int) -> tuple[float, ...]:
    one = state.outcome.jobs[job]
    key = ranks.key(Life(job, one, state.shape(job)))
    return (state.quotas.share(one.tenant), *key) if ranks.order == "fair-share" else key


def _in_fact(outcome: Outcome, number: int, now: float) -> str:
    """What happened at the moment at which it did start."""
    log = outcome.log
    starts = np.flatnonzero((log.job == number) & (log.event == CODE["start"]) & (log.time_s >= now))
    if not len(starts):
        return ""
    time = log.time_s[starts[0]]
    before = np.flatnonzero(
        (log.time_s == time)
        & np.isin(log.event, [CODE[n] for n in ("finish", "preempt", "give-up", "shrink")])
    )
    ended = list(dict.fromkeys(outcome.jobs[int(log.job[row])].job for row in before if row < starts[0]))
    if not ended:
        return f" (in fact it started at {time:.0f} s)"
    more = f" and {len(ended) - NAMED} more" if len(ended) > NAMED else ""
    return f" (in fact it started at {time:.0f} s, when {', '.join(ended[:NAMED])}{more} gave places back)"
