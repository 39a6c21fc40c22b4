"""The event engine against a walk in plain Python that shares nothing with it: second by second of a small fleet."""

import heapq

import numpy as np
import pytest

from argosy.reliability import CategoryRate, CheckpointCost, FailureRates, Hazards, Recovery, event_lives

HOUR, DAY = 3600.0, 86400.0
NODES, SPARES, WORK = 32, 3, 6 * DAY
TAU, PAUSE, PERSIST, DETECT, RESTART, REPAIR = 1500.0, 20.0, 400.0, 120.0, 400.0, 9 * HOUR
MEAN_LIFE = 32 * 5 * HOUR


def walked(shape: float, seed: int) -> tuple[float, int, float]:
    """(wall-clock seconds, failures, seconds waiting for a spare) of one life; all parts new at the start."""
    from math import gamma

    random = np.random.default_rng(seed)
    scale = MEAN_LIFE / gamma(1 + 1 / shape)

    def remaining(age: float) -> float:
        """A part's time to failure, given its age: by rejection, drawing whole lives until one outlasts the age."""
        while (life := scale * random.weibull(shape)) <= age:
            pass
        return life - age

    age = dict.fromkeys(range(NODES + SPARES), 0.0)
    working = {node: remaining(0.0) for node in range(NODES)}  # seconds of activity left to each node
    shelf, away = list(range(NODES, NODES + SPARES)), []
    wall = waited = done = safe = in_period = 0.0
    failures, phase, left = 0, "compute", 0.0
    writing: list[float] = []  # [seconds until it is safe, work that it holds]
    while True:
        step = min(TAU - in_period, WORK - done) if phase == "compute" else left
        node = min(working, key=working.__getitem__)
        step = min(step, working[node])
        if writing:
            step = min(step, writing[0])
        wall += step
        for other in working:
            working[other] -= step
            age[other] += step
        if writing:
            writing[0] -= step
        if phase == "compute":
            done += step
            in_period += step
        else:
            left -= step
        if writing and writing[0] <= 1e-9:
            safe, writing = writing[1], []
        if done >= WORK - 1e-6:
            return wall, failures, waited
        if working[node] <= 1e-9:
            failures += 1
            del working[node]
            age[node] = 0.0
            heapq.heappush(away, (wall + REPAIR, node))
            done, in_period, writing, phase, left = safe, 0.0, [], "detect", DETECT
        elif phase == "compute" and in_period >= TAU - 1e-9:
            phase, left = "save", PAUSE
        elif phase == "save" and left <= 1e-9:
            phase, in_period, writing = "compute", 0.0, [PERSIST, done]
        elif phase == "detect" and left <= 1e-9:
            while len(working) < NODES:
                while away and away[0][0] <= wall:
                    shelf.append(heapq.heappop(away)[1])
                if not shelf:
                    waited += away[0][0] - wall
                    wall = away[0][0]
                    continue
                taken = shelf.pop(0)
                working[taken] = remaining(age[taken])
            phase, left = "restart", RESTART
        elif phase == "restart" and left <= 1e-9:
            phase = "compute"


@pytest.mark.parametrize("shape", [0.7, 1.0, 2.0])
def test_event_engine_against_a_plain_walk(shape: float) -> None:
    rates = FailureRates("test", (CategoryRate("gpu", "gpu", "node", "node", float(NODES), 1.0 / MEAN_LIFE),))
    life = event_lives(
        WORK,
        NODES,
        rates,
        CheckpointCost(0.0, PAUSE, PERSIST, 0.0, 0.0),
        Recovery(DETECT, RESTART, "spare-swap", SPARES, REPAIR),
        interval_s=TAU,
        hazards=Hazards(shapes={"gpu": shape}, ages_s="new"),
        draws=2000,
    )
    walls, failures, waits = np.array([walked(shape, seed) for seed in range(150)]).T
    for ours, theirs in (
        (life.wall_s, walls),
        (life.failures["gpu"], failures),
        (life.seconds["spare_wait"], waits),
    ):
        noise = np.hypot(theirs.std() / np.sqrt(len(theirs)), ours.std() / np.sqrt(len(ours)))
        assert ours.mean() == pytest.approx(theirs.mean(), abs=4 * noise)
    assert life.wall_s.std() == pytest.approx(walls.std(), rel=0.35)
