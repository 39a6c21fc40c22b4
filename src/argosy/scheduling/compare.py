"""Policies side by side on the same jobs and the same failures, seed by seed: means with intervals, and paired differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from scipy.stats import t as student

from argosy.facts import FactError
from argosy.ledger import LedgerError
from argosy.scheduling.cluster import Cluster
from argosy.scheduling.jobs import Job
from argosy.scheduling.outages import Outages, Random
from argosy.scheduling.outcome import Outcome
from argosy.scheduling.policy import Policy
from argosy.scheduling.simulate import simulate
from argosy.scheduling.summary import by_size, whole

CONFIDENCE = 0.95
FIGURES = (
    "utilization", "allocation", "fragmentation", "goodput", "wait_p50_s", "wait_p90_s", "wait_p99_s", "mean_wait_s",
    "large_wait_p90_s", "preemptions", "restarts", "migrations", "lost_gpu_s", "held_gpu_s", "finished", "deadlines_missed",
)  # fmt: skip
"""What is compared. `large_wait_p90_s`: of the largest class of sizes that has jobs."""


@dataclass(frozen=True)
class Case:
    """What is scheduled: a cluster, the jobs of every seed, what happens to nodes. `horizon_s`: where the simulation stops, inf
    for when all is done."""

    cluster: Cluster
    jobs: Callable[[int], tuple[Job, ...]]
    failures: Outages | Random | None = None
    horizon_s: float = inf

    def played(self, policy: Policy, seed: int) -> Outcome:
        """One outcome. FactError with all that is wrong with jobs, cluster and policy."""
        try:
            return simulate(self.cluster, self.jobs(seed), policy, self.failures, seed, self.horizon_s)
        except ValueError as error:
            if isinstance(error, LedgerError):
                raise
            raise FactError(*str(error).splitlines()) from None


def figures(outcome: Outcome) -> dict[str, float]:
    """The compared figures of one outcome, by the names of FIGURES; NaN where there is none."""
    row, classes = whole(outcome), by_size(outcome)
    flat = {f"wait_{key}_s": value for key, value in row["wait_s"].items()}
    flat |= {name: row[name] for name in FIGURES if name in row}
    flat["fragmentation"] = outcome.totals["fragmentation"]
    flat["large_wait_p90_s"] = classes[-1]["wait_s"]["p90"] if classes else None
    flat["held_gpu_s"] = float(outcome.held_gpu_s.sum())
    return {name: np.nan if flat[name] is None else float(flat[name]) for name in FIGURES}


def compare(
    case: Case,
    policies: Sequence[Policy],
    seeds: Sequence[int],
    executor: Executor | None = None,
    tell: Callable[[str], None] = lambda message: None,
) -> dict[str, Any]:
    """Every policy on every seed: {seeds, confidence, policies: [{policy, figures, against_first}]}.

    A figure is {mean, low, high}: the mean over seeds and its 95 % interval by Student's t (null with one seed).
    `against_first` holds the differences from the first policy, paired by seed: the same jobs and failures, so that luck that
    strikes both is in neither. `executor` shares the simulations out.
    """
    pairs = [(policy, seed) for policy in policies for seed in seeds]

    def one(pair: tuple[Policy, int]) -> list[float]:
        tell(f"{pair[0].name}, seed {pair[1]}")
        return list(figures(case.played(*pair)).values())

    done = np.array(list((map if executor is None else executor.map)(one, pairs)))
    table = done.reshape(len(policies), len(seeds), len(FIGURES))
    return {
        "seeds": list(seeds),
        "confidence": CONFIDENCE,
        "policies": [
            {
                "policy": policy.name,
                "figures": _row(table[number]),
                "against_first": None if number == 0 else _row(table[number] - table[0]),
            }
            for number, policy in enumerate(policies)
        ],
    }


def _row(values: np.ndarray) -> dict[str, dict[str, float | None]]:
    return {name: interval(values[:, index]) for index, name in enumerate(FIGURES)}


def interval(values: np.ndarray) -> dict[str, float | None]:
    """Mean (n,) with its interval by Student's t; seeds without the figure are left out."""
    known = values[~np.isnan(values)]
    if not len(known):
        return {"mean": None, "low": None, "high": None}
    mean = float(known.mean())
    if len(known) < 2:
        return {"mean": mean, "low": None, "high": None}
    half = float(student.ppf(0.5 + CONFIDENCE / 2, len(known) - 1) * known.std(ddof=1) / np.sqrt(len(known)))
    return {"mean": mean, "low": mean - half, "high": mean + half}
