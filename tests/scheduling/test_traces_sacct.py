"""Slurm's accounting: arrays, steps, cancelled jobs, `|` and new lines in free text, GPUs of the TRES columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from argosy.scheduling.traces import Faults, jobs_of_sacct, parse_sacct, read_sacct, read_trace
from argosy.scheduling.traces.sacct import array_tasks, expand_hosts
from argosy.spec import ScenarioError

# ruff: noqa: E501
TABLE = """JobID|JobName|Account|State|ExitCode|Submit|Start|End|Elapsed|Timelimit|SubmitLine|NNodes|ReqTRES|AllocTRES|NodeList
1|a|ml|COMPLETED|0:0|2026-01-01T00:00:00|2026-01-01T00:00:05|2026-01-02T02:30:05|1-02:30:00|2-00:00:00|sbatch --wrap=x | tee | y|2|gres/gpu=16|gres/gpu=16,gres/gpu:h100=16|n[001-002]
1.batch|batch|ml|COMPLETED|0:0|2026-01-01T00:00:00|2026-01-01T00:00:05|2026-01-02T02:30:05|1-02:30:00|||1||cpu=8|n001
1.extern|extern|ml|COMPLETED|0:0|2026-01-01T00:00:00|2026-01-01T00:00:05|2026-01-02T02:30:05|1-02:30:00|||2||cpu=8|n[001-002]
2_[3-5%2]|x|ml|PENDING|0:0|2026-01-01T00:10:00|Unknown|Unknown|00:00:00|04:00:00|sbatch --wrap=first
second
third|1|gres/gpu:a100=4||None assigned
3|c|ml|CANCELLED by 1000|0:15|2026-01-01T00:20:00|None|2026-01-01T00:30:00|00:00:00|1-00:00:00|x|1|gres/gpu=1||None assigned
4_7|d|bio|RUNNING|0:0|2026-01-01T00:30:00|2026-01-01T01:00:00|Unknown|02:00|UNLIMITED|x|1|gres/gpu=8|gres/gpu=8|n7
5|cpu|bio|COMPLETED|0:0|2026-01-01T00:40:00|2026-01-01T00:50:00|2026-01-01T00:51:00|00:01:00|1:00:00|x|1|cpu=4|cpu=4|c1
6+0|het|bio|FAILED|1:0|2026-01-01T00:50:00|2026-01-01T01:50:00|2026-01-01T02:50:00|01:00:00|2:00:00|x|1|gres/gpu=8|gres/gpu=8|n8
6+1|het|bio|FAILED|1:0|2026-01-01T00:50:00|2026-01-01T01:50:00|2026-01-01T02:50:00|01:00:00|2:00:00|x|2|gres/gpu=4|gres/gpu=4|n[9-10]
"""
SAMPLE = Path(__file__).resolve().parents[3] / "shared/samples/sacct/sacct_parsable2_array_steps.txt"


def test_rows_know_their_lines_and_their_parts() -> None:
    rows = {row.id: row for row in parse_sacct(TABLE)}
    assert rows["1"].cells["SubmitLine"] == "sbatch --wrap=x | tee | y"
    assert rows["2_[3-5%2]"].cells["SubmitLine"] == "sbatch --wrap=first\nsecond\nthird"
    assert (rows["2_[3-5%2]"].line, rows["3"].line) == (5, 8)
    assert [row.id for row in rows.values() if row.is_step] == ["1.batch", "1.extern"]
    assert (rows["1"].accelerators, rows["1"].accelerator, rows["1"].nodes) == (16, "h100", ("n001", "n002"))
    assert (rows["1"].elapsed_s, rows["1"].time_limit_s) == (95400.0, 172800.0)
    assert rows["1"].end_s - rows["1"].start_s == 95400.0
    assert (rows["3"].state, rows["3"].cancelled_by, rows["3"].signal) == ("CANCELLED", "1000", 15)
    assert rows["3"].start_s is None
    assert (rows["4_7"].task, rows["4_7"].elapsed_s, rows["4_7"].time_limit_s) == ("7", 120.0, None)
    assert (rows["6+1"].job, rows["6+1"].component) == ("6", "1")


def test_jobs_of_a_table() -> None:
    trace = jobs_of_sacct(parse_sacct(TABLE), "t")
    jobs = {job.job: job for job in trace.jobs}
    assert list(jobs) == ["1", "2_3", "2_4", "2_5", "4_7", "6"]
    assert (jobs["1"].accelerators, jobs["1"].duration_s, jobs["1"].submit_s) == (16, 95400.0, 0.0)
    assert (jobs["2_4"].accelerators, jobs["2_4"].duration_s, jobs["2_4"].submit_s) == (4, 14400.0, 600.0)
    assert (jobs["6"].accelerators, jobs["6"].tenant) == (12, "bio")
    assert jobs["6"].estimate_s == 7200.0
    assert trace.recorded_wait_s == {"1": 5.0, "4_7": 1800.0, "6": 3600.0}
    told = " / ".join(trace.notes)
    for part in (
        "1 jobs without accelerators",
        "1 jobs that never ran",
        "1 jobs still running",
        "time limit",
    ):
        assert part in told


def test_of_several_runs_the_last_counts_and_nodes_stand_in_for_gpus() -> None:
    head = "JobID|State|Submit|Start|End|Elapsed|NNodes"
    text = f"{head}\n1|NODE_FAIL|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T01:00:00|01:00:00|4\n"
    text += "1|COMPLETED|2026-01-01T01:00:00|2026-01-01T01:00:00|2026-01-01T03:00:00|02:00:00|4\n"
    trace = jobs_of_sacct(parse_sacct(text), "t", per_node=8)
    assert [(job.duration_s, job.accelerators) for job in trace.jobs] == [(7200.0, 32)]
    assert "1 earlier runs" in trace.notes[0]


def test_faults_are_told_at_their_cells_and_sound_rows_kept_for_those_who_ask() -> None:
    text = "JobID|State|Submit|Elapsed\n1|COMPLETED|2026-13-01|01:00:00\nx|Y\n"
    text += "2|COMPLETED|2026-01-01|soon\n3|FAILED|2026-01-01|01:00\n"
    with pytest.raises(ScenarioError) as caught:
        parse_sacct(text, "t")
    lines = str(caught.value).splitlines()
    assert [line.split(": ")[0] for line in lines] == ["t:2:13", "t:3:1", "t:4:24"]
    kept = Faults("t")
    assert [row.job for row in parse_sacct(text, "t", kept)] == ["3"]
    assert len(kept.problems) == 3


def test_columns_that_jobs_need_are_named() -> None:
    with pytest.raises(ScenarioError, match=r"no column Submit, AllocTRES; write it with sacct --parsable2"):
        jobs_of_sacct(parse_sacct("JobID|State|Elapsed\n1|COMPLETED|01:00:00\n"), "t")


def test_short_forms() -> None:
    assert expand_hosts("n[001-003,7],login1,gpu[1-2]-ib[0-1]") == (
        *("n001", "n002", "n003", "n7", "login1"),
        *("gpu1-ib0", "gpu1-ib1", "gpu2-ib0", "gpu2-ib1"),
    )
    assert array_tasks("[1-3,7,10-20:5%2]") == (1, 2, 3, 7, 10, 15, 20)


@pytest.mark.skipif(not SAMPLE.is_file(), reason="no ../shared/samples here")
def test_a_published_excerpt() -> None:
    rows = read_sacct(SAMPLE)
    assert [row.id for row in rows if not row.is_step] == ["6764460_0", "6764460_1"]
    assert {row.step for row in rows} == {"", "batch", "extern"}
    with pytest.raises(ScenarioError, match="no column Submit"):
        read_trace(SAMPLE)
