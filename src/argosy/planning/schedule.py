"""`argosy schedule`: a queue played under policies, as the contract's JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import pairwise
from math import isinf
from typing import Any

from argosy import __version__
from argosy.facts import FactError, load_catalog
from argosy.facts.catalog import suggest
from argosy.planning.payload import plain
from argosy.planning.queue import Queue
from argosy.scheduling import PRESETS, STATUSES, Cluster, Outcome, Policy, blockers
from argosy.scheduling.compare import compare
from argosy.scheduling.holdings import by_leaf, holdings, occupancy, waiting_stretches
from argosy.scheduling.summary import (
    asked_share,
    by_size,
    by_tenant,
    job_rows,
    ledger_rows,
    recorded_rows,
    whole,
)

SCHEMA = "argosy.schedule/1"
MOST_STRETCHES = 20_000  # of a picture of nodes and jobs
MOMENTS = 24  # at which a job's blockers are looked at over all its waiting
MOST_NODES = 64  # of the same; beyond, a heat map by leaf


def schedule(
    queue: Queue,
    policy: str | None = None,
    against: Sequence[str] = (),
    seeds: int = 1,
    seed: int = 0,
    pictures: bool = False,
    tell: Callable[[str], None] = lambda message: None,
) -> dict[str, Any]:
    """The contract's payload of `argosy schedule`: the queue played under a policy, and what reports need beside it.

    `against`: policies to compare with it over `seeds` seeds from `seed` on; `pictures`: what they are drawn from.
    """
    chosen = queue.preset(policy)
    others = [queue.preset(name) for name in against if name != chosen.name]
    outcome = queue.case.played(chosen, seed)
    answer: dict[str, Any] = {
        **_envelope(),
        "name": queue.name,
        "policy": chosen.name,
        "seed": seed,
        "cluster": cluster_row(queue.case.cluster),
        "load": {**queue.load, "asked": asked_share(outcome)},
        "horizon_s": outcome.horizon_s,
        "jobs": job_rows(outcome),
        "totals": {**outcome.totals, **whole(outcome)},
        "by_size": by_size(outcome),
        "by_tenant": by_tenant(outcome),
        "ledger_gpu_s": ledger_rows(outcome),
        "total_gpu_s": outcome.ledger.amount,
        "recorded": recorded_rows(outcome, [queue.recorded.get(job.job) for job in outcome.jobs]),
        "notes": [*queue.notes, *_notes(outcome)],
    }
    if others or seeds > 1:
        answer["compare"] = compare(queue.case, [chosen, *others], range(seed, seed + seeds), None, tell)
        if seeds > 1 and queue.one_outcome:
            answer["notes"].append("a trace without failures has one outcome: seeds make no difference here")
    if pictures:
        answer["pictures"] = picture_data(outcome)
    return dict(plain(answer))


def why(queue: Queue, job: str, policy: str | None = None, seed: int = 0) -> dict[str, Any]:
    """The contract's payload of `--why JOB`: whether it is pending at the end, what blocked it now and before, and what would
    unblock it. FactError for an unknown job."""
    outcome = queue.case.played(queue.preset(policy), seed)
    names = [each.job for each in outcome.jobs]
    if job not in names:
        raise FactError(f"no job {job!r} in {queue.name}; {suggest(job, names)}")
    row = next(each for each in job_rows(outcome) if each["job"] == job)
    return dict(
        plain(
            {
                **_envelope(),
                "name": queue.name,
                "policy": outcome.policy.name,
                "life": row,
                **_why(outcome, job),
            }
        )
    )


def _why(outcome: Outcome, job: str) -> dict[str, Any]:
    """Whether it waits at the end, what blocks it then (or did when it first had to wait), and what blocked it over time."""
    number = next(index for index, each in enumerate(outcome.jobs) if each.job == job)
    return {
        "job": job,
        "pending": STATUSES[int(outcome.status[number])] == "pending",
        "waited_s": float(outcome.queued_s[number]),
        "blockers": [asdict(each) for each in blockers(outcome, job)],
        "history": _history(outcome, job, number),
    }


def _history(outcome: Outcome, job: str, number: int) -> list[dict[str, Any]]:
    """What blocked a job over its stretches in the queue: looked at in MOMENTS equal parts of all its waiting, neighbours
    with the same kinds of blockers as one row {from_s, to_s, kinds, detail}."""
    stretches = waiting_stretches(outcome, number)
    whole_s = sum(end - start for start, end in stretches)
    rows: list[dict[str, Any]] = []
    for start, end in stretches:
        parts = max(1, round(MOMENTS * (end - start) / whole_s))
        edges = [start + (end - start) * part / parts for part in range(parts + 1)]
        for low, high in pairwise(edges):
            found = blockers(outcome, job, (low + high) / 2)
            kinds = [each.kind for each in found] or ["not waiting"]
            if rows and rows[-1]["kinds"] == kinds and rows[-1]["to_s"] == low:
                rows[-1]["to_s"] = high
            else:
                detail = "; ".join(each.detail for each in found)
                rows.append({"from_s": low, "to_s": high, "kinds": kinds, "detail": detail})
    return rows


def policy_table() -> dict[str, Any]:
    """Every policy with its options: {policies: [{name, order, backfill, gang, ...}]}."""
    return {**_envelope(), "policies": [_options(policy) for policy in PRESETS.values()]}


def _options(policy: Policy) -> dict[str, Any]:
    """A policy's fields, null for what never ends."""
    fields = asdict(policy)
    return {
        key: None if isinstance(value, float) and isinf(value) else value for key, value in fields.items()
    }


def _envelope() -> dict[str, Any]:
    return {"schema": SCHEMA, "version": __version__, "facts_date": load_catalog().facts_date}


def cluster_row(cluster: Cluster) -> dict[str, Any]:
    """What a cluster is, in numbers."""
    return {
        "nodes": cluster.nodes,
        "accelerators": cluster.total,
        "types": [name for name in cluster.types if name],
        "nvlink_domains": int(cluster.domain.max()) + 1,
        "leaves": int(cluster.leaf.max()) + 1,
        "pods": int(cluster.pod.max()) + 1,
        "quotas": {each.tenant: each.accelerators for each in cluster.quotas},
    }


def picture_data(outcome: Outcome) -> dict[str, Any]:
    """What the pictures of `report.schedule_charts` are drawn from: occupancy over time, and nodes or leaves."""
    found = holdings(outcome)
    data: dict[str, Any] = {"occupancy": occupancy(outcome, found)}
    if outcome.cluster.nodes <= MOST_NODES and len(found.job) <= MOST_STRETCHES:
        names = [job.job for job in outcome.jobs]
        data["stretches"] = [
            {
                "job": names[job] if job >= 0 else None,
                "accelerators": 0 if job < 0 else outcome.jobs[job].accelerators,
                "node": int(node),
                "held": float(amount),
                "from_s": float(start),
                "to_s": float(end),
            }
            for job, node, amount, start, end in zip(
                found.job, found.node, found.amount, found.from_s, found.to_s, strict=True
            )
        ]
    else:
        data["leaves"] = by_leaf(outcome, found)
    return data


def _notes(outcome: Outcome) -> list[str]:
    """What a reader must know about this outcome."""
    notes = []
    row = whole(outcome)
    if row["rejected"]:
        notes.append(
            f"{row['rejected']:,} jobs can never run here: larger than the cluster, or of a type that it lacks"
        )
    if row["pending"]:
        notes.append(f"{row['pending']:,} jobs still wait at the end; their waits so far are counted")
    return notes
