"""The layouts of a fleet as a map: the best MFU for every pair of tensor and pipeline parallelism, or why the pair is out."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy import __version__, training
from argosy.planning.context import context, stack_name
from argosy.planning.job import machine, step_job, training_job
from argosy.spec import Scenario
from argosy.training.layout import Layouts, concatenate
from argosy.training.memory import memory
from argosy.training.memory_traits import StateBytes, memory_traits
from argosy.training.search import OUT_OF_MEMORY, allowed, candidates

SCHEMA = "argosy.layouts/1"


def layout_map(scenario: Scenario, job: str | None = None) -> dict[str, Any]:
    """Every (tp, pp) that a search looks at, for the stage of a training job that trains the most tokens.

    A cell has `tp`, `pp`, how many `candidates` and how many of them `fit`; where one fits, its best `mfu` (6·N
    convention), `step_time_s`, `layout` and `peak_bytes`; else the `reason` that puts most of them out and, for
    memory, the least `peak_bytes` beside `capacity_bytes`. While nothing fails. FactError for unknown jobs.
    """
    given = training_job(scenario, job)
    setting = context(scenario)
    stage = max(given.stages, key=lambda each: each.tokens)
    on = machine(setting, stack_name(given))
    task, traits = step_job(given, stage), memory_traits(on.stack.name, setting.values)
    capacity = float(on.device.memory_bytes) * (1.0 - given.search.memory_margin)
    layouts = candidates(
        task, setting.fleet.count, on.device.node_size, {}, given.search.micro_batch_max, on.stack.schedules
    )
    cells, kept = _families(task, on.device.node_size, layouts)
    if kept:
        valid = concatenate([each for _, each in kept])
        peak = np.asarray(memory(task, valid, traits, StateBytes.of(given.precision)).peak_reserved)
        _score(cells, kept, valid, peak, capacity, lambda chosen: training.evaluate(
            task, on.device, on.network, on.stack, chosen))  # fmt: skip
    return {
        "schema": SCHEMA,
        "version": __version__,
        "facts_date": setting.catalog.facts_date,
        "scenario": {"name": scenario.name, "hash": scenario.hash},
        "job": given.name,
        "stage": stage.name or f"sequences of {stage.sequence_length:,}",
        "capacity_bytes": capacity,
        "cells": cells,
    }


def _families(
    task: Any, node_size: int, layouts: Layouts
) -> tuple[list[dict[str, Any]], list[tuple[int, Layouts]]]:
    """A cell for every (tp, pp), and the layouts of each that the rules allow, with the cell's number."""
    cells: list[dict[str, Any]] = []
    kept: list[tuple[int, Layouts]] = []
    for tp, pp in sorted(set(zip(layouts.tp.tolist(), layouts.pp.tolist(), strict=True))):
        family = layouts.take((layouts.tp == tp) & (layouts.pp == pp))
        valid, excluded = allowed(task, node_size, family)
        reason = max(excluded, key=lambda each: excluded[each]) if excluded else None
        cells.append({"tp": tp, "pp": pp, "candidates": len(family), "fit": 0, "reason": reason})
        if valid.any():
            kept.append((len(cells) - 1, family.take(valid)))
    return cells, kept


def _score(
    cells: list[dict[str, Any]],
    kept: list[tuple[int, Layouts]],
    valid: Layouts,
    peak: np.ndarray,
    capacity: float,
    evaluated: Any,
) -> None:
    """Fill the cells: the best of what fits, or how much memory is missing."""
    owner = np.repeat([number for number, _ in kept], [len(each) for _, each in kept])
    fits = peak <= capacity
    steps = evaluated(valid.take(fits)) if fits.any() else None
    places = np.flatnonzero(fits)
    for number, _ in kept:
        cell, mine = cells[number], owner[fits] == number
        if steps is None or not mine.any():
            cell |= {"reason": OUT_OF_MEMORY, "peak_bytes": float(peak[owner == number].min())}
            continue
        best = np.flatnonzero(mine)[np.argmin(steps.step_s[mine])]
        cell |= {
            "fit": int(mine.sum()),
            "reason": None,
            "mfu": float(steps.mfu["parameters_only"][best]),
            "step_time_s": float(steps.step_s[best]),
            "layout": valid.to_dict(int(places[best])),
            "peak_bytes": float(peak[places[best]]),
        }
