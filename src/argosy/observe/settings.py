"""What a training log tells of its job, whatever the framework calls it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from argosy.observe.records import TrainingLog

_NAMES = {
    "world": ("world_size", "n_gpus", "num_gpus"),
    "pipeline": ("pipeline_parallel", "pipeline_model_parallel_size", "pipeline_parallel_degree", "pp", "pipe_parallel_size"),
    "tensor": ("tensor_parallel", "tensor_model_parallel_size", "tensor_parallel_degree", "model_parallel_size", "tp"),
    "context": ("context_parallel", "context_parallel_size", "context_parallel_degree", "cp"),
    "chunks": ("virtual_pipeline_model_parallel_size", "virtual_pipeline"),
    "micro_batch": ("micro_batch", "micro_batch_size", "train_micro_batch_size_per_gpu"),
    "global_batch": ("global_batch", "global_batch_size", "train_batch_size"),
    "sequence": ("sequence_length", "seq_length", "seq_len"),
    "hidden": ("hidden", "hidden_size"),
    "vocabulary": ("vocabulary", "padded_vocab_size", "vocab_size"),
    "layers": ("layers", "num_layers"),
}  # fmt: skip


def value(settings: Mapping[str, Any], *names: str) -> Any:
    """The first of `names` that the settings or the framework's arguments have; None for none."""
    arguments = settings.get("arguments")
    for source in (settings, arguments if isinstance(arguments, Mapping) else {}):
        for name in names:
            for spelled in (name, name.replace("_", "-")):
                if source.get(spelled) not in (None, "", "None"):
                    return source[spelled]
    return None


def number(settings: Mapping[str, Any], name: str) -> float | None:
    """A quantity of _NAMES as a finite number; None where the log does not tell."""
    found = value(settings, *_NAMES[name])
    try:
        read = float(found)
    except (TypeError, ValueError):
        return None
    return read if math.isfinite(read) else None


@dataclass(frozen=True)
class Pipeline:
    """A pipelined job by its log: `stages`, `micro_batches` per step and replica, `chunks` per stage; `bubble`: the share of
    the step that the formula gives to waiting: (p − 1)/(v·m + p − 1).
    """

    stages: int
    micro_batches: float
    chunks: int

    @property
    def bubble(self) -> float:
        """Share of the step (0 to 1)."""
        return bubble_share(self.stages, self.micro_batches, self.chunks)


def bubble_share(stages: float, micro_batches: float, chunks: float = 1.0) -> float:
    """Share of a step that a stage waits in 1F1B: (p − 1)/(v·m + p − 1), of the whole step. Limit p = 1: 0.

    Source: D. Narayanan et al., arXiv:2104.04473, section 2.2 (there relative to the ideal time).
    """
    return (stages - 1.0) / (chunks * micro_batches + stages - 1.0)


def pipeline(log: TrainingLog) -> Pipeline | None:
    """The pipeline that the log's settings tell of; None without one, or where its micro-batches are not known."""
    stages = number(log.settings, "pipeline")
    world, batch = number(log.settings, "world"), number(log.settings, "global_batch")
    if not stages or stages < 2 or not batch:
        return None
    micro = number(log.settings, "micro_batch") or 1.0
    inside = stages * (number(log.settings, "tensor") or 1.0) * (number(log.settings, "context") or 1.0)
    replicas = max((world or inside) / inside, 1.0)
    return Pipeline(
        int(stages), max(batch / (micro * replicas), 1.0), int(number(log.settings, "chunks") or 1)
    )
