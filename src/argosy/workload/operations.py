"""What one layer of a transformer asks of one accelerator: a list of operations with their shapes.

Every size is a float or an array of shape (L,), one entry per parallel layout, so that one layout and a
million are the same computation. Shapes are those that one rank sees after tensor, context and expert
parallelism.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = Any  # float or numpy array (L,)


@dataclass(frozen=True, slots=True)
class Gemm:
    """`count` products of (m × k) by (k × n) in one micro-batch's forward pass. FLOPs forward: 2·m·n·k·count.

    Backward is two products of the same FLOPs (input and weight gradients): (m, k, n) and (k, n, m).
    `experts` > 0: a grouped product over that many local experts, `m` being the mean tokens per expert.
    `quantised`: runs in the compute precision (FP8, FP4) rather than always in BF16 (router, head, attention
    scores).
    """

    name: str
    m: Array
    n: Array
    k: Array
    count: Array = 1.0
    experts: Array = 0.0
    quantised: bool = True
    has_weight: bool = True

    @property
    def flops_forward(self) -> Array:
        """Forward FLOPs in one micro-batch, multiplications and additions apart, over all local experts;
        (L,).
        """
        return 2.0 * self.m * self.n * self.k * self.count * np.maximum(self.experts, 1.0)


@dataclass(frozen=True, slots=True)
class Attention:
    """Fused attention over `sequences` sequences: scores and values for `heads` query heads.

    `context` is the mean number of keys that a query sees when full (causal halves it in `flops_forward`);
    `queries` the query tokens per sequence on this rank.
    """

    name: str
    sequences: Array
    queries: Array
    context: Array
    heads: Array
    kv_heads: Array
    qk_head_dim: float
    v_head_dim: float
    causal: bool = True

    @property
    def flops_forward(self) -> Array:
        """Forward FLOPs of scores and values: 2 · sequences · queries · context · heads · (d_qk + d_v),
        halved when causal.
        """
        full = (
            2.0
            * self.sequences
            * self.queries
            * self.context
            * self.heads
            * (self.qk_head_dim + self.v_head_dim)
        )
        return full / 2 if self.causal else full


@dataclass(frozen=True, slots=True)
class MemoryOperation:
    """An operation bound by memory bandwidth: bytes read and written, and how many kernels it launches
    unfused.
    """

    name: str
    forward_bytes: Array
    backward_bytes: Array
    kernels: float = 1.0
    fusible: bool = True


@dataclass(frozen=True, slots=True)
class LayerWork:
    """All that one layer of one kind does in one micro-batch on one rank, and what it must exchange.

    Exchange volumes are bytes per rank of the *full* tensor that the collective handles (before division by
    the group).
    """

    kind: str
    gemms: tuple[Gemm, ...] = ()
    attentions: tuple[Attention, ...] = ()
    memory_operations: tuple[MemoryOperation, ...] = ()
    tokens: Array = 0.0  # tokens this rank's group works on per micro-batch (after context parallelism)
    extra: dict[str, Array] = field(default_factory=dict)

    @property
    def flops_forward(self) -> Array:
        """Forward FLOPs of all products and of attention in one micro-batch on this rank; (L,)."""
        return sum(op.flops_forward for op in self.gemms) + sum(op.flops_forward for op in self.attentions)
