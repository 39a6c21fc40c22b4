"""Feasible or not, what binds, and by how much: data, never an exception."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from argosy.planning.job import JobPlan, checkpoint_bytes
from argosy.reliability.checkpoints import retention_bytes
from argosy.training import Search

Status = Literal["feasible", "violates", "infeasible"]


@dataclass(frozen=True)
class Constraint:
    """One limit: its name, the share of it that is left (negative: exceeded), and what breaking it means."""

    name: str
    margin: float
    breaks: Status
    detail: str


@dataclass(frozen=True)
class Verdict:
    """`infeasible`: cannot run; `violates`: runs, but breaks a limit that the scenario sets; `feasible` otherwise.

    `binding` is the constraint with the least margin; `margin` the share of it that is left. Where only a limit told in words is
    broken, `binding` is what it says, without a margin.
    """

    status: Status
    binding: str | None
    margin: float | None
    reasons: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """With the contract's keys."""
        return {
            "status": self.status,
            "binding": self.binding,
            "margin": self.margin,
            "reasons": list(self.reasons),
        }


def memory_constraint(job: JobPlan) -> list[Constraint]:
    """Memory of every stage's layout against the accelerator's capacity."""
    limits = []
    for stage in job.stages:
        peak, capacity = float(stage.memory.peak_reserved[0]), stage.capacity_bytes
        name = (
            "memory per accelerator" if len(job.stages) == 1 else f"memory per accelerator in {stage.label}"
        )
        gib = f"{peak / 2**30:.1f} of {capacity / 2**30:.1f} GiB"
        detail = f"{job.training.name}: {gib} at the fullest rank"
        if not stage.fits:
            detail = (
                f"{job.training.name}: no layout fits; the one that needs least memory takes {gib}: use more accelerators, "
                "accelerators with more memory, a smaller model or narrower formats"
            )
        limits.append(Constraint(name, 1.0 - peak / capacity, "infeasible", detail))
    return limits


def power_constraints(facility: Mapping[str, Any]) -> list[Constraint]:
    """The site's envelope and the tightest level of the power tree, where the scenario gives them."""
    limits = []
    margin = facility.get("envelope_margin")
    if margin is not None:
        left = float(margin)
        detail = f"peak facility power leaves {left:.1%} of the envelope"
        if left < 0:
            detail = f"the facility's peak is {1.0 - left:.4g} times the envelope"
        limits.append(Constraint("power envelope of the site", left, "violates", detail))
    if facility.get("tree_limit") is not None:
        level, left = facility["tree_limit"]["level"], facility["tree_limit"]["margin"]
        told = [problem for problem in facility["problems"] if problem.startswith(f"{level}: ")]
        detail = (
            told[0]
            if told
            else f"power tree: the peak leaves {left:.1%} of what the {level} may carry for hours"
        )
        limits.append(Constraint(f"power tree: {level}", left, "violates", detail))
    return limits


def storage_constraint(job: JobPlan, capacity_bytes: float | None, keep: int | None) -> list[Constraint]:
    """Storage for the checkpoints kept (at least the last good one) and the one being written, where a capacity is given."""
    if capacity_bytes is None:
        return []
    copies = keep or 1
    needed = float(retention_bytes(checkpoint_bytes(job), copies))
    detail = f"{job.training.name}: {copies + 1} checkpoints take {needed / 1e12:.4g} of {capacity_bytes / 1e12:.4g} TB"
    return [Constraint("storage capacity", 1.0 - needed / capacity_bytes, "violates", detail)]


def judge(constraints: Sequence[Constraint], problems: Sequence[str], cautions: Sequence[str]) -> Verdict:
    """The verdict over all constraints; `problems` break the scenario's limits in words, `cautions` only inform."""
    broken = [limit for limit in constraints if limit.margin < 0]
    status: Status = "feasible"
    if any(limit.breaks == "infeasible" for limit in broken):
        status = "infeasible"
    elif broken or problems:
        status = "violates"
    tightest = min(constraints, key=lambda limit: limit.margin, default=None)
    reasons = list(dict.fromkeys([*(limit.detail for limit in broken), *problems, *cautions]))
    if problems and not broken:
        return Verdict(status, problems[0].partition("; ")[0], None, tuple(reasons))
    if tightest is None:
        return Verdict(status, None, None, tuple(reasons))
    if status == "feasible":
        reasons.insert(0, tightest.detail)
    return Verdict(status, tightest.name, tightest.margin, tuple(reasons))


def undividable(name: str, search: Search) -> Verdict:
    """Infeasible because no layout divides: what every layout breaks, else how many break what."""
    every = [f"{name}: every layout is out: {reason}" for reason in search.faults]
    ranked = sorted(search.excluded.items(), key=lambda item: -item[1])
    some = [f"{name}: layouts out: {count:,}: {reason}" for reason, count in ranked]
    none = [f"{name}: no layout with the given fields takes exactly this many accelerators"]
    return Verdict("infeasible", "layout", None, tuple(every or some or none))


def endless(name: str, notes: Sequence[str], shares: Mapping[str, float]) -> Verdict:
    """Infeasible because the job never finishes: what its time would go to instead, largest share first."""
    ranked = sorted(((share, state) for state, share in shares.items() if share > 0), reverse=True)
    spent = ", ".join(f"{state.replace('_', ' ')} {share:.0%}" for share, state in ranked[:3])
    where = f": its time would go to {spent}" if spent else ""
    reasons = (f"{name} never finishes{where}", *notes)
    return Verdict("infeasible", "failures and planned stops", None, reasons)
