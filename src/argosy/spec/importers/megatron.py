"""Megatron-LM's command-line arguments as a model, a layout, a batch and formats.

Defaults are those of NVIDIA/Megatron-LM, megatron/training/arguments.py. Arguments that mean nothing
to a plan are listed in `ignored`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from argosy.spec.model import MixtureOfExperts, ModelArchitecture, ModelError, MultiHeadLatentAttention
from argosy.spec.problems import suggest
from argosy.spec.training import Layout, Offload, Overlap, Precision

# fmt: off
_NUMBERS = (
    "num-layers", "hidden-size", "num-attention-heads", "ffn-hidden-size", "kv-channels",
    "num-query-groups", "seq-length", "max-position-embeddings", "vocab-size",
    "make-vocab-size-divisible-by", "num-experts", "moe-router-topk", "moe-ffn-hidden-size",
    "moe-shared-expert-intermediate-size", "q-lora-rank", "kv-lora-rank", "qk-head-dim",
    "qk-pos-emb-head-dim", "v-head-dim", "mtp-num-layers", "tensor-model-parallel-size",
    "pipeline-model-parallel-size", "context-parallel-size", "expert-model-parallel-size",
    "expert-tensor-parallel-size", "num-layers-per-virtual-pipeline-stage",
    "num-virtual-stages-per-pipeline-rank", "micro-batch-size", "global-batch-size", "train-iters",
    "train-samples", "cpu-offloading-num-layers",
)
_TEXTS = (
    "normalization", "position-embedding-type", "moe-layer-freq", "recompute-granularity", "fp8-format",
    "data-parallel-sharding-strategy", "main-grads-dtype", "exp-avg-dtype", "moe-expert-capacity-factor",
    "pipeline-model-parallel-layout", "optimizer-offload-fraction",
)
_FLAGS = (
    "group-query-attention", "swiglu", "disable-bias-linear", "add-qkv-bias",
    "untie-embeddings-and-output-weights", "use-rotary-position-embeddings", "qk-layernorm",
    "multi-latent-attention", "sequence-parallel", "use-distributed-optimizer", "use-torch-fsdp2",
    "recompute-activations", "overlap-grad-reduce", "tp-comm-overlap", "bf16", "fp16", "fp8-hybrid",
    "fp8-e4m3", "grad-reduce-in-bf16", "overlap-moe-expert-parallel-comm", "optimizer-cpu-offload",
)
# fmt: on
_OTHER_NAMES = {
    "tensor-parallel-size": "tensor-model-parallel-size",
    "encoder-seq-length": "seq-length",
    "model-parallel-size": "tensor-model-parallel-size",
    "batch-size": "micro-batch-size",
}
_SHARDING = {"no_shard": 0, "optim": 1, "optim_grads": 2, "optim_grads_params": 3}


@dataclass(frozen=True)
class MegatronJob:
    """What the arguments say. `tokens` of the run and `global_batch` (sequences) are None where not given."""

    model: ModelArchitecture
    layout: Layout
    precision: Precision
    overlap: Overlap
    offload: Offload
    sequence_length: int
    global_batch: int | None
    tokens: float | None
    ignored: tuple[str, ...]


def read(path: str | Path, name: str = "") -> MegatronJob:
    """The job of a file that holds the arguments (a shell script works too). Raises ModelError."""
    file = Path(path)
    try:
        return from_arguments(file.read_text(encoding="utf-8"), name or file.stem, str(file))
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{file}: cannot be read as text ({error})") from None


def from_arguments(text: str, name: str = "megatron", where: str = "arguments") -> MegatronJob:
    """The job of `--num-layers 96 --hidden-size 12288 …`, with or without line breaks, comments and `=`.

    Raises ModelError for missing, malformed or contradictory arguments.
    """
    values, ignored = _split(text, where)
    arguments = _Arguments(values, where)
    sequence = arguments.number("seq-length")
    batch = arguments.number("global-batch-size", 0) or None
    samples: float | None = arguments.number("train-samples", 0) or None
    if samples is None and batch and "train-iters" in values:
        samples = arguments.number("train-iters") * batch
    return MegatronJob(
        model=_model(arguments, name),
        layout=_layout(arguments),
        precision=_precision(arguments),
        overlap=_overlap(arguments),
        offload=_offload(arguments),
        sequence_length=sequence,
        global_batch=batch,
        tokens=samples * sequence if samples else None,
        ignored=tuple(ignored),
    )


def _split(text: str, where: str) -> tuple[dict[str, str], list[str]]:
    """The known arguments by name, and the others as they stand."""
    try:
        words = shlex.split(text.replace("\\\n", " "), comments=True)
    except ValueError as error:
        raise ModelError(f"{where}: the quotes do not match ({error})") from None
    values: dict[str, str] = {}
    ignored: list[str] = []
    known = {*_NUMBERS, *_TEXTS, *_FLAGS, *_OTHER_NAMES}
    position = 0
    while position < len(words):
        word = words[position].lstrip("(").rstrip(")")
        position += 1
        if not word.startswith("--"):
            continue
        key, equals, value = word[2:].partition("=")
        follows = position < len(words) and not words[position].startswith("--")
        if follows and not equals and key not in _FLAGS:
            value = words[position] if key == "moe-layer-freq" else words[position].rstrip(")")
            position += 1
        key = _OTHER_NAMES.get(key.replace("_", "-"), key.replace("_", "-"))
        if key in known:
            values[key] = value
        else:
            ignored.append(f"--{key} {value}".rstrip())
    if not values:
        raise ModelError(
            f"{where}: has no Megatron-LM arguments; write for example --num-layers 96 --hidden-size 12288"
        )
    return values, ignored


class _Arguments:
    """The known arguments with Megatron-LM's types."""

    def __init__(self, values: Mapping[str, str], where: str) -> None:
        self.values = values
        self.where = where

    def number(self, key: str, default: int | None = None) -> int:
        """A whole number; the default where it is not given; ModelError where it is required or malformed."""
        if key not in self.values:
            if default is None:
                hint = suggest(key, self.values)
                raise ModelError(
                    f"{self.where}: --{key} is missing; {hint if hint.startswith('write') else 'give it'}"
                )
            return default
        text = self.values[key]
        if "$" in text:
            raise ModelError(f"{self.where}: --{key} is the variable {text}; write its value")
        if not re.fullmatch(r"\d+", text):
            raise ModelError(f"{self.where}: --{key} is {text!r}; write a whole number")
        return int(text)

    def text(self, key: str, default: str = "") -> str:
        """A word, or the default."""
        return self.values.get(key, default)

    def flag(self, *keys: str) -> bool:
        """Whether any of the switches is given."""
        return any(key in self.values for key in keys)


