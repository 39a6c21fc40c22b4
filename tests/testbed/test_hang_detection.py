"""When a hang is noticed: the manager's rule played beat by beat, beside the law of heartbeats; who is blamed by dumps."""

from __future__ import annotations

import json
import socket
import threading
from collections import Counter

import numpy as np
import pytest

from argosy.testbed.hang import plan, predict
from argosy.testbed.hang.experiment import comparisons
from argosy.testbed.hang.plan import BEAT_S, RANKS
from argosy.testbed.hang.watch import State, Watch

TICK_S = 0.001


def played(kind: str, rank: int, hung: float, phases: np.ndarray) -> tuple[str, tuple[int, ...], float]:
    """A job with steps of 0.07 s whose `rank` hangs at `hung`: the alarm, and how long it took."""
    state = State()
    due = phases.copy()
    for tick in range(10_000):
        now = tick * TICK_S
        for number in range(RANKS):
            if now >= due[number]:
                due[number] += BEAT_S
                if kind != "stopped" or number != rank or now < hung:
                    state.beat(number, int(min(now, hung) / 0.07), now)
        if (said := state.alarm(now)) is not None:
            return *said, now - hung
    raise AssertionError("no alarm")


@pytest.mark.parametrize("kind", list(plan.KINDS))
def test_alarms_come_when_the_law_says(kind: str) -> None:
    draw = np.random.default_rng(3)
    seconds = []
    for _ in range(60):
        # A rank that is stuck hangs at the end of a step; one that is stopped at any moment.
        hung = (
            float(draw.uniform(1.0, 2.0)) if kind == "stopped" else 0.07 * int(draw.integers(14, 28)) + 1e-6
        )
        rank = int(draw.integers(RANKS))
        alarm, silent, took = played(kind, rank, hung, draw.uniform(0, BEAT_S, RANKS))
        assert (alarm, silent) == (("silent", (rank,)) if kind == "stopped" else ("still", ()))
        seconds.append(took)
    low, high = predict.window(kind)
    assert low <= min(seconds) and max(seconds) <= high
    assert np.mean(seconds) == pytest.approx(predict.seconds(kind), abs=0.015)


def test_a_job_that_works_raises_no_alarm() -> None:
    state = State()
    for beat in range(100):
        for rank in range(RANKS):
            state.beat(rank, beat, beat * BEAT_S + rank * 0.01)
        assert state.alarm(beat * BEAT_S + 0.05) is None


def test_nothing_is_said_before_the_first_step() -> None:
    state = State()
    state.beat(0, 0, 0.0)
    assert state.alarm(50.0) is None
    for rank in range(RANKS):
        state.beat(rank, 0, 50.0)
    assert state.alarm(90.0) is None


def test_the_manager_takes_beats_of_its_attempt_and_asks_for_dumps() -> None:
    """Ranks are played by a thread: all beat, none makes a step after the first; old attempts are not listened to."""
    with Watch() as watch:
        lines = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(RANKS)]
        ended = threading.Event()

        def beat() -> None:
            while not ended.wait(BEAT_S / 2):
                for rank, line in enumerate(lines):
                    for attempt, steps in ((4, 900), (5, 1)):
                        told = {"attempt": attempt, "rank": rank, "steps": steps}
                        line.sendto(json.dumps(told).encode(), ("127.0.0.1", watch.port))

        def answer() -> None:
            for rank, line in enumerate(lines[:-1]):
                assert line.recv(100) == b"dump"
                told = {"attempt": 5, "rank": rank, "dumped": True}
                line.sendto(json.dumps(told).encode(), ("127.0.0.1", watch.port))

        threads = [threading.Thread(target=beat), threading.Thread(target=answer)]
        threads[0].start()
        try:
            alarm, silent, _ = watch.until_alarm(5, 20.0)
            threads[1].start()
            assert (alarm, silent) == ("still", ())
            assert watch.dumps(5, silent=(3,)) == (0, 1, 2)
        finally:
            ended.set()
            for thread in threads:
                thread.join()
            for line in lines:
                line.close()


def test_every_kind_is_planted_as_often_and_a_seed_gives_the_same() -> None:
    found = plan.plants(10, seed=4)
    assert found == plan.plants(10, seed=4) != plan.plants(10, seed=5)
    assert Counter(one.kind for one in found) == dict.fromkeys(plan.KINDS, 10)
    assert {one.rank for one in found} == set(range(RANKS))


def test_a_wrong_culprit_or_a_late_alarm_is_outside() -> None:
    good = [
        {
            "kind": kind,
            "rank": 2,
            "alarm": "silent" if kind == "stopped" else "still",
            "silent": [2] if kind == "stopped" else [],
            "seen_s": predict.seconds(kind),
            "blamed": [2],
        }
        for kind in plan.KINDS
    ]
    assert all(row["within"] for row in comparisons(good))
    wrong = [{**one, "blamed": [2, 3], "seen_s": one["seen_s"] + 0.2} for one in good]
    assert [row["within"] for row in comparisons(wrong)] == [True, False, False, False] * 3
