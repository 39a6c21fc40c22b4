"""The event engine against a SimPy model of the same system that shares no code with it: means of every state."""

import numpy as np
import pytest

pytest.importorskip("simpy")

from simpy_fleet import Life, Plant

from argosy.reliability import (
    CategoryRate,
    CheckpointCost,
    FailureRates,
    Gang,
    Hazards,
    Recovery,
    event_lives,
    shared_lives,
)

HOUR, DAY = 3600.0, 86400.0

PLANTS = {
    "synchronous": Plant(
        16, 16, 16 * 6 * HOUR, 8 * DAY, 1800.0, 60.0, detect_s=120.0, restart_s=480.0, repair_s=HOUR
    ),
    "asynchronous": Plant(
        16,
        16,
        16 * 4 * HOUR,
        8 * DAY,
        1500.0,
        10.0,
        600.0,
        0.2,
        120.0,
        480.0,
        HOUR,
        stops_per_s=1 / (8 * HOUR),
    ),
    "few spares, a queue": Plant(
        16, 2, 16 * 6 * HOUR, 8 * DAY, 1500.0, 10.0, 300.0, 0.1, 120.0, 480.0, 9 * HOUR, queue_s=300.0
    ),
    "infant mortality": Plant(
        16, 3, 16 * 12 * HOUR, 8 * DAY, 1500.0, 10.0, 300.0, 0.0, 120.0, 480.0, 6 * HOUR, shape=0.7
    ),
    "wear-out": Plant(
        16, 3, 16 * 6 * HOUR, 8 * DAY, 1500.0, 10.0, 300.0, 0.0, 120.0, 480.0, 6 * HOUR, shape=2.0
    ),
}


@pytest.mark.parametrize("name", PLANTS)
def test_event_engine_against_simpy(name: str) -> None:
    """Every state's mean, the wall clock and the failures within 4.5 standard errors of both samples."""
    plant = PLANTS[name]
    theirs = [Life(plant, seed).run() for seed in range(60)]
    assert all(sum(life.book.values()) == pytest.approx(life.env.now, rel=1e-9) for life in theirs)
    rates = [CategoryRate("gpu", "gpu", "node", "node", float(plant.nodes), 1.0 / plant.mean_life_s)]
    if plant.stops_per_s:
        rates.append(CategoryRate("software-bug", "software", "job", "job", 1.0, plant.stops_per_s))
    ours = event_lives(
        plant.work_s,
        plant.nodes,
        FailureRates("simpy", tuple(rates)),
        CheckpointCost(0.0, plant.pause_s, plant.persist_s, plant.interference, 0.0),
        Recovery(plant.detect_s, plant.restart_s, "restart", plant.spares, plant.repair_s, plant.queue_s),
        interval_s=plant.interval_s,
        hazards=Hazards({"gpu": plant.shape} if plant.shape != 1.0 else {}, "new"),
        draws=1000,
    )
    compared = {state: ours.seconds[state] for state in theirs[0].book} | {
        "wall": ours.wall_s,
        "failures": np.sum(list(ours.failures.values()), axis=0),
    }
    for state, mine in compared.items():
        other = np.array(
            [
                {**life.book, "wall": life.env.now, "failures": life.failures}.get(state, 0.0)
                for life in theirs
            ]
        )
        noise = np.hypot(other.std() / np.sqrt(len(other)), mine.std() / np.sqrt(len(mine)))
        assert mine.mean() == pytest.approx(other.mean(), abs=4.5 * noise + 1e-6 * plant.work_s), state


def test_two_jobs_on_one_pool_against_simpy() -> None:
    """Jobs of different sizes that take from three spares between them: wait, wall clock and failures of each."""
    plants = [
        Plant(
            16, 3, 16 * 5 * HOUR, 6 * DAY, 1500.0, 10.0, detect_s=120.0, restart_s=480.0, repair_s=8 * HOUR
        ),
        Plant(8, 0, 16 * 5 * HOUR, 6 * DAY, 2500.0, 10.0, detect_s=120.0, restart_s=480.0, repair_s=8 * HOUR),
    ]
    books = []
    for seed in range(80):
        first = Life(plants[0], seed)
        second = Life(plants[1], seed, first)
        first.env.run(first.start() & second.start())
        books.append([first, second])
    gangs = [
        Gang(
            plant.work_s,
            plant.nodes,
            CheckpointCost(0.0, plant.pause_s, 0.0, 0.0, 0.0),
            Recovery(plant.detect_s, plant.restart_s, "spare-swap", 3, plant.repair_s),
            interval_s=plant.interval_s,
        )
        for plant in plants
    ]
    rates = FailureRates(
        "simpy", (CategoryRate("gpu", "gpu", "node", "node", 24.0, 1.0 / plants[0].mean_life_s),)
    )
    lives = shared_lives(gangs, rates, 3, plants[0].repair_s, one_storage=False, draws=1000)
    for number, ours in enumerate(lives):
        theirs = [book[number] for book in books]
        for mine, other in (
            (ours.wall_s, [life.ended for life in theirs]),
            (ours.seconds["spare_wait"], [life.book["spare_wait"] for life in theirs]),
            (ours.failures["gpu"], [life.failures for life in theirs]),
        ):
            noise = np.hypot(np.std(other) / np.sqrt(len(other)), mine.std() / np.sqrt(len(mine)))
            assert mine.mean() == pytest.approx(np.mean(other), abs=4.5 * noise)
