"""Services in the commands beside `argosy serving` and `argosy plan`: money, power, sensitivity, sweeps, clear answers."""

import json

import pytest

from argosy import loads
from argosy.cli import main as cli
from argosy.facts import FactError
from argosy.planning import plan
from argosy.planning.facility import facility_payload
from argosy.planning.money import cost_payload
from argosy.study.axes import read_study
from argosy.study.points import Chunk, alone
from argosy.study.sensitivity import sensitivity_of

SERVICE = """\
serving:
  name: chat
  model: llama-3.1-8b
  traffic: {rate: 20 req/s, input: {mean: 900}, output: {mean: 200}, duration: 1 min}
  objectives: {ttft_p99: 2 s, tpot_p95: 30 ms}
  replica: {tp: 1}
"""
ALONE = "name: alone\nfleet: {accelerator: H100-SXM, count: 16, node: DGX-H100}\n" + SERVICE
BOTH = (
    ALONE.replace("count: 16", "count: 64")
    + "training: {model: llama-3.1-8b, tokens: 1e11, sequence_length: 8192, global_batch: 4 Mtok}\n"
)


@pytest.fixture
def run(capsys):
    def command(*arguments):
        """Exit code, standard output and error of a command."""
        code = cli.run([str(each) for each in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return command


@pytest.fixture(scope="module")
def planned():
    return plan(loads(ALONE), draws=10).to_dict()


@pytest.mark.parametrize("prices", ["", "prices: {accelerator_hour: 2 USD/h}\n"])
def test_cost_of_a_service_is_the_plans(prices):
    scenario = loads(ALONE + prices)
    whole, money = plan(scenario, draws=10).to_dict(), cost_payload(scenario)
    assert money["tco"]["total_usd"] == pytest.approx(whole["cost"]["total_usd"])
    assert sum(line["usd"] for line in money["tco"]["lines"]) == pytest.approx(whole["cost"]["total_usd"])
    assert money["carbon"]["location_based"]["kg"] == pytest.approx(whole["facility"]["carbon_kg"])
    service = money["tco"]["services"][0]
    assert service["gpus"] == whole["serving"][0]["fleet"]["gpus"]
    price = whole["serving"][0]["cost"]["usd_per_million_output_tokens"]
    assert service["usd_per_million_output_tokens"] == pytest.approx(price)
    # tokens generated in time bear all on the path that is paid; owned, every fact of the bill moves it
    paid = {row["path"]: row for row in money["tco"]["paths"]}
    if not prices:
        bearing = whole["serving"][0]["cost"]["usd_per_million_output_tokens_bearing_all"]
        assert paid["own"]["usd_per_million_tokens"] == pytest.approx(bearing, rel=1e-6)
        assert money["tco"]["tornado"]
    json.dumps(money, allow_nan=False)


def test_facility_of_a_service_is_the_plans(planned):
    found = facility_payload(loads(ALONE))
    rows = {row["boundary"]: row for row in found["power"]}
    assert rows["IT: nodes, spares, network, storage"]["capped_w"] == pytest.approx(
        planned["facility"]["it_peak_w"]
    )
    assert found["tree"] is not None and found["waveform"] is None and found["left_out"]
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize("command", ["cost", "facility"])
def test_commands_show_services(run, command, tmp_path):
    file = tmp_path / "alone.yaml"
    file.write_text(ALONE)
    code, out, err = run(command, file)
    assert code == 0, err
    assert "per" in out
    if command == "facility":
        page, pictures = tmp_path / "page.html", tmp_path / "pictures"
        assert run(command, file, "--html", page, "--pictures", pictures)[0] == 0
        assert "Cooling" in page.read_text()


def test_training_beside_services_tells_what_is_left_out(run, tmp_path):
    assert "without the services (chat)" in cost_payload(loads(BOTH), 100)["left_out"][0]
    file = tmp_path / "both.yaml"
    file.write_text(BOTH)
    for command in ("pareto", "sites"):
        code, _, err = run(command, file)
        assert code == 0 and "without the services (chat)" in err, command


def test_sensitivity_of_a_service(planned):
    scenario = loads(ALONE + "prices: {accelerator_hour: 2 USD/h}\n")
    found = sensitivity_of(scenario, None, None, 100, 4, 0)
    assert found["service"] == "chat" and found["output"] == "usd_per_million_output_tokens"
    rows = {row["fact"]: row for row in found["tornado"]}
    longer = rows["serving.residual"]
    assert longer["effect_low"] < 0 < longer["effect_high"]
    assert found["p10"] < found["nominal"] < found["p90"]
    # iterations that take longer by the residual's end make the fluid need, and the price, larger by about as much
    assert longer["effect_high"] / found["nominal"] == pytest.approx(longer["high"] - 1.0, rel=0.5)
    gpus = sensitivity_of(scenario, "gpus", None, 100, 4, 0)
    assert gpus["nominal"] == pytest.approx(planned["serving"][0]["fleet"]["gpus"])
    with pytest.raises(FactError, match="no service 'chta'; the scenario has chat"):
        sensitivity_of(scenario, "gpus", "chta", 100, 4, 0)


def test_sensitivity_of_training_stays_its_own():
    scenario = loads(BOTH)
    assert sensitivity_of(scenario, None, None, 100, 2, 0)["output"] == "days"
    alone_ = loads(ALONE[: ALONE.index("serving:")] + BOTH[BOTH.index("training:") :])
    with pytest.raises(FactError, match="has no service; add serving:"):
        sensitivity_of(alone_, None, "chat", 100, 2, 0)


def test_sweeps_over_fields_of_a_service(run, tmp_path):
    (tmp_path / "alone.yaml").write_text(ALONE)
    study = tmp_path / "study.yaml"
    study.write_text(
        "scenario: alone.yaml\naxes: {serving.chat.traffic.rate: [10 req/s, 60 req/s]}\n"
        "outputs: [serving.chat.fleet.gpus, serving.chat.cost.usd_per_million_output_tokens, cost.total_usd]\n"
    )
    asked = read_study(study)
    paths = tuple(axis.path for axis in asked.axes)
    rows = [
        alone(Chunk(str(asked.scenario), paths, asked.outputs, 10, ((number, values),)), number, values)
        for number, values in enumerate(asked.combinations())
    ]
    assert [row["status"] for row in rows] == ["feasible", "feasible"]
    assert rows[0]["serving.chat.fleet.gpus"] <= rows[1]["serving.chat.fleet.gpus"]
    assert (
        rows[0]["serving.chat.cost.usd_per_million_output_tokens"]
        > rows[1]["serving.chat.cost.usd_per_million_output_tokens"]
    )
    code, _, err = run("sweep", study, "--output", tmp_path / "out", "--executor", "none")
    assert code == 0, err


def test_a_recommendation_for_services_says_where_to_ask(run, tmp_path):
    file = tmp_path / "alone.yaml"
    file.write_text(ALONE)
    code, _, err = run("recommend", file)
    assert code == 1 and "argosy serving finds the smallest fleet" in err
