"""Folders in which not everything is of one job, and plans that are of another: said, and not counted."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

from made_traces import batches, even, traces

from argosy.observe.diagnosis import diagnosed
from argosy.observe.gather import take
from argosy.report.diagnosis import problems
from argosy.spec.problems import Problem, ScenarioError

MEGATRON = (
    " > number of GPUs: 1\n  world_size ...................................... {world}\n"
    "------------------------ arguments ------------------------\n"
)


def log(folder: Path, world: int, steps: int) -> Path:
    path = folder / f"train{world}.log"
    text = MEGATRON.format(world=world).replace(" > number of GPUs: 1\n", "")
    text += "".join(
        f" iteration {i:8d}/ 100 | consumed samples: {i} | elapsed time per iteration (ms): {900 + world}.0 |"
        f" learning rate: 1.0E-4 | global batch size: 64 | lm loss: 2.0E+00 | grad norm: 1.0 |\n"
        for i in range(1, steps + 1)
    )
    path.write_text(text)
    return path


def test_a_log_of_another_size_than_the_traces_is_told_and_not_counted(tmp_path: Path) -> None:
    other = take(str(log(tmp_path, 512, 30)))
    assert len(other.logs) == 1 and other.logs[0].settings["world_size"] == 512
    found = diagnosed([*batches(traces(8, 3, even, metadata=True)), other])
    assert found.mfu is None and found.goodput is None
    (finding,) = [each for each in found.findings if each.id == "contradiction"]
    assert "another number of GPUs" in finding.title and finding.evidence[0].path == other.input.path


def test_logs_of_unlike_jobs_are_said_and_the_longest_counts(tmp_path: Path) -> None:
    found = diagnosed([take(str(log(tmp_path, 100, 20))), take(str(log(tmp_path, 200, 40)))])
    assert found.observed.step_s == 1.1
    assert any("2 unlike jobs" in note and "train200.log" in note for note in found.notes)


def test_another_vendors_traces_are_left_out() -> None:
    job = [replace(each, device="NVIDIA H100 80GB HBM3") for each in traces(8, 3, even, metadata=True)]
    amd = [
        replace(each, path=f"amd{i}.json", device="AMD Instinct MI300X")
        for i, each in enumerate(traces(8, 3, lambda *a: 2 * even(*a), metadata=True)[:3])
    ]
    found = diagnosed(batches([*amd, *job]))
    assert [each.id for each in found.findings] == ["contradiction"]
    assert found.observed.device() == "H100-SXM"


def test_the_same_trouble_of_many_files_is_one_line() -> None:
    inputs = [{"problems": [{"path": f"n{i}", "line": 0, "message": "an empty file"}]} for i in range(200)]
    inputs.append({"problems": [{"path": "x", "line": 7, "message": "broken"}]})
    assert problems({"inputs": inputs}) == ["n0 and 199 more: an empty file", "x:7: broken"]


def test_faults_of_a_scenario_come_back_from_another_process() -> None:
    error = ScenarioError([Problem("a.yaml", 3, 4, "training", "unknown", "write x")])
    again = pickle.loads(pickle.dumps(error))
    assert again.problems == error.problems and str(again) == str(error)
