"""Several jobs on one site: separate nodes, one pool of spare nodes, one storage. Central facts, the event engine."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from argosy import __version__
from argosy.facts import FactError
from argosy.planning.payload import plain
from argosy.planning.simulation import Subject, subject
from argosy.reliability import CategoryRate, FailureRates, Gang, Hazards, shared_lives
from argosy.reliability.account import VIEWS, account
from argosy.spec import Scenario

SCHEMA = "argosy.simulate-together/1"
DAY = 86400.0


def simulate_together(
    scenarios: Sequence[Scenario], replications: int = 500, seed: int = 0, one_storage: bool = True
) -> dict[str, Any]:
    """Lives of the first job of each scenario, all at once: {jobs, spares, ...}.

    Each job has the nodes of its own scenario; the spares of all are one pool, and with `one_storage` checkpoints share the
    largest of the scenarios' bandwidths. `jobs`: the contract's figures of `argosy simulate` for each, with `job`, `days`
    and `alone` (goodput with its own spares and storage, as its scenario says). Raises FactError where the jobs' nodes fail
    differently, because they are then no one fleet.
    """
    subjects = [subject(scenario) for scenario in scenarios]
    bandwidth = max(each.context.fleet.storage_bandwidth_bytes_per_s for each in subjects)
    if one_storage:
        subjects = [subject(scenario, None, bandwidth) for scenario in scenarios]
    rates, hazards = _one_fleet(subjects)
    gangs = [
        Gang(
            each.work_s,
            each.life.nodes,
            each.life.cost,
            each.life.recovery,
            each.life.maintenance,
            each.life.interval_s,
        )
        for each in subjects
    ]
    pool, first = sum(each.life.recovery.spare_nodes for each in subjects), subjects[0].life.recovery
    with ThreadPoolExecutor() as threads:
        together = shared_lives(
            gangs,
            rates,
            pool,
            float(np.mean(first.repair_s)),
            hazards,
            one_storage,
            replications,
            seed,
            threads,
        )
        alone = [each.life.event_lives(each.work_s, replications, seed, threads) for each in subjects]
    jobs = []
    for each, lives, own in zip(subjects, together, alone, strict=True):
        days = np.quantile(lives.wall_s / DAY, [0.1, 0.5, 0.9])
        jobs.append(
            {
                **account(lives, each.context.fleet.count, each.work_s),
                "job": each.name,
                "accelerators": each.context.fleet.count,
                "nodes": each.life.nodes,
                "days": dict(zip(("p10", "p50", "p90"), days, strict=True)),
                "interval_s": float(lives.closed_form.interval_s),
                "finishes": bool(lives.finished.mean() > 0.5),
                "alone": float(own.ettr.mean()),
            }
        )
    answer = {
        "schema": SCHEMA,
        "version": __version__,
        "facts_date": subjects[0].context.catalog.facts_date,
        "replications": replications,
        "spares": pool,
        "one_storage": one_storage,
        "storage_bytes_per_s": bandwidth,
        "definitions": VIEWS,
        "jobs": jobs,
    }
    return dict(plain(answer))


def _one_fleet(subjects: Sequence[Subject]) -> tuple[FailureRates, Hazards]:
    """The failures of all jobs' nodes together; FactError where one node of one job fails otherwise than of another."""
    first, nodes = subjects[0].life, sum(each.life.nodes for each in subjects)
    for each in subjects[1:]:
        life = each.life
        own, other = ([(c.name, _per_node(c, x.nodes)) for c in x.rates.categories] for x in (first, life))
        same = [name for name, _ in own] == [name for name, _ in other] and np.allclose(
            [rate for _, rate in own], [rate for _, rate in other], rtol=1e-6
        )
        if not same or replace(life.hazards, slowdowns=()) != replace(first.hazards, slowdowns=()):
            raise FactError(
                f"{each.name} and {subjects[0].name} do not fail alike: jobs that share spares need nodes of one kind and "
                "the same failures under reliability"
            )
    share = nodes / first.nodes
    categories = tuple(replace(c, count=c.count * share) for c in first.rates.categories)
    slower = tuple(replace(slow, rate_per_s=slow.rate_per_s * share) for slow in first.hazards.slowdowns)
    return replace(first.rates, categories=categories), replace(first.hazards, slowdowns=slower)


def _per_node(category: CategoryRate, nodes: int) -> float:
    return float(np.mean(category.system_per_s)) / nodes
