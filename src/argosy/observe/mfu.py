"""One normaliser of utilisation for all frameworks: what a log counts, and what it would read in every other convention.

A figure of MFU says nothing without its convention: whose FLOP count, attention counted whole, for what a causal mask leaves,
or not at all, with or without what is computed again, against which peak. Frameworks differ by 10 to 70 per cent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.laws import utilization as law
from argosy.observe.exports import SETTLED, recomputes
from argosy.observe.observed import Observed
from argosy.observe.records import TrainingLog
from argosy.observe.settings import number, value
from argosy.spec import ModelArchitecture

_SAME_SIZE = 1e-4  # relative: two models this near in size are one
NAMES = {"none": "parameters_only", "causal": "attention_causal", "full": "attention_full"}


@dataclass(frozen=True)
class Convention:
    """How a framework counts FLOPs: `attention` (none | causal | full), whether `recompute` counts as work, and in words."""

    attention: str
    recompute: bool
    words: str


CONVENTIONS = {
    "megatron": Convention("causal", False, "Megatron-LM: model FLOPs, attention halved for the causal mask, no recomputation"),
    "nemo": Convention("causal", False, "NeMo: as Megatron-LM"),
    "bigscience": Convention(
        "full", True, "Megatron-DeepSpeed: attention whole, the forward pass counted again where activations are recomputed"
    ),
    "torchtitan": Convention("full", False, "torchtitan: 6 N + 12 L H Q T, attention whole, N without the input embedding"),
    "atorch": Convention("causal", False, "AtorchTrainer: as Megatron-LM (assumption)"),
    "deepspeed": Convention("full", True, "DeepSpeed: hardware FLOPs (assumption)"),
    "huggingface": Convention("none", False, "Hugging Face: 6 N per token"),
}  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """What FLOPs are counted from: `parameters` that multiply (without the input embedding, the active ones), `layers`,
    `width` = heads × head dimension, `sequence` in tokens.
    """

    parameters: float
    layers: float
    width: float
    sequence: float

    def flops_per_token(self, attention: str, recompute: str = "none") -> float:
        """Forward and backward FLOPs of a token; `recompute` none or full: with what is computed again."""
        return float(
            law.hardware_flops_per_token(
                self.parameters, self.layers, self.width, self.sequence, attention, recompute
            )
        )


def shape_of_model(model: ModelArchitecture, sequence: float) -> Shape:
    """The shape of a scenario's model."""
    from argosy.workload import count

    return Shape(
        float(count(model).without_input_embedding),
        float(model.layers),
        float(model.heads * model.head_dim),
        sequence,
    )


def shape_of_log(log: TrainingLog) -> Shape | None:
    """The shape that a log's settings tell: dimensions of a dense decoder, or torchtitan's count; None where they do not.

    Parameters of a layer: attention h² (2 + 2·groups/heads) with heads × head dimension = h, feed-forward 3 h f gated or 2 h f;
    the output projection h·V counts, the input embedding does not. Mixtures of experts are not told from settings: None.
    """
    settings = log.settings
    layers, hidden, sequence = (number(settings, name) for name in ("layers", "hidden", "sequence"))
    vocabulary = number(settings, "vocabulary")
    experts = value(settings, "num_experts")
    if (
        not layers
        or not hidden
        or not sequence
        or not vocabulary
        or (isinstance(experts, int) and experts > 1)
    ):
        return _shape_by_size(log)
    heads = value(settings, "heads", "num_attention_heads") or 0
    groups = value(settings, "query_groups", "num_query_groups")
    grouped = value(settings, "group_query_attention")
    share = (
        groups / heads
        if isinstance(groups, int) and isinstance(heads, int) and heads and grouped is not False
        else 1.0
    )
    feed = value(settings, "feed_forward", "ffn_hidden_size")
    feed_forward = float(feed) if isinstance(feed, (int, float)) and feed else 4.0 * hidden
    gated = 3.0 if value(settings, "swiglu") is True else 2.0
    own = _by_size(log, vocabulary, hidden)
    counted = (
        layers * (hidden * hidden * (2.0 + 2.0 * share) + gated * hidden * feed_forward) + hidden * vocabulary
    )
    return Shape(own or counted, layers, hidden, sequence)


def _by_size(log: TrainingLog, vocabulary: float, hidden: float) -> float | None:
    """torchtitan prints all parameters: without the input embedding those that multiply (untied embeddings)."""
    every = log.settings.get("parameters_in_all")
    return (
        float(every) - vocabulary * hidden if isinstance(every, int) and every > vocabulary * hidden else None
    )


