"""`argosy serving` on the command line: payload, page, exit codes, one message a fault."""

import json

import pytest

from argosy.cli import main as cli

CHAT = """
name: small
fleet: {accelerator: H100-SXM, count: 16}
serving:
  - name: chat
    model: llama-3.1-8b
    traffic: {rate: 5 req/s, input: {mean: 500}, output: {mean: 60}, duration: 1 min}
    replica: {tp: 1}
    objectives: {ttft_p99: 1 s, tpot_p95: 30 ms}
  - name: code
    model: llama-3.1-8b
    traffic: {rate: 2 req/s, input: {mean: 2000}, output: {mean: 30}, duration: 1 min}
    replica: {tp: 2}
assert:
  - serving.chat.fleet.slo_attainment >= 0.9
  - serving.code.fleet.gpus <= 0
"""


@pytest.fixture
def scenario(tmp_path):
    def write(text: str = CHAT) -> str:
        path = tmp_path / "s.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def run(capsys, *arguments):
    code = cli.run(["serving", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_json_is_all_of_stdout(scenario, capsys):
    code, out, err = run(capsys, scenario(), "--json", "--seeds", "1")
    answer = json.loads(out)
    assert code == 0 and answer["name"] == "chat" and answer["schema"] == "argosy.serving/1"
    assert "the scenario also has code: --service NAME" in err


def test_an_assertion_of_the_service_counts(scenario, capsys):
    code, out, err = run(capsys, scenario(), "--service", "code", "--seeds", "1")
    assert code == 3 and "assertion missed: serving.code.fleet.gpus <= 0" in err
    assert "tp2 bf16" in out


def test_page_and_markdown(scenario, capsys, tmp_path):
    page = tmp_path / "page.html"
    code, out, _ = run(capsys, scenario(), "--md", "--html", str(page), "--seeds", "1")
    assert code == 0 and out.startswith("## small: feasible") and "| useful decode |" in out
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") >= 3 and "http" not in text.replace("http://www.w3.org", "")


def test_the_terminal_shows_steps_on_demand(scenario, capsys):
    code, out, _ = run(capsys, scenario(), "--validate-step", "--seeds", "1")
    assert code == 0 and "One iteration" in out and "bound" in out


def test_infeasible_is_2_and_bad_input_1(scenario, capsys):
    code, out, _ = run(capsys, scenario(CHAT.replace("tpot_p95: 30 ms", "tpot_p95: 1 ms")), "--seeds", "1")
    assert code == 2 and "below the floor" in " ".join(out.split())
    code, out, err = run(capsys, scenario(CHAT.replace("duration: 1 min", "diurnal: [1, 2]")))
    assert code == 1 and out == "" and "diurnal has 2 factors; write 24" in err
    code, out, err = run(capsys, scenario(CHAT.replace("replica: {tp: 1}", "replica: {zero: 1}")))
    assert code == 1 and "serving[0].replica.zero: unknown key" in err.replace("serving.0", "serving[0]")
    code, out, err = run(capsys, scenario(), "--service", "talk")
    assert code == 1 and "no service 'talk'" in err
