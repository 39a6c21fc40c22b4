"""All experiments: what held, what gets a second chance, the pages."""

from __future__ import annotations

import json
import sys
import time

import pytest

from argosy.cli.main import run as argosy
from argosy.report.testbed.index import index, write_pages
from argosy.testbed import every
from argosy.testbed.comparison import answer, bounded, compared, counted
from argosy.testbed.experiments import ORDER
from argosy.testbed.hosts import TestbedError
from argosy.testbed.quiet import Quiet, quiet, worse


def given(seconds=1.0, samples=10, limit=1.0):
    """An answer: a time predicted as 1 s within 10 %, 10 samples, something that may take 2 s."""
    rows = [
        compared("time", 1.0, seconds, "s", 0.1),
        counted("samples", 10, samples),
        bounded("told", None, 2.0, limit, "s"),
        compared("not judged", 1.0, 9.0, "s", None),
    ]
    return {**answer(rows, ["a note"]), "version": "0", "schema": "argosy.testbed-planes/1"}


def names(rows):
    return [row["what"] for row in rows]


def test_an_answer_counts_what_it_judges():
    assert given()["summary"] == {"comparisons": 4, "judged": 3, "within_bar": 3}
    assert given(seconds=2.0, samples=9)["summary"]["within_bar"] == 1
    assert given(seconds=0.0)["comparisons"][0]["within"] is False


STILL, BUSY = Quiet(0.0001, 0.99), Quiet(0.02, 0.3)


def attempts(*given_):
    """Attempts at `planes` of (answer or reason, quietness)."""
    return [
        every.Attempt("planes", None, one, 1.0, how)
        if isinstance(one, str)
        else every.Attempt("planes", one, None, 1.0, how)
        for one, how in given_
    ]


@pytest.mark.parametrize(
    ("tries", "faults", "busy"),
    [
        ([(given(), STILL)], 0, 0),
        ([(given(seconds=1.2), STILL), (given(), BUSY)], 0, 0),
        ([(given(seconds=1.2), STILL), (given(seconds=1.2), BUSY)], 1, 0),
        ([(given(seconds=1.2), BUSY), (given(seconds=1.3), BUSY)], 0, 1),
        ([(given(limit=3.0), BUSY), (given(limit=3.0), STILL)], 1, 0),
        ([(given(seconds=1.2, limit=3.0), BUSY), (given(seconds=1.2), BUSY)], 0, 1),
        ([(given(samples=9), BUSY), (given(), STILL)], 1, 0),
        ([(given(seconds=1.2), BUSY), (given(samples=9), BUSY)], 1, 0),
        ([("planes took more than 150 s", BUSY), ("planes took more than 150 s", BUSY)], 0, 1),
        ([("planes took more than 150 s", BUSY), ("planes took more than 150 s", STILL)], 1, 0),
        ([("planes ended with 70", BUSY), ("planes ended with 70", BUSY)], 1, 0),
        ([("planes ended with 70", BUSY), (given(), BUSY)], 0, 0),
    ],
)
def test_counts_fail_always_and_times_on_a_quiet_machine(tries, faults, busy):
    found = every.judged(attempts(*tries))
    assert tuple(map(len, found)) == (faults, busy)


def test_an_attempt_says_how_quiet_it_was():
    (one,) = attempts((given(seconds=1.2), BUSY))
    assert str(one) == "planes: 2 of 3 within their bar, 1 s (2 ms of sleep 20.0 ms late, 30 % of a core)"
    assert not BUSY.enough and STILL.enough
    assert worse(STILL, BUSY) == BUSY == worse(BUSY, STILL)


def test_quietness_is_measured():
    found = quiet()
    assert 0 <= found.late_s < 60
    assert 0 < found.share <= 1.01


def program(monkeypatch, text):
    """The command replaced by a program of these lines."""
    monkeypatch.setattr(sys, "executable", str(text))


def test_a_failing_experiment_is_told_with_what_it_said(monkeypatch, tmp_path):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho went wrong >&2\nexit 70\n")
    broken.chmod(0o755)
    program(monkeypatch, broken)
    said = []
    answers, failed = every.run_all(["planes"], True, None, said.append)
    assert answers == {} and "went wrong" in failed["planes"] and "70" in failed["planes"]


def test_an_experiment_that_hangs_is_ended(monkeypatch, tmp_path):
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\nsleep 600\n")
    slow.chmod(0o755)
    program(monkeypatch, slow)
    monkeypatch.setattr(every, "SECONDS", {True: 0.2, False: 0.2})
    start = time.monotonic()
    with pytest.raises(TestbedError, match="took more than"):
        every.run_one("planes", True)
    assert time.monotonic() - start < 60


def test_answers_are_kept_and_read_again(monkeypatch, tmp_path):
    monkeypatch.setattr(every, "run_one", lambda name, short: given())
    every.run_all(["planes"], True, tmp_path / "answers", lambda line: None)
    assert every.saved(tmp_path / "answers", ORDER) == {"planes": json.loads(json.dumps(given()))}
    with pytest.raises(TestbedError, match="no answers"):
        every.saved(tmp_path, ORDER)
    for text in ("", "[]", "{}", '{"schema": "argosy.plan/1"}'):
        (tmp_path / "sites.json").write_text(text)
        with pytest.raises(TestbedError, match=r"sites\.json: no answer of `argosy testbed sites --json`"):
            every.saved(tmp_path, ORDER)


def test_the_index_names_what_is_outside(monkeypatch, tmp_path):
    text = index({"planes": given(seconds=2.0)}, "testbed")
    assert "2 of 3 comparisons within their bar" in text
    assert (
        "| [Control plane and data plane](testbed/planes.md) | `argosy testbed planes` | 2 of 3 | -50.0 % |"
        in text
    )
    assert "- Control plane and data plane: time: predicted 1, measured 2" in text


def test_every_experiment_has_its_command_and_page(capsys):
    from argosy.report.testbed.pages import module

    for name in ORDER:
        one = module(name)
        assert one.TITLE and one.INTRODUCTION and callable(one.charts) and callable(one.more)
        assert argosy(["testbed", name, "--help"]) == 0
        shown = capsys.readouterr().out
        assert "--short" in shown and "--json" in shown and "--report" in shown


def test_pages_go_beside_the_index(monkeypatch, tmp_path):
    import altair

    from argosy.report.testbed import planes

    chart = altair.Chart(altair.Data(values=[{"x": 1}])).mark_point().encode(x="x:Q")
    monkeypatch.setattr(planes, "charts", lambda answer: {"planes": chart})
    monkeypatch.setattr(planes, "more", lambda answer: ["it taught"])
    written = write_pages({"planes": given()}, tmp_path / "testbed.md")
    assert [path.relative_to(tmp_path).as_posix() for path in written] == [
        "testbed.md",
        "testbed/planes.md",
        "testbed/images/testbed-planes.svg",
        "testbed/images/testbed-errors.svg",
    ]
    assert all(path.exists() for path in written)
    assert "it taught" in written[1].read_text(encoding="utf-8")


def test_unknown_names_are_told(capsys):
    assert argosy(["testbed", "all", "--only", "nope"]) == 1
    assert "nope" in capsys.readouterr().err
