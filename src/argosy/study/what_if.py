"""What if, at once: a plan at layouts that are already chosen, without search or draws: for sliders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from argosy.fabric import plan_fabric
from argosy.facts import FactError
from argosy.planning import verdict_of
from argosy.planning.context import context
from argosy.planning.job import NothingFitsError, laid_out
from argosy.planning.payload import payload
from argosy.planning.run import nominal_run
from argosy.planning.site import network_account
from argosy.spec import Layout, Scenario

KEPT = (
    "tp",
    "pp",
    "vp",
    "cp",
    "ep",
    "etp",
    "micro_batch",
    "zero",
    "recompute",
    "sequence_parallel",
    "schedule",
)


def at_layouts(scenario: Scenario, layouts: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """The contract's JSON of a plan at given layouts: the `nominal` figures that `argosy plan` gives for them, no draws.

    `layouts`: by training job, one layout per stage in order (a plan's `training[].stages[].layout`); data parallelism
    and accumulation follow the fleet and the batch. P10, P50 and P90 are null. FactError where the layouts do not divide
    the fleet or the batch, NothingFitsError where they do not fit its memory: then only a new search can answer.
    """
    fixed = scenario.model_copy(
        update={"training": tuple(_fixed(job, layouts.get(job.name, ())) for job in scenario.training)}
    )
    setting = context(fixed)
    jobs = [laid_out(setting, given, simulated=False) for given in fixed.training]
    for job in jobs:
        if not job.fits:
            raise NothingFitsError.of(job.training.name)
    fabrics = plan_fabric(setting.fleet, setting.values)
    run = nominal_run(setting, jobs, network_account(fabrics))
    answer = payload(setting, verdict_of(setting, run, fabrics), run, run, fabrics)
    answer["scenario"]["hash"] = scenario.hash  # the layouts held are the answer's, not the scenario's
    return dict(_without_draws(answer))


def _fixed(job: Any, layouts: Sequence[Mapping[str, Any]]) -> Any:
    """The job with every stage's layout held."""
    if len(layouts) != len(job.stages):
        raise FactError(f"{job.name} has {len(job.stages)} stages, but {len(layouts)} layouts were given")
    stages = tuple(
        stage.model_copy(update={"layout": _layout(job.name, given)})
        for stage, given in zip(job.stages, layouts, strict=True)
    )
    return job.model_copy(update={"stages": stages})


def _layout(job: str, given: Mapping[str, Any]) -> Layout:
    """A plan's layout as one that is held."""
    try:
        return Layout.model_validate({key: given[key] for key in KEPT if key in given})
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise FactError(f"{job}: no layout of a plan: {told}") from None


def _without_draws(value: Any) -> Any:
    """The same answer with its quantiles null."""
    if isinstance(value, dict):
        drawn = {"nominal", "p10", "p50", "p90"} <= value.keys()
        return {
            key: None if drawn and key in ("p10", "p50", "p90") else _without_draws(each)
            for key, each in value.items()
        }
    return [_without_draws(each) for each in value] if isinstance(value, list) else value
