"""Feasible or not, what binds, and by how much: data, never an exception."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from argosy.planning.job import JobPlan

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

    `binding` is the constraint with the least margin; `margin` the share of it that is left.
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
    """The site's envelope, where the scenario gives one."""
    margin = facility.get("envelope_margin")
    if margin is None:
        return []
    left = float(margin)
    return [
        Constraint(
            "power envelope of the site",
            left,
            "violates",
            f"peak facility power leaves {left:.1%} of the envelope",
        )
    ]


def judge(constraints: Sequence[Constraint], problems: Sequence[str], cautions: Sequence[str]) -> Verdict:
    """The verdict over all constraints; `problems` break the scenario's limits in words, `cautions` only inform."""
    broken = [limit for limit in constraints if limit.margin < 0]
    status: Status = "feasible"
    if any(limit.breaks == "infeasible" for limit in broken):
        status = "infeasible"
    elif broken or problems:
        status = "violates"
    tightest = min(constraints, key=lambda limit: limit.margin, default=None)
    reasons = [limit.detail for limit in broken] + list(problems) + list(cautions)
    if tightest is None:
        return Verdict(status, None, None, tuple(reasons))
    if status == "feasible":
        reasons.insert(0, tightest.detail)
    return Verdict(status, tightest.name, tightest.margin, tuple(reasons))


def undividable(name: str, excluded: Mapping[str, int]) -> Verdict:
    """Infeasible because no layout divides: the reasons, most frequent first."""
    ranked = sorted(excluded.items(), key=lambda item: -item[1])
    reasons = tuple(f"{name}: {count:,} layouts are out: {reason}" for reason, count in ranked)
    return Verdict(
        "infeasible", "layout", None, reasons or (f"{name}: no layout takes exactly this many accelerators",)
    )


def endless(name: str, notes: Sequence[str], shares: Mapping[str, float]) -> Verdict:
    """Infeasible because the job never finishes: what its time would go to instead, largest share first."""
    ranked = sorted(((share, state) for state, share in shares.items() if share > 0), reverse=True)
    spent = ", ".join(f"{state.replace('_', ' ')} {share:.0%}" for share, state in ranked[:3])
    reasons = (f"{name} never finishes: its time would go to {spent}", *notes)
    return Verdict("infeasible", "failures and planned stops", None, reasons)