def _model(arguments: _Arguments, name: str) -> ModelArchitecture:
    number, flag = arguments.number, arguments.flag
    hidden, heads, layers = number("hidden-size"), number("num-attention-heads"), number("num-layers")
    gated = flag("swiglu")
    bias = not flag("disable-bias-linear")
    mixture = _mixture(arguments, layers)
    latent = _latent(arguments)
    position = arguments.text("position-embedding-type", "learned_absolute")
    learned = position == "learned_absolute" and not flag("use-rotary-position-embeddings")
    fields: dict[str, Any] = {
        "name": name,
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "kv_heads": number("num-query-groups", 1) if flag("group-query-attention") else heads,
        "head_dim": latent.qk_nope_head_dim + latent.qk_rope_head_dim
        if latent
        else _head_dim(arguments, hidden, heads),
        "ffn": 0
        if mixture and not mixture.dense_layers
        else number("ffn-hidden-size", _usual_ffn(hidden, gated)),
        "gated_ffn": gated,
        "vocab": _padded_vocabulary(arguments),
        "tied_embeddings": not flag("untie-embeddings-and-output-weights"),
        "attention_bias": bias or flag("add-qkv-bias"),
        "attention_output_bias": bias,
        "ffn_bias": bias,
        "norm": "rmsnorm" if arguments.text("normalization", "LayerNorm") == "RMSNorm" else "layernorm",
        "qk_norm": "per_head" if flag("qk-layernorm") and not latent else "none",
        "position": "learned" if learned else "none" if position == "none" else "rope",
        "learned_positions": number("max-position-embeddings") if learned else 0,
        "moe": mixture,
        "mla": latent,
        "mtp_modules": number("mtp-num-layers", 0),
        "source": f"Megatron-LM arguments of {name}",
    }
    try:
        return ModelArchitecture.model_validate(fields)
    except ValueError as error:
        raise ModelError(f"{arguments.where}: {str(error).splitlines()[0]}") from None


