"""Work of one layer, of the embedding and of the output head, as one rank does it in one micro-batch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from argosy.spec.model import ModelArchitecture
from argosy.workload import attention, feed_forward
from argosy.workload.kinds import is_moe, layer_kind_sequence, window
from argosy.workload.operations import Gemm, LayerWork, MemoryOperation
from argosy.workload.parameters import layer_parameters
from argosy.workload.shard import Shard

Array = Any
# Bytes per element that quantisation moves: reads BF16, writes the format and its transpose for the backward
# pass.
QUANTISE_BYTES = {"fp8": 2.0 + 1.0 + 1.0, "fp4": 2.0 + 0.5 + 0.5}


def layer_work(
    model: ModelArchitecture,
    kind: str,
    *,
    sequence_length: Array,
    micro_batch: Array,
    tp: Array = 1,
    cp: Array = 1,
    ep: Array = 1,
    etp: Array = 1,
    sequence_parallel: Array = True,
    precision: str = "bf16",
    fused_cross_entropy: bool = False,
) -> LayerWork:
    """Operations, exchanges and parameters of one layer of `kind` on one rank for one micro-batch.

    `kind`: one of `layer_kinds(model)`, or `embedding`, `head`, `mtp`. `sequence_length` in tokens,
    `micro_batch` in sequences, the parallel degrees and `sequence_parallel` (bool) floats or arrays (L,).
    `precision` of the quantised products (`bf16`, `fp8`, `fp4`) adds the casts. ValueError for an unknown
    kind.

    `extra` holds, in bytes of the full tensor of one collective unless said otherwise, 0 where there is none:
    - `tp_bytes`: the hidden state of the group's tokens, exchanged `tp_forward` times in the forward pass and
      `tp_backward` in the backward, each an all-reduce, or with sequence parallelism an all-gather and a
      reduce-scatter (the same volume; Korthikanti et al. 2022, arXiv:2205.05198). With sequence parallelism
      the backward gathers the inputs once more for the weight gradients: `tp_regather` further all-gathers.
    - `cp_bytes`: keys and values of the whole sequence on this tensor rank, exchanged once forward; in the
      backward keys and values again and their gradients (twice the bytes).
    - `ep_bytes`: one dispatch's send buffer per rank; forward is a dispatch and a combine, backward the same
      two.
    - `etp_bytes`: tokens gathered over the expert-tensor group before the experts (and reduced after).
    - `boundary_bytes`: hidden state that one rank sends to the next pipeline stage.
    - `dense_parameters`, `expert_parameters`: counts on this rank, for the data-parallel exchanges.
    """
    shard = Shard(sequence_length, micro_batch, tp, cp, ep, etp, sequence_parallel)
    if kind == "embedding":
        work = _embedding(model, shard)
    elif kind == "head":
        work = _head(model, shard, fused_cross_entropy)
    elif kind == "mtp":
        work = _prediction_module(model, shard, fused_cross_entropy)
    elif kind in layer_kind_sequence(model):
        work = _layer(model, kind, shard)
    else:
        known = ", ".join(dict.fromkeys(layer_kind_sequence(model)))
        raise ValueError(
            f"{model.name} has no layers of kind {kind!r}; write one of {known}, embedding, head, mtp"
        )
    return _with_casts(work, precision)


def _layer(model: ModelArchitecture, kind: str, shard: Shard) -> LayerWork:
    routed = is_moe(kind)
    feed_forward_products = feed_forward.mixture_products if routed else _dense_products
    feed_forward_memory = (
        feed_forward.mixture_memory_operations if routed else feed_forward.dense_memory_operations
    )
    return LayerWork(
        kind,
        gemms=attention.projections(model, shard) + feed_forward_products(model, shard),
        attentions=(attention.core(model, shard, window(model, kind)),),
        memory_operations=(
            *_norms_and_residuals(model, shard),
            *attention.memory_operations(model, shard),
            *feed_forward_memory(model, shard),
            *_bias_gradients(model, shard, routed),
        ),
        tokens=shard.tokens,
        extra=_exchanges(model, kind, shard),
    )


def _bias_gradients(model: ModelArchitecture, shard: Shard, routed: bool) -> tuple[MemoryOperation, ...]:
    """A bias's gradient sums the columns of its product's output gradient, which it reads; adding a bias is
    free in the product that it follows.
    """
    elements = feed_forward.bias_gradient_elements(model, shard, routed)
    if model.attention_bias:
        heads = model.heads / shard.tp + 2 * shard.key_value_heads(model.kv_heads)
        elements = elements + shard.tokens * heads * model.head_dim
    if model.attention_output_bias:
        elements = elements + shard.own_tokens * model.hidden
    if not np.any(elements):
        return ()
    return (MemoryOperation("bias_gradients", 0.0, elements * shard.element_bytes, kernels=4),)


def _dense_products(model: ModelArchitecture, shard: Shard) -> tuple[Gemm, ...]:
    return feed_forward.dense_products(model, shard, model.ffn)


def _norms_and_residuals(model: ModelArchitecture, shard: Shard) -> tuple[MemoryOperation, ...]:
    """Norms read one and write one hidden state (backward: read two, write one); a residual addition moves
    three.

    The backward of an addition is the sum of the two branches' gradients: three again.
    """
    hidden = shard.own_tokens * model.hidden * shard.element_bytes
    residuals = 1 if model.parallel_block else 2
    return (
        MemoryOperation(
            "norms",
            2 * model.norms_per_layer * hidden,
            3 * model.norms_per_layer * hidden,
            model.norms_per_layer,
        ),
        MemoryOperation("residuals", 3 * residuals * hidden, 3 * residuals * hidden, residuals),
    )


def _exchanges(model: ModelArchitecture, kind: str, shard: Shard) -> dict[str, Array]:
    """Volumes and counts of what one layer exchanges; see `layer_work`."""
    routed = is_moe(kind)
    # A tensor-parallel block: attention, a dense feed-forward, shared experts. Routed experts exchange
    # through ep and etp.
    blocks = 1 if model.parallel_block and not routed else 2
    if routed and not (model.moe and model.moe.shared_experts):
        blocks = 1
    parameters = layer_parameters(model, kind)
    dispatched = feed_forward.dispatched_bytes(model, shard) if routed else 0.0
    return {
        **_hidden_state(model, shard),
        "tp_forward": np.where(np.asarray(shard.tp) > 1, blocks, 0),
        "tp_backward": np.where(np.asarray(shard.tp) > 1, blocks, 0),
        "tp_regather": np.where((np.asarray(shard.tp) > 1) & np.asarray(shard.sequence_parallel), blocks, 0),
        "cp_bytes": np.where(np.asarray(shard.cp) > 1, attention.exchanged_key_values(model, shard), 0.0),
        "ep_bytes": np.where(np.asarray(shard.ep) > 1, dispatched, 0.0),
        "etp_bytes": np.where(np.asarray(shard.etp) > 1, dispatched * shard.etp, 0.0),
        "dense_parameters": parameters.dense_on_rank(shard.tp),
        "expert_parameters": parameters.experts_on_rank(shard.ep, shard.etp),
    }


def _hidden_state(model: ModelArchitecture, shard: Shard) -> dict[str, Array]:
    return {
        "tp_bytes": shard.tokens * model.hidden * shard.element_bytes,
        "boundary_bytes": shard.own_tokens * model.hidden * shard.element_bytes,
    }


def _ends(
    model: ModelArchitecture, kind: str, shard: Shard, forward: Array, backward: Array
) -> dict[str, Array]:
    """Exchanges of the embedding or the head: an all-gather or a reduce-scatter is half an all-reduce."""
    parallel, sequence = np.asarray(shard.tp) > 1, np.asarray(shard.sequence_parallel)
    parameters = layer_parameters(model, kind)
    return {
        **_hidden_state(model, shard),
        "tp_forward": np.where(parallel, np.where(sequence, 0.5, forward), 0.0),
        "tp_backward": np.where(parallel, np.where(sequence, 0.5, backward), 0.0),
        "tp_regather": np.where(parallel & sequence, 1.0 if kind == "head" else 0.0, 0.0),
        "cp_bytes": 0.0,
        "ep_bytes": 0.0,
        "etp_bytes": 0.0,
        "dense_parameters": parameters.dense_on_rank(shard.tp),
        "expert_parameters": 0.0,
    }


def _embedding(model: ModelArchitecture, shard: Shard) -> LayerWork:
    """The look-up reads and writes a row per token; its backward adds rows into the FP32 gradient (read and
    write).
    """
    row = shard.tokens * model.hidden
    backward = row * (shard.element_bytes + 2 * 4.0)
    lookup = MemoryOperation("embedding_lookup", 2 * row * shard.element_bytes, backward)
    exchanges = _ends(model, "embedding", shard, 1.0, 0.0)
    return LayerWork("embedding", memory_operations=(lookup,), tokens=shard.tokens, extra=exchanges)


def _head(model: ModelArchitecture, shard: Shard, fused: bool) -> LayerWork:
    """Final norm, output projection over vocab/tp, and the loss.

    The unfused loss converts logits to FP32 (2 + 4 bytes per logit), takes the maximum (4), subtracts (8),
    exponentiates (8) and sums (4); backward scales the probabilities in place and converts (8 + 6):
    Megatron-Core's vocabulary-parallel cross-entropy. The fused one reads BF16 logits twice, and backward
    reads and writes them.
    """
    hidden = shard.own_tokens * model.hidden * shard.element_bytes
    logits = shard.tokens * model.vocab / shard.tp
    forward, backward, kernels = (4.0, 4.0, 2) if fused else (30.0, 14.0, 6)
    return LayerWork(
        "head",
        gemms=(Gemm("head", shard.tokens, model.vocab / shard.tp, model.hidden, quantised=False),),
        memory_operations=(
            MemoryOperation("final_norm", 2 * hidden, 3 * hidden),
            MemoryOperation("cross_entropy", forward * logits, backward * logits, kernels, fusible=False),
        ),
        tokens=shard.tokens,
        extra=_ends(model, "head", shard, 0.0, 1.0),
    )


def _prediction_module(model: ModelArchitecture, shard: Shard, fused: bool) -> LayerWork:
    """One multi-token-prediction module: two norms, the 2·hidden → hidden projection, a layer, the shared
    head.
    """
    layer = _layer(model, layer_kind_sequence(model)[-1], shard)
    head = _head(model, shard, fused)
    hidden = shard.own_tokens * model.hidden * shard.element_bytes
    projection = Gemm("mtp_projection", shard.tokens, model.hidden / shard.tp, 2 * model.hidden)
    norms = MemoryOperation("mtp_norms", 4 * hidden, 6 * hidden, 2)
    # The projection gathers its input and its divided output: one all-reduce's worth more than a layer and a
    # head.
    sums = {key: layer.extra[key] + head.extra[key] for key in ("tp_forward", "tp_backward", "tp_regather")}
    more = np.where(np.asarray(shard.tp) > 1, 1.0, 0.0)
    return LayerWork(
        "mtp",
        gemms=(projection, *layer.gemms, *head.gemms),
        attentions=layer.attentions,
        memory_operations=(norms, *layer.memory_operations, *head.memory_operations),
        tokens=shard.tokens,
        extra={
            **layer.extra,
            **sums,
            "tp_forward": sums["tp_forward"] + more,
            "tp_backward": sums["tp_backward"] + more,
            "dense_parameters": layer_parameters(model, "mtp").dense_on_rank(shard.tp),
        },
    )


def _with_casts(work: LayerWork, precision: str) -> LayerWork:
    """Adds the conversion of the inputs (and, backward, of the output gradients) of every quantised product.

    Weights are converted once per step, not per micro-batch, and are left out.
    """
    if precision not in QUANTISE_BYTES:
        return work
    moved = QUANTISE_BYTES[precision]
    casts = tuple(
        MemoryOperation(
            f"quantise_{gemm.name}",
            moved * gemm.m * gemm.k * np.maximum(gemm.experts, 1),
            moved * gemm.m * gemm.n * np.maximum(gemm.experts, 1),
        )
        for gemm in work.gemms
        if gemm.quantised
    )
    return replace(work, memory_operations=work.memory_operations + casts)
