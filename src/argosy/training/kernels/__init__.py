"""How long one kernel takes on one accelerator: matrix products, grouped products, attention,
memory-bound operations.

Every function broadcasts over NumPy arrays (layouts or draws) and costs a few vector operations. The
parameters are a shipped table (`data/kernels.json`) that `python -m argosy.validation.fit_kernels`
regenerates from measurements.
"""

from argosy.training.kernels.attention import (
    ATTENTION_KERNELS,
    AttentionKernel,
    attention_flops,
    attention_kernel,
    attention_time,
    softmax_falls_apart,
)
from argosy.training.kernels.curves import Curves, curves_for
from argosy.training.kernels.device import Device
from argosy.training.kernels.fitted import fitted, fitted_under
from argosy.training.kernels.gemm import cast_time, gemm_time, grouped_gemm_time
from argosy.training.kernels.memory import memory_time

__all__ = [
    "ATTENTION_KERNELS",
    "AttentionKernel",
    "Curves",
    "Device",
    "attention_flops",
    "attention_kernel",
    "attention_time",
    "cast_time",
    "curves_for",
    "fitted",
    "fitted_under",
    "gemm_time",
    "grouped_gemm_time",
    "memory_time",
    "softmax_falls_apart",
]