def _head_dim(arguments: _Arguments, hidden: int, heads: int) -> int:
    if "kv-channels" not in arguments.values and hidden % heads:
        raise ModelError(
            f"{arguments.where}: --hidden-size {hidden} does not divide by --num-attention-heads {heads}"
        )
    return arguments.number("kv-channels", hidden // heads)


def _usual_ffn(hidden: int, gated: bool) -> int:
    """Four times the hidden width; with SwiGLU two thirds of that, in whole 64s."""
    return int(4 * hidden * 2 / 3 / 64) * 64 if gated else 4 * hidden


def _padded_vocabulary(arguments: _Arguments) -> int:
    """The vocabulary rounded up to a multiple of (128 or as given) × tensor-parallel ranks."""
    multiple = arguments.number("make-vocab-size-divisible-by", 128) * arguments.number(
        "tensor-model-parallel-size", 1
    )
    return -(-arguments.number("vocab-size") // multiple) * multiple


def _latent(arguments: _Arguments) -> MultiHeadLatentAttention | None:
    if not arguments.flag("multi-latent-attention"):
        return None
    return MultiHeadLatentAttention(
        q_lora_rank=arguments.number("q-lora-rank", 0) or None,
        kv_lora_rank=arguments.number("kv-lora-rank", 32),
        qk_nope_head_dim=arguments.number("qk-head-dim", 128),
        qk_rope_head_dim=arguments.number("qk-pos-emb-head-dim", 64),
        v_head_dim=arguments.number("v-head-dim", 128),
    )


def _mixture(arguments: _Arguments, layers: int) -> MixtureOfExperts | None:
    if "num-experts" not in arguments.values:
        return None
    width = arguments.number("moe-ffn-hidden-size", 0) or arguments.number("ffn-hidden-size")
    shared = arguments.number("moe-shared-expert-intermediate-size", 0)
    capacity = arguments.text("moe-expert-capacity-factor")
    return MixtureOfExperts(
        experts=arguments.number("num-experts"),
        top_k=arguments.number("moe-router-topk", 2),
        expert_ffn=width,
        shared_experts=1 if shared else 0,
        shared_ffn=shared or None,
        dense_layers=_dense_layers(arguments, layers),
        capacity_factor=float(capacity) if re.fullmatch(r"\d+(\.\d+)?", capacity) else None,
    )


def _dense_layers(arguments: _Arguments, layers: int) -> tuple[int, ...]:
    """Layers without experts, from `--moe-layer-freq`: a period, or a pattern such as `([0]*3+[1]*58)`."""
    text = arguments.text("moe-layer-freq", "1").replace(" ", "").strip("()")
    if text.isdecimal() and int(text) > 0:
        return tuple(i for i in range(layers) if i % int(text))
    pattern: list[int] = []
    for term in text.split("+"):
        match = re.fullmatch(r"\(?\[([01](?:,[01])*)\]\)?(?:\*(\d{1,4}))?", term)
        if match is None:
            raise ModelError(
                f"{arguments.where}: --moe-layer-freq {text!r} is not a number or like ([0]*3+[1]*58)"
            )
        pattern += [int(each) for each in match[1].split(",")] * int(match[2] or 1)
    if len(pattern) != layers:
        raise ModelError(
            f"{arguments.where}: --moe-layer-freq names {len(pattern)} layers, --num-layers {layers}"
        )
    return tuple(i for i, routed in enumerate(pattern) if not routed)


def _layout(arguments: _Arguments) -> Layout:
    number, flag = arguments.number, arguments.flag
    tp, pp = number("tensor-model-parallel-size", 1), number("pipeline-model-parallel-size", 1)
    virtual = number("num-virtual-stages-per-pipeline-rank", 1)
    if "num-layers-per-virtual-pipeline-stage" in arguments.values:
        per_stage = number("num-layers-per-virtual-pipeline-stage")
        virtual = max(1, number("num-layers") // pp // max(1, per_stage))
    if "pipeline-model-parallel-layout" in arguments.values:
        virtual = max(1, _chunks(arguments.text("pipeline-model-parallel-layout")) // pp)
    zero = _SHARDING.get(
        arguments.text("data-parallel-sharding-strategy"), 1 if flag("use-distributed-optimizer") else 0
    )
    if flag("use-torch-fsdp2"):
        zero = 3
    recompute = arguments.text("recompute-granularity") or (
        "selective" if flag("recompute-activations") else "none"
    )
    return Layout.model_validate(
        {
            "tp": tp,
            "pp": pp,
            "vp": virtual,
            "cp": number("context-parallel-size", 1),
            "ep": number("expert-model-parallel-size", 1),
            "etp": number("expert-tensor-parallel-size", tp if "num-experts" in arguments.values else 1),
            "micro_batch": number("micro-batch-size", 0) or None,
            "zero": zero,
            "recompute": recompute if recompute in ("none", "selective", "full") else None,
            "sequence_parallel": flag("sequence-parallel"),
            "schedule": "interleaved" if virtual > 1 else "1f1b",
        }
    )


def _offload(arguments: _Arguments) -> Offload:
    """Shares of the optimizer's state and of the activations (whole layers) that the host's memory holds."""
    optimizer = 0.0
    if arguments.flag("optimizer-cpu-offload"):
        text = arguments.text("optimizer-offload-fraction", "1.0")
        if not re.fullmatch(r"(0|1|0?\.\d+|1\.0+|0\.\d+)", text):
            raise ModelError(
                f"{arguments.where}: --optimizer-offload-fraction is {text!r}; write a number from 0 to 1"
            )
        optimizer = float(text)
    layers = arguments.number("cpu-offloading-num-layers", 0)
    return Offload(optimizer=optimizer, activations=min(1.0, layers / arguments.number("num-layers")))


def _chunks(layout: str) -> int:
    """Chunks of `E|(t|)*3t,L`: one more than its bars, those in parentheses as often as they are repeated."""
    bars, rest = 0, layout
    for inner, times in re.findall(r"\(([^()]*)\)\*(\d{1,4})", layout):
        bars += inner.count("|") * int(times)
        rest = rest.replace(f"({inner})*{times}", "", 1)
    return bars + rest.count("|") + 1


def _precision(arguments: _Arguments) -> Precision:
    fp8 = arguments.flag("fp8-format", "fp8-hybrid", "fp8-e4m3")
    half = "bf16" if arguments.flag("bf16") else "fp16" if arguments.flag("fp16") else "fp32"
    narrow = arguments.flag("grad-reduce-in-bf16") or arguments.text("main-grads-dtype") == "bf16"
    moments = arguments.text("exp-avg-dtype", "fp32")
    return Precision.model_validate(
        {
            "compute": "fp8" if fp8 else half,
            "parameters": half,
            "gradients": "bf16" if narrow else "fp32",
            "master": "none" if half == "fp32" else "fp32",
            "optimizer": moments if moments in ("fp32", "bf16", "fp8") else "fp32",
        }
    )


def _overlap(arguments: _Arguments) -> Overlap:
    return Overlap(
        tp=arguments.flag("tp-comm-overlap"),
        dp=arguments.flag("overlap-grad-reduce"),
        ep=arguments.flag("overlap-moe-expert-parallel-comm"),
    )
