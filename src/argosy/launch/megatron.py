"""A planned job as Megatron-LM arguments; `argosy.spec.importers.megatron` reads them back.

Names of arguments: NVIDIA/Megatron-LM, megatron/training/arguments.py (November 2026).
"""

from __future__ import annotations

from itertools import groupby

from argosy.facts import FactError
from argosy.launch.job import LaunchJob, chunk_ends

Arguments = list[tuple[str, str | int | float | None]]  # name and value; None for a switch
_STRATEGIES = {2: "optim_grads", 3: "optim_grads_params"}


def arguments(job: LaunchJob) -> str:
    """The arguments as text, one a line, grouped; FactError for what Megatron-LM has not."""
    _refuse(job)
    groups = {
        "model": _model(job),
        "layout": _layout(job),
        "batch and length": _batch(job),
        "formats": _formats(job),
        "overlap": _overlap(job),
        **({"offload": offload} if (offload := _offload(job)) else {}),
        "checkpoints": _checkpoints(job),
    }
    lines = [
        f"# {job.name}, {job.stage}: Megatron-LM arguments. Data, tokenizer and learning rate are yours."
    ]
    lines += [f"# left out, because Megatron-LM has no argument for it: {each}" for each in _left_out(job)]
    for title, group in groups.items():
        lines.append(f"# {title}")
        lines += [f"--{name}" if value is None else f"--{name} {value}" for name, value in group]
    return "\n".join(lines) + "\n"


def _refuse(job: LaunchJob) -> None:
    schedule = job.layout["schedule"]
    if schedule not in ("1f1b", "interleaved"):
        raise FactError(f"Megatron-LM has no {schedule} schedule; write layout: {{schedule: 1f1b}}")
    if job.precision.compute in ("fp32", "tf32", "fp4"):
        raise FactError(f"no Megatron-LM argument was found for {job.precision.compute}; write compute: bf16")
    if job.layout["shard"] and job.layout["zero"] != 1:
        raise FactError("hybrid sharding of weights has no Megatron-LM argument here; leave it to torchtitan")
    if job.offload.activations and (job.layout["pp"] > 1 or job.layout["recompute"] != "none"):
        raise FactError(
            "Megatron-LM offloads activations without a pipeline and without recomputation only; write "
            "offload: {activations: 0} or layout: {pp: 1, recompute: none}"
        )


def _left_out(job: LaunchJob) -> list[str]:
    model = job.model
    found = {
        "parallel attention and feed-forward": model.parallel_block,
        "a window on some layers": model.sliding_window is not None,
        f"{model.norms_per_layer} norms a layer": model.norms_per_layer != 2,
        "norm of queries and keys over their full width": model.qk_norm == "full",
        "attention gate": model.attention_gate,
        "ALiBi": model.position == "alibi",
        "biases on some projections only": model.attention_output_bias != model.ffn_bias,
    }
    return [name for name, present in found.items() if present]


def _model(job: LaunchJob) -> Arguments:
    model = job.model
    found: Arguments = [
        ("num-layers", model.layers),
        ("hidden-size", model.hidden),
        ("num-attention-heads", model.heads),
        ("seq-length", job.sequence_length),
        ("max-position-embeddings", max(job.sequence_length, model.learned_positions)),
        ("normalization", "RMSNorm" if model.norm == "rmsnorm" else "LayerNorm"),
        ("vocab-size", model.vocab),
        ("make-vocab-size-divisible-by", _padding(model.vocab, job.layout["tp"])),
    ]
    if model.ffn:
        found.append(("ffn-hidden-size", model.ffn))
    if model.mla is None:
        found.append(("kv-channels", model.head_dim))
        if model.kv_heads != model.heads:
            found += [("group-query-attention", None), ("num-query-groups", model.kv_heads)]
    position = {"rope": "rope", "learned": "learned_absolute"}.get(model.position, "none")
    switches = {
        "swiglu": model.gated_ffn,
        "disable-bias-linear": not model.ffn_bias,
        "add-qkv-bias": model.attention_bias and not model.ffn_bias,
        "untie-embeddings-and-output-weights": not model.tied_embeddings,
        "qk-layernorm": model.qk_norm == "per_head" or model.mla is not None,
    }
    found += [("position-embedding-type", position), *((name, None) for name, on in switches.items() if on)]
    return found + _latent(job) + _experts(job)


def _padding(vocab: int, tp: int) -> int:
    """The largest power of two up to Megatron's 128 with which the vocabulary needs no padding, else 128."""
    return next((2**i for i in range(7, -1, -1) if vocab % (2**i * tp) == 0), 128)


def _latent(job: LaunchJob) -> Arguments:
    latent = job.model.mla
    if latent is None:
        return []
    found: Arguments = [("multi-latent-attention", None)]
    if latent.q_lora_rank:
        found.append(("q-lora-rank", latent.q_lora_rank))
    return [
        *found,
        ("kv-lora-rank", latent.kv_lora_rank),
        ("qk-head-dim", latent.qk_nope_head_dim),
        ("qk-pos-emb-head-dim", latent.qk_rope_head_dim),
        ("v-head-dim", latent.v_head_dim),
    ]


