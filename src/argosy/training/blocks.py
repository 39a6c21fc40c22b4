"""The blocks of a model as one rank works on them: each kind of layer, the embedding, the output head."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from argosy.training.job import Job
from argosy.training.layout import Layouts
from argosy.workload import LayerWork, layer_kind_sequence, layer_work

Array = Any
ENDS = ("embedding", "head")


@dataclass(frozen=True)
class Block:
    """One kind of layer (or embedding, or head) on one rank, for each of L layouts."""

    name: str
    work: LayerWork

    @property
    def is_layer(self) -> bool:
        """Whether activation recomputation applies."""
        return self.name not in ENDS

    @property
    def dense_parameters(self) -> Array:
        """Parameters on this rank whose replicas are the dp · cp ranks."""
        return self.work.extra["dense_parameters"]

    @property
    def expert_parameters(self) -> Array:
        """Parameters on this rank whose replicas are the expert replicas; 0 without experts."""
        return self.work.extra["expert_parameters"]

    @property
    def has_experts(self) -> bool:
        """Whether tokens are routed in this block."""
        return bool(np.any(self.expert_parameters > 0))


def layer_sequence(job: Job) -> tuple[str, ...]:
    """The kind of every layer in order, multi-token-prediction modules at the end of the last stage."""
    return layer_kind_sequence(job.model) + ("mtp",) * job.model.mtp_modules


def blocks(job: Job, layouts: Layouts) -> dict[str, Block]:
    """Every block of the job's model, for each layout."""
    names = dict.fromkeys((*layer_sequence(job), *ENDS))
    return {name: Block(name, _work(job, name, layouts)) for name in names}


def _work(job: Job, name: str, layouts: Layouts) -> LayerWork:
    return layer_work(
        job.model,
        name,
        sequence_length=job.sequence_length,
        micro_batch=layouts.micro_batch,
        tp=layouts.tp,
        cp=layouts.cp,
        ep=layouts.ep,
        etp=layouts.etp,
        sequence_parallel=layouts.sequence_parallel,
        precision="bf16",  # casts to narrower formats are `kernels.cast_time`, which is fitted
        fused_cross_entropy=job.fused_cross_entropy,
    )


def pick(value: Any, index: Array) -> Any:
    """`value` with every array of shape (U,) inside it indexed: one entry per unique key becomes one per
    layout.
    """
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return value[index]
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: pick(getattr(value, f.name), index) for f in fields(value)})
    return value
