"""How fast node-level lives are simulated: 2,048 nodes, 16,384 parts of 50,000 h, 54 days, beside plain Python.

Run: `python -m pytest benchmarks/test_lives_events.py --benchmark-only`. The baseline walks through the same system in
plain Python, a heap of nodes, spares and checkpoints; its goodput must agree. Nothing is asserted in seconds.
"""

import heapq
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from argosy.reliability import CategoryRate, CheckpointCost, FailureRates, Hazards, Recovery, event_lives

HOUR, DAY = 3600.0, 86400.0
NODES, WORK, TAU, WRITE, RECOVER, MTTF = 2048, 54 * DAY * 0.84, 1800.0, 60.0, 600.0, 50_000 * HOUR / 8
SPARES, REPAIR = 64, DAY
FLEET = FailureRates("bench", (CategoryRate("gpu", "gpu", "node", "node", float(NODES), 1 / MTTF),))
SYSTEM = (
    WORK,
    NODES,
    FLEET,
    CheckpointCost(0.0, WRITE, 0.0, 0.0, 0.0),
    Recovery(0.0, RECOVER, "spare-swap", SPARES, REPAIR),
    None,
    TAU,
)


def walked(seed: int) -> float:
    """One life, node by node, in plain Python: wall-clock seconds."""
    random = np.random.default_rng(seed)
    fails = [(at, slot) for slot, at in enumerate(random.exponential(MTTF, NODES))]
    heapq.heapify(fails)
    repairs: list[float] = []
    wall = active = saved = 0.0
    free, recover = SPARES, 0.0
    while True:
        at, slot = heapq.heappop(fails)
        up = at - active - recover
        left = WORK - saved
        writes = np.ceil(left / TAU) - 1
        if up >= left + writes * WRITE:
            return wall + recover + left + writes * WRITE
        saved += max(0.0, np.floor(up / (TAU + WRITE))) * TAU
        wall += at - active
        active = at
        heapq.heappush(repairs, wall + REPAIR)
        while repairs and repairs[0] <= wall:
            heapq.heappop(repairs)
            free += 1
        if not free:
            wall = heapq.heappop(repairs)
            free += 1
        free -= 1
        heapq.heappush(fails, (active + random.exponential(MTTF), slot))
        recover = RECOVER


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["memoryless", "weibull"])
def test_node_level_lives_per_second(benchmark, threads: int, kind: str) -> None:
    hazards = Hazards(shapes={"gpu": 0.8}) if kind == "weibull" else Hazards()
    event_lives(*SYSTEM, hazards, draws=2)  # compiled before the clock starts
    with ThreadPoolExecutor(threads) as pool:
        life = benchmark(event_lives, *SYSTEM, hazards, draws=2000, executor=pool)
    benchmark.extra_info["lives_per_s"] = 2000 / benchmark.stats["mean"]
    if kind == "memoryless":
        walls = [walked(seed) for seed in range(40)]
        error = np.std(walls) / np.sqrt(40)
        assert life.wall_s.mean() == pytest.approx(np.mean(walls), abs=4 * error)


def test_plain_python_baseline(benchmark) -> None:
    benchmark(lambda: [walked(seed) for seed in range(5)])
    benchmark.extra_info["lives_per_s"] = 5 / benchmark.stats["mean"]
