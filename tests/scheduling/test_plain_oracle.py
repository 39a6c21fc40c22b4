"""FIFO and EASY against plain Python that shares no code: the same starts, ends and nodes, exactly."""

import numpy as np
import pytest
from plain_queue import Plain

from argosy.scheduling import CODE, PRESETS, Job, simulate, uniform


def drawn(seed: int) -> tuple[int, int, int, list[tuple[float, float, int, float, bool]]]:
    luck = np.random.default_rng(seed)
    nodes, per_node, leaf = int(luck.integers(1, 9)), int(luck.choice([1, 2, 4, 8])), int(luck.integers(1, 4))
    count = int(luck.integers(1, 60))
    times = np.round(np.cumsum(luck.exponential(float(luck.choice([3.0, 30.0])), count)))
    rows = []
    for time in times:
        by_leaf = bool(luck.random() < 0.3)
        most = per_node * (min(leaf, nodes) if by_leaf else nodes)
        duration = float(luck.integers(1, 200))
        estimate = duration * float(luck.choice([0.5, 1.0, 1.0, 2.0, 5.0]))
        wanted = int(luck.integers(1, most + 1))
        rows.append((float(time), duration, wanted, estimate, by_leaf))
    return nodes, per_node, leaf, rows


def compare(seed: int, policy: str) -> None:
    nodes, per_node, leaf, rows = drawn(seed)
    cluster = uniform(nodes, per_node, nodes_per_leaf=leaf)
    jobs = [
        Job(str(i), submit, duration, n, walltime_s=estimate, topology="leaf" if by_leaf else "any")
        for i, (submit, duration, n, estimate, by_leaf) in enumerate(rows)
    ]
    outcome = simulate(cluster, jobs, PRESETS[policy])
    expected = Plain(nodes, per_node, cluster.leaf.tolist(), rows, policy == "easy").run()
    log = outcome.log
    places = {}
    for row in np.flatnonzero(log.event == CODE["start"]):
        at = slice(log.first[row], log.first[row] + log.size[row])
        places[int(log.job[row])] = dict(zip(log.node[at].tolist(), log.amount[at].tolist(), strict=True))
    for job, (start, end, nodes_used) in expected.items():
        assert outcome.start_s[job] == start, (seed, job)
        assert outcome.end_s[job] == pytest.approx(end, abs=1e-9), (seed, job)
        assert places[job] == nodes_used, (seed, job)


@pytest.mark.parametrize("policy", ["fifo", "easy"])
def test_same_schedule_as_plain_python(policy):
    for seed in range(150):
        compare(seed, policy)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["fifo", "easy"])
def test_same_schedule_as_plain_python_many_times(policy):
    for seed in range(150, 3000):
        compare(seed, policy)
