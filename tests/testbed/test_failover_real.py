"""A real HAProxy before real replicas on the loopback: a kill, a drain, and nobody sees an error. Skips without haproxy."""

from __future__ import annotations

import time

import pytest

from argosy.testbed import hosts
from argosy.testbed.failover import disturbances, measured
from argosy.testbed.failover.measured import Answers
from argosy.testbed.failover.stage import Stage
from argosy.testbed.failover.trace import Checks, Fleet, Traffic

QUICK = Checks(0.2, 2, 1)


@pytest.fixture(autouse=True)
def real():
    if hosts.program("haproxy") is None:
        pytest.skip("haproxy is not installed")


def stage(policy="least-work", **more):
    return Stage(None, Fleet(replicas=3, slots=2, **more), policy, QUICK)


def test_nobody_sees_a_killed_replica():
    trace = Traffic(30.0, 0.05).draw(2.5, 1)
    with stage() as one:
        start = one.users(trace)
        time.sleep(max(0.0, start + 0.7 - time.monotonic()))
        event = disturbances._kill(one, 0)
        answers = Answers.of(one.answers(trace))
        passed = one.passed()
        books = [measured.book(one.book(number).read_text()) for number in range(3)]
        folder = one.folder
    again = [line for line in passed if line.retries]
    assert answers.errors == 0
    assert len(passed) == len(trace) == sum(len(book.served) for book in books)
    assert again and disturbances._strangers(again, answers, [event]) == 0
    assert not folder.exists()


def test_nobody_sees_an_upgrade(monkeypatch):
    monkeypatch.setattr(disturbances, "COLD_S", 0.1)
    trace = Traffic(30.0, 0.05).draw(2.5, 2)
    with stage() as one:
        start = one.users(trace)
        time.sleep(max(0.0, start + 0.5 - time.monotonic()))
        out, back = disturbances._upgrade(one, 1)
        answers = Answers.of(one.answers(trace))
        passed = one.passed()
        serving = [sum(line[f"r{number}"].up for number in (1, 2, 3)) for line in one.watch.seen]
    assert answers.errors == 0 and not any(line.retries for line in passed)
    assert set(answers.version) == {"1", "2"}
    assert out < back and min(serving) == 2


def test_who_finds_no_room_is_told_so():
    trace = Traffic(200.0, 0.05).draw(1.0, 3)
    with stage(waiting=0) as one:
        one.users(trace)
        answers = Answers.of(one.answers(trace))
    assert set(answers.status) == {200, 503}
