"""Parameter counts: against published totals, and against the weights of a checkpoint listed one by one."""

import numpy as np
import pytest
from workload_models import (
    ALL,
    DEEPSEEK_V3,
    GPT_3,
    LLAMA_1B,
    LLAMA_8B,
    LLAMA_70B,
    LLAMA_405B,
    MIXTRAL,
    PALM_8B,
    QWEN3_30B,
)

from argosy.spec.model import MixtureOfExperts, ModelArchitecture
from argosy.workload import count, layer_kind_sequence, layer_kinds, layer_parameters

# Total and active parameters as the makers print them (model cards and the papers named in workload_models),
# with the digits that they print.
PUBLISHED = [
    (LLAMA_1B, 1.236e9, None),
    (LLAMA_8B, 8.03e9, None),
    (LLAMA_70B, 70.55e9, None),
    (LLAMA_405B, 405.85e9, None),
    (GPT_3, 174.6e9, None),
    (MIXTRAL, 46.7e9, 12.9e9),
    (DEEPSEEK_V3, 671e9, None),
    (QWEN3_30B, 30.5e9, 3.35e9),
    (PALM_8B, 8.63e9, None),
]


@pytest.mark.parametrize(("model", "total", "active"), PUBLISHED, ids=lambda x: getattr(x, "name", None))
def test_published_totals(model, total, active):
    counted = count(model)
    assert counted.total == pytest.approx(total, rel=0.005)
    if active:
        assert counted.active == pytest.approx(active, rel=0.005)


def checkpoint(model: ModelArchitecture) -> int:
    """Sizes of every weight of a Llama- or Qwen-like checkpoint, written as its file lists them."""
    h, d = model.hidden, model.head_dim
    size = model.vocab * h + h + (0 if model.tied_embeddings else model.vocab * h)
    for layer in range(model.layers):
        size += model.heads * d * h + 2 * model.kv_heads * d * h + h * model.heads * d
        if model.attention_bias:
            size += model.heads * d + 2 * model.kv_heads * d
        size += 2 * h + (2 * d if model.qk_norm == "per_head" else 0)
        moe = model.moe
        if moe and layer not in moe.dense_layers:
            size += moe.experts * h + moe.experts * 3 * h * moe.expert_ffn
            size += moe.shared_experts * 3 * h * moe.expert_ffn
        else:
            size += 3 * h * model.ffn
    return size


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    "moe", [None, MixtureOfExperts(experts=6, top_k=2, expert_ffn=10, shared_experts=2, dense_layers=(0, 3))]
)
def test_every_weight_of_a_checkpoint(tied, bias, moe):
    model = ModelArchitecture(
        layers=5, hidden=24, heads=6, kv_heads=2, head_dim=8, ffn=50, vocab=100,
        tied_embeddings=tied, attention_bias=bias, qk_norm="per_head", moe=moe,
    )  # fmt: skip
    counted = count(model)
    assert counted.total == checkpoint(model)
    if moe is None:
        assert counted.active == counted.total
        assert counted.without_input_embedding == counted.total - (0 if tied else 100 * 24)
    else:
        idle = 3 * 3 * 24 * 10 * (moe.experts - moe.top_k)  # three routed layers
        assert counted.active == counted.total - idle


def test_prediction_modules_are_apart():
    """DeepSeek-V3 states 14 B for its module, its copies of embedding and head included (model card)."""
    counted = count(DEEPSEEK_V3)
    assert counted.total == count(DEEPSEEK_V3.model_copy(update={"mtp_modules": 0})).total
    assert counted.mtp + 2 * 129280 * 7168 == pytest.approx(14e9, rel=0.05)


@pytest.mark.parametrize("model", ALL, ids=lambda m: m.name)
def test_ranks_hold_the_model_once(model):
    """All tensor and expert ranks together hold the layer, replicated parts and repeated key/value heads
    apart.
    """
    for kind in layer_kinds(model):
        layer = layer_parameters(model, kind)
        tp, ep, etp = np.array([1, 2, 8]), np.array([1, 4, 8]), np.array([1, 2, 1])
        copies = tp / np.minimum(tp, layer.kv_heads)
        whole = layer.sharded + copies * layer.key_value + tp * layer.replicated
        np.testing.assert_allclose(tp * layer.dense_on_rank(tp), whole)
        np.testing.assert_allclose(ep * etp * layer.experts_on_rank(ep, etp), layer.experts)


def test_kinds_follow_the_layers():
    model = ModelArchitecture(
        layers=6, hidden=8, heads=2, kv_heads=2, head_dim=4, ffn=16, vocab=10, sliding_window=4,
        windowed_layers=(0, 2, 4), moe=MixtureOfExperts(experts=4, top_k=1, expert_ffn=8, dense_layers=(0,
        1)),
    )  # fmt: skip
    expected = ("dense_windowed", "dense", "moe_windowed", "moe", "moe_windowed", "moe")
    assert layer_kind_sequence(model) == expected
    assert layer_kinds(model)["moe"] == (3, 5)
    assert sum(count(model).layer_counts.values()) == 6
