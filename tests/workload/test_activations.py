"""Kept activations against the closed forms of Korthikanti et al. 2022 (arXiv:2205.05198, table 2)."""

import pytest
from workload_models import DEEPSEEK_V3, GPT_3, LLAMA_8B, MIXTRAL

from argosy.workload import Shard, Storage, backward_working_bytes, saved_tensors

S, B, H, A = 2048, 4, 12288, 96
PAPER = Storage(fused_attention=False, dropout=True)


def kept(model, kind="dense", storage=None, drop=(), **degrees):
    layout = {"tp": 1, "cp": 1, "ep": 1, "etp": 1, "sequence_parallel": False, **degrees}
    saved = saved_tensors(model, kind, Shard(S, B, **layout), storage or Storage())
    return sum(size for name, size in saved.items() if name not in drop)


@pytest.mark.parametrize("t", [1, 2, 8])
def test_gpt_layer_is_the_papers(t):
    """Rows of table 2: tensor parallelism, with sequence parallelism, each with selective recomputation."""
    sbh, scores = S * B * H, 5 * A * S / H
    assert kept(GPT_3, storage=PAPER, tp=t) == pytest.approx(sbh * (10 + 24 / t + scores / t))
    assert kept(GPT_3, storage=PAPER, tp=t, sequence_parallel=True) == pytest.approx(sbh / t * (34 + scores))
    selective = kept(GPT_3, storage=PAPER, drop=("scores",), tp=t, sequence_parallel=True)
    assert selective == pytest.approx(34 * sbh / t)
    full = saved_tensors(GPT_3, "dense", Shard(S, B, 1, 1, 1, 1, False), PAPER)["layer_input"]
    assert full == 2 * sbh


def test_llama_layer_counted_by_hand():
    """Inputs of two norms and their outputs, q, k, v, attention's output, gate and up, their product; 2 bytes
    each.
    """
    tokens, h, kv, f = S * B, 4096, 1024, 14336
    elements = 4 * h + (h + 2 * kv) + h + 3 * f
    assert kept(LLAMA_8B) == pytest.approx(tokens * (2 * elements + 4 * 32))


def test_context_and_tensor_ranks_share_what_one_keeps():
    whole = kept(LLAMA_8B)
    assert 8 * kept(LLAMA_8B, cp=8) == pytest.approx(whole)
    assert 8 * kept(LLAMA_8B, tp=8, sequence_parallel=True) == pytest.approx(whole)


def test_experts_keep_every_copy_of_a_token():
    """Mixtral: each token's hidden state and two expert activations of three widths, twice."""
    extra = kept(MIXTRAL, "moe") - kept(MIXTRAL.model_copy(update={"moe": None}), "dense")
    tokens = S * B
    experts = 2 * tokens * 2 * (4096 + 3 * 14336)
    router = tokens * 8 * 9 + 2 * 4 * (2 * tokens + 2 * tokens)
    assert extra == pytest.approx(experts + tokens * 4096 * 2 + router)  # and the norm's output


def test_narrow_inputs_save_and_copies_cost():
    wide, narrow = kept(LLAMA_8B), kept(LLAMA_8B, storage=Storage(linear_input_bytes=1.0))
    tokens = S * B
    # Norm outputs and the activation lose one byte; attention's output gains a narrow copy.
    assert wide - narrow == pytest.approx(tokens * (2 * 4096 + 14336 - 4096))


def test_latent_attention_keeps_expanded_heads():
    saved = saved_tensors(DEEPSEEK_V3, "moe", Shard(S, B, 1, 1, 1, 1, False), Storage())
    assert saved["keys"] == S * B * 128 * 192 * 2
    assert saved["values"] == S * B * 128 * 128 * 2
    assert saved["latents"] == S * B * 2 * (2 * (1536 + 512) + 64)


def test_backward_holds_at_least_one_gradient_of_everything_it_crosses():
    shard = Shard(S, B, 1, 1, 1, 1, False)
    working = backward_working_bytes(LLAMA_8B, "dense", shard, Storage())
    assert working == S * B * 2 * (2 * 4096 + 2 * 14336)
