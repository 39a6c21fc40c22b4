"""Fit the few physical numbers of the step model to measured training steps, and say what each is worth.

    python -m argosy.validation.fit_steps RUNS.csv [TABLE.json]

Every number has a meaning of its own, a prior (where it was published or assumed, and how far it may be off) and a
shipped value with its error; none belongs to a source or a row. Whole sources are kept aside. See docs/accuracy.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from argosy.training import Device, Layouts, Stack, evaluate
from argosy.training.kernels import AttentionKernel, attention_kernel
from argosy.validation.cases import Case, case
from argosy.validation.models import Skipped
from argosy.validation.rows import Row, read_table
from argosy.validation.runs import choose_recompute

TABLE = Path(__file__).parents[1] / "training" / "data" / "steps.json"

MEGATRON_2021 = ("megatron-2021", "megatron-deepspeed")
MEGATRON_CORE = ("megatron-core", "megatron-bridge")
FSDP1 = ("fsdp1", "llm-foundry")


@dataclass(frozen=True)
class Parameter:
    """One number of the step model.

    `where`: what it belongs to, as a path: `device.<field>.<generation>`, `stack.<field>` (of `stacks`),
    `attention.<field>.<kernel>.<generation>`. `start` is its prior, `width` one standard deviation of it, `low` and
    `high` its bounds.
    """

    where: str
    start: float
    width: float
    low: float
    high: float
    meaning: str
    stacks: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """A name for the report."""
        return f"{self.where} ({', '.join(self.stacks)})" if self.stacks else self.where


PARAMETERS = (
    Parameter("device.sustained_clock.ampere", 0.95, 0.04, 0.7, 1.0, "rate of products over a step, over a benchmark's"),
    Parameter("device.sustained_clock.hopper", 0.87, 0.05, 0.7, 1.0, "rate of products over a step, over a benchmark's"),
    Parameter("device.memory_efficiency.all", 0.85, 0.05, 0.6, 0.95, "share of nameplate memory bandwidth that kernels reach"),
    Parameter("attention.score_traffic.unfused.ampere", 1.0, 0.15, 0.5, 2.0, "bytes per attention score over those counted"),
    Parameter("attention.forward_ceiling.triton.ampere", 0.325, 0.08, 0.1, 0.6, "share of peak of Triton attention"),
    Parameter("attention.forward_ceiling.triton.hopper", 0.25, 0.08, 0.1, 0.6, "share of peak of Triton attention"),
    Parameter("attention.backward_ratio.flash3.hopper", 0.80, 0.10, 0.4, 1.1, "FLOP/s of backward over forward"),
    Parameter("stack.host_layer_s", 0.8e-3, 0.4e-3, 0.05e-3, 3e-3, "s of host time to queue one layer's forward", MEGATRON_2021),
    Parameter("stack.host_layer_s", 0.8e-3, 0.4e-3, 0.05e-3, 3e-3, "s of host time to queue one layer's forward", MEGATRON_CORE),
    Parameter("stack.host_layer_s", 0.8e-3, 0.4e-3, 0.05e-3, 3e-3, "s of host time to queue one layer's forward", FSDP1),
    Parameter("stack.memory_traffic", 1.0, 0.2, 0.5, 2.0, "bytes of element-wise kernels over one pass per operation", MEGATRON_2021),
    Parameter("stack.memory_traffic", 1.0, 0.2, 0.5, 2.0, "bytes of element-wise kernels over one pass per operation", MEGATRON_CORE),
    Parameter("stack.memory_traffic", 1.0, 0.2, 0.5, 2.0, "bytes of element-wise kernels over one pass per operation", FSDP1),
    Parameter("stack.tp_hidden", 0.5, 0.25, 0.0, 1.0, "share of tensor-parallel communication that hides", MEGATRON_CORE),
    Parameter("stack.fsdp_hidden", 0.25, 0.15, 0.0, 1.0, "share of sharded weights' communication that hides", FSDP1),
    Parameter("stack.overlap_drag", 0.1, 0.05, 0.0, 0.5, "s of compute lost per s of hidden communication", (*MEGATRON_CORE, *FSDP1)),
    Parameter("stack.step_overhead_s", 0.02, 0.015, 0.0, 0.1, "s per step outside pipeline and optimizer", MEGATRON_2021),
)  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """A case with the one layout that it means, ready for evaluation under many parameter vectors."""

    case: Case
    layouts: Layouts
    source: str


def samples(rows: Iterable[Row], keep: Callable[[Case], bool]) -> list[Sample]:
    """The unflagged rows that can be predicted and that `keep` accepts."""
    found = []
    for row in rows:
        if row.text("flag"):
            continue
        try:
            prepared = case(row)
        except Skipped:
            continue
        if not prepared.measured_s or not keep(prepared):
            continue
        chosen = choose_recompute(prepared)
        if chosen.share < 1:  # a mixture of two layouts; few rows, none of them stated
            continue
        layouts = chosen.layouts
        if len(layouts) > 1:
            steps = evaluate(prepared.job, prepared.device, prepared.network, prepared.stack, layouts)
            layouts = layouts.take([int(np.argmin(steps.step_s))])
        found.append(Sample(prepared, layouts, source_of(row)))
    return found


def source_of(row: Row) -> str:
    """The source for keeping whole sources apart; a source of several files counts each (single and multi-node)."""
    reference = row.text("source_ref")
    part = " multi-node" if "multi" in reference else " single-node" if "single" in reference else ""
    return row.text("source") + part


def dense_on_measured_devices(prepared: Case) -> bool:
    """Dense models on Ampere and Hopper."""
    return prepared.job.model.moe is None and prepared.device.generation in ("ampere", "hopper")


def with_parameters(
    sample: Sample, parameters: tuple[Parameter, ...], columns: np.ndarray
) -> tuple[Device, Stack]:
    """Device and stack of a sample with the parameters that concern it; `columns` (P, n), one column per vector."""
    device, stack = sample.case.device, sample.case.stack
    kernel = attention_kernel(stack.attention, device.generation)
    for parameter, values in zip(parameters, columns, strict=True):
        part, field, *rest = parameter.where.split(".")
        if part == "device" and rest[0] in ("all", device.generation):
            if field == "memory_efficiency":
                device = replace(
                    device,
                    memory_bandwidth=device.memory_bandwidth * values / device.curves.memory_efficiency,
                )
            else:
                device = replace(device, **{field: values})
        elif part == "stack" and stack.name in parameter.stacks:
            stack = replace(stack, **{field: values})
        elif part == "attention" and rest == [stack.attention, device.generation]:
            kernel = replace(kernel, **{field: values})
    return device, replace(stack, attention=kernel)  # type: ignore[arg-type]


def log_errors(found: list[Sample], parameters: tuple[Parameter, ...], columns: np.ndarray) -> np.ndarray:
    """ln(predicted/measured) of every sample under every parameter vector: (samples, n)."""
    errors = np.empty((len(found), columns.shape[1]))
    for i, sample in enumerate(found):
        device, stack = with_parameters(sample, parameters, columns)
        steps = evaluate(sample.case.job, device, sample.case.network, stack, sample.layouts)
        errors[i] = np.log(np.broadcast_to(steps.step_s, columns.shape[1]) / sample.case.measured_s)
    return errors


def weights(found: list[Sample]) -> np.ndarray:
    """Weight of each residual: sources count by the root of their rows, so that no large source drowns the others."""
    counts = {source: sum(s.source == source for s in found) for source in {s.source for s in found}}
    return np.array([counts[s.source] ** -0.25 for s in found]) * len(found) ** 0.25


def fit(
    found: list[Sample], parameters: tuple[Parameter, ...], spread: float = 0.05
) -> tuple[np.ndarray, np.ndarray]:
    """Parameters and standard errors that minimise weighted, softened residuals of ln time plus the priors.

    `spread`: the scale of a residual (the noise floor between runs of equal visible settings).
    """
    from scipy.optimize import least_squares

    start = np.array([p.start for p in parameters])
    width = np.array([p.width for p in parameters])
    weight = weights(found) / spread
    step = 0.02 * width

    def columns(x: np.ndarray) -> np.ndarray:
        return x[:, None] + np.concatenate([np.zeros((len(x), 1)), np.diag(step)], axis=1)

    cache: dict[bytes, np.ndarray] = {}

    def all_errors(x: np.ndarray) -> np.ndarray:
        key = x.tobytes()
        if key not in cache:
            cache.clear()
            cache[key] = log_errors(found, parameters, columns(x))
        return cache[key]

    def residuals(x: np.ndarray) -> np.ndarray:
        return np.concatenate([all_errors(x)[:, 0] * weight, (x - start) / width])

    def jacobian(x: np.ndarray) -> np.ndarray:
        errors = all_errors(x)
        slopes = (errors[:, 1:] - errors[:, :1]) / step * weight[:, None]
        return np.concatenate([slopes, np.diag(1 / width)])

    bounds = ([p.low for p in parameters], [p.high - 0.03 * p.width for p in parameters])
    result = least_squares(
        residuals,
        np.clip(start, *bounds),
        jac=jacobian,
        bounds=bounds,
        x_scale=width,
        loss="soft_l1",
        max_nfev=25,
        xtol=1e-4,
    )
    slopes = jacobian(result.x)
    return result.x, np.sqrt(np.diag(np.linalg.pinv(slopes.T @ slopes)))
