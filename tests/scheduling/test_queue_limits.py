"""The simulator where queueing theory is exact: M/M/c and M/G/1 of laws/queueing.py, Little's law, Schrage and Miller."""

import numpy as np
import pytest

from argosy.laws import queueing
from argosy.scheduling import CODE, PRESETS, Job, simulate, uniform
from argosy.scheduling.ranks import gittins_index


def poisson(luck, count: int, rate: float, durations) -> list[Job]:  # type: ignore[no-untyped-def]
    times = np.cumsum(luck.exponential(1 / rate, count))
    return [Job(str(i), float(t), float(d), 1) for i, (t, d) in enumerate(zip(times, durations, strict=True))]


def mean_waits(servers: int, rate: float, sizes, runs: int = 6, count: int = 3000, policy: str = "fifo"):  # type: ignore[no-untyped-def]
    """Mean wait of each run, without the first tenth."""
    waits = []
    for run in range(runs):
        luck = np.random.default_rng([run, 17])
        jobs = poisson(luck, count, rate, sizes(luck, count))
        outcome = simulate(uniform(1, servers), jobs, PRESETS[policy])
        waits.append(outcome.wait_s[count // 10 :].mean())
    return np.array(waits)


def agrees(waits: np.ndarray, exact: float) -> bool:
    """Within four standard errors of the runs."""
    return abs(waits.mean() - exact) < 4 * waits.std(ddof=1) / np.sqrt(len(waits))


@pytest.mark.parametrize(("servers", "load"), [(1, 0.6), (4, 0.7), (16, 0.8)])
def test_mean_wait_of_many_servers(servers, load):
    rate = load * servers
    waits = mean_waits(servers, rate, lambda luck, n: luck.exponential(1.0, n))
    exact = queueing.mean_wait(rate, 1.0, servers)
    assert agrees(waits, exact), (waits.mean(), exact)
    assert not agrees(waits, 3 * exact)


@pytest.mark.parametrize("spread", [0.0, 4.0])
def test_mean_wait_by_pollaczek_and_khinchine(spread):
    def sizes(luck, n):  # type: ignore[no-untyped-def]
        return np.ones(n) if spread == 0 else luck.gamma(1 / spread, spread, n)

    waits = mean_waits(1, 0.6, sizes)
    assert agrees(waits, queueing.mean_wait(0.6, 1.0, 1, 1.0, spread))


def test_waiting_is_never_longer_with_the_shortest_first():
    shortest = mean_waits(1, 0.8, lambda luck, n: luck.exponential(1.0, n), 3, 3000, "shortest-remaining")
    fifo = mean_waits(1, 0.8, lambda luck, n: luck.exponential(1.0, n), 3, 3000)
    assert (shortest < fifo).all()


def test_shortest_remaining_by_schrage_and_miller():
    """Mean time in an M/M/1 queue under shortest remaining processing time: Schrage and Miller 1966, integrated here."""
    load = 0.6
    x = np.linspace(1e-6, 30, 300_001)
    step = x[1] - x[0]
    density = np.exp(-x)
    below = load * (1 - np.exp(-x) * (1 + x))  # load of the jobs up to x
    second = load * (2 - np.exp(-x) * (x**2 + 2 * x + 2))
    wait = (second + load * x**2 * np.exp(-x)) / (2 * (1 - below) ** 2)
    inside = np.cumsum(1 / (1 - below)) * step
    exact = float(((wait + inside) * density).sum() * step)
    found = []
    for run in range(6):
        luck = np.random.default_rng([run, 18])
        jobs = poisson(luck, 3000, load, luck.exponential(1.0, 3000))
        outcome = simulate(uniform(1, 1), jobs, PRESETS["shortest-remaining"])
        found.append((outcome.end_s - [job.submit_s for job in jobs])[300:].mean())
    assert agrees(np.array(found), exact), (np.mean(found), exact)


def test_littles_law_of_the_queue():
    luck = np.random.default_rng(3)
    jobs = poisson(luck, 2000, 3.6, luck.exponential(1.0, 2000))
    outcome = simulate(uniform(1, 4), jobs, PRESETS["fifo"])
    log, waiting, area = outcome.log, 0, 0.0
    for row in range(len(log)):
        waiting += {CODE["queue"]: 1, CODE["start"]: -1}.get(int(log.event[row]), 0)
        area += waiting * (log.time_s[min(row + 1, len(log) - 1)] - log.time_s[row])
    rate = len(jobs) / outcome.horizon_s
    assert area / outcome.horizon_s == pytest.approx(queueing.in_system(rate, outcome.queued_s.mean()))


def test_gittins_index_of_known_distributions():
    assert gittins_index(np.full(10, 5.0), 2.0) == pytest.approx(
        1 / 3
    )  # all end at 5: 3 more seconds for one end
    sample = -10.0 * np.log1p(-np.arange(1, 10_000) / 10_000)
    for age in (0.0, sample[4000], sample[8000]):  # memoryless: the rate, at every age
        assert gittins_index(sample, age) == pytest.approx(0.1, rel=0.01)
        assert gittins_index(sample, age, np.array([age + 5.0])) == pytest.approx(0.1, rel=0.01)
    two = np.array([1.0, 1.0, 100.0])
    assert gittins_index(two, 0.0) == pytest.approx((2 / 3) / 1.0)
    assert gittins_index(two, 1.0) == pytest.approx(1 / 99)
    assert gittins_index(two, 100.0) == 0.0
