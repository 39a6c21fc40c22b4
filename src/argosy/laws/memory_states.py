"""Bytes of training state per parameter, and how ZeRO, tensor and pipeline parallelism divide them.

Source: S. Rajbhandari et al., "ZeRO", arXiv 1910.02054 (2 + 2 + 12 bytes of mixed-precision Adam, stages
1–3).
"""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array, plain

MASTER, MOMENT = 4.0, 4.0  # FP32 copy of the weights; FP32 first or second moment of Adam


def checkpoint_bytes_per_parameter(
    weight_bytes: float = 2.0, master_bytes: float = MASTER, moment_bytes: float = MOMENT, moments: int = 2
) -> float:
    """Bytes saved per parameter: weights, master copy, moments: 2 + 4 + 2×4 = 14 for BF16 and Adam.
    Gradients are not saved.
    """
    return weight_bytes + master_bytes + moments * moment_bytes


def live_bytes_per_parameter(
    gradient_bytes: float = 2.0,
    weight_bytes: float = 2.0,
    master_bytes: float = MASTER,
    moment_bytes: float = MOMENT,
    moments: int = 2,
) -> float:
    """Bytes held in memory per parameter while training: 16 with BF16 gradients, 18 with FP32 gradients;
    activations not included.
    """
    return checkpoint_bytes_per_parameter(weight_bytes, master_bytes, moment_bytes, moments) + gradient_bytes


def state_bytes_per_device(
    parameters: Array,
    data_parallel: Array = 1,
    zero_stage: Array = 0,
    tensor_parallel: Array = 1,
    pipeline_parallel: Array = 1,
    weight_bytes: float = 2.0,
    gradient_bytes: float = 2.0,
    optimizer_bytes: float = 12.0,
) -> Array:
    """Bytes of weights, gradients and optimizer state on one device, evenly split (real stages differ by
    their embeddings).

    Tensor and pipeline parallelism divide everything; ZeRO stage 1 divides the optimizer over
    `data_parallel`, 2 also the gradients, 3 also the weights. `optimizer_bytes` = 12: FP32 master copy and
    two moments of Adam.
    """
    stage = np.asarray(zero_stage)
    share = 1.0 / np.asarray(data_parallel, dtype=float)
    per_parameter = (
        weight_bytes * np.where(stage >= 3, share, 1.0)
        + gradient_bytes * np.where(stage >= 2, share, 1.0)
        + optimizer_bytes * np.where(stage >= 1, share, 1.0)
    )
    return plain(np.multiply(parameters, per_parameter) / np.multiply(tensor_parallel, pipeline_parallel))
