"""FLOPs of training in the conventions that papers and programs use, each under its own name.

A FLOP is one multiplication or addition. All functions return FLOPs per token unless their name says step; a
backward pass is two forward passes of the products. Which convention a figure follows decides up to a third
of an MFU: compare only like with like.
"""

from __future__ import annotations

from argosy.spec.model import ModelArchitecture
from argosy.workload.attention import windowed_context
from argosy.workload.kinds import is_moe, layer_kinds, window
from argosy.workload.parameters import count, indexer_weights, shared_width

PASSES = 3.0  # forward, and a backward of twice its products


def parameters_only(model: ModelArchitecture) -> float:
    """6 N: training FLOPs per token of the parameters alone.

    Kaplan et al. 2020 (arXiv:2001.08361, section 2.1). N leaves out the input embedding and counts a
    mixture's active experts (`ParameterCount.without_input_embedding`).
    """
    return 6.0 * count(model).without_input_embedding


def products_per_token(model: ModelArchitecture, head: bool = True) -> float:
    """Forward FLOPs of all products with weights: 2 per weight that a token meets; no norms, no biases."""
    layers = sum(len(indices) * _layer_weights(model, kind) for kind, indices in layer_kinds(model).items())
    return 2.0 * (layers + (model.hidden * model.vocab if head else 0.0))


def attention_per_token(model: ModelArchitecture, sequence_length: float, causal: bool = True) -> float:
    """Forward FLOPs of scores and values over all layers.

    2 · context · heads · (d_qk + d_v) per layer, halved if causal. `sequence_length` in tokens. A sliding
    window shortens the context of its layers, an indexer (whose own scores are counted) that of all;
    `causal=False` then counts twice the causal work, as a framework does that ignores the mask but not the
    window.
    """
    mla = model.mla
    widths = mla.qk_nope_head_dim + mla.qk_rope_head_dim + mla.v_head_dim if mla else 2 * model.head_dim
    indexer = model.sparse_attention
    context = sum(
        len(indices)
        * float(windowed_context(sequence_length, indexer.top_k if indexer else window(model, kind)))
        for kind, indices in layer_kinds(model).items()
    )
    scores = model.layers * sequence_length * indexer.heads * indexer.head_dim if indexer else 0.0
    return (1.0 if causal else 2.0) * (context * model.heads * widths + scores)


def forward_per_token(model: ModelArchitecture, sequence_length: float, causal: bool = True) -> float:
    """Forward FLOPs: products, output head and attention."""
    return products_per_token(model) + attention_per_token(model, sequence_length, causal)


def training_per_token(model: ModelArchitecture, sequence_length: float, causal: bool = True) -> float:
    """Model FLOPs of training: three forward passes; nothing that is computed again counts."""
    return PASSES * forward_per_token(model, sequence_length, causal)


def hardware_per_token(
    model: ModelArchitecture, sequence_length: float, recompute: str = "none", causal: bool = True
) -> float:
    """FLOPs that the hardware executes: training, and the forward of what `recompute` repeats.

    `full` repeats every layer but not the output head; `selective` repeats attention's scores and values
    (Korthikanti et al. 2022, arXiv:2205.05198, section 5). ValueError for another word.
    """
    attention = attention_per_token(model, sequence_length, causal)
    again = {"none": 0.0, "selective": attention, "full": products_per_token(model, head=False) + attention}
    if recompute not in again:
        raise ValueError(f"no recomputation {recompute!r}; write none, selective or full")
    return training_per_token(model, sequence_length, causal) + again[recompute]


def palm_per_token(model: ModelArchitecture, sequence_length: float) -> float:
    """6 N + 12 · layers · heads · head_dim · s: attention uncut by the mask.

    PaLM (arXiv:2204.02311, appendix B): the convention of PaLM's MFU, of llm-foundry and of torchtitan.
    """
    return parameters_only(model) + PASSES * attention_per_token(model, sequence_length, causal=False)


def narayanan_step(batch: float, sequence_length: float, layers: float, hidden: float, vocab: float) -> float:
    """Hardware FLOPs of a step with full recomputation: 96·B·s·l·h²·(1 + s/(6h) + V/(16·l·h)).

    Narayanan et al. 2021 (arXiv:2104.04473, equation 3), for GPT layers (feed-forward of 4h, multi-head
    attention over the whole square); Megatron-LM's own log prints it. `batch` in sequences, `sequence_length`
    in tokens.
    """
    s, h, l = sequence_length, hidden, layers
    return 96.0 * batch * s * l * h**2 * (1 + s / (6 * h) + vocab / (16 * l * h))


def korthikanti_step(
    batch: float, sequence_length: float, layers: float, hidden: float, vocab: float
) -> float:
    """Model FLOPs of a step: 72·B·s·l·h²·(1 + s/(6h) + V/(12·l·h)) (arXiv:2205.05198, equation 7); GPT layers
    only.
    """
    s, h, l = sequence_length, hidden, layers
    return 72.0 * batch * s * l * h**2 * (1 + s / (6 * h) + vocab / (12 * l * h))


def _layer_weights(model: ModelArchitecture, kind: str) -> float:
    """Weights that the products of one token meet in one layer of `kind`, experts that it visits included."""
    h, mla, moe = model.hidden, model.mla, model.moe
    if mla:
        qk = mla.qk_nope_head_dim + mla.qk_rope_head_dim
        queries = model.heads * qk
        attention = indexer_weights(model)
        attention += h * mla.q_lora_rank + mla.q_lora_rank * queries if mla.q_lora_rank else h * queries
        attention += h * (mla.kv_lora_rank + mla.qk_rope_head_dim)
        attention += mla.kv_lora_rank * model.heads * (mla.qk_nope_head_dim + mla.v_head_dim)
        attention += model.heads * mla.v_head_dim * h
    else:
        gates = 2 if model.attention_gate else 1
        attention = h * model.head_dim * ((1 + gates) * model.heads + 2 * model.kv_heads)
    width = float(model.ffn)
    router = 0.0
    if is_moe(kind) and moe is not None:
        width = moe.top_k * moe.expert_ffn + shared_width(model)
        router = float(h * moe.experts)
    return attention + router + (3 if model.gated_ffn else 2) * h * width
