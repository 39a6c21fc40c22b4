"""How a cluster decides: a policy is data, and the known schedulers are presets of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from math import inf

ORDERS = ("fifo", "priority", "fair-share", "shortest-remaining", "least-attained", "gittins", "deadline")
BACKFILLS = ("none", "skip", "easy", "conservative")
PREEMPTIONS = ("none", "priority", "order")
PLACEMENTS = ("first-fit", "pack", "spread", "fragmentation", "topology")
QUOTAS = ("none", "limit", "borrow")


@dataclass(frozen=True, slots=True)
class Policy:
    """Options of a scheduler; times in s.

    order: who is asked first. `fifo` by submission; `priority`, then submission; `fair-share` by dominant share ÷ weight of
    the tenant (DRF: Ghodsi et al., NSDI 2011); `shortest-remaining` by estimated work left; `least-attained` by accelerator-
    seconds used so far, in levels (Tiresias: Gu et al., NSDI 2019), first come first served within one; `gittins` by
    the Gittins index of those levels where the distribution of services is known; `deadline` by earliest deadline.

    backfill: what happens behind a job that does not fit. `none`: all wait; `skip`: others start where they can, no promise to
    the first; `easy`: the first has a reservation that no later job may delay (Lifka 1995); `conservative`: each of the
    first `depth` has one (Mu'alem and Feitelson 2001).
    """

    name: str
    order: str = "fifo"
    backfill: str = "none"
    depth: int = 100
    """Conservative backfill: how many waiting jobs hold reservations; those behind them wait."""
    gang: bool = True
    """All workers at once or none. False: workers take places one by one and hold them while the others wait."""
    hold_s: float = 600.0
    """Without gangs: an incomplete job gives its places back after so long, and asks again after the back-off (up to twice as
    long for one job as for another, so that those who blocked each other do not meet again)."""
    placement: str = "first-fit"
    preemption: str = "none"
    """`priority`: of lower-priority jobs; `order`: of jobs that the order ranks behind. Where tenants borrow, of their own."""
    grace_s: float = inf
    """A job that saves within this time may do so before it leaves; others lose what their last checkpoint lacks."""
    least_run_s: float = 0.0
    """No job is preempted before it has run so long."""
    quota: str = "none"
    """`limit`: no tenant above its own accelerators; `borrow`: beyond them while its cohort has unused ones (Kueue)."""
    reclaim: bool = False
    """A tenant within its quota may preempt jobs of those who borrow."""
    replace: bool = True
    """A node lost by a running gang is replaced by a free one, where its topology allows; else the gang is requeued."""
    detection_s: float = 0.0
    """From a node's failure to knowing it; the rest of the job holds its nodes meanwhile."""
    resize: bool = True
    """Elastic jobs shrink when others wait, and grow when none does."""
    defragment: bool = False
    """Running jobs migrate where that lets a waiting one start."""
    migrations: int = 16
    """The most jobs that are moved for one waiting job."""
    crash_limit: int = 5
    """A job that fails by itself so often is given up."""
    backoff_s: float = 10.0
    """A job that failed by itself waits so long, twice as long each time, up to `backoff_most_s` (Kubernetes' figures)."""
    backoff_most_s: float = 300.0
    thresholds_gpu_s: tuple[float, ...] = (3200.0, 3.2e4, 3.2e5, 3.2e6)
    """Levels of attained service in accelerator-seconds, rising."""
    services_gpu_s: tuple[float, ...] = ()
    """Gittins: the known services, a sample; empty: those of the very jobs."""


def faults(policy: Policy) -> list[str]:
    """What is wrong with a policy, one message per fault."""
    found = []
    for value, known, name in (
        (policy.order, ORDERS, "order"),
        (policy.backfill, BACKFILLS, "backfill"),
        (policy.preemption, PREEMPTIONS, "preemption"),
        (policy.placement, PLACEMENTS, "placement"),
        (policy.quota, QUOTAS, "quota"),
    ):
        if value not in known:
            found.append(f"{name} {value!r} is not known; write one of {', '.join(known)}")
    for name in ("depth", "migrations", "crash_limit"):
        if getattr(policy, name) < 1:
            found.append(f"{name} must be 1 or more")
    for name in ("hold_s", "grace_s", "least_run_s", "detection_s", "backoff_s", "backoff_most_s"):
        if not getattr(policy, name) >= 0:
            found.append(f"{name} must not be negative")
    if policy.backfill == "conservative" and (
        policy.preemption != "none" or policy.reclaim or policy.defragment
    ):
        found.append(
            "conservative backfill keeps promises: write preemption: none, without reclaim and defragment"
        )
    if not policy.gang and policy.backfill != "skip":
        found.append("without gangs workers start one by one: write backfill: skip")
    if policy.preemption == "order" and policy.order == "fair-share":
        found.append("fair-share ranks tenants, not jobs: write preemption: priority or none")
    if any(b <= a for a, b in zip((0.0, *policy.thresholds_gpu_s), policy.thresholds_gpu_s, strict=False)):
        found.append("thresholds_gpu_s must rise, from above 0")
    return found


_FIFO = Policy("fifo")
_EASY = replace(_FIFO, name="easy", backfill="easy")
PRESETS: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        _FIFO,
        _EASY,
        replace(_FIFO, name="conservative", backfill="conservative"),
        Policy("priority", order="priority", backfill="skip", preemption="priority"),
        Policy("fair-share", order="fair-share", backfill="skip"),
        Policy("shortest-remaining", order="shortest-remaining", backfill="skip", preemption="order"),
        Policy("tiresias", order="least-attained", backfill="skip", preemption="order", placement="pack"),
        Policy("gittins", order="gittins", backfill="skip", preemption="order", placement="pack"),
        Policy("fgd", backfill="skip", placement="fragmentation"),
        replace(_EASY, name="topology", placement="topology"),
        Policy(
            "kueue",
            order="priority",
            backfill="skip",
            placement="pack",
            preemption="priority",
            quota="borrow",
            reclaim=True,
        ),
        replace(_EASY, name="defragment", placement="pack", defragment=True),
        # The three paradigms. Batch: rigid shapes, reservations, a failed node sends the whole job back to the queue.
        replace(_EASY, name="hpc", placement="topology", replace=False, resize=False),
        # Orchestration: each worker on its own, tightest packing, no notice to leave.
        Policy(
            "wsc",
            order="priority",
            backfill="skip",
            gang=False,
            placement="pack",
            preemption="priority",
            grace_s=0.0,
        ),
        # Gangs with preemption after a checkpoint, replacement of lost nodes, quota with borrowing.
        Policy(
            "ml-fleet",
            order="priority",
            backfill="easy",
            placement="topology",
            preemption="priority",
            quota="borrow",
            reclaim=True,
        ),
    )
}


def preset(name: str) -> Policy:
    """The policy of that name. Raises KeyError with the near and the known names."""
    if name in PRESETS:
        return PRESETS[name]
    near = get_close_matches(name, PRESETS, 1)
    meant = f"; did you mean {near[0]}?" if near else ""
    raise KeyError(f"policy {name!r} is not known{meant} (known: {', '.join(PRESETS)})")
