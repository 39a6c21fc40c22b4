"""Synthetic requests and traces: what they say about themselves, and what is told of broken ones."""

from pathlib import Path

import numpy as np
import pytest

from argosy.serving.traces import MOST_TOLD, read_trace, write_trace
from argosy.serving.traffic import DAY_S, LengthShape, Synthetic, made
from argosy.spec import ScenarioError

SHARED = Path(__file__).parents[3] / "shared" / "data" / "serving_traces"


def shape(**changes):
    given = {
        "rate_per_s": 50.0,
        "cv": 1.0,
        "inputs": (LengthShape(800, 1.2),),
        "outputs": (LengthShape(200, 0.8),),
    }
    return Synthetic(**{**given, **changes})


@pytest.mark.parametrize("cv", [0.0, 0.5, 1.0, 3.0])
def test_rate_and_spread_are_as_asked(cv):
    requests = made(shape(cv=cv), 4000.0, 1)
    assert requests.rate_per_s == pytest.approx(50.0, rel=0.03 + 0.04 * cv)
    assert requests.arrival_cv == pytest.approx(cv, abs=0.05 + 0.08 * cv)
    assert (np.diff(requests.arrival_s) >= 0).all()


def test_lengths_are_as_asked():
    requests = made(shape(), 4000.0, 2)
    assert requests.input_tokens.mean() == pytest.approx(800, rel=0.02)
    assert requests.input_tokens.std() / requests.input_tokens.mean() == pytest.approx(1.2, rel=0.05)
    assert requests.output_tokens.min() >= 1


def test_a_mix_draws_prompts_and_answers_together():
    kinds = (LengthShape(100, 0.01, 1.0), LengthShape(9000, 0.01, 3.0))
    requests = made(shape(inputs=kinds, outputs=(LengthShape(2000, 0.01), LengthShape(50, 0.01))), 2000.0)
    long = requests.input_tokens > 1000
    assert long.mean() == pytest.approx(0.75, abs=0.01)
    assert (requests.output_tokens[long] < 100).all() and (requests.output_tokens[~long] > 1000).all()


