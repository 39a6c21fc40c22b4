"""What the simulator is asked, the rows of comparison, the wire; and a real small run where torch is."""

from __future__ import annotations

import socket
from importlib.util import find_spec

import numpy as np
import pytest

from argosy.testbed.policies import predict
from argosy.testbed.policies.failures import Strike
from argosy.testbed.policies.record import Run
from argosy.testbed.policies.rows import loss_rows, sample_rows
from argosy.testbed.policies.settings import ELASTIC, RESTART, SWAP, Order, Settings
from argosy.testbed.policies.told import away_s, start_up_s
from argosy.testbed.policies.wire import Line

TIMES = predict.Times(0.1, 0.06, 0.25, 0.1, 2.0, 0.5)


def job(policy, **changes):
    return Settings(policy=policy, steps=1000, mtbf_s=3.0, spares=0 if policy == ELASTIC else 1, **changes)


@pytest.mark.parametrize("policy", [RESTART, SWAP, ELASTIC])
def test_the_simulated_interval_holds_the_mean_and_nears_the_closed_form(policy):
    found = predict.summary(predict.lives(job(policy), TIMES, draws=400), 40)
    good = found["goodput"]
    assert good["low"] < good["p10"] < good["mean"] < good["p90"] < good["high"]
    assert found["closed_form"] == pytest.approx(
        good["mean"], rel=0.1
    )  # elastic: hosts that are away do not fail
    assert found["seconds"]["productive"]["mean"] == pytest.approx(100.0)
    alike = found["as_many_failures"]
    assert alike["high"] - alike["low"] < good["high"] - good["low"]
    assert sum(each["mean"] for each in found["seconds"].values()) == pytest.approx(found["wall_s"])


def test_what_takes_longer_costs_goodput():
    def mean(policy, times=TIMES, **changes):
        return predict.summary(predict.lives(job(policy, **changes), times, draws=400), 40)["goodput"]["mean"]

    slower = predict.Times(0.1, 0.06, 0.9, 0.1, 2.0, 1.5)
    for policy in (RESTART, SWAP, ELASTIC):
        assert mean(policy, slower) < mean(policy)
    assert mean(RESTART, queue_s=1.0) < mean(RESTART, queue_s=0.1)
    assert mean(RESTART, queue_s=0.5) < mean(SWAP)


def test_times_come_from_the_books_of_calibration_runs():
    book = {"detection": 1.0, "restart": 2.0, "rework": 0.5}
    found = {"book": book, "failures": 10, "detection_s": 0.25, "repair_s": 2.2}
    stopped = predict.times(RESTART, 0.1, 0.06, found)
    assert (stopped.step_s, stopped.blocking_s, stopped.restart_s) == pytest.approx((0.1, 0.06, 0.2))
    assert stopped.pause_s == 0.0
    assert predict.times(ELASTIC, 0.1, 0.06, found).pause_s == pytest.approx(0.35)


def test_an_elastic_book_in_the_simulators_terms_has_the_same_sum():
    book = {"productive": 9.0, "detection": 1.0, "restart": 2.0, "rework": 0.5}
    told = predict.as_told(book, ELASTIC)
    assert told == {"productive": 9.0, "detection": 0.0, "restart": 3.5, "rework": 0.0}
    assert predict.as_told(book, RESTART) == book


def test_losses_that_differ_are_told():
    same = [3.0, 2.0, 1.0]
    assert loss_rows("a", same, same, True)[0]["within"]
    assert not loss_rows("a", [3.0, 2.0, np.nextafter(1.0, 2.0)], same, True)[0]["within"]
    assert loss_rows("a", [3.0, 2.0, np.nextafter(1.0, 2.0)], same, False)[0]["within"]
    assert not loss_rows("a", [3.0, 2.0, 1.0001], same, False)[0]["within"]
    assert not loss_rows("a", [3.0, None, 1.0], same, False)[0]["within"]


def test_samples_that_are_missing_are_told():
    good = {"missing": 0, "twice": 0, "wrong": 0, "epochs": 2}
    assert all(row["within"] for row in sample_rows("a", good, 20, 10))
    assert not sample_rows("a", {**good, "twice": 1}, 20, 10)[0]["within"]
    assert not sample_rows("a", {**good, "epochs": 1}, 20, 10)[1]["within"]


def test_the_wire_hands_on_whole_messages():
    left, right = socket.socketpair(socket.AF_UNIX)
    line = Line.__new__(Line)
    line.connection, line.closed, line._rest = right, False, b""
    left.sendall(b'{"a": 1}\n{"b"')
    assert line.read() == [{"a": 1}]
    left.sendall(b": 2}\n")
    assert line.read() == [{"b": 2}]
    left.close()
    assert line.read() == []
    assert line.closed
    line.send(after="all")
    right.close()


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not here: pip install 'argosy[testbed]'")
@pytest.mark.parametrize("policy", [SWAP, ELASTIC])
def test_a_real_job_survives_a_real_kill(policy, tmp_path):
    from argosy.testbed.policies.controller import Controller
    from argosy.testbed.policies.machines import Machines
    from argosy.testbed.policies.told import tell

    one = Settings(
        policy=policy, spares=0 if policy == ELASTIC else 1, steps=40, epoch_steps=20, repair_s=0.5
    )
    with Machines(None, tmp_path) as machines:
        told = tell(Controller(machines, one, [Strike(1.0, 1, "rank")], tmp_path / "run", 60.0).go())
    assert told.samples["exact"]
    assert len(told.run.failures) == 1
    assert len(told.run.begins) >= 2
    assert sum(told.book.values()) == pytest.approx(told.wall_s)
    assert Order(20, 12).samples == 240


def test_start_up_is_counted_where_cables_were_in(tmp_path):
    run = Run(Settings(repair_s=2.0), tmp_path)
    run.failures = [{"at_s": 10.0, "kills": "rank"}, {"at_s": 20.0, "kills": "host"}]
    run.returns = [(1, 10.0, 12.25), (2, 20.0, 23.0)]
    assert start_up_s(run) == pytest.approx(0.25)
    assert away_s(run) == pytest.approx(2.625)


def test_an_elastic_host_is_back_when_it_is_at_work(tmp_path):
    run = Run(Settings(policy=ELASTIC, spares=0, repair_s=2.0), tmp_path)
    run.returns = [(1, 10.0, 12.25)]
    run.groups = [{"host": 1, "at_s": 5.0}, {"host": 1, "at_s": 12.5}, {"host": 1, "at_s": 20.0}]
    assert away_s(run) == pytest.approx(2.5)
