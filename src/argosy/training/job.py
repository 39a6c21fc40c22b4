"""What is trained: the model, the batch, the numeric formats, and which communication may hide behind
compute.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from argosy.spec.model import ModelArchitecture
from argosy.training.host import Offload


@dataclass(frozen=True)
class Overlap:
    """Switches: which communication the job hides behind compute. How much of it hides is the stack's
    property.
    """

    tp: bool = True
    dp: bool = True
    pp: bool = True
    ep: bool = True
    cp: bool = True


@dataclass(frozen=True)
class Job:
    """A training job.

    `sequence_length` in tokens; `global_batch_sequences` per step. `precision`: format of the quantised
    products (bf16, fp16, fp8, fp8_block, mxfp8, nvfp4). `gradient_bytes` and `parameter_bytes`: per element
    of the data-parallel exchange;
    `optimizer_bytes`: memory traffic of one update per parameter (Adam with fp32 master: gradient 4, two
    moments and master read and written 24, weight 2, and the gradient read once more for its norm 4).
    `fused_cross_entropy`: the loss does not write its probabilities. `offload`: what the host's memory holds.
    """

    model: ModelArchitecture
    sequence_length: int
    global_batch_sequences: int
    precision: str = "bf16"
    gradient_bytes: float = 4.0
    parameter_bytes: float = 2.0
    optimizer_bytes: float = 34.0
    fused_cross_entropy: bool = False
    overlap: Overlap = field(default_factory=Overlap)
    offload: Offload = field(default_factory=Offload)