def test_the_day_follows_its_factors():
    factors = tuple(0.0 if hour < 6 else 1.0 + (hour == 12) for hour in range(24))
    requests = made(shape(rate_per_s=4.0, diurnal=factors), DAY_S, 3)
    by_hour = np.bincount((requests.arrival_s // 3600).astype(int), minlength=24)
    assert by_hour[:6].sum() == 0
    assert by_hour[12] / by_hour[13] == pytest.approx(2.0, rel=0.06)
    assert requests.rate_per_s == pytest.approx(4.0, rel=0.02)


def test_our_own_traces_are_read_as_written(tmp_path):
    requests = made(shape(prefix_share=0.5, priorities=(1.0, 1.0)), 20.0, 4)
    write_trace(tmp_path / "t.csv", requests)
    again = read_trace(tmp_path / "t.csv")
    for name in ("input_tokens", "output_tokens", "prefix_tokens", "priority"):
        assert (getattr(again, name) == getattr(requests, name)).all()
    np.testing.assert_allclose(again.arrival_s, requests.arrival_s, atol=1e-3)


def test_formats_are_told_apart(tmp_path):
    azure, mooncake, lines = tmp_path / "a.csv", tmp_path / "m.csv", tmp_path / "m.jsonl"
    azure.write_text(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n"
    )
    mooncake.write_text(
        "timestamp_ms,input_length,output_length,n_blocks512,prefix_hit_blocks_infinite_cache\n0,6758,500,14,0\n1500,7322,490,15,2\n"
    )
    lines.write_text(
        '{"timestamp": 0, "input_length": 1000, "output_length": 5, "hash_ids": [1, 2]}\n'
        '{"timestamp": 10, "input_length": 1200, "output_length": 5, "hash_ids": [1, 2, 7]}\n'
    )
    assert read_trace(azure).arrival_s.tolist() == pytest.approx([0.0, 4.314579], abs=1e-5)
    assert read_trace(mooncake).prefix_tokens.tolist() == [0, 1024]
    assert read_trace(lines).prefix_tokens.tolist() == [0, 1024]


def test_a_model_of_several_is_picked(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("arrival_s,input_tokens,output_tokens,model\n0,10,5,chat\n1,20,5,code\n2,30,5,chat\n")
    assert read_trace(path, "chat").input_tokens.tolist() == [10, 30]
    with pytest.raises(ScenarioError, match="no request for 'cha'; write chat"):
        read_trace(path, "cha")


def test_every_fault_has_its_line_and_column(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("arrival_s,input_tokens,output_tokens\n3,10,5\n-1,10,5\n4,-4,\n1,3,x\n5,99999,2\n")
    with pytest.raises(ScenarioError) as error:
        read_trace(path, longest=8192)
    told = [str(each).removeprefix(f"{path}:") for each in error.value.problems]
    assert told == [
        "3:1: arrival_s: '-1' is no time; write seconds",
        "4:3: input_tokens: -4 is below 1; write 1 or more",
        "4:6: output_tokens: is missing; write a whole number of tokens",
        "5:1: arrival_s: 1 is before the line above; sort the trace by time",
        "5:5: output_tokens: 'x' is no whole number; write a whole number of tokens",
        "6:3: input_tokens: 99999 + 2 tokens exceed the model's 8192; shorten it, or raise serving.context",
    ]


def test_many_faults_are_counted(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("arrival_s,input_tokens,output_tokens\n" + "1,0,1\n" * 100)
    with pytest.raises(ScenarioError) as error:
        read_trace(path)
    assert len(error.value.problems) == MOST_TOLD + 1
    assert "and 80 more faults" in str(error.value.problems[-1])


def test_strange_files_are_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("when,input_tokens,output_tokens\n1,2,3\n")
    with pytest.raises(ScenarioError, match="argosy traces need arrival_s too"):
        read_trace(path)
    path.write_text("arrival_s,input_tokens,output_tokens\n")
    with pytest.raises(ScenarioError, match="has no requests"):
        read_trace(path)
    with pytest.raises(ScenarioError, match="cannot be read"):
        read_trace(tmp_path / "absent.csv")
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match="is no CSV text"):
        read_trace(path)


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is not beside the checkout")
@pytest.mark.parametrize(
    ("name", "requests", "prompt"),
    [("azure2023_conv.csv", 19366, 1154.7), ("mooncake_conversation_compact.csv", 12031, 12035.1)],
)
def test_published_traces_are_read(name, requests, prompt):
    found = read_trace(SHARED / name)
    assert len(found) == requests
    assert found.input_tokens.mean() == pytest.approx(prompt, rel=1e-4)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("0,1e18,3", r":2:3: input_tokens: 1e18 is above 1000000000; write 1000000000 at most"),
        (
            "0,10,3\n1e300,10,3",
            r":3:1: arrival_s: 1e300 is .* days after the first request; write a trace of a year",
        ),
    ],
)
def test_numbers_beyond_all_measure(tmp_path, line, told):
    file = tmp_path / "t.csv"
    file.write_text(f"arrival_s,input_tokens,output_tokens\n{line}\n")
    with pytest.raises(ScenarioError, match=told):
        read_trace(file)


def test_priorities_and_depths_beyond_all_measure(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("arrival_s,input_tokens,output_tokens,priority\n0,1,1,1000000000\n")
    with pytest.raises(ScenarioError, match=":2:7: priority: 1000000000 is above 31"):
        read_trace(file)
    file.write_text('{"timestamp": ' + "[" * 5000 + "]" * 5000 + ', "input_length": 5, "output_length": 1}\n')
    with pytest.raises(ScenarioError, match="is no JSON"):
        read_trace(file)


def test_a_trace_cut_out_of_a_longer_one_counts_from_its_first_request(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("arrival_s, input_tokens, output_tokens\n100000,5,1\n100010,5,1\n")
    found = read_trace(file)
    assert found.arrival_s.tolist() == [0.0, 10.0] and found.horizon_s == 10.0
