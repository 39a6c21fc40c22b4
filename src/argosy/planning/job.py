"""One training job on the fleet: a layout and a step for each of its stages, nominal and over draws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from argosy import training
from argosy.fabric import build_network
from argosy.facility import clock_at_cap
from argosy.facts import FactError
from argosy.planning.context import Context, stack_name
from argosy.planning.objectives import phases, ranked_by
from argosy.spec import Scenario, Stage, Training
from argosy.training import Device, Job, Layouts, Search, Stack, Steps
from argosy.training.kernels.gemm import has_curve
from argosy.training.memory import MemoryBreakdown, memory
from argosy.training.memory_traits import StateBytes, memory_traits
from argosy.training.rerank import by_schedule
from argosy.training.search import OUT_OF_MEMORY, allowed, candidates
from argosy.workload import count

_BYTES = {"fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0}


class NothingFitsError(FactError):
    """No layout of a job fits its fleet: data in a plan's verdict, and the end of a study that needs one (exit code 2)."""

    exit_code = 2

    @classmethod
    def of(cls, job: str) -> NothingFitsError:
        """The error for the job of that name."""
        return cls(f"{job}: no layout fits in memory; `argosy plan` says how much is missing")


@dataclass(frozen=True)
class Machine:
    """What a step runs on, as numbers or draws: the device, the network, the software stack."""

    device: Device
    network: Any
    stack: Stack


@dataclass(frozen=True)
class StagePlan:
    """One stage of a job: its layout (an array of one), the nominal step, its memory, and how the layout was found.

    `fits` is False where no layout fits in memory; then this is the valid layout that needs least.
    """

    stage: Stage
    job: Job
    layouts: Layouts
    nominal: Steps
    memory: MemoryBreakdown
    search: Search
    fits: bool
    capacity_bytes: float

    @property
    def label(self) -> str:
        """The stage's name, or its sequence length."""
        return self.stage.name or f"sequences of {self.stage.sequence_length:,}"

    @property
    def steps(self) -> float:
        """Optimizer steps of the stage."""
        return self.stage.steps

    @property
    def accelerators(self) -> int:
        """Accelerators that the layout takes."""
        return int(self.layouts.gpus[0])

    def drawn(self, machine: Machine) -> Steps:
        """The stage's step over draws of the machine's facts."""
        return training.evaluate(self.job, machine.device, machine.network, machine.stack, self.layouts)


@dataclass(frozen=True)
class JobPlan:
    """A training job planned: stages in order, and how much the prediction can be trusted."""

    training: Training
    stages: tuple[StagePlan, ...]
    stack: str
    grade: str
    grade_reasons: tuple[str, ...]

    @cached_property
    def main(self) -> StagePlan:
        """The stage that trains the most tokens: the one that headline figures of the layout describe."""
        return max(self.stages, key=lambda stage: stage.stage.tokens)

    @property
    def fits(self) -> bool:
        """True where every stage has a layout that fits in memory."""
        return all(stage.fits for stage in self.stages)

    @property
    def work_s(self) -> float:
        """Productive seconds of the whole job at central facts."""
        return sum(stage.steps * float(stage.nominal.step_s[0]) for stage in self.stages)

    def totals(self, field: str) -> dict[str, float]:
        """GPU-seconds of the whole job by the keys of `compute_parts` or `breakdown`, summed over stages."""
        sums: dict[str, float] = {}
        for stage in self.stages:
            for key, seconds in getattr(stage.nominal, field).items():
                sums[key] = sums.get(key, 0.0) + float(seconds[0]) * stage.steps * stage.accelerators
        return sums

    def phases(self) -> dict[str, float]:
        """Seconds of the whole job by what an accelerator does: compute, memory, communication, idle. They sum to `work_s`."""
        sums: dict[str, float] = {}
        for stage in self.stages:
            for key, seconds in phases(stage.nominal).items():
                sums[key] = sums.get(key, 0.0) + float(seconds[0]) * stage.steps
        return sums


def machine(context: Context, stack: str) -> Machine:
    """The device, network and stack of a scenario, as central numbers or as draws."""
    values = context.values
    domain = context.scale_up_domain
    offloads = any(job.offload.optimizer or job.offload.activations for job in context.scenario.training)
    host = training.host_numbers(values, context.accelerator) if offloads else {}
    device = Device.from_values(values, context.accelerator, domain, **host)
    cap = context.scenario.facility.power_cap
    if cap is not None:  # a binding cap lowers the clock of every matrix product
        clock = clock_at_cap(values, context.accelerator, cap)
        device = replace(device, sustained_clock=device.sustained_clock * clock)
    return Machine(device, build_network(context.fleet, values, domain), Stack.from_values(values, stack))


def check_format(context: Context, given: Training) -> None:
    """FactError where the accelerator has no matrix products in the job's compute format, or none were measured."""
    device = machine(context, stack_name(given)).device
    known = [name for name in device.peak_flops if has_curve(device.curves, name)]
    if given.precision.compute not in known:
        wanted = f"training.{given.name}.precision.compute: {device.name} is not modelled in {given.precision.compute}"
        raise FactError(f"{wanted}; write one of {', '.join(known)}")


