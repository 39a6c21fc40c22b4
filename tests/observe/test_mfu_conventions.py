"""One MFU for all frameworks: published figures in every convention, and logs that contradict themselves."""
# ruff: noqa: E501

from __future__ import annotations

import pytest

from argosy.laws.utilization import SparsePeakError
from argosy.observe import mfu
from argosy.observe.readers import training_log
from argosy.spec import architectures

H100 = 989e12
LLAMA_8B = mfu.Shape(7.505e9, 32, 4096, 8192)
TITAN = "2026-03-01 12:00:{0:02d},000 - root - INFO - step: {0}  loss:  7.5  memory: 47.68GiB(60.22%)  tps: {1}  tflops: {2}  mfu: {3}\n"
SIZE = "2026-03-01 12:00:00,000 - root - INFO - Model llama3 8B size: 8,030,261,248 total parameters\n"
TRAINER = "Trainer is initialized with local batch size 1, global batch size 8, gradient accumulation steps 1, sequence length {}, total steps 9\n"


@pytest.fixture
def log(tmp_path):
    def read(text: str):
        path = tmp_path / "train.log"
        path.write_text(text, encoding="utf-8")
        return training_log.read(path).logs[0]

    return read


def titan(sequence: int = 8192, tps: str = "7,034", tflops: str = "407.35", printed: str = "41.19%") -> str:
    return (
        SIZE + TRAINER.format(sequence) + "".join(TITAN.format(i, tps, tflops, printed) for i in range(1, 11))
    )


def test_torchtitan_counts_attention_whole(log):
    """407.35 TFLOP/s ÷ 7,034 tokens/s is 57.91 GFLOP a token: 6 N + 12 L H Q T with N without the input embedding."""
    one = log(titan())
    shape = mfu.shape_of_log(one)
    assert shape.parameters == pytest.approx(7.505e9, rel=1e-4)
    assert shape.flops_per_token("full") == pytest.approx(407.35e12 / 7034, rel=1e-4)
    assert shape.flops_per_token("full") == pytest.approx(6 * 7.505e9 + 12 * 32 * 4096 * 8192, rel=1e-4)
    found = mfu.normalised(one, shape, H100)
    assert found["attention_full"] == pytest.approx(0.412, abs=5e-4)  # as the log prints it
    assert (
        found["attention_causal"] == pytest.approx(0.366, abs=5e-4)
        and found["value"] == found["attention_causal"]
    )
    assert found["parameters_only"] == pytest.approx(6 * 7.505e9 * 7034 / H100, rel=1e-4)
    assert found["hfu"] == found["attention_causal"] and found["as_logged"]["mfu"] == pytest.approx(0.4119)
    assert (
        found["as_logged"]["implied_tokens_per_gpu_s"] == pytest.approx(7034, rel=1e-3)
        and found["warnings"] == []
    )


def test_at_long_sequences_conventions_differ_by_seventy_per_cent():
    assert mfu.ratio(mfu.Shape(7.505e9, 32, 4096, 131072)) == pytest.approx(1.70, abs=0.005)
    assert mfu.ratio(LLAMA_8B) == pytest.approx(0.412 / 0.366, abs=2e-3)
    assert mfu.ratio(mfu.Shape(1e9, 0, 0, 8192)) == 1.0  # no attention, nothing to count otherwise


def test_the_shape_of_a_model_is_that_of_its_log(log):
    model = architectures.resolve("llama-3.1-8b")
    arguments = {
        "num_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_query_groups": 8, "group_query_attention": True,
        "ffn_hidden_size": 14336, "swiglu": True, "padded_vocab_size": 128256, "seq_length": 8192, "world_size": 8,
        "global_batch_size": 8,
    }  # fmt: skip
    text = "".join(f"  {name} ............ {value}\n" for name, value in arguments.items())
    text += " iteration 1/ 9 | elapsed time per iteration (ms): 1000.0 | throughput per GPU (TFLOP/s/GPU): 421.6 |\n"
    one = log(text)
    from_log, from_model = mfu.shape_of_log(one), mfu.shape_of_model(model, 8192)
    assert from_log.parameters == pytest.approx(from_model.parameters, rel=1e-3)  # norms apart
    assert from_log.flops_per_token("causal") == pytest.approx(from_model.flops_per_token("causal"), rel=1e-3)
    found = mfu.normalised(one, from_log, H100)
    assert found["attention_causal"] == pytest.approx(
        421.6e12 / H100, rel=5e-3
    )  # Megatron's own count is the causal one
    assert found["tokens_per_gpu_s"] == 8192


def test_bigscience_counts_what_is_computed_again(log):
    text = "  deepspeed ............ True\n  checkpoint_activations ............ True\n  num_layers ............ 24\n  hidden_size ........ 2048\n"
    text += "  num_attention_heads ........ 16\n  padded_vocab_size ......... 50000\n  seq_length ............ 2048\n  world_size .......... 8\n"
    shape = mfu.Shape(24 * 12 * 2048**2 + 2048 * 50000, 24, 2048, 2048)
    rate = 10000.0
    flops = rate * (8 * shape.parameters + 16 * 24 * 2048 * 2048)  # four forward passes instead of three
    text += f" iteration 1/ 9 | elapsed time per iteration (ms): 1000.0 | samples per second: 1 | TFLOPs: {flops / 1e12:.4f} |\n"
    one = log(text)
    assert one.framework == "bigscience" and mfu.shape_of_log(one) == shape
    found = mfu.normalised(one, shape, 312e12)
    assert found["tokens_per_gpu_s"] == pytest.approx(rate, rel=1e-4)
    assert found["recompute"] == "full" and found["hfu"] > found["attention_causal"]
    assert found["attention_causal"] == pytest.approx(
        rate * (6 * shape.parameters + 6 * 24 * 2048 * 2048) / 312e12, rel=1e-4
    )


def test_contradictions_are_told(log):
    one = log(titan(tps="14,068"))
    found = mfu.normalised(one, mfu.shape_of_log(one), H100)
    assert any("imply" in each for each in found["warnings"])
    found = mfu.normalised(one, mfu.shape_of_log(one), 312e12)
    assert any("above the dense peak" in each for each in found["warnings"])


def test_a_sparse_peak_is_halved_and_told(log):
    one = log(titan())
    shape = mfu.shape_of_log(one)
    dense, sparse = mfu.normalised(one, shape, H100), mfu.normalised(one, shape, 2 * H100, "sparse")
    assert sparse["value"] == pytest.approx(dense["value"]) and any(
        "sparsity" in each for each in sparse["warnings"]
    )
    with pytest.raises(SparsePeakError):
        mfu.normalised(one, shape, H100, "nominal")


def test_what_a_log_does_not_tell_is_none(log):
    one = log(" iteration 1/ 9 | elapsed time per iteration (ms): 1000.0 | lm loss: 2 |\n")
    assert mfu.shape_of_log(one) is None and mfu.normalised(one, None, H100) is None
    quantised = log(titan(printed="N/A"))
    found = mfu.normalised(quantised, None, None)
    assert (
        found["value"] is None
        and found["as_logged"]["mfu"] is None
        and found["as_logged"]["flops_per_gpu"] == 407.35e12
    )


def test_mixtures_of_experts_are_not_taken_for_dense(log):
    text = "".join(
        f"  {name} ............ 8\n"
        for name in ("num_layers", "hidden_size", "padded_vocab_size", "seq_length", "num_experts")
    )
    assert mfu.shape_of_log(log(f"{text} iteration 1/ 9 | elapsed time per iteration (ms): 1.0 |\n")) is None
