"""Jobs from CSV: what is read, and that every fault is told at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from argosy.scheduling.traces import parse_jobs, read_trace
from argosy.spec import ScenarioError

HEAD = "job,submit_s,duration_s,accelerators"


def faults(text: str) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        parse_jobs(text, "j.csv")
    return str(caught.value).splitlines()


def test_the_least_and_the_most() -> None:
    small = parse_jobs(f"{HEAD}\na,0,10,8\nb,5.5,0,0.25\n").jobs
    assert [(job.job, job.submit_s, job.duration_s, job.accelerators, job.fraction) for job in small] == [
        ("a", 0.0, 10.0, 8, 0.0),
        ("b", 5.5, 0.0, 1, 0.25),
    ]
    head = f"{HEAD},tenant,priority,kind,sizes,walltime_s,topology,accelerator,deadline_s"
    job = parse_jobs(f'{head}\n"a, b",0,10,8,t,-3,moldable,4:0.55 8:1,20,leaves:2,H100;A100,99\n').jobs[0]
    assert (job.job, job.tenant, job.priority, job.sizes) == ("a, b", "t", -3, ((4, 0.55), (8, 1.0)))
    assert (job.estimate_s, job.leaves, job.accelerator, job.deadline_s) == (20.0, 2, "H100|A100", 99.0)


def test_elastic_limits_are_accelerators_in_the_file_and_workers_in_the_job() -> None:
    job = parse_jobs(f"{HEAD},elastic_min,elastic_max\na,0,10,16,8,32\n", per_node=8).jobs[0]
    assert (job.kind, job.worker, job.elastic_min, job.elastic_max) == ("elastic", 8, 1, 4)
    service = parse_jobs(f"{HEAD},kind,worker,floor\na,0,10,16,service,4,12\n").jobs[0]
    assert (service.worker, service.floor) == (4, 3)


def test_missing_and_unknown_columns_are_named() -> None:
    assert faults("job,submit_s,duration_s\na,0,1\n")[0].startswith("j.csv:1:1: no column accelerators")
    (line,) = faults(f"{HEAD},tenat\na,0,1,8,x\n")
    assert line == "j.csv:1:38: tenat: unknown column; write tenant"


def test_all_faults_at_once_each_at_its_cell() -> None:
    found = faults(
        f'{HEAD},topology\na,5,10,8,\n"b, c",3,-1,8,rack\nc,nan,,2.5,\na,inf,1,x,\ne,9,1\nf,1e400,1,1,\n'
    )
    places = [line.split(": ")[0] for line in found]
    assert places == [
        "j.csv:3:8",  # unsorted
        "j.csv:3:10",  # negative
        "j.csv:3:15",  # no such topology
        "j.csv:4:3",  # not a number
        "j.csv:4:7",  # empty
        "j.csv:4:8",  # half an accelerator more
        "j.csv:5:1",  # a name twice
        "j.csv:5:3",  # infinite
        "j.csv:5:9",
        "j.csv:6:1",  # cells missing
        "j.csv:7:3",
    ]
    assert "sort the rows by submit_s" in found[0]


def test_a_fault_in_every_row_is_told_fifty_times() -> None:
    found = faults(HEAD + "\n" + "".join(f"j{i},0,-1,1\n" for i in range(200)))
    assert len(found) == 51
    assert found[-1].endswith("150 faults more")


@pytest.mark.parametrize("text", ["", "\n\n", f"{HEAD}\n", "a;b;c\n1;2;3\n", "{}", '{"items": ['])
def test_what_is_no_trace(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError):
        read_trace(path)


def test_bytes_and_folders_are_no_traces(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "b", tmp_path, tmp_path / "none"):
        with pytest.raises(ScenarioError, match=str(path)):
            read_trace(path)
