"""A plan as the contract's JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy import __version__
from argosy.ledger import Ledger
from argosy.planning.account import run_ledger, step_ledger, three_shares
from argosy.planning.batch import critical_batch
from argosy.planning.context import Context
from argosy.planning.headline import headline, quantiles
from argosy.planning.job import StagePlan
from argosy.planning.run import DAY, FleetRun, JobRun
from argosy.planning.site import HOUR
from argosy.planning.verdict import Verdict
from argosy.spec.canonical import canonical

SCHEMA = "argosy.plan/1"


def envelope(context: Context, verdict: Verdict) -> dict[str, Any]:
    """What every plan has, feasible or not."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "facts_date": context.catalog.facts_date,
        "scenario": {
            "name": context.scenario.name,
            "hash": context.given.hash,
            "inputs": canonical(context.given),
        },
        "verdict": verdict.to_dict(),
    }


def payload(
    context: Context, verdict: Verdict, nominal: FleetRun, drawn: FleetRun, fabrics: list[dict[str, Any]]
) -> dict[str, Any]:
    """The whole contract of `argosy plan`, and what reports need beside it."""
    tree = ledger(context, nominal)
    answer = {
        **envelope(context, verdict),
        "headline": headline(nominal, drawn),
        "training": [
            training_entry(context, nominal, *pair) for pair in zip(nominal.jobs, drawn.jobs, strict=True)
        ],
        "serving": [],
        "fabrics": fabrics,
        "facility": nominal.facility,
        "cost": nominal.cost,
        "ledger": tree.to_dict(),
        "three_shares": three_shares(tree),
        "assumptions": assumptions(context),
        "facts": [{"path": path, **fact.to_dict()} for path, fact in sorted(context.values.used.items())],
        "notes": [*notes(nominal, fabrics), *rack_note(context)],
    }
    return dict(plain(answer))


def ledger(context: Context, run: FleetRun) -> Ledger:
    """The ledger of all jobs: one child a job, or the job's own where there is one."""
    trees = []
    for job in run.jobs:
        steps = step_ledger(job.job.totals("compute_parts"), job.job.totals("breakdown"))
        shares = {state: seconds / job.wall_s for state, seconds in job.seconds.items()}
        law = "mean of simulated lives" if job.reliability.beyond else "Daly's exact form"
        trees.append(
            run_ledger(job.job.training.name, steps, shares, job.wall_s, run.accelerators, run.spares, law)
        )
    return trees[0] if len(trees) == 1 else Ledger.parent(context.scenario.name, tuple(trees))


def training_entry(context: Context, run: FleetRun, nominal: JobRun, drawn: JobRun) -> dict[str, Any]:
    """One job, with the contract's keys; figures of the layout are those of the stage that trains the most tokens.

    Its cost is the run's, by its share of the wall clock.
    """
    job, main = nominal.job, nominal.job.main
    step = main.nominal.to_dict()
    fleet = context.fleet.count + context.spare_accelerators
    hours = fleet / HOUR
    ettr = quantiles(nominal.ettr, drawn.ettr)
    return {
        "name": job.training.name,
        "grade": job.grade,
        "grade_reasons": list(job.grade_reasons),
        "stack": job.stack,
        "layout": {**main.layouts.to_dict(), "precision": main.job.precision},
        "step_time_s": quantiles(nominal.step_s, drawn.step_s),
        "tokens_per_s": step["tokens_per_s"],
        "tokens_per_gpu_s": step["tokens_per_gpu_s"],
        "mfu": {**step["mfu"], "quantiles": quantiles(nominal.mfu, drawn.mfu)},
        "hfu": step["hfu"],
        "memory_bytes": main.memory.to_dict(0, main.capacity_bytes),
        "breakdown_s": step["breakdown_s"],
        "compute_parts_s": step["compute_parts_s"],
        "search": search_entry(main),
        "batch": critical_batch(job.training).to_dict(main.stage.global_batch_tokens),
        "stages": [stage_entry(stage) for stage in job.stages],
        "goodput": {
            "ettr": ettr,
            "checkpoint_interval_s": nominal.interval_s,
            "failures_expected": nominal.failures,
            "life": life_model(nominal),
        },
        "schedule": {
            "days": quantiles(nominal.wall_s / DAY, drawn.wall_s / DAY),
            "gpu_hours": {
                **quantiles(nominal.wall_s * hours, drawn.wall_s * hours),
                "includes": ["spares", "idle"],
            },
            "tokens": nominal.tokens,
        },
        "tokens_per_gpu_hour": nominal.tokens / (nominal.wall_s * hours),
        "usd_per_million_tokens": run.cost["total_usd"] * nominal.wall_s / run.wall_s / nominal.tokens * 1e6,
    }


