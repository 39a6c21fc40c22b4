"""The corpus: every kind of cause at several strengths in every family, written as the files that an engineer would collect."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from argosy.observe.corpus import incidents, plants
from argosy.observe.corpus.families import FAMILIES, Family
from argosy.observe.corpus.faults import Fault
from argosy.observe.corpus.job import Healthy, healthy
from argosy.observe.corpus.kineto import write_trace
from argosy.observe.corpus.library import write_nccl
from argosy.observe.corpus.logs import Life, write_log
from argosy.observe.corpus.machines import write_dcgm, write_nccl_tests
from argosy.observe.corpus.noise import clock
from argosy.observe.corpus.replay import RankRun, Replay
from argosy.observe.corpus.table import write_table
from argosy.observe.corpus.truth import Culprits, Expected, Truth

__all__ = ["KINDS", "Case", "Culprits", "Expected", "Truth", "cases", "write_case"]

# Causes that go by time are held to the recall floor from this effect on: what they add to the step, as a share of it.
STATED_EFFECT = 0.03
# Launches that hold a device up for less than this are the rule in practice.
STATED_HOST_BOUND = 0.10


@dataclass(frozen=True)
class Kind:
    """A kind of cause: its `strengths` (what they mean stands at its function), how it is made, where it can occur.

    `plant`: in the replay, seen in traces and logs; `table`: the same, written as an operation table alone; `incident`: as
    logs, dumps and metrics. `pipeline`: only where there is one; `logs`: only where the framework prints what it needs;
    `stated`: the effect from which the recall floor covers it.
    """

    name: str
    strengths: tuple[float, ...]
    plant: plants.Plant | None = None
    incident: incidents.Incident | None = None
    pipeline: bool = False
    table: bool = False
    logs: tuple[str, ...] = ()
    stated: float = STATED_EFFECT


_MEGATRON = ("megatron", "megatron-2022")
KINDS = {
    kind.name: kind
    for kind in (
        Kind("healthy", (1.0, 2.0), plants.healthy),
        Kind("slow-gpu", (1.05, 1.1, 1.25, 1.5), plants.slow_gpu),
        Kind("slow-node", (1.05, 1.15, 1.4), plants.slow_node),
        Kind("uneven-stage", (1.08, 1.2, 1.4), plants.uneven_stage, pipeline=True),
        Kind("sequence-imbalance", (0.02, 0.05, 0.15, 0.4), plants.sequence_imbalance),
        Kind("slow-link", (0.5, 0.25, 0.1), plants.slow_link),
        Kind("socket-fallback", (0.5, 1.0), plants.socket_fallback),
        Kind("low-bus-bandwidth", (2.0, 4.0), plants.low_bus_bandwidth),
        Kind("data-starvation", (0.05, 0.15, 0.4), plants.data_starvation),
        Kind("host-bound", (0.7, 1.0, 1.5), plants.host_bound, stated=STATED_HOST_BOUND),
        Kind("recompilation", (0.1, 0.5, 1.5), plants.recompilation),
        Kind("gc-pause", (0.1, 0.25, 0.5), plants.gc_pause),
        Kind("throttling", (1.1, 1.3), plants.throttling),
        Kind("table-healthy", (1.0, 2.0), plants.healthy, pipeline=True, table=True),
        Kind("table-slow-gpu", (1.05, 1.25, 1.5), plants.slow_worker, pipeline=True, table=True),
        Kind("table-uneven-stage", (1.08, 1.2, 1.4), plants.uneven_stage, pipeline=True, table=True),
        Kind(
            "table-sequence-imbalance",
            (0.05, 0.15, 0.4),
            plants.sequence_imbalance,
            pipeline=True,
            table=True,
        ),
        Kind("healthy-run", (1.0, 2.0), incident=incidents.healthy_run),
        Kind("mfu-drift", (0.02, 0.06, 0.15), incident=incidents.mfu_drift),
        Kind("mfu-drift-cause", (1.0, 2.0), incident=incidents.mfu_drift_cause, logs=_MEGATRON),
        Kind("checkpoint-long", (0.01, 0.06, 0.2), incident=incidents.checkpoint_long),
        Kind("checkpoint-rare", (0.2, 0.4), incident=incidents.checkpoint_rare),
        Kind("recompute", (0.33,), incident=incidents.recompute, logs=_MEGATRON),
        Kind(
            "timer-misattribution",
            (8.0, 16.0),
            incident=incidents.timer_misattribution,
            pipeline=True,
            logs=_MEGATRON,
        ),
        Kind("bubble", (8.0, 16.0), incident=incidents.bubble, pipeline=True, logs=_MEGATRON),
        Kind("hang-missing", (1.0, 2.0), incident=incidents.hang_missing),
        Kind("hang-mismatch", (1.0, 2.0), incident=incidents.hang_mismatch),
        Kind("xid", (79.0, 94.0, 48.0, 119.0), incident=incidents.xid),
        Kind("contradiction", (1.0, 2.0, 3.0), incident=incidents.contradiction),
    )
}


@dataclass(frozen=True)
class Case:
    """One case of the corpus; `name` is its folder, and the seed of its random numbers."""

    family: Family
    kind: Kind
    strength: float
    copy: int = 0

    @property
    def name(self) -> str:
        """`family/kind-strength`, a number behind it for further copies."""
        return f"{self.family.name}/{self.kind.name}-{self.strength:g}" + (
            f"-{self.copy}" if self.copy else ""
        )


def cases(
    families: Iterable[str] | None = None, kinds: Iterable[str] | None = None, copies: int = 1
) -> Iterator[Case]:
    """The cases of some families and kinds (default: of all), in order; every case `copies` times with other luck."""
    for name in families or FAMILIES:
        family = FAMILIES[name]
        for kind_name in kinds or KINDS:
            kind = KINDS[kind_name]
            if (kind.pipeline and family.work.pp == 1) or (kind.logs and family.log not in kind.logs):
                continue
            for strength in kind.strengths:
                for copy in range(copies):
                    yield Case(family, kind, strength, copy)


def write_case(case: Case, folder: Path) -> Truth:
    """Write a case: its files under `folder/files`, what is true of it as `folder/truth.json`. Returns the truth."""
    files = folder / "files"
    files.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(crc32(case.name.encode()))
    if case.kind.incident:
        happened = case.kind.incident(case.family, case.strength, files, rng)
        truth = _truth(case, happened.effect, happened.expected, happened.tolerated)
    else:
        truth = _planted(case, files, rng)
    (folder / "truth.json").write_text(json.dumps(truth.to_dict(), indent=1), encoding="utf-8")
    return truth


def _planted(case: Case, files: Path, rng: np.random.Generator) -> Truth:
    family, kind = case.family, case.kind
    assert kind.plant is not None
    job = healthy(family.work)
    planted = kind.plant(family, job, case.strength, rng)
    runs = Replay(job, planted.fault, family.noise, rng, family.steps).run()
    step_s, healthy_s = mean_step_s(runs), healthy_step_s(family)
    tolerated = planted.tolerated + (("bubble",) if family.work.pp > 1 else ())
    if kind.table:
        write_table(files / "operations.parquet", job, runs)
    else:
        write_traces(family, job, runs, files, rng)
        _beside(family, job, planted.extras, step_s, files, rng)
    return _truth(case, step_s / healthy_s - 1, planted.expected, tolerated, planted.told)


def _beside(
    family: Family, job: Healthy, extras: dict[str, Any], step_s: float, files: Path, rng: np.random.Generator
) -> None:
    """What lies beside the traces: the log of the same run, NCCL's start, and what shows the cause besides."""
    times = step_s * np.exp(rng.normal(0.0, 0.01, 100))
    write_log(family.log, files / "train.log", job, Life(times), rng)
    write_nccl(files / "nccl.log", family, extras.get("sockets", ()))
    if "hot" in extras:
        write_dcgm(files / "dcgm.prom", family, rng, extras["hot"], extras["clock"])
    if "bus" in extras:
        write_nccl_tests(files / "all_reduce.txt", family, job, extras["bus"])


