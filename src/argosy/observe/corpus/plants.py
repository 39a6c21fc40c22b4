"""Causes that change how long things take: each is planted in the replay, and says what must then be found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from argosy.observe.corpus.families import Family
from argosy.observe.corpus.faults import LOADER_S, Fault, Pause
from argosy.observe.corpus.job import Healthy
from argosy.observe.corpus.truth import Culprits, Expected


@dataclass(frozen=True)
class Planted:
    """A fault of the replay with what must be found, and what the other writers must know (`extras`). `told`: whether the
    files of the family hold evidence of it at all.
    """

    fault: Fault
    expected: tuple[Expected, ...] = ()
    tolerated: tuple[str, ...] = ()
    extras: dict[str, Any] = field(default_factory=dict)
    told: bool = True


Plant = Callable[[Family, Healthy, float, np.random.Generator], Planted]


def _none(family: Family) -> Fault:
    return Fault.none(family.work.gpus, family.work.pp)


def healthy(family: Family, job: Healthy, strength: float, rng: np.random.Generator) -> Planted:
    """Nothing is wrong: whatever is blamed is wrong blame."""
    return Planted(_none(family))


def slow_gpu(family: Family, job: Healthy, strength: float, rng: np.random.Generator) -> Planted:
    """One accelerator computes slower by a factor."""
    rank = int(rng.integers(family.work.gpus))
    fault = _none(family)
    compute = fault.compute.copy()
    compute[:, rank] *= strength
    found = Expected(("straggler-rank",), Culprits(ranks=(rank,)), named=True)
    return Planted(replace(fault, compute=compute), (found,))


def slow_worker(family: Family, job: Healthy, strength: float, rng: np.random.Generator) -> Planted:
    """One worker of an operation table, a whole tensor-parallel group, computes slower by a factor."""
    first = int(rng.integers(family.work.gpus // family.work.tp)) * family.work.tp
    ranks = tuple(range(first, first + family.work.tp))
    fault = _none(family)
    compute = fault.compute.copy()
    compute[:, list(ranks)] *= strength
    return Planted(
        replace(fault, compute=compute), (Expected(("straggler-rank",), Culprits(ranks=ranks), named=True),)
    )


def slow_node(family: Family, job: Healthy, strength: float, rng: np.random.Generator) -> Planted:
    """All accelerators of one node compute slower by a factor: a fan, a power cap, a busy host."""
    node = int(rng.integers(family.nodes))
    ranks = tuple(r for r in range(family.work.gpus) if r // family.work.ranks_per_node == node)
    fault = _none(family)
    compute = fault.compute.copy()
    compute[:, list(ranks)] *= strength
    culprits = Culprits(ranks=ranks, nodes=(family.node.format(node),))
    return Planted(
        replace(fault, compute=compute),
        (Expected(("straggler-node",), culprits, named=True),),
        ("straggler-rank",),
    )


def uneven_stage(family: Family, job: Healthy, strength: float, rng: np.random.Generator) -> Planted:
    """One stage of the pipeline has more work by a factor."""
    stage = int(rng.integers(family.work.pp))
    fault = _none(family)
    chunk = fault.chunk.copy()
    chunk[stage] *= strength
    found = Expected(("uneven-stage",), Culprits(stages=(stage,)), named=True)
    return Planted(replace(fault, chunk=chunk), (found,))


def sequence_imbalance(family: Family, job: Healthy, strength: float, rng: np.random.Generator) -> Planted:
    """Micro-batches differ: attention of long documents takes `strength` of a pass more, exponentially distributed."""
    fault = replace(_none(family), sequences=strength, seed=int(rng.integers(1 << 30)))
    return Planted(fault, (Expected(("sequence-imbalance",)),))


def slow_link(family: Family, job: Healthy, strength: float, rng: np.random.Generator) -> Planted:
    """One NIC gives `strength` of its rate."""
    rank = int(rng.integers(family.work.gpus))
    fault = _none(family)
    link = fault.link.copy()
    link[rank] = strength
    culprits = Culprits(ranks=(rank,), nodes=(family.node_of(rank),))
    # Where all ranks are one group, one slow NIC and a slow network look the same in every trace.
    alone = len(job.groups()["data"]) == 1 and family.work.pp == 1
    ids = ("slow-link", "low-bus-bandwidth") if alone else ("slow-link",)
    # ... and without sizes of messages it looks like a job that exchanges more.
    told = not alone or family.style.metadata
    return Planted(replace(fault, link=link), (Expected(ids, culprits),), ("low-bus-bandwidth",), told=told)


def socket_fallback(family: Family, job: Healthy, strength: float, rng: np.random.Generator) -> Planted:
    """One node, or all (`strength` 1), exchange over TCP sockets: a thirtieth of the rate of InfiniBand."""
    nodes = tuple(range(family.nodes)) if strength >= 1 else (int(rng.integers(family.nodes)),)
    fault = _none(family)
    link = fault.link.copy()
    ranks = tuple(r for r in range(family.work.gpus) if r // family.work.ranks_per_node in nodes)
    link[list(ranks)] = 1 / 30
    culprits = Culprits(ranks=ranks, nodes=tuple(family.node.format(n) for n in nodes))
    return Planted(
        replace(fault, link=link),
        (Expected(("socket-fallback",), culprits),),
        ("low-bus-bandwidth", "slow-link"),
        {"sockets": nodes},
    )


def low_bus_bandwidth(family: Family, job: Healthy, strength: float, rng: np.random.Generator) -> Planted:
    """All transfers between nodes take longer by a factor: no GPUDirect, a congested spine, a wrong algorithm."""
    found = Expected(("low-bus-bandwidth",))
    return Planted(replace(_none(family), network=strength), (found,), (), {"bus": 1 / strength})


def data_starvation(family: Family, job: Healthy, strength: float, rng: np.random.Generator) -> Planted:
    """Every rank waits for its batch for `strength` of a step."""
    fault = _none(family)
    data = np.full((1, family.work.gpus), LOADER_S + strength * job.step_s)
    return Planted(
        replace(fault, data_s=data), (Expected(("data-starvation",)),), (), {"data_s": strength * job.step_s}
    )


def host_bound(family: Family, job: Healthy, strength: float, rng: np.random.Generator) -> Planted:
    """Launching takes the host `strength` of what the kernel runs: above 1 the device waits."""
    return Planted(
        replace(_none(family), launch=np.full(family.work.gpus, strength)), (Expected(("host-bound",)),)
    )


def recompilation(family: Family, job: Healthy, strength: float, rng: np.random.Generator) -> Planted:
    """All ranks compile anew in every other step, for `strength` of a step."""
    pauses = tuple(
        Pause(rank, step, 0.5, strength * job.step_s * rng.uniform(0.9, 1.1), "recompile")
        for step in range(0, family.steps, 2)
        for rank in range(family.work.gpus)
    )
    extras = {"recompile_s": strength * job.step_s}
    return Planted(replace(_none(family), pauses=pauses), (Expected(("recompilation",)),), (), extras)


def gc_pause(family: Family, job: Healthy, strength: float, rng: np.random.Generator) -> Planted:
    """In every step two ranks at random stop to collect garbage, for `strength` of a step."""
    pauses = []
    for step in range(family.steps):
        for rank in rng.choice(family.work.gpus, 2, replace=False):
            seconds = strength * job.step_s * rng.uniform(0.8, 1.2)
            pauses.append(Pause(int(rank), step, float(rng.uniform(0.1, 0.9)), seconds, "gc"))
    everyone = Culprits(ranks=tuple(dict.fromkeys(pause.rank for pause in pauses)))
    return Planted(
        replace(_none(family), pauses=tuple(pauses)), (Expected(("gc-pause",), everyone),), (), {"gc": True}
    )


def throttling(family: Family, job: Healthy, strength: float, rng: np.random.Generator) -> Planted:
    """One accelerator is hot: its clock, which DCGM shows, is lower, its kernels longer, by a factor."""
    planted = slow_gpu(family, job, strength, rng)
    rank = planted.expected[0].culprits.ranks[0]
    culprits = Culprits(ranks=(rank,), nodes=(family.node_of(rank),))
    found = Expected(("throttling",), culprits, named=True)
    return Planted(planted.fault, (found,), ("straggler-rank",), {"hot": rank, "clock": 1 / strength})
