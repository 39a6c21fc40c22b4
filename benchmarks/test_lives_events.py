"""How fast node-level lives are simulated, beside SimPy: 16,384 parts of 50,000 h for 54 days, with spares and repair.

Run: `python -m pytest benchmarks/test_lives_events.py --benchmark-only -s`. The baseline is the SimPy model that is the engine's
oracle in the tests, one process for each node of eight parts; it is told how many times as many lives a second the engine makes
(`extra_info`, and printed). The nearest published simulator takes 0.21 s for such a life. Nothing is asserted in seconds.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("simpy")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "reliability"))

from simpy_fleet import Life, Plant

from argosy.reliability import CategoryRate, CheckpointCost, FailureRates, Hazards, Recovery, event_lives

HOUR, DAY = 3600.0, 86400.0
NODES, WORK, TAU, WRITE, RECOVER, SPARES, REPAIR = 2048, 54 * DAY * 0.84, 1800.0, 60.0, 600.0, 64, DAY
MTTF = 50_000 * HOUR / 8
RIVAL_S = 0.21
"""Seconds per life of the nearest published simulator (AIReSim) on two cores."""


def system(nodes: int, mttf_s: float) -> tuple:
    fleet = FailureRates("bench", (CategoryRate("gpu", "gpu", "node", "node", float(nodes), 1 / mttf_s),))
    cost = CheckpointCost(0.0, WRITE, 0.0, 0.0, 0.0)
    return WORK, nodes, fleet, cost, Recovery(0.0, RECOVER, "spare-swap", SPARES, REPAIR), None, TAU


@pytest.fixture(scope="module")
def simpy_life() -> tuple[float, np.ndarray]:
    """(seconds per life in SimPy, wall-clock times of its lives)."""
    plant = Plant(NODES, SPARES, MTTF, WORK, TAU, WRITE, restart_s=RECOVER, repair_s=REPAIR)
    began = time.perf_counter()
    walls = np.array([Life(plant, seed).run().env.now for seed in range(12)])
    return (time.perf_counter() - began) / len(walls), walls


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["memoryless", "weibull", "memoryless, a node for each part"])
def test_node_level_lives_per_second(benchmark, threads: int, kind: str, simpy_life) -> None:
    hazards = Hazards(shapes={"gpu": 0.8}) if kind == "weibull" else Hazards()
    given = system(16384, 50_000 * HOUR) if "part" in kind else system(NODES, MTTF)
    event_lives(*given, hazards, draws=2)  # compiled before the clock starts
    with ThreadPoolExecutor(threads) as pool:
        life = benchmark(event_lives, *given, hazards, draws=2000, executor=pool)
    own = benchmark.stats["mean"] / 2000
    told = {
        "lives_per_s": 1.0 / own,
        "times_simpy": simpy_life[0] / own,
        "times_0.21_s": RIVAL_S / own,
    }
    benchmark.extra_info |= told
    print(f"\n{kind}, {threads} thread(s): " + ", ".join(f"{k} {v:,.0f}" for k, v in told.items()))
    if kind == "memoryless":
        error = np.hypot(simpy_life[1].std() / np.sqrt(12), life.wall_s.std() / np.sqrt(2000))
        assert life.wall_s.mean() == pytest.approx(simpy_life[1].mean(), abs=4 * error)


def test_simpy_baseline(benchmark) -> None:
    plant = Plant(NODES, SPARES, MTTF, WORK, TAU, WRITE, restart_s=RECOVER, repair_s=REPAIR)
    benchmark.pedantic(lambda: Life(plant, 1).run(), rounds=3)