def plan_job(context: Context, given: Training, simulated: bool = True) -> JobPlan | Search:
    """The job's stages with their layouts; or, where no layout divides at all, the search that found none.

    `simulated`: order ties by the event simulation of their schedules; needless where the layout is given.
    """
    name = stack_name(given)
    on = machine(context, name)
    stages = []
    for stage in given.stages:
        planned = _plan_stage(context, given, stage, on, simulated)
        if isinstance(planned, Search):
            return planned
        stages.append(planned)
    main = max(stages, key=lambda planned: planned.stage.tokens)
    grade, reasons = training.grade(main.job, on.device, on.stack, context.fleet.count)
    if given.stack == "auto":
        reasons = [*reasons, f"the software stack is not named; {name} is taken"]
        grade = "interpolated" if grade == "measured-like" else grade
    return JobPlan(given, tuple(stages), name, grade, tuple(reasons))


def step_job(given: Training, stage: Stage) -> Job:
    """The step model's job for one stage of a training job."""
    formats = given.precision
    return Job(
        given.model,
        stage.sequence_length,
        stage.global_batch,
        formats.compute,
        gradient_bytes=_BYTES[formats.gradients],
        parameter_bytes=_BYTES[formats.parameters],
        overlap=training.Overlap(**given.overlap.model_dump()),
        offload=training.Offload(given.offload.optimizer, given.offload.activations),
    )


def training_job(scenario: Scenario, name: str | None = None) -> Training:
    """The training job of that name, or the first; FactError where the scenario has none, or none of that name."""
    jobs = {each.name: each for each in scenario.training}
    if not jobs:
        raise FactError(f"{scenario.name} has no training job; add training:")
    if name is not None and name not in jobs:
        raise FactError(f"no training job {name!r}; the scenario has {', '.join(jobs)}")
    return jobs[name] if name is not None else next(iter(jobs.values()))


def laid_out(context: Context, given: Training, simulated: bool = True) -> JobPlan:
    """The job with its layouts, for those who only want these; `simulated` as for `plan_job`.

    FactError for a compute format that is not modelled, and where no layout divides the fleet.
    """
    check_format(context, given)
    planned = plan_job(context, given, simulated)
    if isinstance(planned, Search):
        raise FactError("no layout divides the fleet; `argosy plan` says which rule put out how many")
    return planned


def _plan_stage(
    context: Context, given: Training, stage: Stage, on: Machine, simulated: bool
) -> StagePlan | Search:
    job, state = step_job(given, stage), StateBytes.of(given.precision)
    traits = memory_traits(on.stack.name, context.values)

    def needed(layouts: Layouts) -> MemoryBreakdown:
        return memory(job, layouts, traits, state)

    def peak(layouts: Layouts) -> np.ndarray:
        """Bytes of the accelerator; more than any where the host's memory does not hold what is offloaded."""
        needs = needed(layouts)
        return np.where(needs.host > np.asarray(on.device.host_memory_bytes), np.inf, needs.peak_reserved)

    device_bytes = float(on.device.memory_bytes)
    capacity = device_bytes * (1.0 - given.search.memory_margin)
    gpus, fixed = context.fleet.count, (stage.layout or given.layout).given
    found = training.search(
        job, on.device, on.network, on.stack, gpus,
        peak, capacity, fixed, given.search.micro_batch_max,
        rank=ranked_by(context, given.search.objective),
    )  # fmt: skip
    if simulated and given.search.objective == "time":
        found = by_schedule(found, job, on.device, on.network, on.stack)
    if found.best is not None:
        layouts = found.best.layouts.take(slice(0, 1))
        return StagePlan(
            stage, job, layouts, found.best.take(slice(0, 1)), needed(layouts), found, True, device_bytes
        )
    if OUT_OF_MEMORY not in found.excluded:
        return found
    tightest = _least_memory(
        job, gpus, on.device.node_size, fixed, given.search.micro_batch_max, on.stack.schedules, needed
    )
    if tightest is None:
        return found
    nominal = training.evaluate(job, on.device, on.network, on.stack, tightest)
    return StagePlan(stage, job, tightest, nominal, needed(tightest), found, False, device_bytes)


def _least_memory(
    job: Job,
    gpus: int,
    node_size: int,
    fixed: dict[str, Any],
    micro_batch_max: int,
    schedules: tuple[str, ...],
    needed: Any,
) -> Layouts | None:
    """Of all layouts that a search may propose, the one that needs least memory: how far from fitting the job is."""
    layouts = candidates(job, gpus, node_size, fixed, micro_batch_max, schedules)
    valid, _ = allowed(job, node_size, layouts, fixed)
    if not valid.any():
        return None
    layouts = layouts.take(valid)
    return layouts.take(slice(best := int(np.argmin(needed(layouts).peak_reserved)), best + 1))


def checkpoint_bytes(job: JobPlan) -> float:
    """Bytes of the job's unique state: weights, master copy and moments of every parameter, gradients left out."""
    state = StateBytes.of(job.training.precision)
    return float(count(job.training.model).total_with_mtp) * (state.weights + state.master + state.moments)
