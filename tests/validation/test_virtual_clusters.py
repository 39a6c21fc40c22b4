"""Helios' counts: what they say, the jobs that explain them, and that the page says what the data say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argosy.scheduling import Job, preset, simulate, uniform
from argosy.validation.virtual_clusters import (
    STEP_S,
    Series,
    queue_at,
    read_series,
    reconstructed,
    replayed,
    statistics,
)

REPOSITORY = Path(__file__).resolve().parents[2]


def series(running, pending, running_jobs, pending_jobs, total=16) -> Series:
    columns = (np.full(len(running), total), running, pending, running_jobs, pending_jobs)
    return Series("v", *(np.array(column, dtype=float) for column in columns))


def counted(jobs: tuple[Job, ...], starts: dict[str, float], steps: int) -> tuple[list[float], ...]:
    """Counts of jobs with known starts: an oracle that goes the other way."""
    rows = []
    for step in range(steps):
        now = step * STEP_S
        waiting = [job for job in jobs if job.submit_s <= now < starts[job.job]]
        running = [job for job in jobs if starts[job.job] <= now < starts[job.job] + job.duration_s]
        sizes = [sum(job.accelerators for job in some) for some in (running, waiting)]
        rows.append((*sizes, len(running), len(waiting)))
    return tuple(list(column) for column in zip(*rows, strict=True))


def test_statistics_of_a_small_series() -> None:
    found = statistics(series([8, 16, 16, 8], [0, 8, 4, 0], [1, 2, 2, 1], [0, 1, 1, 0]))
    assert found["used"] == 48 / 64
    assert found["queued_share"] == 0.5
    assert found["pending"] == 3.0
    assert found["size"] == 48 / 6
    assert found["free_while_queued"] == 0.0


def test_jobs_are_found_again_where_counts_tell_them_apart() -> None:
    jobs = tuple(
        Job(name, at * STEP_S, lasts * STEP_S, size)
        for name, at, lasts, size in (("a", 0, 6, 8), ("b", 1, 4, 4), ("c", 2, 5, 16), ("d", 9, 3, 2))
    )
    starts = {"a": 0.0, "b": STEP_S, "c": 6 * STEP_S, "d": 11 * STEP_S}
    found = reconstructed(series(*counted(jobs, starts, 16)))
    told = [(job.submit_s / STEP_S, job.duration_s / STEP_S, job.accelerators) for job in found]
    assert told == [(0, 6, 8), (1, 4, 4), (2, 5, 16), (9, 3, 2)]


def test_sizes_always_add_up_to_the_counts() -> None:
    luck = np.random.default_rng(3)
    running_jobs = luck.integers(1, 6, 50)
    running = running_jobs + luck.integers(0, 10, 50)
    pending_jobs = luck.integers(0, 3, 50)
    pending = pending_jobs * luck.integers(1, 9, 50)
    given = series(running, pending, running_jobs, pending_jobs, total=64)
    jobs = reconstructed(given)
    assert all(job.accelerators >= 1 and job.duration_s >= STEP_S for job in jobs)
    work = sum(job.accelerators * job.duration_s for job in jobs)
    assert work == pytest.approx(running.sum() * STEP_S)


def test_a_queue_over_time() -> None:
    jobs = [Job("a", 0.0, 100.0, 8), Job("b", 10.0, 10.0, 8), Job("c", 20.0, 10.0, 4)]
    played = simulate(uniform(1), jobs, preset("fifo"))
    assert queue_at(played, np.array([5.0, 15.0, 50.0, 105.0, 115.0])).tolist() == [0, 8, 12, 4, 0]


def test_the_page_says_what_the_data_say(shared_directory: Path) -> None:
    page = (REPOSITORY / "docs" / "scheduling-validation.md").read_text("utf-8")
    for each in read_series(shared_directory / "data" / "scheduling" / "earth_vc_10min_2020-05.csv"):
        seen = statistics(each)
        assert f"| {each.name} | {each.capacity} | {100 * seen['used']:.1f} % |" in page
        if each.name == "vcJLV":
            told = replayed(each, "easy")
            assert f"| {100 * told['queued_share']:.1f} % |" in page
            assert told["correlation"] > 0.9
