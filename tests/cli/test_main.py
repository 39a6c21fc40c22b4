"""The command line: exit codes, one clear message a fault, nothing but the payload on stdout."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from argosy.cli import main as cli

GOOD = """
name: tiny
fleet: {accelerator: H100-SXM, count: 64}
training: {model: llama-3.1-8b, tokens: 1e10, sequence_length: 8192, global_batch: 128 sequences}
"""


@pytest.fixture
def write(tmp_path: Path):
    def put(text: str | bytes, name: str = "scenario.yaml") -> str:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return put


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.run(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def test_json_is_the_only_thing_on_stdout(write, capsys):
    code, out, err = run(capsys, "plan", write(GOOD), "--json", "--draws", "100")
    assert code == 0
    assert json.loads(out)["schema"] == "argosy.plan/1"
    assert err == ""


def test_terminal_and_markdown_say_the_verdict_first(write, capsys):
    for option, start in (("--draws", "tiny: "), ("--md", "## tiny: ")):
        arguments = ["plan", write(GOOD), option] + (["100"] if option == "--draws" else ["--draws", "100"])
        code, out, _ = run(capsys, *arguments)
        assert code == 0
        assert out.startswith(start)


def test_html_is_one_file_without_requests(write, capsys, tmp_path):
    target = tmp_path / "plan.html"
    code, _, err = run(capsys, "plan", write(GOOD), "--html", str(target), "--draws", "100")
    assert code == 0
    page = target.read_text()
    assert page.count("<svg") >= 5
    assert "<script" not in page and "src=" not in page and "@import" not in page
    assert str(target) in err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(GOOD.replace("H100-SXM", "H1000-SXM"), "H100-SXM", id="unknown accelerator"),
        pytest.param(
            GOOD.replace("count: 64", "count: 64, storage: {bandwidth: 2 TB}"), "GB/s", id="unit mistake"
        ),
        pytest.param(GOOD.replace("count: 64", "count: 64, cuont: 3"), "count", id="unknown key"),
        pytest.param(
            GOOD.replace("tokens: ", "global_bach: 1 Mtok, tokens: "),
            "write global_batch",
            id="key of a stage",
        ),
        pytest.param(GOOD.replace("llama-3.1-8b", "llama-3.1-8bb"), "llama-3.1-8b", id="unknown model"),
        pytest.param("", "empty", id="empty file"),
        pytest.param(GOOD + "name: again\n", "name", id="duplicate key"),
        pytest.param(GOOD + "serving: [\n", "scenario.yaml:", id="truncated YAML"),
        pytest.param(b"\x00\x01\x02\xff", "scenario.yaml", id="binary"),
    ],
)
def test_bad_input_is_one_message_without_a_traceback(write, capsys, text, expected):
    code, out, err = run(capsys, "plan", write(text))
    assert code == 1
    assert out == ""
    assert expected in err
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1


def test_all_faults_are_told_at_once_with_their_places(write, capsys):
    text = GOOD.replace("count: 64", "count: -1").replace("8192", "eight").replace("H100-SXM", "H1000")
    code, _, err = run(capsys, "plan", write(text))
    lines = err.strip().splitlines()
    assert code == 1
    assert len(lines) == 3
    assert all("scenario.yaml:" in line for line in lines)


def test_a_yaml_bomb_and_a_huge_file_are_refused_quickly(write, capsys):
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 40))
    huge = b"name: x\n" + b"# filler\n" * (100 * 1024 * 1024 // 9)
    for text in (bomb, huge):
        code, _, err = run(capsys, "plan", write(text))
        assert code == 1
        assert "Traceback" not in err and err.strip()


def test_a_truncated_config_json_is_named_with_its_place(write, capsys):
    write('{"model_type": "llama", "hidden_size": 4096,', "config.json")
    code, _, err = run(capsys, "plan", write(GOOD.replace("llama-3.1-8b", "config.json")))
    assert code == 1
    assert "config.json" in err
    assert "Traceback" not in err


def test_a_missing_file_is_bad_input(capsys):
    code, _, err = run(capsys, "plan", "no/such/file.yaml")
    assert code == 1
    assert "no/such/file.yaml" in err


def test_a_misspelt_file_is_told_its_neighbour(write, capsys):
    code, _, err = run(capsys, "plan", write(GOOD).replace("scenario.yaml", "scenaro.yaml"))
    assert code == 1
    assert err.strip().endswith("scenario.yaml")


def test_infeasible_is_2_and_a_missed_assertion_3(write, capsys):
    infeasible = GOOD.replace("llama-3.1-8b", "llama-3.1-405b")
    missed = GOOD + "assert: [training.training.schedule.days.p50 <= 0.001]\n"
    both = infeasible + "assert: [training.training.schedule.days.p50 <= 0.001]\n"
    codes = [run(capsys, "plan", write(text), "--draws", "100")[0] for text in (infeasible, missed, both)]
    assert codes == [2, 3, 2]


def test_an_unknown_command_or_option_is_bad_input(capsys):
    for arguments in (["plna"], ["plan", "--jsn", "x"]):
        code, _, err = run(capsys, *arguments)
        assert code == 1
        assert err.startswith("argosy: ")


def test_a_bug_is_reported_as_a_bug(monkeypatch, write, capsys):
    import argosy.planning

    monkeypatch.setattr(argosy.planning, "plan", lambda *_, **__: 1 / 0)
    code, _, err = run(capsys, "plan", write(GOOD))
    assert code == 70
    assert "Traceback" in err and "bug" in err


@pytest.mark.parametrize("arguments", [["--help"], ["plan", "--help"], ["fabric", "draw", "--help"]])
def test_help_says_no_type_of_a_flag(capsys, arguments):
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert "--help" in out and "bool" not in out


def test_every_command_of_the_help_exists():
    for name in cli.COMMANDS:
        assert cli.application(name) is not None


def test_importing_argosy_loads_nothing_heavy():
    heavy = ("numpy", "pydantic", "scipy", "altair", "rich", "ruamel")
    code = f"import sys, argosy; print([m for m in {heavy!r} if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"
