"""`argosy diagnose` through the command line: the contract's payload, mixed and damaged folders, exit codes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from argosy.cli import main as cli
from argosy.observe.corpus import FAMILIES, KINDS, Case, write_case
from argosy.observe.corpus.seeds import write_seeds

IDS = {
    "straggler-rank", "straggler-node", "uneven-stage", "sequence-imbalance", "bubble", "timer-misattribution", "slow-link",
    "socket-fallback", "low-bus-bandwidth", "data-starvation", "host-bound", "recompilation", "gc-pause", "mfu-drift",
    "throttling", "hardware-fault", "hang-missing-rank", "hang-mismatched-collective", "checkpoint-cost", "contradiction",
    "recompute-cost",
}  # fmt: skip
KEYS = {"schema", "version", "facts_date", "inputs", "mfu", "ledger", "findings", "ranks"}
FINDING = {
    "id",
    "title",
    "culprit",
    "severity",
    "confidence",
    "share_of_time",
    "time_saved_s",
    "evidence",
    "bound",
    "advice",
}


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job of 16 ranks one of which computes half as slowly again: rank 3 of the corpus's own case."""
    folder = tmp_path_factory.mktemp("slow")
    truth = write_case(Case(FAMILIES["megatron-3d"], KINDS["slow-gpu"], 1.5), folder)
    assert truth.culprits.ranks
    return folder


