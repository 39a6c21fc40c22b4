"""All that was read, in one place, with what several findings need worked out once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from argosy.facts import Catalog, load_catalog
from argosy.observe.align import Alignment, align
from argosy.observe.lateness import Lateness, lateness
from argosy.observe.records import (
    Batch,
    FaultEvent,
    FlightRecording,
    Input,
    LibraryMessage,
    OperationTable,
    RankTrace,
    Series,
    TrainingLog,
)
from argosy.observe.replay import Chains, chains
from argosy.observe.replay_table import TableReplay, table_replay
from argosy.observe.settings import number
from argosy.observe.stages import stages

if TYPE_CHECKING:
    from argosy.observe.findings.ranks import SlowNode, SlowRank


@dataclass(frozen=True)
class Plan:
    """What a scenario says of the job: the payload's training entry of `argosy plan`, its accelerator and GPUs a node."""

    scenario: str
    training: dict[str, Any]
    accelerator: str | None
    node_gpus: int | None
    breakdown_s: dict[str, float]
    compute_parts_s: dict[str, float]


@dataclass(frozen=True)
class Observed:
    """Everything the readers handed over, the plan it is compared with, and what follows from both."""

    batches: tuple[Batch, ...]
    plan: Plan | None = None
    catalog: Catalog = field(default_factory=load_catalog)

    @property
    def inputs(self) -> tuple[Input, ...]:
        """Every file as it was taken."""
        return tuple(batch.input for batch in self.batches)

    @cached_property
    def traces(self) -> tuple[RankTrace, ...]:
        """Profiles of ranks."""
        return tuple(each for batch in self.batches for each in batch.traces)

    @cached_property
    def tables(self) -> tuple[OperationTable, ...]:
        """Operation tables."""
        return tuple(each for batch in self.batches for each in batch.tables)

    @cached_property
    def logs(self) -> tuple[TrainingLog, ...]:
        """Training logs of the job, the longest first."""
        own = (log for log in self.all_logs if not self._foreign(log))
        return tuple(sorted(own, key=lambda log: -len(log.iteration)))

    @cached_property
    def all_logs(self) -> tuple[TrainingLog, ...]:
        """Training logs, also those of another job than the traces'."""
        return tuple(each for batch in self.batches for each in batch.logs)

    @cached_property
    def other_logs(self) -> tuple[TrainingLog, ...]:
        """Training logs that tell another number of ranks than the traces."""
        return tuple(log for log in self.all_logs if self._foreign(log))

    def _foreign(self, log: TrainingLog) -> bool:
        world = number(log.settings, "world")
        told = {trace.position.world for trace in (self.alignment.traces if self.alignment else ())} - {None}
        return world is not None and len(told) == 1 and world not in told

    @cached_property
    def distinct_logs(self) -> tuple[TrainingLog, ...]:
        """Training logs without the repetitions that every rank of a job writes: one per framework, world and iterations."""
        found: dict[tuple[Any, ...], TrainingLog] = {}
        for log in self.logs:
            span = (int(log.iteration[0]), int(log.iteration[-1])) if len(log.iteration) else (log.path,)
            key = (log.framework, log.settings.get("world_size"), log.settings.get("layers"), *span)
            if key not in found or len(log.timers_s) > len(found[key].timers_s):
                found[key] = log
        return tuple(found.values())

    @cached_property
    def messages(self) -> tuple[LibraryMessage, ...]:
        """Messages of NCCL and of PyTorch's watchdog."""
        return tuple(each for batch in self.batches for each in batch.messages)

    @cached_property
    def recordings(self) -> tuple[FlightRecording, ...]:
        """Flight-recorder dumps."""
        return tuple(each for batch in self.batches for each in batch.recordings)

    @cached_property
    def faults(self) -> tuple[FaultEvent, ...]:
        """Hardware messages."""
        return tuple(each for batch in self.batches for each in batch.faults)

    @cached_property
    def series(self) -> tuple[Series, ...]:
        """Metrics over time."""
        return tuple(each for batch in self.batches for each in batch.series)

    @cached_property
    def jobs(self) -> tuple[Any, ...]:
        """Rows of sacct."""
        return tuple(each for batch in self.batches for each in batch.jobs)

    @cached_property
    def benchmarks(self) -> tuple[tuple[str, Any], ...]:
        """Runs of nccl-tests with the path of their file."""
        return tuple((batch.input.path, each) for batch in self.batches for each in batch.benchmarks)

    @cached_property
    def alignment(self) -> Alignment | None:
        """The traces' ranks on one clock."""
        return align(self.traces)

    @cached_property
    def stages(self) -> list[int | None]:
        """The pipeline stage of every aligned trace, None where unknown."""
        return stages(self.alignment) if self.alignment is not None else []

    @cached_property
    def lateness(self) -> Lateness | None:
        """Own times of the ranks against their peers."""
        return lateness(self.alignment) if self.alignment and len(self.alignment.traces) > 1 else None

    @cached_property
    def slow_ranks(self) -> list[SlowRank]:
        """Ranks above all gates (findings.ranks)."""
        from argosy.observe.findings.ranks import slow_ranks

        return slow_ranks(self)

    @cached_property
    def slow_nodes(self) -> list[SlowNode]:
        """Nodes above all gates (findings.ranks)."""
        from argosy.observe.findings.ranks import slow_nodes

        return slow_nodes(self)

    @cached_property
    def chains(self) -> Chains | None:
        """The aligned ranks as a replay."""
        return chains(self.alignment) if self.alignment and len(self.alignment.matched.operation) else None

    @cached_property
    def replays(self) -> tuple[TableReplay, ...]:
        """Operation tables that can be replayed."""
        return tuple(each for table in self.tables if (each := table_replay(table)) is not None)

    @cached_property
    def step_s(self) -> float | None:
        """The median step: of the traces, else of an operation table, else of the log."""
        if self.alignment is not None:
            lengths = [trace.step_end_ns - trace.step_start_ns for trace in self.alignment.traces]
            every = np.concatenate(lengths) if lengths else np.zeros(0)
            if every.size:
                return float(np.median(every)) * 1e-9
        if self.replays:
            return float(np.median(self.replays[0].actual_s))
        for log in self.logs:
            known = log.step_time_s[np.isfinite(log.step_time_s)]
            if known.size:
                return float(np.median(known))
        return None

    @cached_property
    def run(self) -> Any:
        """The goodput of the whole run (goodput.Goodput); None where logs and accounting tell of none."""
        from argosy.observe.goodput import of_observed

        return of_observed(self)

    def node_of(self, rank: int) -> str | None:
        """The node of a rank: by its trace, or a message that names both; None unknown."""
        return self._nodes.get(rank)

    @cached_property
    def _nodes(self) -> dict[int, str]:
        found: dict[int, str] = {}
        for message in self.messages:
            if message.rank is not None and message.node:
                found[message.rank] = message.node
        if self.alignment:
            for rank, trace in zip(self.alignment.ranks, self.alignment.traces, strict=True):
                if trace.position.node:
                    found[rank] = trace.position.node
        return found

    def device(self) -> str | None:
        """The accelerator's name in the catalog: by the traces, the plan, or a log's settings; None unknown."""
        names: Sequence[Any] = [
            *(trace.device for trace in (self.alignment.traces if self.alignment else ())),
            *(log.settings.get("device") for log in self.logs),
            self.plan.accelerator if self.plan else None,
        ]
        return next((found for name in names if name and (found := self._accelerator(str(name)))), None)

    def _accelerator(self, name: str) -> str | None:
        from argosy.facts import FactError

        bare = name.removeprefix("NVIDIA ").removeprefix("Tesla ").removeprefix("AMD ").strip()
        for spelling in (name, bare, bare.removeprefix("Instinct ")):
            try:
                return self.catalog.entry("accelerators", spelling).name
            except FactError:
                continue
        return None

    def fact(self, path: str) -> float | None:
        """A number of the catalog, None where it has none."""
        found = self.catalog.facts.get(path)
        return None if found is None else float(found.value)
