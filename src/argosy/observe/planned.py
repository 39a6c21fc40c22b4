"""The plan that an observed job is held against: one step of a scenario's job, by the planner's own model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from argosy.ledger import Ledger
from argosy.observe.observed import Plan
from argosy.planning.context import context
from argosy.planning.job import laid_out, training_job
from argosy.spec import Scenario

# Lines of the observed waterfall, and the parts of a planned step (training.step.BREAKDOWN) that they are held against.
LINES: dict[str, tuple[str, ...]] = {
    "compute": ("compute",),
    "waiting for late ranks": ("straggler",),
    "transfer": ("tp_exposed", "dp_exposed", "ep_exposed", "cp_exposed"),
    "pipeline transfer": ("pp_exposed",),
    "pipeline bubble": ("bubble",),
    "optimizer": ("optimizer",),
    "all else": ("other",),
}


def plan_of(scenario: Scenario, job: str | None = None) -> Plan:
    """The nominal step of a scenario's training job. FactError where no layout divides the fleet."""
    setting = context(scenario)
    found = laid_out(setting, training_job(scenario, job))
    main = found.main
    steps = main.nominal.to_dict(0)
    training = {**steps, "layout": {**main.layouts.to_dict(), "gpus": main.accelerators}}
    return Plan(
        scenario.name,
        training,
        setting.accelerator,
        setting.node_size,
        steps["breakdown_s"],
        steps["compute_parts_s"],
    )


def compared(plan: Plan, ledger: Ledger, gpu_steps: float) -> list[dict[str, Any]]:
    """Observed against planned seconds of one GPU's step, line by line, with a closing line; sums agree with the steps.

    `gpu_steps`: steps times GPUs that the ledger covers.
    """
    observed = {name: _amount(ledger, name) / gpu_steps for name in LINES if name != "all else"}
    whole = ledger.amount / gpu_steps
    observed["all else"] = whole - sum(observed.values())
    planned = {name: sum(plan.breakdown_s[key] for key in keys) for name, keys in LINES.items()}
    rows = [_row(name, observed[name], planned[name]) for name in LINES]
    return [*rows, _row("step", whole, sum(planned.values()))]


def _amount(ledger: Ledger, name: str) -> float:
    found = ledger.find(name)
    return 0.0 if found is None else found.amount


def _row(name: str, observed: float, planned: float) -> dict[str, Any]:
    return {"line": name, "observed_s": observed, "planned_s": planned, "delta_s": observed - planned}


def bounds(plan: Plan | None, ledger: Ledger | None, gpu_steps: float) -> Mapping[str, Mapping[str, Any]]:
    """Per line of the ledger the GPU-seconds that the plan would have taken for the same steps."""
    if plan is None or ledger is None:
        return {}
    return {
        name: {
            "gpu_s": gpu_steps * sum(plan.breakdown_s[key] for key in keys),
            "law": f"plan of {plan.scenario}",
        }
        for name, keys in LINES.items()
        if ledger.find(name) is not None
    }
