"""Capped many against uncapped few: what a power envelope yields at each cap on the accelerators' boards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from argosy import training
from argosy.facility import Building, ItLoad, PowerPhases, board_limit, clock_at_cap, node_power
from argosy.laws import power_cap as law
from argosy.planning.context import Context
from argosy.planning.job import JobPlan, machine
from argosy.planning.objectives import phases

Array = Any  # float, or draws (n,)
SHARES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5)  # of the board's default limit


def cap_payload(
    context: Context, job: JobPlan, load: ItLoad, around: Building, draws: int = 300, seed: int = 0
) -> dict[str, Any] | None:
    """The envelope's tokens at caps from the board's limit down to half of it; None where the board's limit is unknown.

    Envelope: the scenario's, or what this plan draws at its peak. Every node takes of it what it draws at its cap, with
    its share of network, storage and cooling in the year's hottest hour. A capped accelerator steps at the clock that
    `laws.power_cap` leaves (in the step model, at the plan's layout); tokens are proportional to accelerators, so the
    larger fleet's own layout is not searched. `gain` is over the uncapped fleet in the same envelope; its band has the
    clock model's and the power facts' in it.
    """
    values = context.values
    limit = board_limit(values, context.accelerator)
    if limit is None:
        return None
    envelope = context.scenario.facility.envelope or float(around.meter_peak_w)
    drawn = context.drawn(draws, seed)
    whole, whole_drawn = (_one(each, job, load, around, None) for each in (context, drawn))
    rows = []
    for share in SHARES:
        cap = share * float(limit)
        central, draw = (_one(each, job, load, around, cap) for each in (context, drawn))
        gains = _gain(draw, whole_drawn)
        nodes = np.floor(envelope / float(central["node_w"]))
        low, middle, high = np.quantile(np.broadcast_to(gains, (draws,)), (0.1, 0.5, 0.9))
        rows.append(
            {
                "cap_w": cap,
                "clock": central["clock"],
                "speed": central["tokens"] / whole["tokens"],
                "accelerators": nodes * load.node.accelerators,
                "tokens_per_s": nodes * load.node.accelerators * central["tokens"],
                "facility_w_per_accelerator": central["node_w"] / load.node.accelerators,
                "joules_per_token": central["busy_w"] / load.node.accelerators / central["tokens"],
                "gain": {"nominal": float(_gain(central, whole)), "p10": low, "p50": middle, "p90": high},
            }
        )
    best = max(rows, key=lambda row: row["gain"]["nominal"])
    return {"envelope_w": envelope, "rows": rows, "best": best, "answer": _answer(envelope, rows, best)}


def _one(
    context: Context, job: JobPlan, load: ItLoad, around: Building, cap_w: float | None
) -> dict[str, Array]:
    """One accelerator's tokens per second and one node's watts of the envelope at a cap; floats or draws."""
    values = context.values
    node = node_power(values, context.node, context.accelerator, context.node_size, cap_w)
    nodes = load.nodes + load.spare_nodes
    share = ItLoad(node, 1.0, 0.0, load.network_w / nodes)
    pue = around.meter_peak_w / around.it_peak_w
    uncapped = context.scenario.model_copy(
        update={"facility": context.scenario.facility.model_copy(update={"power_cap": None})}
    )
    on = machine(replace(context, scenario=uncapped), job.stack)
    clock = clock_at_cap(values, context.accelerator, cap_w)
    device = replace(on.device, sustained_clock=on.device.sustained_clock * clock)
    steps = training.evaluate(job.main.job, device, on.network, on.stack, job.main.layouts)
    busy_w = share.mean_w(values, PowerPhases(**phases(steps)), 1.0) * around.pue
    return {
        "clock": clock,
        "tokens": _plain(steps.tokens_per_s / job.main.accelerators),
        "node_w": share.peak_w(values) * pue,
        "busy_w": _plain(busy_w),
    }


def _plain(numbers: Array) -> Array:
    """The number of a single layout at central facts, and draws as they are."""
    return float(np.ravel(numbers)[0]) if np.size(numbers) == 1 else numbers


def _gain(capped: dict[str, Array], whole: dict[str, Array]) -> Array:
    return law.capped_fleet_gain(capped["tokens"] / whole["tokens"], whole["node_w"], capped["node_w"])


def _answer(envelope_w: float, rows: list[dict[str, Any]], best: dict[str, Any]) -> str:
    """The comparison in one sentence."""
    uncapped, lowest = rows[0], best is rows[-1]
    at = f"at {envelope_w / 1e6:.3g} MW"
    if best is uncapped:
        return f"{at} no cap gives more tokens than {uncapped['accelerators']:,.0f} accelerators without one"
    gain, edge = best["gain"], "; lower caps are not compared" if lowest else ""
    return (
        f"{at}: {best['accelerators']:,.0f} accelerators capped at {best['cap_w']:.0f} W give {gain['nominal']:+.1%} tokens "
        f"(P10 to P90: {gain['p10']:+.1%} to {gain['p90']:+.1%}) over {uncapped['accelerators']:,.0f} uncapped{edge}"
    )