def _shape_by_size(log: TrainingLog) -> Shape | None:
    """A log that prints all parameters and not the dimensions (torchtitan): the shipped model of that very size."""
    from argosy.spec import architectures
    from argosy.workload import count

    sequence, every = number(log.settings, "sequence"), log.settings.get("parameters_in_all")
    if not sequence or not isinstance(every, int) or every <= 0:
        return None
    for name in architectures.names():
        model = architectures.shipped(name)
        if abs(count(model).total / every - 1.0) < _SAME_SIZE:
            return shape_of_model(model, sequence)
    return None


def normalised(
    log: TrainingLog,
    shape: Shape | None,
    peak_flops: float | None,
    peak_kind: str = "dense",
    dtype: str = "bf16",
) -> dict[str, Any] | None:
    """Utilisation of a log in every convention; None where neither rates nor FLOPs are told.

    `peak_flops`: FLOP/s of one accelerator, of `dtype`; a sparse one is halved. Keys: parameters_only, attention_causal,
    attention_full, hfu (with recomputation, where the log says that there is), `value` = attention_causal, and `as_logged`:
    FLOP/s and MFU as the log prints them with its convention in words, and `implied_tokens_per_gpu_s`, which must agree
    with the rate that the log tells.
    """
    tokens, flops, printed = (_median(each) for each in (log.tokens_per_gpu_s, log.flops_per_gpu, log.mfu))
    convention = CONVENTIONS.get(log.framework)
    if tokens is None and flops is None and printed is None:
        return None
    peak = float(law.dense_peak(peak_flops, peak_kind)) if peak_flops else None
    again = "full" if recomputes(log) else "none"
    implied = None
    if flops and shape and convention:
        implied = flops / shape.flops_per_token(
            convention.attention, again if convention.recompute else "none"
        )
    rate = tokens if tokens is not None else implied
    found: dict[str, Any] = {
        "tokens_per_gpu_s": rate, "peak_flops": peak, "peak_kind": "dense", "peak_dtype": dtype, "framework": log.framework,
        "parameters": shape.parameters if shape else None, "value": None, "convention": "attention counted causally",
        "recompute": again, "path": log.path,
        "as_logged": {
            "flops_per_gpu": flops, "mfu": printed if printed is not None else (flops / peak if flops and peak else None),
            "convention": convention.words if convention else "unknown", "implied_tokens_per_gpu_s": implied,
        },
        "warnings": _doubts(log, tokens, implied, flops, peak, peak_kind),
    }  # fmt: skip
    if shape and peak and rate:
        for attention, name in NAMES.items():
            found[name] = rate * shape.flops_per_token(attention) / peak
        found["hfu"] = rate * shape.flops_per_token("causal", again) / peak
        found["value"] = found["attention_causal"]
    elif flops and peak and convention and not convention.recompute:
        found |= {"value": flops / peak, "convention": convention.words}
    return found


def _doubts(
    log: TrainingLog,
    tokens: float | None,
    implied: float | None,
    flops: float | None,
    peak: float | None,
    kind: str,
) -> list[str]:
    told = []
    if kind == "sparse":
        told.append("the peak given is that of structured sparsity: half of it was taken")
    if tokens and implied and abs(implied / tokens - 1.0) > 0.1:
        told.append(
            f"the log's FLOP/s imply {implied:,.0f} tokens/s a GPU, its rate is {tokens:,.0f}: another model or convention"
        )
    if flops and peak and flops > peak:
        told.append(
            f"{flops / 1e12:,.0f} TFLOP/s are above the dense peak of {peak / 1e12:,.0f}: another dtype or device?"
        )
    return told


def _median(values: np.ndarray) -> float | None:
    """Median of the rows without the first fifth; None where nothing is known."""
    known = values[int(len(values) * SETTLED) :]
    known = known[np.isfinite(known) & (known > 0)]
    return float(np.median(known)) if len(known) else None


def of_observed(observed: Observed) -> dict[str, Any] | None:
    """Utilisation of the longest log, against the dense BF16 peak of the accelerator that the files or the plan name.

    A peak that the log itself prints is taken where the catalog knows no device.
    """
    logs = sorted(observed.logs, key=lambda log: -len(log.iteration))
    device = observed.device()
    for log in logs:
        peak = observed.fact(f"accelerators.{device}.peak_bf16") if device else None
        own = log.settings.get("peak_flops")
        if peak is None and isinstance(own, float) and math.isfinite(own) and own > 0:
            peak = own
        found = normalised(log, shape_of_log(log), peak)
        if found is not None:
            return found | {"device": device}
    return None


def ratio(shape: Shape, over: str = "full", under: str = "causal") -> float:
    """How many times a figure in one convention exceeds the same run's in another: 1.70 at 131,072 tokens of Llama 3 8B."""
    return shape.flops_per_token(over) / shape.flops_per_token(under)
