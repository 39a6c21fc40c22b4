"""The chosen layout's step, operation by operation."""

from __future__ import annotations

from typing import Any

from argosy import __version__
from argosy.facts import FactError
from argosy.ledger import Interval
from argosy.planning.context import context
from argosy.planning.job import laid_out, machine, training_job
from argosy.spec import Scenario
from argosy.training import simulate_layout
from argosy.training.layout import SCHEDULES
from argosy.training.orders import kind
from argosy.training.schedule import SIMULATED

SCHEMA = "argosy.timeline/1"


def timeline(
    scenario: Scenario, job: str | None = None, stage: str | None = None, schedule: str | None = None
) -> tuple[dict[str, Any], tuple[Interval, ...]]:
    """The JSON of `argosy timeline`, and its intervals (seconds from the first forward; places `stage 0`…).

    `job`, `stage`: by name (default: the first job, and its stage with most tokens); `schedule`: one of
    `training.schedule.SIMULATED` (default: the layout's). FactError for unknown names, for a layout that does
    not divide, and for a schedule that its micro-batches do not fill.
    """
    setting = context(scenario)
    given = training_job(scenario, job)
    if schedule is not None and schedule not in SIMULATED:
        raise FactError(f"no simulated order for schedule {schedule!r}; write one of {', '.join(SIMULATED)}")
    planned = laid_out(setting, given)
    stages = {each.label: each for each in planned.stages}
    if stage is not None and stage not in stages:
        raise FactError(f"no stage {stage!r}; write one of {', '.join(stages)}")
    chosen = planned.main if stage is None else stages[stage]
    on = machine(setting, planned.stack)
    try:
        run = simulate_layout(chosen.job, on.device, on.network, on.stack, chosen.layouts, schedule=schedule)
    except ValueError as error:
        raise FactError(str(error)) from None
    payload = {
        "schema": SCHEMA,
        "version": __version__,
        "facts_date": setting.catalog.facts_date,
        "scenario": {"name": scenario.name, "hash": scenario.hash},
        "job": planned.training.name,
        "stage": chosen.label,
        "layout": chosen.layouts.to_dict(0),
        "schedule": schedule or SCHEDULES[int(chosen.layouts.schedule[0])],
        "seconds": run.seconds,
        "bubble_fraction": run.bubble_fraction,
        "busy_s": run.busy.tolist(),
        "step_time_s": float(chosen.nominal.step_s[0]),
        "timeline": [
            {
                "place": each.place,
                "start_s": each.start_s,
                "end_s": each.end_s,
                "operation": each.state,
                "kind": kind(each.state),
            }
            for each in run.timeline
        ],
    }
    return payload, run.timeline
