"""Healthy jobs with traits that look like faults: nobody is blamed for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_traces import MS, batches, even, traces

from argosy.observe.diagnosis import diagnosed
from argosy.observe.records import RankTrace

BLAME = {"straggler-rank", "straggler-node", "slow-link", "throttling", "hardware-fault"}


def blamed(found: list[RankTrace]) -> list[str]:
    return [
        f"{each.id}: {each.title}"
        for each in diagnosed(batches(found)).findings
        if each.id in BLAME or each.culprit.rank is not None
    ]


def first_step_slow(rank: int, step: int, k: int) -> float:
    return even(rank, step, k) * (3.0 if step == 0 else 1.0)


def warm_up(rank: int, step: int, k: int) -> float:
    return even(rank, step, k) * (1.0 + 0.5 * 0.5**step)


def evaluation(rank: int, step: int, k: int) -> float:
    return even(rank, step, k) + (400.0 if step == 3 and k == 3 else 0.0)


def accumulation(rank: int, step: int, k: int) -> float:
    return even(rank, step, k) * (8.0 if k == 3 else 1.0)


def unlike_experts(rank: int, step: int, k: int) -> float:
    """Another rank has the most tokens each time."""
    return even(rank, step, k) * float(1 + 0.3 * np.random.default_rng((7, rank, step, k)).random())


def one_long_save(rank: int, step: int, k: int) -> float:
    """Rank 0 writes a checkpoint in one of the steps."""
    return even(rank, step, k) + (300.0 if rank == 0 and step == 0 and k == 0 else 0.0)


@pytest.mark.parametrize(
    "trait", [first_step_slow, warm_up, evaluation, accumulation, unlike_experts, one_long_save]
)
@pytest.mark.parametrize("steps", [2, 5])
def test_a_trait_of_healthy_jobs_blames_nobody(trait, steps: int) -> None:  # type: ignore[no-untyped-def]
    assert not blamed(traces(8, steps, trait, metadata=True))


def test_the_same_job_with_a_slow_rank_is_told() -> None:
    """The traits' test can fail: a rank that is slow in every step is blamed."""
    found = traces(
        8, 2, lambda rank, step, k: even(rank, step, k) * (1.3 if rank == 5 else 1.0), metadata=True
    )
    (finding,) = diagnosed(batches(found)).findings
    assert finding.id == "straggler-rank" and finding.culprit.rank == 5


@pytest.mark.parametrize("steps", [1, 2])
def test_a_marked_collection_is_no_slow_rank(steps: int) -> None:
    """A rank whose host collects garbage in every recorded step is told as that, not as a slow GPU."""
    job = traces(
        8, steps, lambda rank, step, k: even(rank, step, k) + (60.0 if rank == 2 and k == 1 else 0.0),
        metadata=True, activity="host",
    )  # fmt: skip
    begun = job[2].step_start_ns + 40 * MS
    marks = tuple(("garbage-collection", int(at), int(at) + 60 * MS, i) for i, at in enumerate(begun))
    job[2] = replace(job[2], marks=marks)
    assert {each.id for each in diagnosed(batches(job)).findings} <= {"gc-pause"}
