"""Several jobs on one pool of spares and one storage, from scenarios to the terminal."""

import json
from pathlib import Path

import pytest

from argosy import load
from argosy.cli.main import run
from argosy.facts import FactError
from argosy.planning.gangs import simulate_together

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = EXAMPLES / "minimal.yaml"
SCARCE = {
    "reliability.preset": "meta-rsc-jobs",
    "reliability.repair": "7 days",
}


def test_books_close_and_more_spares_end_the_wait() -> None:
    few, many = (
        simulate_together(
            [load(SMALL, changes={**SCARCE, "fleet.spares": {"nodes": nodes}})] * 2, replications=60
        )
        for nodes in (1, 40)
    )
    assert (few["spares"], many["spares"]) == (2, 80)
    for starved, fed in zip(few["jobs"], many["jobs"], strict=True):
        assert sum(starved["ledger_gpu_s"].values()) == pytest.approx(starved["total_gpu_s"], rel=1e-9)
        assert starved["ledger_gpu_s"]["spare_wait"] > 0.5 * starved["total_gpu_s"]
        assert fed["ledger_gpu_s"]["spare_wait"] == 0
        assert fed["goodput"]["mean"] == pytest.approx(fed["alone"], abs=0.01)
        assert starved["goodput"]["mean"] < 0.5 < fed["goodput"]["mean"]


def test_jobs_that_fail_differently_are_no_one_fleet() -> None:
    with pytest.raises(FactError, match="do not fail alike"):
        simulate_together(
            [load(SMALL), load(SMALL, changes={"reliability.preset": "meta-rsc1"})], replications=2
        )


def test_together_in_the_terminal_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["simulate", str(SMALL), "--with", str(SMALL), "--replications", "20"]
    assert run([*asked, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [job["job"] for job in answer["jobs"]] == [answer["jobs"][0]["job"]] * 2
    assert run(asked) == 0
    assert "2 jobs share" in capsys.readouterr().out
