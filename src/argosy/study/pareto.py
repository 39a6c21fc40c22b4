"""Time, money and energy of the run over layouts and fleet sizes: what no other choice beats in all three."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from argosy import __version__, training
from argosy.facts import FactError
from argosy.planning.batch import CriticalBatch, critical_batch
from argosy.planning.context import context, stack_name
from argosy.planning.job import NothingFitsError, machine, step_job, training_job
from argosy.planning.objectives import OBJECTIVES, Scorer, pareto
from argosy.spec import Scenario, Stage
from argosy.spec.fleet import LARGEST_FLEET
from argosy.training.layout import concatenate
from argosy.training.memory import memory
from argosy.training.memory_traits import StateBytes, memory_traits

SCHEMA = "argosy.pareto/1"
KEPT = 200  # leading layouts by each objective that enter the front: a front is made of leaders


def pareto_front(
    scenario: Scenario,
    counts: Sequence[int] = (),
    job: str | None = None,
    kept: int = KEPT,
    batches: Sequence[int] = (),
) -> dict[str, Any]:
    """The JSON of `argosy pareto`.

    `counts`: accelerators of the fleets to compare (default: the scenario's); `job`: the training job (default:
    the first); its stage with most tokens is judged, while nothing fails. `kept`: leading layouts by each
    objective that are compared. `batches`: global batches (sequences) to compare (default: the stage's); each
    trains as many tokens as reach the loss of the scenario's own batch, so that none wins by its size alone.
    A point holds seconds, dollars and joules of all steps of the stage, its layout, and whether it is on the
    front. FactError for unknown jobs and where nothing fits.
    """
    given = training_job(scenario, job)
    if max(counts, default=0) > LARGEST_FLEET:
        raise FactError(f"{max(counts):,} accelerators are more than {LARGEST_FLEET:,}")
    stage = max(given.stages, key=lambda each: each.tokens)
    points: list[dict[str, Any]] = []
    empty: list[dict[str, Any]] = []
    critical = critical_batch(given)
    stages = [_batched(stage, batch, critical) for batch in batches] or [stage]
    for count in counts or (scenario.fleet.count,):
        fleet = _resized(scenario, count)
        for each in stages:
            some, reasons = _fleet(fleet, given, each, kept)
            points += some
            if not some:
                empty.append({"gpus": count, "global_batch_sequences": each.global_batch, "reasons": reasons})
    if not points:
        raise NothingFitsError(
            "no layout fits at any of these fleet sizes; `argosy plan` says how much is missing"
        )
    front = pareto([[point[key] for key in ("time_s", "cost_usd", "energy_j")] for point in points])
    for point, on in zip(points, front, strict=True):
        point["front"] = bool(on)
    points.sort(key=lambda point: point["time_s"])
    return {
        "schema": SCHEMA,
        "version": __version__,
        "facts_date": scenario.catalog().facts_date,
        "scenario": {"name": scenario.name, "hash": scenario.hash},
        "job": given.name,
        "stage": stage.name,
        "batch": critical.to_dict(stage.global_batch_tokens),
        "points": points,
        "excluded": empty,
    }


def _score(scorer: Scorer, objective: str, steps: training.Steps) -> np.ndarray:
    return scorer(steps).of(objective)


def _batched(stage: Stage, batch: int, critical: CriticalBatch) -> Stage:
    """The stage with another batch (sequences), and the tokens that it then needs for the same loss."""
    tokens = critical.tokens_at(stage.tokens, stage.global_batch_tokens, batch * stage.sequence_length)
    return stage.model_copy(update={"global_batch": batch, "tokens": tokens})


def _resized(scenario: Scenario, count: int) -> Scenario:
    """The scenario with another number of accelerators; the fabric is drawn anew for it."""
    return scenario.model_copy(update={"fleet": scenario.fleet.model_copy(update={"count": count})})


def _fleet(
    scenario: Scenario, given: Any, stage: Any, kept: int
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The leading layouts of one fleet by each objective, scored; or why none is left."""
    setting = context(scenario)
    if setting.fleet.count % setting.node_size:
        raise FactError(f"{setting.fleet.count} accelerators are not whole nodes of {setting.node_size}")
    stack = stack_name(given)
    on, task = machine(setting, stack), step_job(given, stage)
    traits, state = memory_traits(stack, setting.values), StateBytes.of(given.precision)
    scorer, fixed = Scorer(setting), (stage.layout or given.layout).given
    capacity = float(on.device.memory_bytes) * (1.0 - given.search.memory_margin)
    leaders = []
    excluded: dict[str, int] = {}
    for objective in OBJECTIVES:
        found = training.search(
            task,
            on.device,
            on.network,
            on.stack,
            setting.fleet.count,
            lambda layouts: memory(task, layouts, traits, state).peak_reserved,
            capacity,
            fixed,
            given.search.micro_batch_max,
            rank=partial(_score, scorer, objective),
            keep=kept,
        )
        if found.best is None:
            excluded = found.excluded
            break
        leaders.append(found.best.layouts)
    if not leaders:
        return [], excluded
    layouts = concatenate(leaders)
    rows = np.array([list(layouts.to_dict(i).values()) for i in range(len(layouts))], dtype=str)
    _, first = np.unique(rows, axis=0, return_index=True)
    layouts = layouts.take(np.sort(first))
    steps = training.evaluate(task, on.device, on.network, on.stack, layouts)
    scores = scorer(steps)
    return [
        {
            "gpus": setting.fleet.count,
            "global_batch_sequences": stage.global_batch,
            "tokens": stage.tokens,
            "layout": layouts.to_dict(i),
            "step_time_s": float(steps.step_s[i]),
            "time_s": float(scores.time[i]) * stage.steps,
            "cost_usd": float(scores.cost[i]) * stage.steps,
            "energy_j": float(scores.energy[i]) * stage.steps,
        }
        for i in range(len(layouts))
    ], {}
