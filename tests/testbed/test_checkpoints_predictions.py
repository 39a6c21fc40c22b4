"""What the law says of pauses and of lost work, beside jobs played second by second; the plan of kills."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from argosy.testbed.checkpoints import account, compare, plan, predict
from argosy.testbed.training.shape import Shape

SIZE, RANKS = 12_000_000, 2
STEP_S = 0.1
CASE = plan.Case("one", Shape(layers=2, hidden=32), 0.1, "async", 8, write_rate=24e6, copy_rate=240e6)
BASE = predict.Baseline(
    save_s=0.03,
    copy_s=0.002,
    stop_s=0.004,
    behind_s=0.04,
    write_share=0.96,
    copy_share=0.5,
    processor_s=1e-9,
    step_s={32: STEP_S},
)
COPY = SIZE / 240e6 / 0.5
WRITE = SIZE / 24e6 / 0.96


def test_an_asynchronous_save_stops_for_its_copy() -> None:
    found = predict.pause(CASE, RANKS, SIZE, BASE)
    assert found.pause_s == pytest.approx(COPY + BASE.stop_s)
    assert found.wait_s == 0.0
    assert found.persist_s == pytest.approx(WRITE + BASE.behind_s)
    assert found.period_s == pytest.approx(8 * STEP_S + COPY + BASE.stop_s)


def test_a_synchronous_one_for_copy_and_write() -> None:
    found = predict.pause(replace(CASE, mode="sync"), RANKS, SIZE, BASE)
    assert found.pause_s == pytest.approx(COPY + WRITE + BASE.copy_s + BASE.save_s)
    assert found.persist_s == 0.0


def test_too_short_an_interval_waits_for_the_write_before() -> None:
    found = predict.pause(replace(CASE, interval=3), RANKS, SIZE, BASE)
    until_safe = WRITE + BASE.behind_s
    assert found.wait_s == pytest.approx(until_safe - 3 * STEP_S)
    assert found.pause_s == pytest.approx(until_safe - 3 * STEP_S + COPY + BASE.stop_s)
    assert found.period_s == pytest.approx(until_safe + COPY + BASE.stop_s)


def test_every_rank_has_its_own_link() -> None:
    few, many = (predict.pause(CASE, ranks, SIZE, BASE) for ranks in (2, 8))
    assert few == many


RHYTHM = predict.Rhythm(compute_s=1.0, stop_s=0.25, persist_s=0.5)


def _played(up: float) -> tuple[int, float]:
    """Saves that count and seconds lost, by walking from save to save."""
    clock, count, since = 0.0, 0, 0.0
    while True:
        clock += RHYTHM.compute_s + RHYTHM.stop_s
        if clock + RHYTHM.persist_s > up:
            return count, up - since
        count, since = count + 1, clock


def test_lost_work_is_what_walking_from_save_to_save_loses() -> None:
    ups = np.random.default_rng(1).exponential(2.0, 500)
    kept, lost = zip(*(_played(float(up)) for up in ups), strict=True)
    assert predict.kept(RHYTHM, ups) == pytest.approx(kept)
    assert predict.lost(RHYTHM, ups) == pytest.approx(lost)


def test_the_laws_mean_is_that_of_many_kills() -> None:
    ups = np.random.default_rng(2).exponential(2.0, 20_000)
    lost = predict.lost(RHYTHM, ups)
    low, high = predict.spread(lost, quantile=4.0)
    assert low < predict.mean_lost(RHYTHM, 2.0) < high


def test_rare_kills_cost_half_a_period_and_the_write() -> None:
    assert predict.mean_lost(RHYTHM, 1e5) == pytest.approx(1.25 / 2 + 0.5, rel=1e-3)


def test_later_means_that_a_save_counts_later() -> None:
    up = [1.25 + 0.5 + 0.01]
    assert predict.lost(RHYTHM, up)[0] == pytest.approx(0.51)
    assert predict.lost(RHYTHM, up, later_s=0.02)[0] == pytest.approx(1.76)
    assert predict.lost(RHYTHM, [1.74], later_s=-0.02)[0] == pytest.approx(0.49)


def test_kills_are_the_same_for_a_seed_and_reach_every_point() -> None:
    found = plan.faults(12, 2, 4, seed=5)
    assert found == plan.faults(12, 2, 4, seed=5) != plan.faults(12, 2, 4, seed=6)
    assert sum(fault.point == "random" for fault in found) == 12
    for point in plan.POINTS:
        assert sum(fault.point == point for fault in found) == 2
    assert found[0].point == "committed"  # else there would be nothing to be killed at while it is loaded
    assert all(fault.rank == 0 for fault in found if plan.POINTS.get(fault.point) == "first")
    assert sum(fault.rank is None for fault in found) == 3


def test_random_kills_have_the_mean_that_was_asked_for() -> None:
    found = plan.faults(4000, 0, 4, seed=1, mtbf_s=2.0)
    assert np.mean([fault.after_s for fault in found]) == pytest.approx(2.0, rel=0.05)


def test_steps_at_the_usual_pace_stand_still_in_a_saves_stop() -> None:
    found = predict.steps_done(RHYTHM, [0.0, 0.55, 1.1, 1.25, 1.75, 6.25], interval=10)
    assert found == pytest.approx([0.0, 5.5, 10.0, 10.0, 15.0, 50.0])


def loss(up: float, late: float = 0.0) -> account.Loss:
    """What a kill after `up` seconds costs a job at its usual pace; `late`: one that was held up for so many seconds."""
    ran = up - late
    kept, lost = _played(ran)
    done = int(predict.steps_done(RHYTHM, [ran], plan.CRASH_INTERVAL)[0])
    steps = done - kept * plan.CRASH_INTERVAL
    return account.Loss(0, "random", up, kept, steps, lost + late, 2 * plan.CRASH_INTERVAL, 0, 1.0, done)


def test_kills_as_the_law_says_are_within_and_others_are_not() -> None:
    ups = [float(up) for up in np.random.default_rng(7).exponential(plan.MTBF_S, 40)]
    good = compare.lost_rows("async", [loss(up) for up in ups], RHYTHM)
    assert [row["within"] for row in good] == [True] * 5
    wrong = [replace(loss(up), seconds=loss(up).seconds + 0.5, kept_saves=9, steps=40) for up in ups]
    assert [row["within"] for row in compare.lost_rows("async", wrong, RHYTHM)] == [
        False,
        True,
        False,
        False,
        False,
    ]


def test_jobs_that_the_machine_held_up_are_not_held_against_the_law() -> None:
    ups = [float(up) for up in np.random.default_rng(7).exponential(plan.MTBF_S, 40)]
    held = [loss(3.0, late=0.9) for _ in range(10)]
    rows = compare.lost_rows("async", [*(loss(up) for up in ups), *held], RHYTHM)
    assert rows[1]["measured"] == 40 and all(row["within"] for row in rows)
    assert (
        len(compare.lost_rows("async", held, RHYTHM)) == 2
        and not compare.lost_rows("async", held, RHYTHM)[1]["within"]
    )
