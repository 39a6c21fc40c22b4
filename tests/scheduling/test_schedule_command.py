"""`argosy schedule` as a user meets it: payload, text, pictures, faults, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from argosy.cli.main import run
from argosy.scheduling import CODE

SCENARIO = """name: q
fleet: {accelerator: H100-SXM, count: 128, spares: {nodes: 0}}
scheduling:
  horizon: 1 day
  load: 0.9
  policy: easy
  mix:
    - {name: small, share: 9, tenants: {a: 1, b: 1}, duration: {median: 10 min, mean: 20 min}}
    - {name: gang, sizes: {64: 1}, duration: {median: 2 h, mean: 3 h}}
  upgrades: [{start: 2 h, duration: 10 min, floor: 75 %}]
"""
TRACE = "job,submit_s,duration_s,accelerators,tenant\na,0,100,8,x\nb,10,100,16,y\nc,20,100,8,x\n"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "q.yaml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text(TRACE, encoding="utf-8")
    return path


def payload(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    assert run(["schedule", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_contracts_keys(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = payload(capsys, str(scenario))
    assert answer["schema"] == "argosy.schedule/1"
    assert {"version", "facts_date"} <= set(answer)
    assert {"job", "submit_s", "start_s", "end_s", "wait_s", "preemptions", "nodes"} <= set(answer["jobs"][0])
    totals = answer["totals"]
    assert {"utilization", "allocation", "fragmentation", "lost_gpu_s"} <= set(totals)
    assert set(totals["wait_s"]) == {"p50", "p90", "p99"}
    assert sum(answer["ledger_gpu_s"].values()) == pytest.approx(answer["total_gpu_s"])
    assert answer["total_gpu_s"] == 128 * 86400
    assert answer["policy"] == "easy"
    assert payload(capsys, str(scenario)) == answer
    assert payload(capsys, str(scenario), "--seed", "1")["jobs"] != answer["jobs"]


def test_a_trace_on_a_cluster(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = payload(capsys, str(trace), "--nodes", "2", "--policy", "fifo")
    assert [(job["start_s"], job["end_s"]) for job in answer["jobs"]] == [(0, 100), (100, 200), (200, 300)]
    skipping = payload(capsys, str(trace), "--nodes", "2", "--policy", "fgd")
    assert skipping["jobs"][2]["start_s"] == 20
    with_quota = payload(capsys, str(trace), "--nodes", "4", "--policy", "kueue", "--quota", "x=8")
    assert with_quota["cluster"]["quotas"] == {"x": 8}
    assert payload(capsys, str(trace), "--nodes", "2", "--until", "150 s")["totals"]["running"] == 1


def test_a_trace_on_a_scenarios_fleet(
    trace: Path, scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = payload(capsys, str(trace), "--fleet", str(scenario))
    assert (answer["name"], answer["cluster"]["accelerators"], len(answer["jobs"])) == ("t.csv", 128, 3)


def test_policies_compared_and_drawn(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture, page = tmp_path / "p.svg", tmp_path / "p.html"
    arguments = ["--compare", "fifo,ml-fleet", "--seeds", "2", "--picture", str(picture), "--html", str(page)]
    assert run(["schedule", str(scenario), *arguments]) == 0
    out, err = capsys.readouterr()
    for part in (
        "productive over 24",
        "size",
        "tenant",
        "where GPU-time goes",
        "fifo",
        "ml-fleet",
        "2 seeds",
    ):
        assert part in out, part
    assert "wrote" in err and "wrote" not in out
    assert max(len(line) for line in out.splitlines()) <= 80
    assert picture.read_text("utf-8").startswith("<svg")
    text = page.read_text("utf-8")
    assert text.count("<svg") == 4
    assert "http://" not in text.replace("http://www.w3.org", "")


def test_large_clusters_are_drawn_by_leaf(tmp_path: Path) -> None:
    path = tmp_path / "q.yaml"
    path.write_text(SCENARIO.replace("count: 128", "count: 1024"), encoding="utf-8")
    assert run(["schedule", str(path), "--picture", str(tmp_path / "p.png")]) == 0
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_the_paradigms(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = payload(capsys, str(scenario), "--paradigms")
    assert len(answer["dimensions"]) == 8
    assert all(dimension["measures"] for dimension in answer["dimensions"])
    assert run(["schedule", str(scenario), "--paradigms"]) == 0
    assert "Warehouse-scale" in capsys.readouterr().out


def test_the_policies(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schedule", "--policies"]) == 0
    assert "ml-fleet" in capsys.readouterr().out
    answer = payload(capsys, "--policies")
    assert {"fifo", "easy", "hpc", "wsc", "ml-fleet"} <= {row["name"] for row in answer["policies"]}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["{trace}"], "a trace names no cluster; write --nodes 2 or more"),
        (["{trace}", "--nodes", "2", "--policy", "fifi"], "did you mean fifo"),
        (["{trace}", "--nodes", "2", "--compare", "easy,slow"], "policy 'slow' is not known"),
        (["{trace}", "--nodes", "2", "--until", "soon"], "--until"),
        (["{trace}", "--nodes", "2", "--until", "0 s"], "is not above 0"),
        (["{trace}", "--nodes", "2", "--node-mttf", "5"], "--node-mttf"),
        (["{trace}", "--nodes", "2", "--quota", "x"], "--quota 'x' is no quota"),
        (["{trace}", "--nodes", "2", "--picture", "p.gif"], "ends in .svg or .png"),
        (["{trace}", "--nodes", "2", "--why", "d"], "no job 'd'"),
        (["none.csv", "--nodes", "2"], "none.csv: cannot be read"),
        (["none.yaml"], "none.yaml"),
        ([], "name a trace or a scenario"),
    ],
)
def test_mistakes_are_told_in_one_message(
    arguments: list[str], told: str, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["schedule", *(each.format(trace=trace) for each in arguments)]) == 1
    out, err = capsys.readouterr()
    assert told in err and not out
    assert "Traceback" not in err


def test_a_job_that_can_never_run_is_infeasible(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schedule", str(trace), "--nodes", "1"]) == 2
    assert "1 can never run here" in capsys.readouterr().out


def test_own_jobs_stand_in_the_queue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(
        "name: own\nfleet: {accelerator: H100-SXM, count: 128}\n"
        "training: {model: llama-3.1-8b, tokens: 1e9, sequence_length: 8192, global_batch: 64 sequences}\n"
        "scheduling: {own_jobs: true, own_accelerators: 64, load: 0.3, horizon: 6 h, policy: priority}\n",
        encoding="utf-8",
    )
    jobs = {job["job"]: job for job in payload(capsys, str(path))["jobs"]}
    own = jobs["training"]
    assert (own["accelerators"], own["start_s"], own["priority"], own["tenant"]) == (64, 0.0, 100, "training")


def test_why_a_job_waits_and_waited(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = payload(capsys, str(trace), "--nodes", "2", "--policy", "fifo", "--why", "b")
    assert {"schema", "version", "facts_date"} <= set(answer)
    assert (answer["job"], answer["pending"], answer["life"]["wait_s"]) == ("b", False, 90.0)
    (blocker,) = answer["blockers"]
    assert set(blocker) == {"kind", "detail", "unblocked_by"}
    assert (
        blocker["kind"] == "gang-size"
        and "8 are free" in blocker["detail"]
        and "a" in blocker["unblocked_by"]
    )
    (row,) = answer["history"]
    assert (row["from_s"], row["to_s"], row["kinds"]) == (10.0, 100.0, ["gang-size"])
    pending = payload(
        capsys, str(trace), "--nodes", "2", "--policy", "fifo", "--why", "c", "--until", "150 s"
    )
    assert pending["pending"] and pending["waited_s"] == 130.0
    assert [each["kinds"] for each in pending["history"]] == [["order"], ["gang-size"]]
    assert (
        run(["schedule", str(trace), "--nodes", "2", "--policy", "fifo", "--why", "c", "--until", "150 s"])
        == 0
    )
    assert "is pending under fifo" in capsys.readouterr().out


def test_seeds_make_no_difference_to_a_trace_without_failures(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = payload(capsys, str(trace), "--nodes", "2", "--seeds", "2")
    assert any("one outcome" in note for note in answer["notes"])
    failing = payload(
        capsys, str(trace), "--nodes", "2", "--seeds", "2", "--node-mttf", "10 min", "--repair", "1 min"
    )
    assert not any("one outcome" in note for note in failing["notes"])


def test_the_example_of_the_docs_is_read() -> None:
    from argosy.planning.queue import Machine, queue_of

    queue = queue_of(
        Path(__file__).resolve().parents[2] / "examples/schedules/three-paradigms.yaml", Machine()
    )
    assert queue.case.cluster.total == 1024
    assert {quota.cohort for quota in queue.case.cluster.quotas} == {"all"}
    assert len(queue.case.failures.upgrades) == 1
    jobs = queue.case.jobs(0)
    assert {job.kind for job in jobs} == {"rigid", "elastic", "service"}


def test_owners_and_borrowers_do_not_evict_each_other_for_ever() -> None:
    """In this example a tenant within its quota and a more urgent borrower once took turns at one instant."""
    from argosy.planning.queue import Machine, queue_of

    queue = queue_of(
        Path(__file__).resolve().parents[2] / "examples/schedules/three-paradigms.yaml", Machine()
    )
    played = queue.case.played(queue.preset("ml-fleet"), 0)
    at_once = [
        (float(time), int(job))
        for time, job, event in zip(played.log.time_s, played.log.job, played.log.event, strict=True)
        if event == CODE["preempt"]
    ]
    assert at_once
    assert max(at_once.count(each) for each in set(at_once)) <= 2