def life_model(job: JobRun) -> dict[str, Any]:
    """Which life the figures come from, and why: {model, because, domains}."""
    beyond = job.reliability.beyond
    return {
        "model": "event engine" if beyond else "closed form and renewal Monte Carlo",
        "because": beyond or ["failures are memoryless and independent: both are exact"],
        "policy": job.reliability.recovery.policy,
        "restart_s": job.reliability.recovery.restart_s,
    }


def stage_entry(stage: StagePlan) -> dict[str, Any]:
    """One stage of a job: its own layout, step and memory."""
    return {
        "name": stage.label,
        "tokens": stage.stage.tokens,
        "sequence_length": stage.stage.sequence_length,
        "layout": stage.layouts.to_dict(),
        **stage.nominal.to_dict(),
        "memory_bytes": stage.memory.to_dict(0, stage.capacity_bytes),
        "work_s": stage.steps * float(stage.nominal.step_s[0]),
    }


def search_entry(stage: StagePlan) -> dict[str, Any]:
    """How the layout was found: the contract's keys, and the best few with their arithmetic."""
    best = []
    if stage.search.best is not None:
        for i in range(len(stage.search.best.layouts)):
            fields = stage.search.best.layouts.to_dict(i)
            words = [
                f"{fields[key]} {key}" for key in ("tp", "cp", "ep", "pp", "vp", "dp") if fields[key] > 1
            ]
            label = (
                " × ".join(words) + f", micro-batch {fields['micro_batch']}, recompute {fields['recompute']}"
            )
            simulated = stage.search.simulated_s[i] if i < len(stage.search.simulated_s) else None
            seconds = {"step_time_s": float(stage.search.best.step_s[i]), "simulated_step_time_s": simulated}
            best.append({"label": label, **seconds, **fields})
    return {**stage.search.to_dict(), "best": best}


def assumptions(context: Context) -> list[dict[str, Any]]:
    """Everything without a source that the answer rests on: fields left out of the scenario, and facts."""
    listed = [
        {"path": each.path, "value": each.value, "unit": each.unit, "note": each.source}
        for each in context.scenario.defaulted()
        if each.is_assumption
    ]
    for path, fact in sorted(context.values.used.items()):
        if fact.is_assumption:
            listed.append(
                {"path": path, "value": fact.value, "unit": fact.unit, "note": fact.source or "no source"}
            )
    return listed


def notes(run: FleetRun, fabrics: list[dict[str, Any]]) -> list[str]:
    """What a reader must know before using the numbers."""
    told = [f"{fabric['role']} fabric: {note}" for fabric in fabrics for note in fabric["notes"]]
    for job in run.jobs:
        told += [
            f"{job.job.training.name}: not modelled: {part}" for part in job.job.training.model.not_modelled
        ]
    for job in run.jobs:
        given, batch = job.job.training, job.job.main.stage.global_batch_tokens
        if note := critical_batch(given).note(batch):
            told.append(f"{given.name}: {note}")
    for job in run.jobs:
        told += [f"{job.job.training.name} is {job.job.grade}: {reason}" for reason in job.job.grade_reasons]
        if beyond := job.reliability.beyond:
            told.append(
                f"{job.job.training.name}: goodput is that of simulated lives, node by node, because of {', '.join(beyond)}"
            )
    return told


def rack_note(context: Context) -> list[str]:
    """That powers of two do not divide a scale-up domain, where one spans several nodes and keeps no spares."""
    domain = context.scale_up_domain
    whole_powers = domain & (domain - 1) == 0
    if whole_powers or context.fleet.count <= domain or context.scenario.reliability.rack_spares:
        return []
    used = 2 ** (domain.bit_length() - 1)
    return [
        f"a scale-up domain of {domain} accelerators divides few layouts; using {used} of them and keeping the others as "
        f"spares in the rack may be faster: reliability: {{rack_spares: {{of: {domain}, needed: {used}}}}}"
    ]


def plain(value: Any) -> Any:
    """The same data with NumPy numbers as Python's, tuples as lists, and what is not finite as null."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if hasattr(value, "model_dump"):
        return plain(value.model_dump(mode="json"))
    return value
