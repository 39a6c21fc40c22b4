"""What ranks wrote, as history, lost work and samples; written here by a job that is played by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from argosy.testbed.checkpoints import account
from argosy.testbed.training.data import numbers_of_step, share

RANKS, BATCH, INTERVAL = 2, 8, 4
STEP_S, STOP_S, WRITE_S = 1.0, 0.5, 1.75


def loss(step: int) -> str:
    """A loss that depends on the step alone."""
    return (1 / (1 + step)).hex()


class Played:
    """Writes events of attempts, each of so many steps from a restored one on."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.kills: dict[int, tuple[str, float]] = {}

    def attempt(self, number: int, restored: int, done: int, whole: tuple[int, ...], up: float) -> None:
        """Steps one second long, a save every INTERVAL of them; those in `whole` were marked."""
        for rank in range(RANKS):
            clock = up
            self._tell(number, rank, "restored", steps=restored, passed=[], bytes=100, folder="x")
            self._tell(number, rank, "up", at=up - 0.1 * rank, steps=restored)
            for step in range(restored + 1, done + 1):
                numbers = share(numbers_of_step(step - 1, BATCH), rank, RANKS)
                begun, clock = clock, clock + STEP_S
                self._tell(
                    number,
                    rank,
                    "step",
                    steps=step,
                    begun=begun,
                    at=clock,
                    loss=loss(step),
                    samples=[numbers[0], numbers[-1] + 1],
                )
                if step % INTERVAL == 0:
                    begun, clock = clock, clock + STOP_S
                    self._tell(
                        number, rank, "saved", steps=step, begun=begun, waited=begun, copied=begun, at=clock
                    )
                    if step in whole and rank == 0:
                        self._tell(number, rank, "committed", steps=step, at=clock + WRITE_S)

    def killed(self, number: int, point: str, at: float) -> None:
        self.kills[number] = (point, at)

    def _tell(self, attempt: int, rank: int, event: str, **values: Any) -> None:
        self.events.append({"case": "killed", "event": event, "attempt": attempt, "rank": rank, **values})


@pytest.fixture
def played() -> Played:
    """Killed twice: in step 7 with the save of step 4 safe; then, with step 8's save in flight, in step 10."""
    found = Played()
    found.attempt(0, 0, 6, (4,), up=100.0)
    found.killed(0, "random", 106.9)  # 4 steps, a stop, 2.4 s more
    found.attempt(1, 4, 9, (), up=200.0)
    found.killed(1, "write", 205.75)
    found.attempt(2, 4, 12, (8, 12), up=300.0)
    return found


def test_lost_work_is_what_the_next_attempt_does_again(played: Played) -> None:
    lives = account.lives(played.events, played.kills)
    first, second = account.losses(lives, INTERVAL)
    assert (first.steps, first.kept_saves, first.point) == (2, 1, "random")
    assert first.seconds == pytest.approx(106.9 - 104.5)  # since the save's stop ended
    assert first.allowed == INTERVAL
    assert (second.steps, second.kept_saves) == (5, 0)
    assert second.seconds == pytest.approx(5.75)
    assert second.allowed == INTERVAL + 1  # and the step beside the save in flight
    assert second.back_s == pytest.approx(300 - 205.75)


def test_a_restore_from_too_far_back_costs_more_than_allowed(played: Played) -> None:
    wrong = Played()
    wrong.attempt(0, 0, 10, (4, 8), up=100.0)
    wrong.killed(0, "random", 111.5)
    wrong.attempt(1, 4, 12, (8, 12), up=200.0)
    (found,) = account.losses(account.lives(wrong.events, wrong.kills), INTERVAL)
    assert found.steps == 6 > found.allowed


def test_samples_of_the_history_are_used_once_and_lost_ones_counted(played: Played) -> None:
    found = account.samples(played.events, account.lives(played.events, played.kills), BATCH)
    assert found == account.Samples(used=12 * BATCH, missing=0, twice=0, again=(2 + 5) * BATCH)


def test_a_rank_that_skipped_samples_is_seen(played: Played) -> None:
    for event in played.events:
        if event["event"] == "step" and event["attempt"] == 2 and event["rank"] == 1 and event["steps"] == 6:
            event["samples"] = [0, 4]
    found = account.samples(played.events, account.lives(played.events, played.kills), BATCH)
    assert (found.missing, found.twice) == (4, 4)


def test_the_curve_is_that_of_the_history(played: Played) -> None:
    lives = account.lives(played.events, played.kills)
    wanted = {step: loss(step) for step in range(1, 13)}
    assert account.curve(played.events, lives) == wanted
    assert account.repeats_that_differ(played.events, wanted) == []
    played.events.append({**account.of(played.events, "step", steps=7)[0], "loss": (0.25).hex()})
    assert account.repeats_that_differ(played.events, wanted) == [7]


def test_going_back_behind_ones_own_restore_takes_the_earlier_attempts_steps_too() -> None:
    found = Played()
    found.attempt(0, 0, 9, (4, 8), up=100.0)
    found.killed(0, "random", 112.0)
    found.attempt(1, 8, 9, (), up=200.0)
    found.killed(1, "random", 201.5)
    found.attempt(2, 4, 12, (8, 12), up=300.0)  # the checkpoint of step 8 was spoilt meanwhile
    used = account.samples(found.events, account.lives(found.events, found.kills), BATCH)
    assert (used.used, used.missing, used.twice) == (12 * BATCH, 0, 0)
    assert used.again == (5 + 1) * BATCH


def test_pauses_writes_and_steps_of_a_calm_job() -> None:
    calm = Played()
    calm.attempt(0, 0, 16, (4, 8, 12, 16), up=0.0)
    found = account.saves(calm.events)
    assert (found.pause_s, found.wait_s, found.copy_s) == pytest.approx((STOP_S, 0.0, 0.0))
    assert found.persist_s == pytest.approx(WRITE_S)
    assert found.period_s == pytest.approx(INTERVAL * STEP_S + STOP_S)
    assert (found.quiet_s, found.busy_s) == pytest.approx((STEP_S, STEP_S))
    assert found.count == 3


def test_the_usual_step_stop_and_write_are_medians_over_attempts(played: Played) -> None:
    lives = account.lives(played.events, played.kills)
    assert account.usual(played.events, lives) == pytest.approx((STEP_S, STOP_S, WRITE_S))
    with pytest.raises(ValueError, match="no save"):
        account.usual(played.events, [replace(life, whole={}) for life in lives])


def test_one_save_is_no_measure() -> None:
    calm = Played()
    calm.attempt(0, 0, 5, (4,), up=0.0)
    with pytest.raises(ValueError, match="not enough"):
        account.saves(calm.events)


def test_events_are_read_as_they_come(tmp_path: Path) -> None:
    whole = {"case": "killed", "event": "up", "attempt": 0, "rank": 0, "at": 1.0}
    other = {**whole, "case": "calm"}
    path, line = tmp_path / "events-0.jsonl", json.dumps(whole)
    path.write_text("\n".join([line, json.dumps(other), line[:20]]))
    assert account.read_events(tmp_path, "killed") == [whole]
    follow = account.Follow(tmp_path)
    assert follow.more() == [whole, other]
    with path.open("a") as stream:
        stream.write(line[20:] + "\n")
    (tmp_path / "events-1.jsonl").write_text(line + "\n")
    assert follow.more() == [whole, whole]
    assert follow.more() == []
