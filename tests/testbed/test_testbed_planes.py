"""Which plane is told to be broken; the real experiment where root may make namespaces."""

from __future__ import annotations

import json

import pytest

from argosy.testbed import hosts
from argosy.testbed.planes.told import faults

FRESH, OLD = 0.1, 9.0


def reports(silent=(), deaf=(), paths=(), count=4):
    """Reports of hosts: `silent` do not answer; `deaf` have lost their card; `paths` (a, b): b does not hear a."""
    return {
        host: None
        if host in silent
        else {
            peer: OLD if host in deaf or peer in deaf or (peer, host) in paths else FRESH
            for peer in range(count)
            if peer != host
        }
        for host in range(count)
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, []),
        ({"silent": [2]}, [("control plane", "2")]),
        ({"deaf": [2]}, [("data plane", "2")]),
        ({"silent": [2], "deaf": [2]}, [("host", "2")]),
        ({"silent": [0], "deaf": [3]}, [("control plane", "0"), ("data plane", "3")]),
        ({"deaf": [0, 1]}, [("data plane", "0"), ("data plane", "1")]),
        ({"paths": [(1, 3)]}, [("data path", "1>3")]),
        ({"silent": [1, 2, 3], "deaf": [1, 2, 3]}, [("host", "1"), ("host", "2"), ("host", "3")]),
        ({"deaf": [0, 1, 2, 3]}, [("data plane", str(host)) for host in range(4)]),
    ],
)
def test_who_answers_and_who_is_heard_says_which_plane_is_broken(given, expected):
    assert faults(reports(**given), 1.0) == expected


def test_a_peer_that_was_never_heard_is_not_heard():
    assert faults({0: {1: FRESH}, 1: {}}, 1.0) == [("data path", "0>1")]
    assert faults({0: {}, 1: {}}, 1.0) == [("data plane", "0"), ("data plane", "1")]


def test_without_namespaces_it_is_told(monkeypatch):
    from argosy.testbed.planes import experiment

    monkeypatch.setattr(hosts, "why_not", lambda: "not permitted")
    with pytest.raises(hosts.TestbedError, match="not permitted"):
        experiment.run()


def test_the_page_shows_round_trips(tmp_path):
    from argosy.report.testbed.pages import write_page
    from argosy.testbed.comparison import answer, bounded, counted

    cut = {"round_trips_s": [0.0002, 0.0001]}
    given = answer(
        [counted("told", True, False), bounded("seconds", 0.5, None, 0.7, "s", 0.6)],
        ["a note"],
        round_trips_s={"idle": [0.0001], "saturated": [0.0002]},
        data_cut=cut,
        control_cut=cut,
        carried={"printed": 4, "control": 5, "cards": 0},
    )
    page, picture = write_page("planes", {**given, "version": "0"}, tmp_path / "planes.md")
    text = page.read_text(encoding="utf-8")
    assert "| told | yes | no | (outside) | exact |" in text
    assert "| seconds | 0.6 s | 0.7 s |  | at least 0.5 |" in text
    assert f"images/{picture.name}" in text


@pytest.mark.slow
def test_the_planes_are_apart():
    if reason := hosts.why_not():
        pytest.skip(reason)
    pytest.importorskip("mpi4py")
    from argosy.testbed.planes.experiment import run

    found = run(short=True)
    assert json.dumps(found)
    exact = [row for row in found["comparisons"] if row["bar"] == 0.0]
    assert len(exact) >= 8 and all(row["within"] for row in exact)
