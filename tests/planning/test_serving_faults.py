"""What a service's scenario gets wrong: told with its place, before anything runs."""

import json
from dataclasses import replace

import pytest

from argosy import loads
from argosy.planning.context import context
from argosy.planning.service import service, traces
from argosy.planning.serving import serving_payload
from argosy.planning.simulation import subject
from argosy.spec import ScenarioError

ONE = """\
name: faults
fleet: {accelerator: H100-SXM, count: 16, node: DGX-H100}
serving:
  - name: chat
    model: llama-3.1-8b
    traffic: {rate: 5 req/s, input: {mean: 900}, output: {mean: 100}, duration: 1 min}
    objectives: {ttft_p99: 2 s}
"""


def told(text):
    with pytest.raises(ScenarioError) as fault:
        loads(text)
    return [str(each) for each in fault.value.problems]


def test_two_services_of_one_name():
    other = ONE[ONE.index("  - name") :]
    lines = told(ONE + other)
    assert len(lines) == 1
    assert (
        ":8:11: serving.1.name: the name 'chat' is taken by serving.0; give each job its own name"
        in f":{lines[0]}"
    )


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("input: {mean: 900}", "input: {mean: 131000}", "131,000 + 100 tokens exceed the model's 131,072"),
        ("rate: 5 req/s", "rate: 1e6 req/s", "1,000,000 requests a second are more than the 50,000"),
        ("duration: 1 min", "duration: 100 days", "43,200,000 requests are more than the 20,000,000"),
    ],
)
def test_traffic_beyond_the_model_or_the_simulation(old, new, words):
    lines = told(ONE.replace(old, new))
    assert len(lines) == 1 and words in lines[0]
    assert lines[0].split(":")[1] in ("4", "6")  # the service, or its traffic


def test_context_is_the_models_unless_given(tmp_path):
    long = tmp_path / "long.csv"
    long.write_text("arrival_s,input_tokens,output_tokens\n0,131000,100\n1,1000,100\n")
    text = ONE.replace(
        "{rate: 5 req/s, input: {mean: 900}, output: {mean: 100}, duration: 1 min}", f"{{trace: {long}}}"
    )
    scenario = loads(text)
    with pytest.raises(
        ScenarioError, match=r"long\.csv:2:3: input_tokens: 131000 . 100 tokens exceed the model's 131072"
    ):
        traces(scenario.serving[0], (0,))
    given = loads(text.replace("objectives:", "context: 200000\n    objectives:"))
    assert len(traces(given.serving[0], (0,))[0]) == 2


def test_synthetic_lengths_stay_within_the_model():
    text = ONE.replace("input: {mean: 900}", "input: {mean: 100000, cv: 2}").replace(
        "{mean: 100}", "{mean: 9000, cv: 2}"
    )
    found = traces(loads(text).serving[0], (0,))[0]
    whole = found.input_tokens + found.output_tokens
    assert whole.max() == 131072 and found.input_tokens.min() >= 1 and found.output_tokens.min() >= 1


def test_a_model_that_does_not_fit_says_so():
    answer = serving_payload(
        loads(ONE.replace("llama-3.1-8b", "llama-3.1-405b").replace("count: 16", "count: 8")), seeds=1
    )
    assert answer["verdict"]["status"] == "infeasible" and answer["verdict"]["binding"] == "memory"
    assert "4 of 4 layouts: weights do not fit in memory" in answer["verdict"]["reasons"][0]
    json.dumps(answer, allow_nan=False)


def test_an_availability_out_of_reach_is_a_promise_missed():
    """One rack for all: no spare outlives it."""
    text = ONE.replace("2 s}", "2 s, availability: 99.9999 %}") + "reliability: {domains: typical}\n"
    answer = serving_payload(loads(text), seeds=1)
    assert answer["verdict"]["status"] == "violates"
    assert answer["verdict"]["binding"] == "availability of chat"
    assert "all replicas share one rack" in " ".join(answer["verdict"]["reasons"])
    assert answer["failures"]["reached_availability"] < 0.999999
    wide = serving_payload(loads(text.replace("count: 16", "count: 8192")), seeds=1)
    assert wide["failures"]["reached_availability"] >= 0.999999
    assert wide["fleet"]["spares"] <= 4


def test_no_training_to_simulate():
    from argosy.facts import FactError

    with pytest.raises(FactError, match="faults has no training job to simulate; add training:"):
        subject(loads(ONE), None)


def test_nothing_to_plan():
    from argosy.facts import FactError
    from argosy.planning import plan

    text = ONE[: ONE.index("serving:")] + "scheduling: {load: 0.9}\n"
    with pytest.raises(FactError, match=r"neither training nor services to plan; .* ask argosy schedule"):
        plan(loads(text))


def test_the_context_of_a_config_json():
    from argosy.spec.importers.huggingface import from_config

    config = {"model_type": "qwen2", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
              "intermediate_size": 128, "vocab_size": 1000, "max_position_embeddings": 32768}  # fmt: skip
    assert from_config(config).longest_context == 32768
    yarn = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
    assert from_config({**config, "rope_scaling": yarn}).longest_context == 131072
    for odd in (None, 1e30, -1, True, "32k"):
        assert from_config({**config, "max_position_embeddings": odd}).longest_context is None


def test_prompt_replicas_that_are_fixed_stay_so():
    """With accelerators given, what the fixed prompt replicas leave is for answers."""
    from argosy.planning.service import options
    from argosy.serving.sizing import size

    text = ONE.replace(
        "objectives:",
        "accelerators: 12\n    disaggregation: {prefill: {tp: 1}, decode: {tp: 2}, prefill_replicas: 4}\n    objectives:",
    )
    scenario = loads(text)
    setting = context(scenario)
    asked = service(setting, scenario.serving[0], 1, 0)
    sized = size(replace(asked, seeds=(0,)), options(setting, scenario.serving[0])[0])
    assert sized is not None and sized.needed == (4, 4) and sized.gpus == 12


def test_a_trace_of_one_moment_has_a_price_and_a_report(tmp_path):
    """All work falls into the warm-up: the fleet idles in the window, and costs."""
    from argosy.report.serving import serving_markdown

    (tmp_path / "one.csv").write_text("arrival_s,input_tokens,output_tokens\n0.01,2,2\n0.01,100,1\n")
    text = ONE.replace(
        "{rate: 5 req/s, input: {mean: 900}, output: {mean: 100}, duration: 1 min}", "{trace: one.csv}"
    )
    answer = serving_payload(loads(text, directory=tmp_path), seeds=1)
    assert answer["cost"]["total_usd"] > 0 and answer["facility"]["it_mean_w"] > 0
    assert "per million tokens" in serving_markdown(answer)
    json.dumps(answer, allow_nan=False)


def test_a_fleet_that_serves_nothing_is_told(tmp_path):
    """Machines that fail faster than they start: no law applies, and nothing breaks."""
    from argosy.report.serving_html import serving_html

    text = ONE.replace(
        "    objectives: {ttft_p99: 2 s}", "    redundancy: {mtbf: 10 s, repair: 1 h}\n    replica: {tp: 8}"
    )
    answer = serving_payload(loads(text), seeds=1)
    assert answer["verdict"]["status"] != "feasible" or answer["fleet"]["slo_attainment"] < 1.0
    json.dumps(answer, allow_nan=False)
    serving_html(answer)
