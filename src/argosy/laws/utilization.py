"""Model and hardware FLOP utilisation in the conventions that papers use, told apart.

MFU counts the FLOPs that the model needs; HFU also counts what is computed again in the backward pass. Both
divide by the dense peak of the compute dtype. Sources: A. Chowdhery et al., "PaLM", arXiv 2204.02311,
appendix B (MFU, 6N + 12 L H Q T); V. Korthikanti et al., arXiv 2205.05198 (HFU with recomputation); J.
Kaplan et al., arXiv 2001.08361 (6N per token).
"""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array, plain, require

ATTENTION = {"none": 0.0, "causal": 0.5, "full": 1.0}  # share of the attention matrix that is counted
RECOMPUTED_FORWARD = {
    "none": 0.0,
    "attention": 0.0,
    "full": 1.0,
}  # share of the matrix multiplications' forward pass done twice


class SparsePeakError(ValueError):
    """A peak with structured sparsity was offered where only a dense one makes sense."""


def parameter_flops_per_token(parameters: Array) -> Array:
    """6 N FLOP per trained token: 2 forward and 4 backward per parameter. `parameters`: active, without the
    input embedding.
    """
    return 6.0 * parameters


def attention_flops_per_token(
    layers: Array, attention_width: Array, sequence_length: Array, attention: str = "causal"
) -> Array:
    """FLOPs of QKᵀ and AV per trained token, forward and backward: 12 L W s, halved for causal attention.

    `attention_width` = heads × head dimension; `sequence_length` in tokens; `attention`: "none", "causal"
    or "full".
    """
    return 12.0 * layers * attention_width * sequence_length * ATTENTION[attention]


def model_flops_per_token(
    parameters: Array,
    layers: Array = 0,
    attention_width: Array = 0,
    sequence_length: Array = 0,
    attention: str = "none",
) -> Array:
    """Model FLOPs per trained token in one of three conventions: parameters only, plus causal, or plus full
    attention.
    """
    return parameter_flops_per_token(parameters) + attention_flops_per_token(
        layers, attention_width, sequence_length, attention
    )


def hardware_flops_per_token(
    parameters: Array,
    layers: Array = 0,
    attention_width: Array = 0,
    sequence_length: Array = 0,
    attention: str = "causal",
    recompute: str = "none",
) -> Array:
    """FLOPs that the hardware executes per trained token: model FLOPs plus the forward work done again.

    `recompute`: "none"; "attention" (the attention products alone, one third of their 12 L W s); "full"
    (the whole forward pass, a third of the model FLOPs: 8 N instead of 6 N).
    """
    weights = parameter_flops_per_token(parameters)
    products = attention_flops_per_token(layers, attention_width, sequence_length, attention)
    repeated_products = 0.0 if recompute == "none" else 1.0
    return weights * (1.0 + RECOMPUTED_FORWARD[recompute] / 3.0) + products * (1.0 + repeated_products / 3.0)


def dense_peak(peak_flops: Array, kind: str) -> Array:
    """The dense peak in FLOP/s of a peak that is said to be "dense" or "sparse" (2:4 structured sparsity
    doubles it).

    Raises SparsePeakError for any other `kind`: a peak that does not say what it is cannot be divided by.
    """
    if kind == "dense":
        return peak_flops
    if kind == "sparse":
        return peak_flops / 2.0
    raise SparsePeakError(
        f"peak of unknown kind {kind!r}: write 'dense' or 'sparse' (2:4 sparsity counts every FLOP twice)"
    )


def utilization(
    tokens_per_s: Array, flops_per_token: Array, devices: Array, peak_flops: Array, peak_kind: str = "dense"
) -> Array:
    """Utilisation = tokens/s × FLOP per token / (devices × dense peak), 0–1: MFU or HFU by what
    `flops_per_token` counts.

    `tokens_per_s` of the whole job, `peak_flops` in FLOP/s per device and of the compute dtype. Raises
    SparsePeakError for a sparse peak and ValueError for a result above 1, which always means a unit or
    convention mistake (sparse peak missed, tokens per hour, wrong dtype).
    """
    if peak_kind != "dense":
        raise SparsePeakError("utilisation divides by the dense peak: convert with dense_peak() first")
    share = np.divide(np.multiply(tokens_per_s, flops_per_token), np.multiply(devices, peak_flops))
    require(
        share <= 1.0,
        "utilisation above 1: check tokens per second, the dtype of the peak, and the count of devices",
    )
    return plain(share)


def mfu_conventions(
    tokens_per_s: Array,
    devices: Array,
    peak_flops: Array,
    parameters: Array,
    layers: Array,
    attention_width: Array,
    sequence_length: Array,
    recompute: str = "none",
) -> dict[str, Array]:
    """The same run in every convention: MFU with parameters only, causal, full attention; HFU. All
    fractions 0–1. Units as above.
    """
    shares = {
        {"none": "parameters_only", "causal": "attention_causal", "full": "attention_full"}[
            convention
        ]: utilization(
            tokens_per_s,
            model_flops_per_token(parameters, layers, attention_width, sequence_length, convention),
            devices,
            peak_flops,
        )
        for convention in ATTENTION
    }
    executed = hardware_flops_per_token(
        parameters, layers, attention_width, sequence_length, "causal", recompute
    )
    return shares | {"hfu": utilization(tokens_per_s, executed, devices, peak_flops)}
