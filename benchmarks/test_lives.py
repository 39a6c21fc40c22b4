"""How fast lives are drawn: 16,384 parts of 50,000 h for 54 days, as in published simulators' own benchmark.

Run: `python -m pytest benchmarks/test_lives.py --benchmark-only`. Reported as lives per second
(`extra_info`), and as a ratio over a plain Python walk through the same failures; nothing is asserted in
seconds.
"""

import numpy as np
import pytest

from argosy.reliability import CategoryRate, CheckpointCost, FailureRates, Recovery, lives

HOUR, DAY = 3600.0, 86400.0
WORK, TAU, WRITE, RECOVER, MTBF = 54 * DAY * 0.84, 1800.0, 60.0, 600.0, 50_000 * HOUR / 16384


def walked(seed: int) -> float:
    """One life, failure by failure, in plain Python: wall-clock seconds."""
    random = np.random.default_rng(seed)
    clock = saved = recover = 0.0
    while True:
        gap = random.exponential(MTBF)
        up = gap - recover
        left = WORK - saved
        writes = np.ceil(left / TAU) - 1
        if up >= left + writes * WRITE:
            return clock + recover + left + writes * WRITE
        saved += max(0.0, np.floor(up / (TAU + WRITE))) * TAU
        clock += gap
        recover = RECOVER


@pytest.mark.parametrize("spares", [0, 64])
def test_lives_per_second(benchmark, spares: int) -> None:
    fleet = FailureRates("bench", (CategoryRate("gpu", "gpu", "gpu", "node", 1.0, 1 / MTBF),))
    repair = DAY if spares else 0.0
    arguments = (
        WORK,
        fleet,
        CheckpointCost(0.0, WRITE, 0.0, 0.0, 0.0),
        Recovery(0.0, RECOVER, "spare-swap", spares, repair),
    )
    life = benchmark(lives, *arguments, interval_s=TAU, draws=2000)
    benchmark.extra_info["lives_per_s"] = 2000 / benchmark.stats["mean"]
    if not spares:
        assert np.mean([walked(seed) for seed in range(200)]) == pytest.approx(life.wall_s.mean(), rel=5e-3)


def test_plain_python_baseline(benchmark) -> None:
    benchmark(lambda: [walked(seed) for seed in range(20)])
    benchmark.extra_info["lives_per_s"] = 20 / benchmark.stats["mean"]
