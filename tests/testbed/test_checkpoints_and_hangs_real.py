"""Real jobs of torch, killed and hung: where torch is installed, and in the slow suite."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from argosy.testbed.checkpoints import account, compare, plan
from argosy.testbed.checkpoints.killing import launch
from argosy.testbed.checkpoints.plan import Fault
from argosy.testbed.hang import experiment
from argosy.testbed.hang import plan as hang_plan

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("torch") is None, reason="torch is not installed: pip install 'argosy[testbed]'"
    ),
]
RANKS = 2


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_job_killed_in_its_saves_ends_like_an_undisturbed_one(tmp_path: Path, mode: str) -> None:
    faults = [
        Fault("committed", 0),
        Fault("write", 1, save=2, share=0.5),
        Fault("marker", 0),
        Fault("load", 0, share=0.3),
        Fault("random", None, after_s=0.1),
    ]
    killed = launch(tmp_path, plan.crash(mode, faults), RANKS, faults)
    assert sorted(killed) == [0, 1, 2, 3, 4]
    events = account.read_events(tmp_path, "killed")
    lives = account.lives(events, killed)
    # The first kill left step 10 whole; the second tore what would have been step 30's. So did the third, whose remains the
    # attempt removed that was then killed while it loaded.
    assert [life.restored for life in lives if life.attempt != 3] == [0, 10, 20, 20, 20]
    assert [torn for life in lives for torn in life.passed] == [(30, "no marker")]
    reference = account.read_events(tmp_path, "undisturbed")
    wanted = {e["steps"]: e["loss"] for e in account.of(reference, "step", rank=0)}
    rows = [
        *compare.whole_rows(mode, events, lives, reference, len(faults), len(killed)),
        *compare.curve_rows(mode, events, lives, wanted),
    ]
    assert [row["what"] for row in rows if not row["within"]] == []


def test_a_rank_that_waits_for_its_data_for_ever_is_found(tmp_path: Path) -> None:
    (found,) = experiment.hangs(tmp_path, [hang_plan.Plant("stuck", 2, 0.3)], lambda line: None)
    assert (found["alarm"], found["blamed"], found["dumps"]) == ("still", [2], [0, 1, 2, 3])
