"""Order of samples, failures, the books of samples and of time: from notes as ranks write them, without torch."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from argosy.testbed.policies import books, samples
from argosy.testbed.policies.books import Began
from argosy.testbed.policies.failures import ActiveClock, spaced, strikes
from argosy.testbed.policies.settings import ELASTIC, Order, Settings
from argosy.testbed.training.data import share

PER_STEP, EPOCH_STEPS = 6, 3
ORDER = Order(EPOCH_STEPS, PER_STEP, seed=5)


def fed(generation, step, ranks):
    """What `ranks` ranks note of a step before its gradients are added."""
    numbers = ORDER.numbers(step)
    return [
        {
            "what": "fed",
            "generation": generation,
            "step": step,
            "numbers": list(share(numbers, rank, ranks)),
            "host": rank,
        }
        for rank in range(ranks)
    ]


def commit(generation, step, ranks, end, by=None, loss=1.0):
    """What those note that changed their weights by it (`by`: how many did)."""
    one = {
        "what": "commit",
        "generation": generation,
        "step": step,
        "loss": loss,
        "ranks": ranks,
        "start": end - 1,
        "end": end,
    }
    return [{**one, "host": rank} for rank in range(ranks if by is None else by)]


def steps(generation, numbers, ranks, end):
    """Whole steps of a second each, the first ends at `end`."""
    return [
        note
        for place, step in enumerate(numbers)
        for note in (*fed(generation, step, ranks), *commit(generation, step, ranks, end + place))
    ]


def test_every_epoch_has_every_sample_once_in_another_order():
    first = [number for step in range(EPOCH_STEPS) for number in ORDER.numbers(step)]
    second = [number for step in range(EPOCH_STEPS, 2 * EPOCH_STEPS) for number in ORDER.numbers(step)]
    assert sorted(first) == sorted(second) == list(range(ORDER.samples))
    assert first != second
    assert Order(EPOCH_STEPS, PER_STEP, seed=5).numbers(4) == ORDER.numbers(4)
    assert Order(EPOCH_STEPS, PER_STEP, seed=6).numbers(4) != ORDER.numbers(4)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
def test_any_number_of_ranks_shares_a_step_out(ranks):
    taken = [number for rank in range(ranks) for number in share(ORDER.numbers(1), rank, ranks)]
    assert sorted(taken) == sorted(ORDER.numbers(1))


def test_an_undisturbed_run_is_exact():
    found = samples.account(steps(0, range(6), 4, 1.0), [(0, 0)], ORDER, 6)
    assert found["exact"]
    assert found["epochs"] == 2
    assert found["wasted"] == 0
    assert found["samples"] == 6 * PER_STEP
    assert found["by_ranks"] == {"4": 6}


def test_steps_that_a_checkpoint_undid_count_once():
    notes = [*steps(0, range(4), 4, 1.0), *fed(0, 4, 4)[:2], *steps(1, range(2, 6), 4, 9.0)]
    found = samples.account(notes, [(0, 0), (1, 2)], ORDER, 6)
    assert found["exact"]
    assert found["wasted"] == 2 * PER_STEP + len(fed(0, 4, 4)[0]["numbers"]) + len(fed(0, 4, 4)[1]["numbers"])


def test_a_step_that_only_one_survivor_ended_counts_with_the_dead_ranks_samples():
    notes = [*steps(0, range(2), 4, 1.0), *fed(0, 2, 4), *commit(0, 2, 4, 3.0, by=1)]
    found = samples.account([*notes, *steps(1, range(3, 6), 3, 5.0)], [(0, 0), (1, 3)], ORDER, 6)
    assert found["exact"]
    assert found["by_ranks"] == {"4": 3, "3": 3}


def test_falling_back_undoes_several_generations():
    notes = [*steps(0, range(2), 4, 1.0), *steps(1, range(2, 4), 3, 4.0), *steps(2, range(1, 6), 4, 9.0)]
    starts = [(0, 0), (1, 2), (2, 1)]
    assert samples.kept_until(starts) == {0: 1, 1: 1, 2: 1 << 62}
    assert samples.lineage(notes, starts) == {0: 0, 1: 2, 2: 2, 3: 2, 4: 2, 5: 2}
    assert samples.account(notes, starts, ORDER, 6)["exact"]


def test_faults_are_found():
    notes = steps(0, range(6), 4, 1.0)
    lost = [note for note in notes if not (note["what"] == "fed" and note["host"] == 1 and note["step"] == 2)]
    assert samples.account(lost, [(0, 0)], ORDER, 6)["missing"] > 0
    again = [*notes, fed(0, 3, 4)[0]]
    assert samples.account(again, [(0, 0)], ORDER, 6)["twice"] > 0
    other = [*notes, {**fed(0, 3, 4)[0], "numbers": [ORDER.numbers(5)[0]]}]
    found = samples.account(other, [(0, 0)], ORDER, 6)
    assert found["wrong"] == 1
    assert found["epochs"] == 1
    early = [note for note in notes if note["step"] < 5]
    assert not samples.account(early, [(0, 0)], ORDER, 6)["exact"]


def test_losses_are_those_that_count():
    notes = [
        *commit(0, 0, 4, 1.0, loss=3.0),
        *commit(0, 1, 4, 2.0, loss=9.0),
        *commit(1, 1, 4, 5.0, loss=2.0),
    ]
    assert samples.losses(notes, [(0, 0), (1, 1)], 3) == [3.0, 2.0, None]


def test_notes_cut_short_by_a_kill_are_left_out(tmp_path):
    whole = commit(0, 0, 1, 1.0)[0]
    (tmp_path / "rank-0-1.jsonl").write_bytes(json.dumps(whole).encode() + b'\n{"what": "com')
    assert samples.read_notes(tmp_path) == [whole]


def save(generation, step, start, end):
    return {"what": "save", "generation": generation, "step": step, "start": start, "end": end}


def test_the_ledger_of_a_restart():
    notes = [*steps(0, range(2), 4, 11.0), save(0, 2, 12.0, 12.5), *steps(0, [2], 4, 13.5)]
    notes += steps(1, range(2, 4), 4, 18.0)
    phases = [
        (10.0, "running"), (14.0, "detection"), (15.0, "spare_wait"), (15.5, "queue"), (16.0, "restart"),
        (17.0, "running"),
    ]  # fmt: skip
    begins = [Began(0, 10.0, 0, 4), Began(1, 17.0, 2, 4)]
    pieces = books.stretches(phases, begins, notes, 19.0, 4)
    found = books.book(pieces)
    expected = {
        "productive": 4.0, "checkpoint": 0.5, "rework": 1.5, "detection": 1.0, "spare_wait": 0.5, "queue": 0.5,
        "restart": 1.0, "degraded": 0.0, "maintenance": 0.0,
    }  # fmt: skip
    assert found == pytest.approx(expected)
    assert sum(found.values()) == pytest.approx(9.0)
    assert all(a[1] == b[0] for a, b in pairwise(pieces))


def test_the_ledger_of_an_elastic_job_splits_slower_steps():
    notes = [*steps(0, range(2), 4, 1.0), *fed(0, 2, 4), *steps(1, range(2, 4), 3, 5.0)]
    phases = [(0.0, "running"), (2.4, "detection"), (3.0, "restart"), (4.0, "running")]
    begins = [Began(0, 0.0, 0, 4), Began(1, 4.0, 2, 3)]
    found = books.book(books.stretches(phases, begins, notes, 6.0, 4))
    assert found["productive"] == pytest.approx(2.0 + 2.0 * 0.75)
    assert found["degraded"] == pytest.approx(0.5)
    assert found["rework"] == pytest.approx(0.4)


def test_nothing_saved_is_all_rework():
    begins = [Began(0, 0.0, 0, 4), Began(1, 5.0, 0, 4)]
    notes = [*steps(0, range(2), 4, 1.0), *steps(1, range(3), 4, 6.0)]
    phases = [(0.0, "running"), (3.0, "detection"), (4.0, "restart"), (5.0, "running")]
    found = books.book(books.stretches(phases, begins, notes, 8.0, 4))
    assert found["rework"] == pytest.approx(3.0)
    assert found["productive"] == pytest.approx(3.0)


def test_failures_are_exponential_seeded_and_of_every_place():
    found = strikes(2.0, 4, seed=1, most=20_000)
    gaps = np.diff([one.at_s for one in found])
    assert gaps.mean() == pytest.approx(2.0, rel=0.03)
    assert gaps.std() == pytest.approx(2.0, rel=0.05)
    assert np.bincount([one.slot for one in found]).min() > 4_700
    assert 0.48 < np.mean([one.kills == "rank" for one in found]) < 0.52
    assert strikes(2.0, 4, seed=1, most=10) == strikes(2.0, 4, seed=1, most=10)
    assert strikes(2.0, 4, seed=2, most=10) != strikes(2.0, 4, seed=1, most=10)
    assert strikes(0.0, 4, seed=1) == []


def test_failures_of_a_calibration_do_not_meet():
    found = spaced(3.0, 10, 4, seed=1)
    gaps = np.diff([one.at_s for one in found])
    assert gaps.min() > 2.0
    assert [one.kills for one in found[:4]] == ["rank", "host", "rank", "host"]


def test_the_active_clock_stands_while_a_job_waits():
    clock = ActiveClock()
    assert clock.when(1.0) is None
    clock.set(True, 100.0)
    assert clock.when(1.0) == 101.0
    clock.set(False, 100.4)
    assert clock.at(500.0) == pytest.approx(0.4)
    clock.set(True, 500.0)
    assert clock.when(1.0) == pytest.approx(500.6)
    assert clock.when(0.1) == pytest.approx(500.0)


def test_settings_travel_as_json():
    one = Settings(policy=ELASTIC, spares=0, mtbf_s=3.0)
    assert Settings.of(json.loads(json.dumps(one.to_dict()))) == one
    assert one.hosts == 4
    with pytest.raises(ValueError, match="write one of restart, spare-swap, elastic"):
        Settings(policy="hope")
