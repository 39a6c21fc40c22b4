"""The event engine's arrays from rates, hazards and jobs: what numba reads, in its order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from argosy.facts import FactError
from argosy.reliability.checkpoints import CheckpointCost
from argosy.reliability.goodput import Goodput
from argosy.reliability.hazards import Hazards
from argosy.reliability.rates import CategoryRate, FailureRates
from argosy.reliability.recovery import Maintenance, Recovery

LONGEST = 20.0
MOST_FAILURES = 5_000.0  # of a life that never ends: its shares are known to a per cent by then
"""A life is cut when it has taken this many times its work: the job will not finish."""


def category_names(rates: FailureRates, hazards: Hazards) -> list[str]:
    """The categories in the order of the engine's counts: rates, shocks that lose nodes, shocks that stop the job."""
    shocks = sorted(hazards.shocks, key=lambda shock: shock.effect)  # lose, then stop
    return [c.name for c in rates.categories] + [shock.name for shock in shocks]


def world(
    rates: FailureRates, hazards: Hazards, jobs: np.ndarray, spares: int, repair_s: float, rows: int = 0
) -> dict[str, np.ndarray]:
    """The engine's arrays by name: `rates` and `hazards` are of the nodes of all `jobs` together; `rows` of timeline are kept."""
    from argosy.kernels import records

    nodes = int(jobs["nodes"].sum())
    racks = hazards.racks
    inside = racks.nodes - racks.needed if racks else 0
    shelf = -(-nodes // racks.needed) * inside if racks else 0
    total = nodes + (shelf if racks else spares)
    wear, tables, given = _wearing(rates, hazards, nodes, total)
    node_causes, job_causes = _causes(rates, hazards, nodes, total)
    fleet = np.zeros(1, records.FLEET)
    share, factor = float(hazards.lemon_share), float(hazards.lemon_factor)
    if factor < 1.0:  # the others are the lemons, then
        share, factor = 1.0 - share, 1.0 / factor
    names = [c.name for c in rates.categories]
    _fill(
        fleet[0], nodes=nodes, spares=spares, node_rate=node_causes["cumulative"][-1] / nodes,
        usual=1.0 / (1.0 - share + share * factor), lemon_share=share if factor != 1.0 else 0.0, lemon_factor=factor,
        evict_after=hazards.evict_after, burst_share=hazards.burst_share, burst_delay_s=hazards.burst_delay_s,
        repair_s=repair_s, repair_random=hazards.repair_random, crews=hazards.crews, misdiagnosed=hazards.misdiagnosed,
        rack_used=racks.needed if racks else 0, rack_spares=inside,
        silent=names.index("silent-data-corruption") if "silent-data-corruption" in names else -1,
    )  # fmt: skip
    jobs["job_rate"] = job_causes["cumulative"][-1] * jobs["nodes"] / nodes
    shocks, slowdowns = _shocks(rates, hazards, total, repair_s), _slowdowns(hazards)
    categories = len(category_names(rates, hazards))
    return records.empty_world(
        fleet, jobs, wear, tables, node_causes, job_causes, shocks, slowdowns, given, categories, rows
    )


def job_record(
    work_s: float,
    nodes: int,
    cost: CheckpointCost,
    recovery: Recovery,
    maintenance: Maintenance,
    form: Goodput,
    hazards: Hazards,
    shared: bool = False,
) -> np.ndarray:
    """The engine's `JOB` (1,) of one job; `shared`: it writes to the same storage as other jobs."""
    from argosy.kernels import records

    per_day, loss = float(maintenance.per_day), float(cost.loss_share)
    local = cost.fast == "local"  # a node's own disk is lost with the node, and with it alone
    copies = int(recovery.copies) if recovery.policy == "redundancy" else 1
    blocking, persist, interference = float(cost.blocking_s), float(cost.persist_s), float(cost.interference)
    if shared and persist == 0.0 and 0.0 < float(cost.load_s) <= blocking:
        # A synchronous write: the job stands still while it is written, which takes longer when others write too.
        blocking, persist, interference = blocking - float(cost.load_s), float(cost.load_s), 1.0
    job = np.zeros(1, records.JOB)
    _fill(
        job[0], work_s=work_s, interval_s=form.cadence.interval_s, blocking_s=blocking, persist_s=persist,
        interference=interference, storage_load=1.0, fast=bool(cost.fast), shared=shared,
        storage_every=max(1, round(float(form.cadence.storage_every))),
        loss_node=1.0 if local else loss, loss_job=0.0 if local else loss, loss_many=1.0, kept=hazards.kept,
        detection_s=recovery.detection_s, restart_s=recovery.restart_s, queue_s=recovery.queue_s,
        tolerant=recovery.tolerant, copies=copies, replicas=max(1, min(int(recovery.replicas), nodes)),
        pause_s=recovery.stall_s, maintenance_gap_s=86400.0 / per_day if per_day > 0 else np.inf,
        maintenance_s=maintenance.duration_s + cost.blocking_s + cost.persist_s + recovery.restart_s,
        limit_s=_limit_s(float(work_s), form), give_up_after=hazards.give_up_after, silent_latency_s=hazards.silent_latency_s,
        nodes=nodes * copies,
    )  # fmt: skip
    return job


def _limit_s(work_s: float, form: Goodput) -> float:
    """Seconds after which a life is cut; sooner where the closed form knows that it never ends, or it would fail for ever."""
    limit = LONGEST * work_s
    if float(form.ettr) * LONGEST >= 1.0 or float(form.failures_per_s) <= 0.0:
        return limit
    return min(limit, MOST_FAILURES / float(form.failures_per_s))


def _fill(record: Any, **values: Any) -> None:
    for name, value in values.items():
        record[name] = value


def _total(category: CategoryRate) -> float:
    return float(category.system_per_s)


def _usual(hazards: Hazards) -> float:
    """A failure lights 1/(1 − share) in all, itself included: the rate of those that are not lit by another."""
    return 1.0 - hazards.burst_share


def _causes(rates: FailureRates, hazards: Hazards, nodes: int, total: int) -> tuple[np.ndarray, np.ndarray]:
    """Memoryless causes of nodes and of jobs, cumulative failures per second of the whole fleet."""
    stopping = [shock for shock in hazards.shocks if shock.effect == "stop"]
    first_stop = len(rates.categories) + len(hazards.shocks) - len(stopping)
    of_nodes, of_jobs = [], []
    for k, c in enumerate(rates.categories):
        if c.scope != "node":
            of_jobs.append((k, _total(c)))
        elif c.name not in hazards.shapes:
            of_nodes.append((k, _total(c)))
    of_jobs += [(first_stop + k, s.rate_per_s * s.count(total) * s.reach) for k, s in enumerate(stopping)]
    return _cumulative(of_nodes, _usual(hazards)), _cumulative(of_jobs, _usual(hazards))


def _cumulative(causes: Sequence[tuple[int, float]], factor: float) -> np.ndarray:
    from argosy.kernels.records import CAUSE

    table = np.zeros(max(len(causes), 1), CAUSE)
    for row, (category, _) in zip(table, causes, strict=False):
        row["category"] = category
    table["cumulative"] = np.cumsum([rate * factor for _, rate in causes] or [0.0])
    return table


def _shocks(rates: FailureRates, hazards: Hazards, total: int, repair_s: float) -> np.ndarray:
    from argosy.kernels.records import SHOCK

    losing = [shock for shock in hazards.shocks if shock.effect == "lose"]
    table = np.zeros(len(losing), SHOCK)
    for k, shock in enumerate(losing):
        domains = shock.count(total)
        _fill(
            table[k], rate=shock.rate_per_s * domains * _usual(hazards), reach=shock.reach, size=shock.nodes,
            domains=domains, category=len(rates.categories) + k,
            repair_s=repair_s if shock.repair_s is None else shock.repair_s,
        )  # fmt: skip
    return table


def _slowdowns(hazards: Hazards) -> np.ndarray:
    from argosy.kernels.records import SLOWDOWN

    table = np.zeros(len(hazards.slowdowns), SLOWDOWN)
    for row, slow in zip(table, hazards.slowdowns, strict=True):
        _fill(row, rate=slow.rate_per_s, lasts=slow.lasts_s, by=slow.by, exchange=slow.exchange)
    return table


def _wearing(
    rates: FailureRates, hazards: Hazards, nodes: int, total: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Wearing categories (W,), their tables of stationary lifetimes (W, T), and ages of single nodes (W, total) or (W, 0).

    Where only some categories have an age for each node, the others have −1 there.
    """
    from argosy.kernels.records import WEAR

    names = {c.name for c in rates.categories if c.scope == "node"}
    strange = [name for name in hazards.shapes if name not in names]
    if strange:
        raise FactError(f"no category of nodes {strange[0]!r} to give a Weibull shape")
    wearing = [(k, c) for k, c in enumerate(rates.categories) if c.name in hazards.shapes and _total(c) > 0]
    table = np.zeros(len(wearing), WEAR)
    single = np.full((len(wearing), total), -1.0)
    for row, own, (k, c) in zip(table, single, wearing, strict=True):
        shape, age = float(hazards.shapes[c.name]), _age(hazards.ages_s, c.name)
        scale = _scale(_total(c) * _usual(hazards) / nodes, shape)
        _fill(
            row, shape=shape, scale=scale, category=k, stationary=isinstance(age, str) and age == "stationary"
        )
        if not isinstance(age, str):
            if np.ndim(age) == 0:
                row["age"] = age
            else:
                own[:] = np.broadcast_to(np.asarray(age, dtype=float), (total,))
    tables = [_stationary(float(row["shape"])) for row in table]
    if not np.any(single >= 0.0):
        single = single[:, :0]
    return table, np.array(tables).reshape(len(tables), _ENTRIES), single


def _age(ages_s: Any, name: str) -> Any:
    age = ages_s.get(name, "stationary") if isinstance(ages_s, Mapping) else ages_s
    if isinstance(age, str) and age not in ("stationary", "new"):
        raise ValueError(f"ages of {name}: {age!r}: write stationary, new, or seconds")
    return age


def _scale(rate_per_s: float, shape: float) -> float:
    """The Weibull scale (seconds) of mean life 1/rate: mean = scale · Γ(1 + 1/k)."""
    from math import gamma

    return 1.0 / (rate_per_s * gamma(1.0 + 1.0 / shape))


_ENTRIES = 4097


@cache
def _stationary(shape: float) -> np.ndarray:
    """Remaining life (T,) of a Weibull part in service for long, over its cumulative hazard, in units of its scale.

    The remaining life has the distribution of the age, whose density is survival ÷ mean life: P(more than r) is the upper
    Γ-distribution function of (r/scale)^k with shape 1/k. Entry i is at the hazard −ln P = 14·(i/(T − 1))².
    """
    from scipy.special import gammainccinv

    from argosy.kernels.records import TABLE_HAZARD

    hazard = TABLE_HAZARD * np.linspace(0.0, 1.0, _ENTRIES) ** 2
    return np.asarray(gammainccinv(1.0 / shape, np.exp(-hazard)) ** (1.0 / shape))
