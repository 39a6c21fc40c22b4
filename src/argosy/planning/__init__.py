"""One scenario in, one accounted answer out: composes training, fabric, reliability and facility.

Several training jobs run one after another on the fleet, or on what services leave of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from argosy.fabric import plan_fabric
from argosy.facts import FactError
from argosy.planning.context import Context, context
from argosy.planning.hall import cable_problems, cabling
from argosy.planning.job import JobPlan, check_format, plan_job
from argosy.planning.payload import assumptions, envelope, payload, plain
from argosy.planning.power_trace import ramp_constraint
from argosy.planning.run import FleetRun, JobRun, drawn_run, job_life, nominal_run
from argosy.planning.site import NetworkAccount, it_load, network_account
from argosy.planning.verdict import (
    Constraint,
    Verdict,
    endless,
    judge,
    memory_constraint,
    power_constraints,
    storage_constraint,
    undividable,
)
from argosy.reliability.engine_input import LONGEST
from argosy.reliability.events import COMPILING, compiled_before
from argosy.spec import Scenario
from argosy.training import Search

if TYPE_CHECKING:
    from argosy.planning.serving import ServicePlan

__all__ = ["Constraint", "Plan", "Verdict", "central_run", "plan", "verdict_of"]

LONGEST_S = 1e11  # three thousand years: a longer job never finishes


@dataclass(frozen=True)
class Plan:
    """The answer: a verdict, and the run at central facts and over draws (none where no layout divides)."""

    scenario: Scenario
    verdict: Verdict
    nominal: FleetRun | None
    drawn: FleetRun | None
    fabrics: tuple[dict[str, Any], ...]
    payload: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The contract's JSON of `argosy plan`."""
        return self.payload


def plan(
    scenario: Scenario, draws: int = 2000, seed: int = 0, tell: Callable[[str], None] = lambda message: None,
    services: bool = True,
) -> Plan:  # fmt: skip
    """Plan a scenario.

    `draws`: joint draws of facts, model residuals and failures behind P10/P50/P90; the same `seed` gives the same
    answer. `tell` hears what takes long. Services are sized first and training has the accelerators that they leave; without
    `services` training has the whole fleet. Raises FactError for names the catalog does not have; what cannot run is a
    verdict, not an error.
    """
    if not scenario.training and not scenario.serving:
        raise FactError(
            f"{scenario.name} has neither training nor services to plan; add training: or serving:, or ask argosy schedule"
        )
    setting = whole = context(scenario)
    if not scenario.training:
        return _services_alone(setting, seed, tell)
    served: tuple[ServicePlan, ...] = ()
    if services and scenario.serving:
        from argosy.planning import together  # its simulation is compiled: only for those who serve

        served = together.plan_services(setting, seed, tell)
        left = together.budget(setting, served) or together.remainder(setting, served)
        if isinstance(left, Verdict):
            verdicts = [left, *(each.verdict for each in served)]
            return _without_run(setting, together.merged(verdicts), served)
        setting, rest = left.setting, left
    jobs: list[JobPlan] = []
    for given in scenario.training:
        check_format(setting, given)
        planned = plan_job(setting, given)
        if isinstance(planned, Search):
            return _without_run(setting, undividable(given.name, planned))
        jobs.append(planned)
    fabrics = plan_fabric(setting.fleet, setting.values)
    network = network_account(fabrics)
    nominal = central_run(setting, jobs, network, tell)
    if isinstance(nominal, Verdict):
        return _without_run(setting, nominal)
    drawn = drawn_run(setting, jobs, network, draws, seed)
    verdict = verdict_of(setting, nominal, fabrics)
    answer = payload(setting, verdict, nominal, drawn, fabrics)
    if served:
        verdict, answer = together.beside_training(whole, rest, served, answer, nominal, jobs, verdict)
    return Plan(setting.scenario, verdict, nominal, drawn, tuple(fabrics), answer)


def central_run(
    setting: Context,
    jobs: list[JobPlan],
    network: NetworkAccount,
    tell: Callable[[str], None] = lambda message: None,
) -> FleetRun | Verdict:
    """The run at central facts; or the verdict of a job that never finishes, before its lives are simulated."""
    for job in jobs:
        life = job_life(setting, job)
        form = life.goodput()
        if not form.wall_s(job.work_s) < min(LONGEST_S, LONGEST * job.work_s):
            return endless(job.training.name, life.notes(), form.shares)
        if life.beyond and not compiled_before():
            tell(COMPILING)
    nominal = nominal_run(setting, jobs, network)
    for lived in nominal.jobs:
        if not lived.wall_s < LONGEST_S:
            return endless(lived.job.training.name, lived.reliability.notes(), _lost(lived))
    return nominal


def _lost(run: JobRun) -> dict[str, float]:
    """What the time that is not productive goes to, as shares of it."""
    lost = {state: seconds for state, seconds in run.seconds.items() if state != "productive"}
    total = sum(lost.values()) or 1.0
    return {state: seconds / total for state, seconds in lost.items()}


def verdict_of(setting: Context, nominal: FleetRun, fabrics: list[dict[str, Any]]) -> Verdict:
    """All constraints of the plan, and what rests on assumptions."""
    constraints = [limit for job in nominal.jobs for limit in memory_constraint(job.job)]
    capacity, keep = setting.fleet.storage.capacity, setting.scenario.reliability.checkpoint.keep
    constraints += [limit for job in nominal.jobs for limit in storage_constraint(job.job, capacity, keep)]
    constraints += power_constraints(nominal.facility)
    constraints += ramp_constraint(setting, it_load(setting, network_account(fabrics)), nominal)
    problems = [problem for fabric in fabrics for problem in fabric.get("problems", [])]
    problems += nominal.facility["problems"]
    if setting.scenario.facility.hall.cable_reach_m is not None:
        problems += cable_problems(setting, cabling(setting, nominal.facility["rack_nodes"]))
    assumed = len(assumptions(setting))
    cautions = [f"rests on {assumed} assumptions without a source, listed with the answer"] if assumed else []
    cautions += [note for job in nominal.jobs for note in job.reliability.notes()]
    cautions += nominal.facility["cautions"]
    if len(nominal.jobs) > 1:
        cautions.append("the jobs run one after another, each on the whole fleet")
    return judge(constraints, problems, cautions)


def _services_alone(setting: Context, seed: int, tell: Callable[[str], None]) -> Plan:
    """The answer of a scenario without training."""
    from argosy.planning import together

    served = together.plan_services(setting, seed, tell)
    fabrics = plan_fabric(setting.fleet, setting.values)
    verdict, answer = together.services_alone(setting, served, fabrics)
    return Plan(setting.scenario, verdict, None, None, tuple(fabrics), answer)


def _without_run(setting: Context, verdict: Verdict, served: tuple[ServicePlan, ...] = ()) -> Plan:
    """The answer where there is no run to account for."""
    empty: dict[str, Any] = {
        "headline": [],
        "training": [],
        "serving": [each.payload for each in served],
        "fabrics": [],
        "facility": None,
        "cost": None,
        "ledger": None,
        "facts": [],
        "notes": [],
    }
    answer = plain({**envelope(setting, verdict), **empty, "assumptions": assumptions(setting)})
    return Plan(setting.scenario, verdict, None, None, (), answer)
