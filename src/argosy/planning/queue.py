"""A scenario's queue, or a trace on a cluster: the jobs, the machine, its outages, and what the scenario says of the policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any

from argosy import scheduling, units
from argosy.facts import FactError
from argosy.planning.context import Context, context
from argosy.planning.job import checkpoint_bytes, laid_out
from argosy.planning.life import fleet_life
from argosy.planning.spares import failing
from argosy.scheduling import Cluster, Job, Outages, Planned, Policy, Quota, Random, Upgrade
from argosy.scheduling import preset as policy_preset
from argosy.scheduling.compare import Case
from argosy.scheduling.fleet import fleet_cluster
from argosy.scheduling.load import drawn_load, offered_load
from argosy.scheduling.traces import read_trace
from argosy.spec import Scenario, Scheduling, load

SCENARIOS = (".yaml", ".yml")


@dataclass(frozen=True)
class Queue:
    """What is scheduled, and how its own settings change a policy; `recorded`: waits that a trace tells, by job."""

    name: str
    case: Case
    policy: str
    adjusted: Callable[[Policy], Policy] = lambda policy: policy
    load: dict[str, Any] = field(default_factory=dict)
    recorded: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def one_outcome(self) -> bool:
        """Whether every seed gives the same: the jobs of a trace, and nothing that fails by chance."""
        return self.load.get("from") != "mix" and not isinstance(self.case.failures, Random)

    def preset(self, name: str | None) -> Policy:
        """The policy of that name (None: the queue's own). FactError with the known names where there is none."""
        try:
            return self.adjusted(policy_preset(name or self.policy))
        except KeyError as error:
            raise FactError(str(error.args[0])) from None


# --- a scenario ------------------------------------------------------------------------


def scenario_queue(scenario: Scenario, directory: Path, horizon_s: float | None = None) -> Queue:
    """The queue of a scenario: its fleet, the jobs of its `scheduling` section (defaults where it has none), its failures.

    `directory`: where the trace that it names is. `horizon_s` takes the place of its horizon. Raises FactError, and
    ScenarioError for a faulty trace.
    """
    given = scenario.scheduling or Scheduling()
    if horizon_s is not None:
        given = given.model_copy(update={"horizon": horizon_s})
    setting = context(scenario)
    cluster = _cluster(setting, given)
    notes = [f"{setting.spare_nodes} spare nodes stand outside of the queue"] if setting.spare_nodes else []
    own, more = _own_jobs(setting, given)
    notes += more
    trace = None
    if given.trace is not None:
        trace = read_trace(directory / given.trace, setting.node_size)
        notes += trace.notes
        told: dict[str, Any] = {"from": trace.format, "jobs": len(trace.jobs)}
    else:
        told = _told_load(given, cluster.total)

    def jobs(seed: int) -> tuple[Job, ...]:
        drawn = (
            trace.jobs
            if trace is not None
            else drawn_load(given, cluster.total, setting.node_size, seed).jobs
        )
        return tuple(sorted((*own, *drawn), key=lambda job: job.submit_s))

    reliability = setting.scenario.reliability
    if given.failures and given.more_nodes:
        notes.append("nodes of other types fail as the fleet's own")
    return Queue(
        scenario.name,
        Case(
            cluster,
            jobs,
            _failures(setting, given, cluster.nodes),
            inf if trace is not None and horizon_s is None else given.horizon,
        ),
        given.policy,
        lambda policy: replace(
            policy,
            detection_s=reliability.detection + reliability.diagnosis,
            crash_limit=given.crash_limit or policy.crash_limit,
        ),
        told,
        dict(trace.recorded_wait_s) if trace is not None else {},
        tuple(notes),
    )


def _told_load(given: Scheduling, accelerators: int) -> dict[str, Any]:
    rate, offered = offered_load(given, accelerators)
    return {
        "from": "mix",
        "jobs_per_s": rate,
        "offered": offered,
        "classes": [each.name for each in given.mix],
        "horizon_s": given.horizon,
    }


def _cluster(setting: Context, given: Scheduling) -> Cluster:
    quotas = tuple(
        Quota(
            name,
            each.accelerators,
            each.cohort,
            inf if each.borrow is None else each.borrow,
            each.lend,
            each.weight,
        )
        for name, each in given.quotas.items()
    )
    others = []
    for more in given.more_nodes:
        speed = more.speed
        if speed is None:
            speed = _peak(setting, more.accelerator) / _peak(setting, setting.accelerator)
        others.append((more.accelerator, more.nodes, more.accelerators_per_node, speed))
    return fleet_cluster(setting.fleet, setting.node_size, setting.scale_up_domain, quotas, tuple(others))


def _peak(setting: Context, accelerator: str) -> float:
    entry = setting.catalog.entry("accelerators", accelerator)
    fact = entry.facts.get("peak_bf16")
    if fact is None:
        raise FactError(
            f"scheduling.more_nodes: the catalog has no BF16 peak of {accelerator}; write speed: 0.5"
        )
    return float(fact.value)


def _own_jobs(setting: Context, given: Scheduling) -> tuple[list[Job], list[str]]:
    """The scenario's own training and serving jobs, submitted at 0, and what is to be told of them."""
    if not given.own_jobs:
        return [], []
    jobs, notes = [], []
    scenario = setting.given
    size = min(given.own_accelerators or setting.fleet.count, setting.fleet.count)
    smaller = scenario.model_copy(update={"fleet": scenario.fleet.model_copy(update={"count": size})})
    for training in scenario.training:
        part = context(smaller)
        planned = laid_out(part, training)
        state = checkpoint_bytes(planned)
        life = fleet_life(part, state, int(planned.main.layouts.dp[0])).within(float(planned.work_s))
        interval = life.nominal(float(planned.work_s)).interval_s
        jobs.append(
            Job(
                job=training.name,
                submit_s=0.0,
                duration_s=float(planned.work_s),
                accelerators=size,
                tenant=training.name,
                priority=given.own_priority,
                checkpoint_s=float(state) / setting.fleet.storage_bandwidth_bytes_per_s,
                checkpoint_interval_s=interval,
                restart_s=float(life.recovery.restart_s),
            )
        )
    for service in scenario.serving:
        if service.accelerators is None:
            notes.append(f"serving.{service.name} is left out: write its accelerators to put it in the queue")
            continue
        jobs.append(
            Job(
                job=service.name,
                submit_s=0.0,
                duration_s=inf,
                accelerators=service.accelerators,
                tenant=service.name,
                priority=given.own_priority,
                kind="service",
            )
        )
    if not jobs:
        notes.append("own_jobs: the scenario has no training job and no service with accelerators")
    return jobs, notes


def _failures(setting: Context, given: Scheduling, nodes: int) -> Outages | Random:
    """What is planned, and failures at the fleet's rate per node on all nodes of the queue."""
    planned = tuple(
        Planned(each.start, node, each.duration, inf if each.patience is None else each.patience)
        for each in given.maintenance
        for node in range(min(each.nodes or nodes, nodes))
    )
    upgrades = tuple(
        Upgrade(each.start, each.duration, each.floor, inf if each.patience is None else each.patience)
        for each in given.upgrades
    )
    if not given.failures:
        return scheduling.no_outages(planned, upgrades)
    rates = failing(setting.scenario, setting.fleet, setting.values, setting.node_size, 0).rates
    drawn = scheduling.random_outages(rates, setting.scenario.reliability.repair.time)
    return replace(drawn, per_s=drawn.per_s * nodes / setting.nodes, planned=planned, upgrades=upgrades)


# --- a trace ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Machine:
    """The cluster of a trace that names none: equal nodes, quotas in accelerators, failures by a node's mean time between
    them (s; None: none), repaired in `repair_s` on average. `fleet`: a scenario whose fleet takes the place of all that."""

    nodes: int | None = None
    per_node: int = 8
    nodes_per_domain: int = 1
    nodes_per_leaf: int = 32
    leaves_per_pod: int = 8
    accelerator: str = ""
    quotas: Mapping[str, int] = field(default_factory=dict)
    node_mttf_s: float | None = None
    repair_s: float = 86400.0
    fleet: Path | None = None


def queue_of(path: Path, machine: Machine, until_s: float | None = None) -> Queue:
    """The queue of a file: a scenario (.yaml), or a trace on `machine`.

    FactError where a trace has no machine, ScenarioError for what is wrong with the file.
    """
    if path.suffix.lower() in SCENARIOS:
        return scenario_queue(load(path), path.parent, until_s)
    if machine.fleet is not None:
        scenario = load(machine.fleet)
        given = (scenario.scheduling or Scheduling()).model_copy(update={"trace": path.name})
        whole = scenario.model_copy(update={"scheduling": given})
        return replace(scenario_queue(whole, path.parent, until_s), name=path.name)
    trace = read_trace(path, machine.per_node)
    if machine.nodes is None:
        largest = max(job.accelerators for job in trace.jobs)
        raise FactError(
            f"{path}: a trace names no cluster; write --nodes {-(-largest // machine.per_node)} or more (its largest job asks "
            f"for {largest} accelerators, with {machine.per_node} a node), or --fleet SCENARIO"
        )
    quotas = tuple(Quota(tenant, size, "all") for tenant, size in machine.quotas.items())
    cluster = scheduling.uniform(
        machine.nodes,
        machine.per_node,
        machine.nodes_per_domain,
        machine.nodes_per_leaf,
        machine.leaves_per_pod,
        machine.accelerator,
        quotas,
    )
    failures = None
    if machine.node_mttf_s is not None:
        failures = Random(machine.nodes / machine.node_mttf_s, machine.repair_s)
    return Queue(
        path.name,
        Case(cluster, lambda seed: trace.jobs, failures, inf if until_s is None else until_s),
        "easy",
        load={"from": trace.format, "jobs": len(trace.jobs)},
        recorded=dict(trace.recorded_wait_s),
        notes=trace.notes,
    )


def quotas_of(given: Sequence[str]) -> dict[str, int]:
    """`research=512` as tenants with their accelerators; FactError for what is not of that form."""
    found = {}
    for text in given:
        tenant, _, size = text.partition("=")
        if not tenant or not size.strip().isdigit():
            raise FactError(f"--quota {text!r} is no quota; write for example --quota research=512")
        found[tenant.strip()] = int(size)
    return found


def seconds_of(given: str | None, option: str) -> float | None:
    """A time above 0 as an option gives it (`7 days`), in s; None for none. FactError where it is none."""
    if given is None:
        return None
    try:
        seconds = units.parse(given, "s")
    except units.UnitError as error:
        raise FactError(f"{option}: {error}") from None
    if not 0 < seconds < inf:
        raise FactError(f"{option} {given!r} is not above 0; write for example 7 days")
    return seconds
