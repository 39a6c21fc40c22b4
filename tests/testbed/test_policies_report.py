"""The page of the policies' experiment, from an answer made by hand."""

from __future__ import annotations

import pytest

from argosy.reliability.states import STATES
from argosy.report.testbed import pages, policies
from argosy.testbed import comparison


def measured():
    """A short run as `told.as_measured` has it."""
    book = dict.fromkeys(STATES, 0.0) | {"productive": 4.0, "rework": 0.5, "restart": 0.5}
    return {
        "wall_s": 5.0,
        "goodput": 0.8,
        "book_s": book,
        "told_s": book,
        "samples": {},
        "failures": [{"at_s": 2.5, "host": 1, "kills": "rank", "by": "exit", "detection_s": 0.01}],
        "groups": {
            "rebuilt": 1,
            "connect_s": 0.004,
            "restore_s": None,
            "restored_from": {"peer": 1, "own": 3},
        },
        "step_s": {"4": 0.1},
        "processes_started": 5,
        "unexplained": 0,
        "capacity": [[0.0, 4], [2.5, 3], [4.0, 4]],
        "timeline": [
            [0.0, 2.0, "productive"],
            [2.0, 2.5, "rework"],
            [2.5, 3.0, "restart"],
            [3.0, 5.0, "productive"],
        ],
    }


def answer():
    spread = {"mean": 0.7, "low": 0.6, "p10": 0.65, "p90": 0.75, "high": 0.8}
    predicted = {
        "goodput": spread,
        "as_many_failures": spread,
        "closed_form": 0.68,
        "wall_s": 5.5,
        "seconds": {state: {"mean": 1.0, "low": 0.5, "high": 1.5} for state in STATES},
    }
    times = {"detection_s": 0.25, "restart_s": 0.1, "pause_s": 0.4, "repair_s": 1.2}
    one = {"times": times, "predicted": predicted, "measured": measured()}
    told = comparison.answer(
        [comparison.counted("samples", 0, 0)],
        ["a note"],
        restart=one,
        spare_swap=one,
        elastic=one,
        upgrade={"measured": measured()},
        chaos={"measured": measured()},
    )
    return {**told, "version": "0"}


def test_the_page_says_what_was_measured():
    page = pages.page("policies", answer(), ["a.svg"])
    assert "1 of 1 comparisons within their bar" in page
    assert "| productive | 4.0 (1.0: 0.5–1.5) |" in page
    assert "3 own, 1 peer" in page
    assert "1 failures in 5 s, on 3 to 4 ranks" in page
    assert "None" not in page
    assert "Disturbances" not in page


def test_a_busy_machine_is_told():
    one = answer()
    one["chaos"]["measured"]["unexplained"] = 2
    assert "2 times a host was taken for dead" in pages.page("policies", one, [])


@pytest.mark.parametrize("name", ["policies-timelines", "policies-goodput"])
def test_the_pictures_are_valid(name):
    assert policies.charts(answer())[name].to_dict()["$schema"]
