"""Causes that show over a whole run, or end it: drift, checkpoints, hangs, broken hardware, timers and metrics that mislead.

Each writes its files itself and says what must be found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from argosy.observe.corpus import library, logs, machines
from argosy.observe.corpus.families import Family
from argosy.observe.corpus.job import Healthy, healthy
from argosy.observe.corpus.logs import Life
from argosy.observe.corpus.truth import Culprits, Expected


@dataclass(frozen=True)
class Happened:
    """What must be found; `effect`: share of time that the cause costs, None where it does not go by time."""

    expected: tuple[Expected, ...] = ()
    tolerated: tuple[str, ...] = ()
    effect: float | None = None


Incident = Callable[[Family, float, Path, np.random.Generator], Happened]


def usual(job: Healthy, iterations: int, rng: np.random.Generator) -> np.ndarray:
    """Step times of a healthy run, s: 1 % of noise, and a few steps that something delayed."""
    times = job.step_s * np.exp(rng.normal(0.0, 0.01, iterations))
    times[rng.random(iterations) < 0.004] *= 1.4
    times[0] *= 4  # the first step compiles, allocates, connects
    return np.asarray(times)


def _sparse_saves(job: Healthy, iterations: int) -> dict[int, float]:
    """Copies that cost half a per cent: what an asynchronous checkpoint leaves exposed."""
    every = max(iterations // 6, 1)
    return dict.fromkeys(range(every, iterations + 1, every), 0.005 * every * job.step_s)


def healthy_run(family: Family, strength: float, folder: Path, rng: np.random.Generator) -> Happened:
    """A run of some hours, its node's journal, its accounting and its metrics: nothing is wrong."""
    job = healthy(family.work)
    life = Life(usual(job, 600, rng), saves=_sparse_saves(job, 600))
    logs.write_log(family.log, folder / "train.log", job, life, rng)
    machines.write_journal(folder / "journal.txt", family)
    machines.write_sacct(folder / "sacct.txt", family, [(0.0, 620 * job.step_s, "COMPLETED")])
    machines.write_dcgm(folder / "dcgm.prom", family, rng)
    library.write_nccl(folder / "nccl.log", family)
    machines.write_nccl_tests(folder / "all_reduce.txt", family, job, 1.0)
    return Happened(effect=0.0)


def mfu_drift(family: Family, strength: float, folder: Path, rng: np.random.Generator) -> Happened:
    """Steps that grow by `strength` from the beginning of the run to its end."""
    job = healthy(family.work)
    times = usual(job, 1200, rng) * np.linspace(1.0, 1 + strength, 1200)
    logs.write_log(family.log, folder / "train.log", job, Life(times, saves=_sparse_saves(job, 1200)), rng)
    return Happened((Expected(("mfu-drift",)),), (), strength / 2)


def mfu_drift_cause(family: Family, strength: float, folder: Path, rng: np.random.Generator) -> Happened:
    """Steps that grow by a tenth, with timers: compute grows (`strength` 1), or the wait in the gradients' exchange (2)."""
    job = healthy(family.work)
    times = usual(job, 800, rng)
    grown = np.linspace(0.0, 0.1, 800) * job.step_s
    compute = 0.85 * times + (grown if strength == 1 else 0.0)
    exchange = 0.06 * times + (grown if strength == 2 else 0.0)
    series = {"forward-backward": compute, "grads-reduce-scatter": exchange}
    if family.log == "megatron-2022":
        series = {
            "forward-compute": compute / 3,
            "backward-compute": compute * 2 / 3,
            "backward-params-all-reduce": exchange,
        }
    logs.write_log(family.log, folder / "train.log", job, Life(times + grown, series=series), rng)
    return Happened((Expected(("mfu-drift",), cause="compute" if strength == 1 else "exchange"),), (), 0.05)


def checkpoint_long(family: Family, strength: float, folder: Path, rng: np.random.Generator) -> Happened:
    """Saving takes `strength` of the time."""
    job = healthy(family.work)
    seconds = strength / (1 - strength) * 50 * job.step_s
    life = Life(usual(job, 500, rng), saves=dict.fromkeys(range(50, 501, 50), seconds))
    logs.write_log(family.log, folder / "train.log", job, life, rng)
    return Happened((Expected(("checkpoint-cost",)),), (), strength)