def diagnose(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = cli.run(["diagnose", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def payload(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    code, out, _ = diagnose(capsys, *arguments, "--json")
    assert code == 0
    found: dict[str, Any] = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    return found


def check(found: dict[str, Any], folder: Path) -> None:
    """What the contract promises of every payload."""
    assert found.keys() >= KEYS
    assert found["schema"] == "argosy.diagnose/1"
    for each in found["inputs"]:
        assert each.keys() >= {"path", "kind", "status", "events", "problems"}
        assert Path(each["path"]).is_relative_to(folder)
    for each in found["findings"]:
        assert each.keys() >= FINDING
        assert each["id"] in IDS
        assert each["culprit"].keys() >= {"rank", "node", "stage", "link"}
        assert each["severity"] in ("critical", "high", "medium", "low")
        assert 0 < each["confidence"] <= 1
        assert each["share_of_time"] is None or 0 <= each["share_of_time"] <= 1
        assert each["time_saved_s"] is None or each["time_saved_s"] >= 0
        assert each["title"] and each["advice"]
        assert each["evidence"], f"{each['id']} rests on nothing"
        for place in each["evidence"]:
            assert Path(place["path"]).is_file() and ("line" in place or "event" in place)
    if found["ledger"]:
        closed(found["ledger"])


def closed(node: dict[str, Any]) -> None:
    """Children sum to the parent, at every level."""
    if children := node.get("children"):
        assert math.isclose(sum(child["amount"] for child in children), node["amount"], rel_tol=1e-6)
        for child in children:
            closed(child)


def test_payload_of_traces_keeps_the_contract(capsys: pytest.CaptureFixture[str], slow: Path) -> None:
    found = payload(capsys, slow / "files")
    check(found, slow)
    assert found["ledger"]["unit"] == "gpu_s"
    assert found["ledger"]["amount"] == pytest.approx(16 * 3 * found["step_time_s"], rel=0.02)
    assert [each["rank"] for each in found["ranks"]] == list(range(16))
    lines = {child["name"] for child in found["ledger"]["children"]}
    assert {"compute", "unattributed"} <= lines
    unattributed = next(child for child in found["ledger"]["children"] if child["name"] == "unattributed")
    assert unattributed["amount"] < 0.02 * found["ledger"]["amount"]


def test_the_slow_rank_is_blamed_and_nobody_else(capsys: pytest.CaptureFixture[str], slow: Path) -> None:
    truth = json.loads((slow / "truth.json").read_text())
    (rank,) = truth["expected"][0]["culprits"]["ranks"]
    found = payload(capsys, slow / "files")
    blamed = {each["id"]: each["culprit"]["rank"] for each in found["findings"]}
    assert blamed.get("straggler-rank") == rank
    assert set(blamed) <= {"straggler-rank", "bubble"}


def test_terminal_markdown_and_page_name_the_culprit(
    capsys: pytest.CaptureFixture[str], slow: Path, tmp_path: Path
) -> None:
    truth = json.loads((slow / "truth.json").read_text())
    (rank,) = truth["expected"][0]["culprits"]["ranks"]
    code, out, _ = diagnose(capsys, slow / "files", "--html", tmp_path / "page.html")
    assert code == 0 and f"rank {rank}" in out
    assert max(len(line) for line in out.splitlines() if "/" not in line) < 400
    page = (tmp_path / "page.html").read_text()
    assert f"rank {rank}" in page and "<script src" not in page and "@import" not in page
    code, out, _ = diagnose(capsys, slow / "files", "--md")
    assert code == 0 and f"rank {rank}" in out


def test_a_mixed_folder_is_sorted_by_content_not_by_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The same files under names that say nothing, or lie, are taken for the same."""
    named, nameless = tmp_path / "named", tmp_path / "nameless"
    nameless.mkdir()
    kinds = {}
    for number, seed in enumerate(write_seeds(named)):
        if not seed.name.startswith("nccl_trace_rank_"):  # its rank stands nowhere else
            (nameless / f"{number}.json").write_bytes(seed.read_bytes())
            kinds[seed.name] = f"{number}.json"
    by_name = {Path(each["path"]).name: each for each in payload(capsys, named)["inputs"]}
    found = payload(capsys, nameless)
    check(found, nameless)
    without = {Path(each["path"]).name: each for each in found["inputs"]}
    assert {name: by_name[name]["kind"] for name in kinds} == {
        name: without[kinds[name]]["kind"] for name in kinds
    }
    assert {name: by_name[name]["events"] for name in kinds} == {
        name: without[kinds[name]]["events"] for name in kinds
    }


def test_damaged_files_are_told_and_the_rest_counts(
    capsys: pytest.CaptureFixture[str], slow: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "damaged"
    folder.mkdir()
    files = sorted((slow / "files").iterdir())
    for file in files:
        (folder / file.name).write_bytes(file.read_bytes())
    cut, gone = folder / files[1].name, folder / files[2].name
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    gone.write_bytes(b"\x1f\x8b" + bytes(range(256)))
    (folder / "core.dump").write_bytes(bytes(range(256)) * 40)
    found = payload(capsys, folder)
    check(found, folder)
    status = {Path(each["path"]).name: each for each in found["inputs"]}
    assert status[cut.name]["status"] == "partial" and status[cut.name]["problems"]
    assert status[gone.name]["status"] == "unreadable" and status[gone.name]["problems"]
    assert status["core.dump"]["status"] == "ignored"
    assert len(found["ranks"]) >= 14


def test_nothing_readable_is_bad_input(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(500))
    (tmp_path / "notes.txt").write_text("the cluster was slow on Monday\n")
    code, out, err = diagnose(capsys, tmp_path, "--json")
    assert (code, out) == (1, "")
    assert "picture.png" in err and "notes.txt" in err


def test_a_path_that_is_not_there_is_bad_input(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = diagnose(capsys, tmp_path / "absent", tmp_path / "also-absent")
    assert (code, out) == (1, "")
    assert err.count("no such file") == 2


def test_an_empty_folder_is_bad_input(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = diagnose(capsys, tmp_path)
    assert (code, out) == (1, "")
    assert err.strip()


@pytest.mark.parametrize(
    ("kind", "strength", "wanted"),
    [
        ("hang-missing", 1.0, "hang-missing-rank"),
        ("hang-mismatch", 1.0, "hang-mismatched-collective"),
        ("xid", 79.0, "hardware-fault"),
        ("contradiction", 1.0, "contradiction"),
        ("timer-misattribution", 16.0, "timer-misattribution"),
    ],
)
def test_what_ends_a_run_is_found_in_its_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str, strength: float, wanted: str
) -> None:
    write_case(Case(FAMILIES["megatron-3d"], KINDS[kind], strength), tmp_path)
    found = payload(capsys, tmp_path / "files")
    check(found, tmp_path)
    assert wanted in {each["id"] for each in found["findings"]}


def test_against_a_plan_compares_line_by_line(
    capsys: pytest.CaptureFixture[str], slow: Path, tmp_path: Path
) -> None:
    scenario = tmp_path / "planned.yaml"
    scenario.write_text(
        "name: planned\n"
        "fleet: {accelerator: H100-SXM, count: 16}\n"
        "training:\n"
        "  model: llama-2-13b\n"
        "  tokens: 1e10\n"
        "  sequence_length: 4096\n"
        "  global_batch: 32 sequences\n"
        "  stack: megatron-core\n"
        "  layout: {tp: 2, pp: 2, vp: 1, dp: 4, micro_batch: 1}\n"
    )
    found = payload(capsys, slow / "files", "--against", scenario)
    check(found, slow)
    against = found["against"]
    assert against["lines"]
    # One rank of sixteen is half as slow again, the job waits for it: the run takes a third longer than its plan.
    assert 1.2 < found["step_time_s"] / against["step_time_s"] < 1.6
