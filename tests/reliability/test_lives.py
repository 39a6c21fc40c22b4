"""Monte Carlo lives against a job that is simulated event by event, in plain Python."""

import heapq

import numpy as np
import pytest

from argosy.reliability import (
    CategoryRate,
    CheckpointCost,
    FailureRates,
    Maintenance,
    Recovery,
    lives,
)
from argosy.reliability import renewal as module

HOUR, DAY = 3600.0, 86400.0


def simulated_wall(
    work: float, tau: float, write: float, recover: float, mtbf: float, spares: int, repair: float, seed: int
) -> float:
    """One life with an event queue: failures, repairs, checkpoints; wall-clock seconds until the work is
    done."""
    random = np.random.default_rng(seed)
    clock, saved, free = 0.0, 0.0, spares
    repairs: list[float] = []

    def pass_time(until: float) -> int:
        back = 0
        while repairs and repairs[0] <= until:
            heapq.heappop(repairs)
            back += 1
        return back

    recovering = False
    while True:
        fails_in = random.exponential(mtbf)
        start = clock + (recover if recovering else 0.0)
        done, at = saved, start
        finished = False
        while at < clock + fails_in:
            chunk = min(tau, work - done)
            if at + chunk > clock + fails_in:
                break
            at += chunk
            done += chunk
            if done >= work - 1e-9:
                finished = True
                break
            if at + write > clock + fails_in:
                break
            at += write
            saved = done
        if finished:
            return at
        clock += fails_in
        free += pass_time(clock)
        heapq.heappush(repairs, clock + repair)
        if free == 0:
            clock = repairs[0]
            free += pass_time(clock)
        free -= 1
        recovering = True


@pytest.mark.parametrize(("spares", "repair"), [(50, HOUR), (2, 5 * HOUR), (0, HOUR)])
def test_lives_against_an_event_simulation(spares: int, repair: float) -> None:
    work, tau, write, recover, mtbf = 6 * DAY, 1200.0, 45.0, 420.0, 3 * HOUR
    walls = np.array(
        [simulated_wall(work, tau, write, recover, mtbf, spares, repair, seed) for seed in range(600)]
    )
    fleet = FailureRates("test", (CategoryRate("gpu", "gpu", "gpu", "node", 1.0, 1 / mtbf),))
    life = lives(
        work,
        fleet,
        CheckpointCost(0.0, write, 0.0, 0.0, 0.0),
        Recovery(0.0, recover, "spare-swap", spares, repair),
        interval_s=tau,
        draws=6000,
    )
    error = np.hypot(walls.std() / np.sqrt(600), life.wall_s.std() / np.sqrt(6000))
    assert life.wall_s.mean() == pytest.approx(walls.mean(), abs=4 * error)
    assert np.quantile(life.wall_s, [0.1, 0.9]) == pytest.approx(np.quantile(walls, [0.1, 0.9]), rel=0.02)


def fleet(mtbf_s: float) -> FailureRates:
    return FailureRates("test", (CategoryRate("gpu", "gpu", "gpu", "node", 1.0, 1 / mtbf_s),))


def test_one_seed_one_answer() -> None:
    arguments = (
        DAY,
        fleet(HOUR),
        CheckpointCost(0.0, 5.0, 20.0, 0.1, 0.0),
        Recovery(60.0, 200.0, repair_s=0.0),
    )
    same = [lives(*arguments, draws=50, seed=9).wall_s for _ in range(2)]
    assert np.array_equal(*same)
    assert not np.array_equal(same[0], lives(*arguments, draws=50, seed=10).wall_s)


def test_every_argument_may_differ_by_draw() -> None:
    work = np.full(1000, 5 * DAY)
    write = np.where(np.arange(1000) < 500, 5.0, 300.0)
    life = lives(
        work,
        fleet(2 * HOUR),
        CheckpointCost(0.0, write, 0.0, 0.0, 0.0),
        Recovery(60.0, 200.0, repair_s=0.0),
        draws=1000,
    )
    assert life.ettr[:500].mean() > life.ettr[500:].mean() + 0.1


def test_very_many_failures_take_the_closed_form(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = (
        30 * DAY,
        fleet(HOUR),
        CheckpointCost(0.0, 5.0, 0.0, 0.0, 0.0),
        Recovery(60.0, 200.0, repair_s=0.0),
        Maintenance(1.0, 600.0),
    )
    drawn = lives(*arguments, draws=200)
    monkeypatch.setattr(module, "MOST_FAILURES", 10)
    mean = lives(*arguments, draws=200)
    assert mean.wall_s.std() == pytest.approx(0.0, abs=1e-6)
    assert mean.wall_s[0] == pytest.approx(mean.closed_form.wall_s(30 * DAY), rel=1e-12)
    assert mean.wall_s[0] == pytest.approx(drawn.wall_s.mean(), rel=3e-3)


def test_spread_between_lives_at_the_scale_of_llama3() -> None:
    # The standard deviation of goodput between runs of 54 days is about 0.006 there.
    rate = 16384 / (50_000 * HOUR)
    life = lives(
        54 * DAY * 0.87,
        fleet(1 / rate),
        CheckpointCost(0.0, 0.0, 0.0, 0.0, 0.0),
        Recovery(0.0, 600.0, repair_s=0.0),
        interval_s=1800.0,
        draws=2000,
    )
    assert life.ettr.mean() == pytest.approx(0.8714, abs=6e-4)
    assert life.ettr.std() == pytest.approx(0.006, rel=0.15)


@pytest.mark.parametrize("policy", ["restart", "spare-swap", "elastic", "replica"])
@pytest.mark.parametrize("node_share", [0.0, 1.0])
def test_edges_of_every_policy(policy: str, node_share: float) -> None:
    """No failure of one kind, no work, and hardly any: finite, in order, and without a warning."""
    fleet = FailureRates(
        "test",
        (
            CategoryRate("gpu", "gpu", "gpu", "node", 1.0, 1e-4 * node_share),
            CategoryRate("software-bug", "software", "job", "job", 1.0, 1e-4 * (1 - node_share)),
        ),
    )
    cost = CheckpointCost(0.0, 5.0, 50.0, 0.1, 50.0, "memory", 0.1)
    recovery = Recovery(60.0, 300.0, policy, 2, HOUR, replicas=8, pause_s=30.0)
    walls = [lives(work, fleet, cost, recovery, draws=3).wall_s for work in (0.0, 1.0, 1e6)]
    assert np.all(walls[0] == 0)
    assert np.all((walls[1] >= 1) & (walls[1] < 2))
    assert np.all((walls[2] > 1e6) & (walls[2] < 1.5e6))


def test_maintenance_that_fills_the_day_ends_all_work() -> None:
    arguments = (
        fleet(3 * HOUR),
        CheckpointCost(0.0, 5.0, 0.0, 0.0, 0.0),
        Recovery(60.0, 200.0, repair_s=0.0),
    )
    life = lives(1e6, *arguments, Maintenance(100.0, 1800.0), draws=2)
    assert np.all(np.isinf(life.wall_s))
    assert life.closed_form.shares["maintenance"] == 1.0
