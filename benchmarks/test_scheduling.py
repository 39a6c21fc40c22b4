"""How fast queues are played: 100,000 jobs on 2,048 nodes of 8, against the same rules in plain Python on a smaller instance.

Run: `python -m pytest benchmarks/test_scheduling.py --benchmark-only -s`. The aims: 10 s for FIFO and EASY, 60 s topology-aware,
on two cores. The baseline walks 3,000 jobs on 64 nodes (as many per node) at every event from scratch; its cost per job
grows with nodes and queue, so the ratio understates. Nothing is asserted in seconds.
"""

import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "scheduling"))

from plain_queue import Plain

from argosy.scheduling import Job, preset, simulate, uniform

JOBS, NODES = 100_000, 2048
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
SHARES = (0.35, 0.12, 0.1, 0.2, 0.08, 0.06, 0.04, 0.03, 0.015, 0.005)


def load(count: int, nodes: int, most: int) -> list[Job]:
    """Jobs that would fill the nodes once over while they arrive: sizes by SHARES, durations lognormal, estimates too long."""
    luck = np.random.default_rng(10)
    sizes = np.minimum(luck.choice(SIZES, count, p=SHARES), most)
    lasts = luck.lognormal(8.0, 1.3, count)
    times = np.sort(luck.uniform(0.0, float((sizes * lasts).sum()) / (nodes * 8), count))
    estimates = lasts * luck.uniform(1.0, 3.0, count)
    return [
        Job(str(i), float(t), float(d), int(n), walltime_s=float(e))
        for i, (t, d, n, e) in enumerate(zip(times, lasts, sizes, estimates, strict=True))
    ]


@pytest.fixture(scope="module")
def plain_s() -> float:
    """Seconds per job of the baseline."""
    jobs = [(j.submit_s, j.duration_s, j.accelerators, j.estimate_s, False) for j in load(3000, 64, 128)]
    started = time.process_time()
    Plain(64, 8, list(range(64)), jobs, True).run()
    return (time.process_time() - started) / len(jobs)


@pytest.mark.benchmark(group="scheduling")
@pytest.mark.parametrize("policy", ["fifo", "easy", "topology"])
def test_a_hundred_thousand_jobs(benchmark, plain_s, policy):
    cluster, jobs = uniform(NODES), load(JOBS, NODES, 4096)
    simulate(cluster, jobs[:300], preset(policy))  # what is compiled once is compiled now
    spent = []

    def play():  # type: ignore[no-untyped-def]
        started = time.process_time()
        outcome = simulate(cluster, jobs, preset(policy))
        spent.append(time.process_time() - started)
        return outcome

    outcome = benchmark.pedantic(play, rounds=1)
    assert outcome.totals["jobs"]["finished"] == JOBS
    per_job = min(spent) / JOBS
    benchmark.extra_info["jobs per second"] = round(1 / per_job)
    benchmark.extra_info["times as fast as plain Python, per job"] = round(plain_s / per_job)
    print(
        f"\n{policy}: {JOBS:,} jobs in {min(spent):.1f} s of processor time, {1 / per_job:,.0f} jobs/s, "
        f"{plain_s / per_job:,.0f} × plain Python on a 32nd of the nodes"
    )
    assert plain_s / per_job > 3
