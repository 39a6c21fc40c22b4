"""The step-time model: one evaluation function over arrays of layouts (signature; the body follows)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from argosy.spec.model import ModelArchitecture
from argosy.training.layout import Layouts

Array = Any

BREAKDOWN = (
    "compute",
    "tp_exposed",
    "pp_exposed",
    "bubble",
    "dp_exposed",
    "ep_exposed",
    "cp_exposed",
    "optimizer",
    "straggler",
    "other",
)


@dataclass(frozen=True)
class Overlap:
    """Switches: which communication the job hides behind compute. How much of it hides is the stack's property."""

    tp: bool = True
    dp: bool = True
    pp: bool = True
    ep: bool = True
    cp: bool = True


@dataclass(frozen=True)
class Job:
    """What is trained: the model, tokens per sequence, sequences per step, and the numeric formats.

    `precision`: compute `bf16` or `fp8`; `gradient_bytes` and `parameter_bytes` are those of the data-parallel exchange.
    """

    model: ModelArchitecture
    sequence_length: int
    global_batch_sequences: int
    precision: str = "bf16"
    gradient_bytes: float = 4.0
    parameter_bytes: float = 2.0
    overlap: Overlap = field(default_factory=Overlap)


@dataclass(frozen=True)
class Steps:
    """The answer for every layout or draw: seconds per step and where they go. Arrays of shape (L,) or (n,).

    `breakdown` has the keys BREAKDOWN and sums to `step_s`. `compute_parts` splits breakdown["compute"] for the ledger:
    useful_at_peak, attention_beyond_6n, recompute_at_peak, gemm_inefficiency, attention_inefficiency, memory_bound, launch.
    """

    layouts: Layouts
    step_s: np.ndarray
    breakdown: dict[str, np.ndarray]
    compute_parts: dict[str, np.ndarray]
    tokens_per_s: np.ndarray
    mfu: dict[str, Any]
    hfu: np.ndarray


def evaluate(job: Job, device: Any, network: Any, stack: Any, layouts: Layouts) -> Steps:
    """Step time of every layout.

    `device`: training.Device; `network`: fabric.Network (architecture.md); `stack`: training.Stack, the framework era.
    """
    raise NotImplementedError
