"""From the simulated schedule of a step to the activity of its pipeline stages: the value that the facility takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from argosy.facility import (
    ItLoad,
    Mitigation,
    StageActivity,
    Stretch,
    Waveform,
    decimated,
    drawn_waveform,
    life_power,
    mitigations,
    node_power,
    site_numbers,
    spectrum,
    waveform,
)
from argosy.facility.mitigation import table
from argosy.planning.context import Context
from argosy.planning.headline import quantiles
from argosy.planning.job import JobPlan, StagePlan, machine
from argosy.planning.objectives import phases
from argosy.planning.run import FleetRun, JobRun
from argosy.planning.verdict import Constraint
from argosy.training import simulate_layout

Mix = tuple[float, float, float, float]  # shares of compute, memory, communication, idle
_SHOWN_S = 30.0  # of steps around an event


def stage_activity(context: Context, job: JobPlan) -> tuple[list[StageActivity], float]:
    """What each pipeline stage does over one step of the job's main stage, by the event simulation; and its scale.

    An operation mixes what its kernels do: compute, memory-bound work, exposed communication within layers, as the step
    model has them on average; between operations a stage waits. Then comes what happens once a step: the wait for the
    slowest node, the exposed gradient exchange, the optimizer. Where the simulation and the step model differ in length
    the whole is stretched to the step model's: the second result is by how much. A schedule whose order the micro-batches
    do not fill is taken as one stretch of operations and one of waiting.
    """
    main = job.main
    on = machine(context, job.stack)
    breakdown = {name: float(np.ravel(value)[0]) for name, value in main.nominal.breakdown.items()}
    tail: list[tuple[float, Mix]] = [
        (breakdown["straggler"] + breakdown["other"], (0.0, 0.0, 0.0, 1.0)),
        (breakdown["dp_exposed"], (0.0, 0.0, 1.0, 0.0)),
        (breakdown["optimizer"], (0.0, 1.0, 0.0, 0.0)),
    ]
    try:
        run = simulate_layout(main.job, on.device, on.network, on.stack, main.layouts)
    except ValueError:  # micro-batches that the schedule's order does not fill
        return _without_order(main, tail), 1.0
    scale = float(main.nominal.step_s[0]) / (run.seconds + sum(seconds for seconds, _ in tail))
    inside = _operation_mix(main)
    pp = len(run.busy)
    by_stage: list[list[tuple[float, float]]] = [[] for _ in range(pp)]
    for each in run.timeline:
        by_stage[int(each.place.split()[-1])].append((each.start_s, each.end_s))
    stages = [_stage(busy, run.seconds, inside, tail, scale, 1.0 / pp) for busy in by_stage]
    return stages, scale


def _without_order(main: StagePlan, tail: list[tuple[float, Mix]]) -> list[StageActivity]:
    """A step whose schedule has no simulated order: all operations, then all waiting, then the tail."""
    inside, rest = _operation_mix(main), sum(seconds for seconds, _ in tail)
    whole = float(main.nominal.step_s[0])
    breakdown = {name: float(np.ravel(value)[0]) for name, value in main.nominal.breakdown.items()}
    idle = breakdown["bubble"] + breakdown["pp_exposed"]
    return [_stage([(0.0, whole - rest - idle)], whole - rest, inside, tail, 1.0, 1.0)]


def _operation_mix(main: StagePlan) -> Mix:
    """Shares of compute, memory-bound work and exposed communication within a forward or backward operation."""
    step = {name: float(np.ravel(value)[0]) for name, value in phases(main.nominal).items()}
    breakdown = {name: float(np.ravel(value)[0]) for name, value in main.nominal.breakdown.items()}
    within = sum(breakdown[f"{name}_exposed"] for name in ("tp", "ep", "cp"))
    parts = np.array([step["compute_s"], step["memory_s"] - breakdown["optimizer"], within])
    shares = parts / parts.sum()
    return float(shares[0]), float(shares[1]), float(shares[2]), 0.0


def _stage(
    busy: list[tuple[float, float]],
    end: float,
    inside: Mix,
    tail: list[tuple[float, Mix]],
    scale: float,
    share: float,
) -> StageActivity:
    """One stage: its operations, what lies between them, and the tail of the step."""
    waiting: Mix = (0.0, 0.0, 0.0, 1.0)
    mix: list[Mix] = []
    edges, now = [0.0], 0.0
    for start, stop in sorted(busy):
        if start > now:
            edges.append(start)
            mix.append(waiting)
        edges.append(stop)
        mix.append(inside)
        now = stop
    if end > now:
        edges.append(end)
        mix.append(waiting)
    for seconds, activity in tail:
        end += seconds
        edges.append(end)
        mix.append(activity)
    return StageActivity(share, np.array(edges) * scale, np.array(mix))


def waveform_payload(
    context: Context, load: ItLoad, run: FleetRun, draws: int = 300, seed: int = 0
) -> dict[str, Any]:
    """The contract's `waveform` object, for the job that trains the most tokens, at the IT boundary and central facts.

    `quantiles`: over `draws` of what nodes draw in each activity, the schedule being the central one.
    """
    job = max(run.jobs, key=lambda each: each.tokens)
    values, settings = context.values, context.scenario.facility
    stages, scale = stage_activity(context, job.job)
    wave = waveform(values, load, stages)
    lines = spectrum(values, wave)
    return {
        "job": job.job.training.name,
        "boundary": "IT: nodes, spares, network, storage; conversion losses follow, the cooling plant does not",
        "dt_s": wave.dt_s,
        "period_s": wave.dt_s * wave.watts.size,
        "w": wave.watts,
        "mean_w": wave.mean_w,
        "steady_w": wave.steady_w,
        "swing_w": wave.swing_w,
        "ramp_w_per_s": wave.ramp_w_per_s,
        "ramp_1s_w_per_s": wave.ramp_1s_w_per_s,
        "ramp_limit_w_per_s": settings.ramp_limit,
        "dominant_hz": lines.dominant_hz,
        "band_share": lines.in_band,
        "spectrum": {"hz": lines.hz, "amplitude_w": lines.amplitude_w},
        "quantiles": _quantiles(context, load, stages, wave, draws, seed),
        "schedule_stretch": scale,
        "life": life_payload(context, load, wave, job),
        "mitigations": _mitigations(context, load, wave, run),
    }


def _quantiles(
    context: Context, load: ItLoad, stages: list[StageActivity], wave: Waveform, draws: int, seed: int
) -> dict[str, dict[str, float]]:
    """Mean, swing and change within a second beside their quantiles over the power facts."""
    cap, drawn = context.scenario.facility.power_cap, context.drawn(draws, seed)
    node = node_power(drawn.values, context.node, context.accelerator, context.node_size, cap)
    many = drawn_waveform(drawn.values, replace(load, node=node), stages, wave)
    names = ("mean_w", "swing_w", "ramp_1s_w_per_s")
    return {name: quantiles(getattr(wave, name), getattr(many, name)) for name in names}


def ramp_constraint(context: Context, load: ItLoad, run: FleetRun) -> list[Constraint]:
    """The change of power within one second against what the utility accepts, where the scenario says it."""
    limit = context.scenario.facility.ramp_limit
    if limit is None:
        return []
    job = max(run.jobs, key=lambda each: each.tokens)
    stages, _ = stage_activity(context, job.job)
    ramp = waveform(context.values, load, stages).ramp_1s_w_per_s
    detail = f"{job.job.training.name}: power changes by {ramp / 1e6:.3g} MW in one second of its step"
    return [Constraint("ramp that the utility accepts", 1.0 - ramp / limit, "violates", detail)]


def life_payload(context: Context, load: ItLoad, wave: Waveform, job: JobRun) -> dict[str, Any]:
    """A piece of the job's life: steps, a checkpoint, steps, a failure with its restart, steps; decimated for display."""
    recovery, cost = job.reliability.recovery, job.reliability.cost
    shown = max(_SHOWN_S, 2.0 * wave.dt_s * wave.watts.size)
    stretches = [
        Stretch("steps", shown),
        Stretch("checkpoint", float(cost.blocking_s)),
        Stretch("steps", shown),
        Stretch("failure", float(recovery.detection_s)),
        Stretch("restart", float(recovery.restart_s)),
        Stretch("steps", shown),
    ]
    watts, marks = life_power(context.values, load, wave, stretches)
    shown_life = decimated(watts, wave.dt_s)
    for mark in marks:
        samples = slice(round(float(mark["start_s"]) / wave.dt_s), round(float(mark["end_s"]) / wave.dt_s))
        mark["mean_w"] = float(watts[samples].mean())
        mark["drop_w"] = wave.mean_w - float(watts[samples].min())
    return {
        "events": marks,
        "checkpoint_every_s": job.interval_s,
        "failures_expected": job.failures,
        "largest_step_w": float(watts.max() - watts.min()),
        **shown_life,
    }


def _mitigations(context: Context, load: ItLoad, wave: Waveform, run: FleetRun) -> list[dict[str, object]]:
    """Remedies with what they cost over the run; time is charged at the run's cost without its electricity."""
    values, scenario = context.values, context.scenario
    site = site_numbers(values, scenario.facility, scenario.prices)
    lines = run.cost["lines"]
    held = sum(float(line["usd"]) for line in lines if line["name"] != "electricity")
    found: list[Mitigation] = mitigations(values, load, wave)
    pue, price = float(run.facility["pue"]), float(site.usd_per_j)
    return table(values, found, float(run.wall_s), pue, price, held, scenario.facility.ramp_limit)