def _truth(
    case: Case,
    effect: float | None,
    expected: tuple[Expected, ...],
    tolerated: tuple[str, ...],
    told: bool = True,
) -> Truth:
    stated = told and bool(expected) and (effect is None or effect >= case.kind.stated)
    family = case.family
    return Truth(
        family.name, family.set_aside, case.kind.name, case.strength, effect, stated, expected, tolerated
    )


def write_traces(
    family: Family, job: Healthy, runs: Iterable[RankRun], folder: Path, rng: np.random.Generator
) -> None:
    """Every rank's profile, each by its node's clock."""
    offset, rate = clock(family.clocks, family.nodes, family.work.ranks_per_node, rng)
    for run in runs:
        name = f"rank{run.rank}.trace.json"
        if family.style.host_in_name:
            name = f"{family.node_of(run.rank)}_{4000 + run.rank}.{1757000000123 + run.rank}.pt.trace.json"
        write_trace(folder / name, run, job, family.style, float(offset[run.rank]), float(rate[run.rank]))


def mean_step_s(runs: Iterable[RankRun]) -> float:
    """Mean seconds of a step over steps and ranks."""
    return float(
        np.mean([span.end - span.start for run in runs for span in run.spans if span.kind == "step"])
    )


_STEPS: dict[str, float] = {}


def healthy_step_s(family: Family) -> float:
    """Mean seconds of a step with nothing wrong."""
    if family.name not in _STEPS:
        job, work = healthy(family.work), family.work
        fault = Fault.none(work.gpus, work.pp)
        runs = Replay(job, fault, family.noise, np.random.default_rng(0), family.steps).run()
        _STEPS[family.name] = mean_step_s(runs)
    return _STEPS[family.name]