def _experts(job: LaunchJob) -> Arguments:
    mixture, model = job.model.moe, job.model
    found: Arguments = [("mtp-num-layers", model.mtp_modules)] if model.mtp_modules else []
    if mixture is None:
        return found
    shared = mixture.shared_ffn or mixture.shared_experts * mixture.expert_ffn
    found += [
        ("num-experts", mixture.experts),
        ("moe-router-topk", mixture.top_k),
        ("moe-ffn-hidden-size", mixture.expert_ffn),
    ]
    if shared:
        found.append(("moe-shared-expert-intermediate-size", shared))
    if mixture.dense_layers:
        routed = [int(i not in mixture.dense_layers) for i in range(model.layers)]
        terms = [f"[{value}]*{len(list(run))}" for value, run in groupby(routed)]
        found.append(("moe-layer-freq", f'"({"+".join(terms)})"'))
    if mixture.capacity_factor is not None:
        found.append(("moe-expert-capacity-factor", mixture.capacity_factor))
    return [*found, ("moe-grouped-gemm", None), ("moe-token-dispatcher-type", "alltoall")]


def _layout(job: LaunchJob) -> Arguments:
    layout = job.layout
    found: Arguments = [
        ("tensor-model-parallel-size", layout["tp"]),
        ("pipeline-model-parallel-size", layout["pp"]),
        ("context-parallel-size", layout["cp"]),
    ]
    if job.model.moe:
        found += [
            ("expert-model-parallel-size", layout["ep"]),
            ("expert-tensor-parallel-size", layout["etp"]),
        ]
    if layout["sequence_parallel"]:
        found.append(("sequence-parallel", None))
    found += _chunks(job)
    if layout["zero"] >= 1:
        found.append(("use-distributed-optimizer", None))
    if layout["zero"] >= 2:
        found += [
            ("use-megatron-fsdp", None),
            ("data-parallel-sharding-strategy", _STRATEGIES[layout["zero"]]),
        ]
    if layout["shard"]:
        found.append(("num-distributed-optimizer-instances", layout["dp"] * layout["cp"] // layout["shard"]))
    if layout["recompute"] != "none":
        found.append(("recompute-granularity", layout["recompute"]))
    if layout["recompute"] == "full":
        found += [("recompute-method", "uniform"), ("recompute-num-layers", 1)]
    return found


def _chunks(job: LaunchJob) -> Arguments:
    """How layers are spread over chunks: evenly, with the ends standing for a layer each, or written out."""
    vp, short = job.layout["vp"], chunk_ends(job)
    if short is None:
        return [("pipeline-model-parallel-layout", f'"{pipeline_layout(job)}"')]
    found: Arguments = [("num-virtual-stages-per-pipeline-rank", vp)] if vp > 1 else []
    names = ("account-for-embedding-in-pipeline-split", "account-for-loss-in-pipeline-split")
    return found + [(name, None) for name, less in zip(names, short, strict=True) if less]


def pipeline_layout(job: LaunchJob) -> str:
    """Every chunk's modules: E embedding, t a layer, m a prediction module, L the head; chunks divided by |."""
    chunks = [f"t*{size}" if size > 1 else "t" * size for size in job.main_layers]
    chunks[0] = "E" + (f",{chunks[0]}" if chunks[0] else "")
    end = ["m"] * job.model.mtp_modules + ["L"]
    chunks[-1] = ",".join(([chunks[-1]] if chunks[-1] else []) + end)
    return "|".join(chunks)


def _batch(job: LaunchJob) -> Arguments:
    return [
        ("micro-batch-size", job.layout["micro_batch"]),
        ("global-batch-size", job.layout["global_batch_sequences"]),
        ("train-iters", job.steps),
    ]


def _formats(job: LaunchJob) -> Arguments:
    formats = job.precision
    found: Arguments = [("fp16" if formats.compute == "fp16" else "bf16", None)]
    if formats.compute == "fp8":
        found.append(("fp8-format", "hybrid"))
    if formats.gradients == "bf16":
        found.append(("grad-reduce-in-bf16", None))
    if formats.optimizer in ("bf16", "fp8"):
        found += [
            ("use-precision-aware-optimizer", None),
            ("exp-avg-dtype", formats.optimizer),
            ("exp-avg-sq-dtype", formats.optimizer),
        ]
    return found


def _overlap(job: LaunchJob) -> Arguments:
    on, layout = job.overlap, job.layout
    switches = {
        "tp-comm-overlap": on.tp and layout["tp"] > 1 and layout["sequence_parallel"],
        "overlap-grad-reduce": on.dp and layout["dp"] > 1,
        "overlap-param-gather": on.dp and layout["dp"] > 1 and layout["zero"] >= 1,
        "overlap-moe-expert-parallel-comm": on.ep and layout["ep"] > 1,
    }
    return [(name, None) for name, given in switches.items() if given]


def _offload(job: LaunchJob) -> Arguments:
    """State in the host's memory: the optimizer's by share, activations by whole layers."""
    found: Arguments = []
    if job.offload.optimizer:
        found += [
            ("optimizer-cpu-offload", None),
            ("optimizer-offload-fraction", job.offload.optimizer),
            ("overlap-cpu-optimizer-d2h-h2d", None),
        ]
        if job.precision.optimizer == "fp32":  # other formats ask for it with their own arguments
            found.append(("use-precision-aware-optimizer", None))
    if layers := round(job.offload.activations * job.model.layers):
        found.append(("cpu-offloading-num-layers", layers))
    return found


def _checkpoints(job: LaunchJob) -> Arguments:
    found: Arguments = [
        ("save", "$CHECKPOINTS"),
        ("load", "$CHECKPOINTS"),
        ("save-interval", job.checkpoint_steps),
        ("ckpt-format", "torch_dist"),
    ]
    return [*found, ("async-save", None)] if job.checkpoint_async else found