def checkpoint_rare(family: Family, strength: float, folder: Path, rng: np.random.Generator) -> Happened:
    """A run that dies four times, and each time has `strength` of its iterations to do again."""
    job = healthy(family.work)
    lost = int(strength * 1000 / 4)
    every = max(lost + 10, 20)
    saves = dict.fromkeys(range(every, 1001, every), 2 * job.step_s)
    died = {}
    for number in range(4):
        at = (number + 1) * (800 // 4 // every * every) + lost
        died[at] = (at - lost if at - lost in saves else (at - lost) // every * every, 120 * job.step_s)
    life = Life(usual(job, 1000, rng), saves=saves, restarts=died)
    logs.write_log(family.log, folder / "train.log", job, life, rng)
    return Happened((Expected(("checkpoint-cost",)),), ("hardware-fault",), strength)


def recompute(family: Family, strength: float, folder: Path, rng: np.random.Generator) -> Happened:
    """Every layer's forward is done again: a third more work."""
    job = healthy(family.work)
    life = Life(usual(job, 200, rng) * (1 + strength), recompute="full")
    logs.write_log(family.log, folder / "train.log", job, life, rng)
    return Happened((Expected(("recompute-cost",)),), (), strength)


def _pipeline_life(
    family: Family, stages: float, booked: bool, rng: np.random.Generator
) -> tuple[Healthy, Life, float]:
    from dataclasses import replace

    work = replace(family.work, pp=int(stages), micro_batches=4, vp=1)
    job = healthy(work)
    p, m = work.pp, work.micro_batches
    forward, backward = float(job.forward_s[0]) * m, float(job.backward_s[0]) * m
    bubble = (p - 1) * (forward + backward) / m
    exchange, update = job.scatter_s + 0.01, job.update_s + 0.02
    step = forward + backward + bubble + exchange + update
    timers = {
        "forward-compute": forward,
        "backward-compute": backward,
        "backward-params-all-reduce": exchange,
    }
    if (
        booked
    ):  # seen from the last rank: it waits for its first input, and at the end for the embedding's other half
        timers |= {"forward-recv": bubble * 0.3, "backward-embedding-all-reduce": bubble * 0.7 + job.tied_s}
    else:
        timers |= {"forward-recv": bubble * 0.45, "backward-recv": bubble * 0.55}
    timers |= {"optimizer": update, "batch-generator": 0.003}
    return job, Life(np.exp(rng.normal(0, 0.01, 120)) * step, timers=timers, every=10), bubble / step


def timer_misattribution(family: Family, strength: float, folder: Path, rng: np.random.Generator) -> Happened:
    """A pipeline of `strength` stages whose log books the bubble as the embedding's all-reduce."""
    job, life, share = _pipeline_life(family, strength, True, rng)
    logs.write_log(family.log, folder / "train.log", job, life, rng)
    return Happened((Expected(("timer-misattribution",)),), ("bubble",), share)


def bubble(family: Family, strength: float, folder: Path, rng: np.random.Generator) -> Happened:
    """A pipeline of `strength` stages and four micro-batches."""
    job, life, share = _pipeline_life(family, strength, False, rng)
    logs.write_log(family.log, folder / "train.log", job, life, rng)
    return Happened((Expected(("bubble",)),), ("timer-misattribution",), share)


def hang_missing(family: Family, strength: float, folder: Path, rng: np.random.Generator) -> Happened:
    """One rank never comes to a collective. `strength` 1: it died and dumps nothing; 2: its dump shows it behind."""
    job, gpus = healthy(family.work), family.work.gpus
    rank, stuck = int(rng.integers(gpus)), int(rng.integers(60, 400))
    behind = {rank: stuck - 1} if strength >= 2 else {}
    library.write_recordings(folder, job, family, stuck, () if behind else (rank,), behind, {})
    waiting = [r for r in range(gpus) if r != rank]
    enqueued = dict.fromkeys(waiting, stuck + 1)
    library.write_watchdog(
        folder / "train.err", waiting, stuck, dict.fromkeys(waiting, "ALLREDUCE"), enqueued
    )
    library.write_nccl(folder / "nccl.log", family)
    culprits = Culprits(ranks=(rank,), nodes=(family.node_of(rank),))
    return Happened((Expected(("hang-missing-rank",), culprits, named=True),))


def hang_mismatch(family: Family, strength: float, folder: Path, rng: np.random.Generator) -> Happened:
    """`strength` ranks call another collective than the others."""
    job, gpus = healthy(family.work), family.work.gpus
    stuck = int(rng.integers(60, 400))
    ranks = tuple(int(r) for r in sorted(rng.choice(gpus, int(strength), replace=False)))
    library.write_recordings(folder, job, family, stuck, (), {}, dict.fromkeys(ranks, "_all_gather_base"))
    everyone = dict.fromkeys(range(gpus), stuck + 1)
    names = {rank: "_ALLGATHER_BASE" if rank in ranks else "ALLREDUCE" for rank in everyone}
    library.write_watchdog(folder / "train.err", everyone, stuck, names, everyone)
    culprits = Culprits(ranks=ranks, nodes=tuple(family.node_of(rank) for rank in ranks))
    return Happened((Expected(("hang-mismatched-collective",), culprits, named=True),))


def xid(family: Family, strength: float, folder: Path, rng: np.random.Generator) -> Happened:
    """A GPU breaks (`strength`: its Xid); the job dies, is requeued and goes on."""
    job = healthy(family.work)
    rank = int(rng.integers(family.work.gpus))
    died = 300
    life = Life(
        usual(job, 600, rng),
        saves=dict.fromkeys(range(100, 601, 100), job.step_s),
        restarts={died + 40: (died, 600.0)},
    )
    logs.write_log(family.log, folder / "train.log", job, life, rng)
    at = (died + 40) * job.step_s
    machines.write_journal(folder / "journal.txt", family, int(strength), rank, at)
    machines.write_sacct(
        folder / "sacct.txt",
        family,
        [(0.0, at + 30, "NODE_FAIL"), (at + 600, at + 600 + 300 * job.step_s, "COMPLETED")],
    )
    culprits = Culprits(ranks=(rank,), nodes=(family.node_of(rank),))
    return Happened((Expected(("hardware-fault",), culprits, named=True),), ("checkpoint-cost",))


def contradiction(family: Family, strength: float, folder: Path, rng: np.random.Generator) -> Happened:
    """Numbers that cannot all be true. `strength` 1: utilisation 100 with profiling metrics at 0; 2: a bus bandwidth
    above what the wires carry; 3: MFU above 100 %.
    """
    job = healthy(family.work)
    if strength == 1:
        machines.write_dcgm(folder / "dcgm.prom", family, rng, silent=True)
    elif strength == 2:
        machines.write_nccl_tests(folder / "all_reduce.txt", family, job, 3.0)
    else:
        logs.write_log("torchtitan", folder / "train.log", job, Life(usual(job, 100, rng), mfu=1.3), rng)
    return Happened((Expected(("contradiction",)),))
