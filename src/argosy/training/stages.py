"""What the ranks of a pipeline do, class by class, and how long all micro-batches take through them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.training.layer import LayerSeconds
from argosy.training.layout import DUALPIPE, Layouts
from argosy.training.pipeline import StageClasses, schedule_seconds

Array = Any


@dataclass(frozen=True)
class Parameters:
    """Parameters of one block on one rank."""

    dense_parameters: Array
    expert_parameters: Array


@dataclass(frozen=True)
class Stage:
    """What the ranks of one class do: seconds for one micro-batch, and parameters on one rank."""

    ranks: Array
    forward: Array
    backward: Array
    weight_gradient: Array
    dense_parameters: Array
    expert_parameters: Array

    @property
    def seconds(self) -> Array:
        return self.forward + self.backward


def stages_of(
    kinds: tuple[str, ...],
    costs: dict[str, LayerSeconds],
    weights: dict[str, Parameters],
    classes: StageClasses,
) -> list[Stage]:
    """The classes of pipeline ranks, each with the sum of its layers and, at the ends, the embedding and the
    head.
    """

    def stage(c: int) -> Stage:
        amounts = {kind: classes.layers[:, c, k] for k, kind in enumerate(sorted(set(kinds)))}
        amounts |= {"embedding": classes.first[:, c], "head": classes.last[:, c]}

        def total(field: str, source: Any) -> Array:
            return sum(amounts[name] * getattr(source[name], field) for name in amounts)

        times = [total(field, costs) for field in ("forward", "backward", "weight_gradient")]
        return Stage(
            classes.ranks[:, c],
            *times,
            *(total(f, weights) for f in ("dense_parameters", "expert_parameters")),
        )

    return [stage(c) for c in range(classes.ranks.shape[1])]


def pipeline_seconds(layouts: Layouts, stages: list[Stage]) -> Array:
    """All micro-batches through all stages, without transfers. The slowest stage governs; DualPipe pairs
    opposite stages.
    """
    total = sum(stage.ranks * stage.seconds for stage in stages)
    seconds, backward, weight = (getattr(stages[0], f) for f in ("seconds", "backward", "weight_gradient"))
    paired = seconds
    if len(stages) > 1:
        paired = np.where(layouts.pp > 1, (seconds + stages[1].seconds) / 2, seconds)
    for stage in stages[1:]:
        slower = (stage.ranks > 0) & (stage.seconds > seconds)
        seconds = np.where(slower, stage.seconds, seconds)
        backward = np.where(slower, stage.backward, backward)
        weight = np.where(slower, stage.weight_gradient, weight)
    for stage in stages[2:]:
        paired = np.where(stage.ranks > 0, np.maximum(paired, stage.seconds), paired)
    slowest = np.where(layouts.schedule == DUALPIPE, paired, seconds)
    return schedule_seconds(total, slowest, backward, weight, layouts)
