"""Work of layers: the list of products against closed forms, conservation over ranks, broadcasting."""

import numpy as np
import pytest
from workload_models import (
    ALL,
    DEEPSEEK_V3,
    FALCON_40B,
    GPT_3,
    LLAMA_8B,
    LLAMA_70B,
    LLAMA_405B,
    MIXTRAL,
    PALM_8B,
)

from argosy.spec.model import ModelArchitecture
from argosy.workload import count, flops, layer_kinds, layer_work
from argosy.workload.attention import windowed_context

SEQUENCE = 4096


def model_flops(model: ModelArchitecture, **layout: object) -> float:
    """Forward FLOPs of one micro-batch on one rank, from the list of products."""
    layout = {"sequence_length": SEQUENCE, "micro_batch": 2, **layout}
    layers = sum(
        len(i) * layer_work(model, kind, **layout).flops_forward for kind, i in layer_kinds(model).items()
    )
    return layers + layer_work(model, "head", **layout).flops_forward


@pytest.mark.parametrize("model", ALL, ids=lambda m: m.name)
def test_products_are_two_per_active_weight(model):
    """6 N with attention apart: all active weights multiply but norms and biases (below 0.1 %)."""
    tokens = 2 * SEQUENCE
    products = model_flops(model) - sum(
        len(i) * op.flops_forward
        for kind, i in layer_kinds(model).items()
        for op in layer_work(model, kind, sequence_length=SEQUENCE, micro_batch=2).attentions
    )
    assert products / tokens == pytest.approx(2 * count(model).without_input_embedding, rel=1e-3)


@pytest.mark.parametrize("model", ALL, ids=lambda m: m.name)
def test_list_of_products_equals_the_closed_form(model):
    assert model_flops(model) == pytest.approx(
        2 * SEQUENCE * flops.forward_per_token(model, SEQUENCE), rel=1e-12
    )


def test_gpt_formulas_are_the_limit():
    """Megatron-LM's two formulas count attention in full and hold for GPT exactly."""
    step = 8 * 2048
    hardware = step * flops.hardware_per_token(GPT_3, 2048, "full", causal=False)
    assert flops.narayanan_step(8, 2048, 96, 12288, 50257) == pytest.approx(hardware, rel=1e-12)
    model = step * flops.training_per_token(GPT_3, 2048, causal=False)
    assert flops.korthikanti_step(8, 2048, 96, 12288, 50257) == pytest.approx(model, rel=1e-12)


def test_published_flops_per_token():
    """Llama 3 405B: 3.8e25 FLOPs for 15.6e12 tokens (arXiv:2407.21783, section 3.2), 6 N nearly."""
    assert 15.6e12 * flops.parameters_only(LLAMA_405B) == pytest.approx(3.8e25, rel=0.01)
    # PaLM 540B's appendix B: 12 · layers · heads · head_dim · s beside 6 N.
    extra = flops.palm_per_token(PALM_8B, 2048) - flops.parameters_only(PALM_8B)
    assert extra == pytest.approx(12 * 32 * 16 * 256 * 2048)


@pytest.mark.parametrize("model", [LLAMA_70B, GPT_3, MIXTRAL, DEEPSEEK_V3], ids=lambda m: m.name)
@pytest.mark.parametrize(("tp", "cp", "ep", "etp"), [(8, 1, 1, 1), (2, 4, 8, 1), (4, 2, 4, 2), (1, 8, 8, 1)])
def test_ranks_share_the_work(model, tp, cp, ep, etp):
    """The ranks of a group together do what one rank would do for the group's tokens.

    Expert ranks get the tokens of ep · etp ranks; per rank that is its own tokens' share, so tp · cp ranks
    of one sequence sum to the whole again.
    """
    one = model_flops(model)
    rank = model_flops(model, tp=tp, cp=cp, ep=ep, etp=etp)
    assert tp * cp * rank == pytest.approx(one, rel=1e-9)


def test_imbalance_and_capacity_raise_the_experts_work():
    def experts(**changes: object) -> float:
        model = MIXTRAL.model_copy(update={"moe": MIXTRAL.moe.model_copy(update=changes)})
        work = layer_work(model, "moe", sequence_length=SEQUENCE, micro_batch=1)
        return sum(g.flops_forward for g in work.gemms if g.name.startswith("experts"))

    assert experts(imbalance=1.3) == pytest.approx(1.3 * experts())
    assert experts(capacity_factor=1.5, imbalance=1.3) == pytest.approx(1.5 * experts())


@pytest.mark.parametrize("window", [1, 7, 64, 100, 1000])
def test_window_counts_the_visible_keys(window):
    """Counted key by key: query i sees min(i, w) earlier keys and half of its own."""
    queries = np.arange(100)
    visible = np.minimum(queries, window).mean() + 0.5
    assert windowed_context(100.0, window) / 2 == pytest.approx(visible, abs=0.51)
    assert windowed_context(100.0, None) == 100.0


