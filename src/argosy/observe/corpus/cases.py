"""The corpus: every kind of cause at several strengths in every family, written as the files that an engineer would collect."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

from argosy.observe.corpus import plants
from argosy.observe.corpus.families import FAMILIES, Family
from argosy.observe.corpus.faults import Fault
from argosy.observe.corpus.job import Healthy, healthy
from argosy.observe.corpus.kineto import write_trace
from argosy.observe.corpus.noise import clock
from argosy.observe.corpus.replay import RankRun, Replay
from argosy.observe.corpus.truth import Culprits, Expected, Truth

__all__ = ["KINDS", "Case", "Culprits", "Expected", "Truth", "cases", "write_case"]

# Causes that go by time are held to the recall floor from this effect on: what they add to the step, as a share of it.
STATED_EFFECT = 0.03


@dataclass(frozen=True)
class Kind:
    """A kind of cause: its `strengths` (what they mean is in `plants`), how it is planted, where it can occur."""

    name: str
    plant: plants.Plant
    strengths: tuple[float, ...]
    pipeline: bool = False  # whether it needs a pipeline


KINDS = {
    kind.name: kind
    for kind in (
        Kind("healthy", plants.healthy, (1.0, 2.0)),
        Kind("slow-gpu", plants.slow_gpu, (1.05, 1.1, 1.25, 1.5)),
        Kind("slow-node", plants.slow_node, (1.05, 1.15, 1.4)),
        Kind("uneven-stage", plants.uneven_stage, (1.08, 1.2, 1.4), pipeline=True),
        Kind("sequence-imbalance", plants.sequence_imbalance, (0.05, 0.15, 0.4)),
        Kind("slow-link", plants.slow_link, (0.5, 0.25, 0.1)),
        Kind("socket-fallback", plants.socket_fallback, (0.5, 1.0)),
        Kind("low-bus-bandwidth", plants.low_bus_bandwidth, (2.0, 4.0)),
        Kind("data-starvation", plants.data_starvation, (0.05, 0.15, 0.4)),
        Kind("host-bound", plants.host_bound, (0.7, 1.0, 1.5)),
        Kind("recompilation", plants.recompilation, (0.1, 0.5, 1.5)),
        Kind("gc-pause", plants.gc_pause, (0.1, 0.25, 0.5)),
        Kind("throttling", plants.throttling, (1.1, 1.3)),
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
            if kind.pipeline and family.work.pp == 1:
                continue
            for strength in kind.strengths:
                for copy in range(copies):
                    yield Case(family, kind, strength, copy)


def write_case(case: Case, folder: Path) -> Truth:
    """Write a case: its files under `folder/files`, what is true of it as `folder/truth.json`. Returns the truth."""
    files = folder / "files"
    files.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(crc32(case.name.encode()))
    job = healthy(case.family.work)
    planted = case.kind.plant(case.family, job, case.strength, rng)
    runs = Replay(job, planted.fault, case.family.noise, rng, case.family.steps).run()
    write_traces(case.family, job, runs, files, rng)
    effect = mean_step_s(runs) / healthy_step_s(case.family) - 1
    truth = Truth(
        case.family.name,
        case.family.set_aside,
        case.kind.name,
        case.strength,
        effect,
        effect >= STATED_EFFECT,
        planted.expected,
        planted.tolerated,
    )
    (folder / "truth.json").write_text(json.dumps(truth.to_dict(), indent=1), encoding="utf-8")
    return truth


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