@pytest.mark.parametrize("kind", ["dense", "moe", "embedding", "head", "mtp"])
def test_arrays_are_the_same_as_one_by_one(kind):
    layouts = [(1, 1, 1, 1, 1), (2, 8, 1, 8, 1), (1, 4, 2, 8, 2), (4, 2, 4, 16, 1)]
    names = ("micro_batch", "tp", "cp", "ep", "etp")
    columns = {name: np.array(column) for name, column in zip(names, zip(*layouts, strict=True), strict=True)}
    together = layer_work(DEEPSEEK_V3, kind, sequence_length=SEQUENCE, precision="fp8", **columns)
    for i, layout in enumerate(layouts):
        alone = layer_work(
            DEEPSEEK_V3,
            kind,
            sequence_length=SEQUENCE,
            precision="fp8",
            **dict(zip(names, layout, strict=True)),
        )
        for a, b in zip(together.gemms, alone.gemms, strict=True):
            assert np.broadcast_to(a.flops_forward, 4)[i] == pytest.approx(b.flops_forward)
        for a, b in zip(together.memory_operations, alone.memory_operations, strict=True):
            assert np.broadcast_to(a.forward_bytes, 4)[i] == pytest.approx(b.forward_bytes)
        for key, value in together.extra.items():
            assert np.broadcast_to(value, 4)[i] == pytest.approx(alone.extra[key]), key


def test_exchanges_follow_the_parallelism():
    alone = layer_work(LLAMA_8B, "dense", sequence_length=SEQUENCE, micro_batch=1)
    assert all(alone.extra[key] == 0 for key in ("tp_forward", "cp_bytes", "ep_bytes", "etp_bytes"))
    tensor = layer_work(LLAMA_8B, "dense", sequence_length=SEQUENCE, micro_batch=1, tp=8)
    assert tensor.extra["tp_bytes"] == SEQUENCE * 4096 * 2
    assert tensor.extra["tp_forward"] == 2
    parallel = layer_work(FALCON_40B, "dense", sequence_length=SEQUENCE, micro_batch=1, tp=8)
    assert parallel.extra["tp_forward"] == 1
    context = layer_work(LLAMA_8B, "dense", sequence_length=SEQUENCE, micro_batch=1, cp=4)
    assert context.extra["cp_bytes"] == SEQUENCE * 2 * 8 * 128 * 2
    experts = layer_work(MIXTRAL, "moe", sequence_length=SEQUENCE, micro_batch=1, ep=8)
    assert experts.extra["ep_bytes"] == SEQUENCE * 2 * 4096 * 2


def test_unknown_kind_says_what_to_write():
    with pytest.raises(ValueError, match="write one of dense, embedding, head, mtp"):
        layer_work(LLAMA_8B, "moe", sequence_length=SEQUENCE, micro_batch=1)
    with pytest.raises(ValueError, match="none, selective or full"):
        flops.hardware_per_token(LLAMA_8B, SEQUENCE, "some")


def moved(model: ModelArchitecture, kind: str, name: str, **layout: object) -> tuple[float, float]:
    """Bytes of one memory-bound operation, forward and backward; zeros where the layer has none."""
    work = layer_work(model, kind, **{"sequence_length": SEQUENCE, "micro_batch": 1, **layout})
    found = [op for op in work.memory_operations if op.name == name]
    return (float(found[0].forward_bytes), float(found[0].backward_bytes)) if found else (0.0, 0.0)


def test_bias_gradients_read_the_gradient_of_every_biased_product_once():
    """GPT-3: 3 h of queries, keys and values, h after attention, 4 h and h of the feed-forward, in BF16."""
    assert moved(GPT_3, "dense", "bias_gradients") == (0.0, SEQUENCE * 9 * 12288 * 2.0)
    divided = SEQUENCE * (7 / 8 + 2 / 8) * 12288 * 2.0  # with sequence parallelism all of it is divided
    assert moved(GPT_3, "dense", "bias_gradients", tp=8)[1] == pytest.approx(divided)
    assert moved(LLAMA_8B, "dense", "bias_gradients") == (0.0, 0.0)


def test_biases_of_experts_move_what_is_dispatched_in_fp32():
    """Mixtral with biases: of each of the two copies of a token 28 bytes per hidden element forward, 40 back."""
    biased = MIXTRAL.model_copy(update={"ffn_bias": True})
    copies = SEQUENCE * 2 * 4096
    assert moved(biased, "moe", "experts_bias") == (28.0 * copies, 40.0 * copies)
    assert moved(biased, "moe", "bias_gradients")[1] == SEQUENCE * 2 * 2 * 14336 * 2.0
    assert moved(MIXTRAL, "moe", "experts_bias") == (0.0, 0.0)
