"""The diagnosis: everything that was read, where its time went, who is to blame, and how it differs from the plan."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from argosy.ledger import Ledger
from argosy.observe.attribution import trace_parts, waterfall
from argosy.observe.attribution_other import log_waterfall, table_waterfall
from argosy.observe.findings import Finding, find_all
from argosy.observe.mfu import of_observed as utilisation
from argosy.observe.observed import Observed, Plan
from argosy.observe.pictures import pictures
from argosy.observe.planned import bounds, compared, plan_of
from argosy.observe.records import Batch
from argosy.observe.settings import number
from argosy.spec import Scenario

_MARGIN_S = (
    600.0  # of metrics before a log's first step and after its last: what led there, and what came of it
)


class NothingReadableError(ValueError):
    """None of the files holds anything that a diagnosis can use; the message says what each was taken for."""


@dataclass(frozen=True)
class Diagnosis:
    """What was observed, and what follows: the ledger (GPU-seconds), findings in order, MFU, goodput, rows by rank."""

    observed: Observed
    ledger: Ledger | None
    gpu_steps: float
    findings: tuple[Finding, ...]
    mfu: dict[str, Any] | None
    goodput: dict[str, Any] | None
    ranks: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The contract's JSON of `argosy diagnose`."""
        import argosy

        observed = self.observed
        plan = observed.plan
        against = None
        if plan is not None:
            rows = (
                compared(plan, self.ledger, self.gpu_steps)
                if self.ledger is not None and self.gpu_steps
                else []
            )
            against = {
                "scenario": plan.scenario,
                "step_time_s": plan.training["step_time_s"],
                "mfu": plan.training["mfu"],
                "lines": rows,
            }
        return {
            "schema": "argosy.diagnose/1",
            "version": argosy.__version__,
            "facts_date": observed.catalog.facts_date,
            "inputs": [_input(each) for each in observed.inputs],
            "step_time_s": observed.step_s,
            "mfu": self.mfu,
            "ledger": self.ledger.to_dict() if self.ledger is not None else None,
            "bounds": dict(bounds(plan, self.ledger, self.gpu_steps)),
            "findings": [finding.to_dict() for finding in self.findings],
            "ranks": list(self.ranks),
            "alignment": _alignment(observed),
            "against": against,
            "goodput": self.goodput,
            "what_if": _what_if(observed),
            "pictures": pictures(
                observed, [rank for each in self.findings for rank in each.culprit.everybody]
            ),
            "notes": list(self.notes),
        }


def diagnose(
    paths: Iterable[Path | str],
    against: Scenario | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Diagnosis:
    """Read files and folders, and servers over the time that the files' logs span, and diagnose them.

    NothingReadableError where none of them can be used.
    """
    from argosy.observe.gather import gather
    from argosy.observe.readers.prometheus_server import is_address, read_server

    plan = (
        plan_of(against) if against is not None else None
    )  # what it lacks is told before hours of traces are read
    every = [str(path) for path in paths]
    batches = gather([path for path in every if not is_address(path)], executor, progress=progress)
    if servers := [path for path in every if is_address(path)]:
        window = _window(batches)
        batches = [*(read_server(path, *window) for path in servers), *batches]
    if not any(_holds(batch) for batch in batches):
        raise NothingReadableError(_unreadable(batches))
    return _diagnosed(batches, plan)


def _window(batches: Iterable[Batch]) -> tuple[float, float]:
    """From the first to the last stamp of the training logs, with a margin; NaN where none has a stamp."""
    stamps = [log.time_s[np.isfinite(log.time_s)] for batch in batches for log in batch.logs]
    known = np.concatenate([*stamps, np.zeros(0)])
    if not known.size:
        return float("nan"), float("nan")
    return float(known.min()) - _MARGIN_S, float(known.max()) + _MARGIN_S


def diagnosed(batches: Iterable[Batch], against: Scenario | None = None) -> Diagnosis:
    """The diagnosis of what readers handed over."""
    return _diagnosed(batches, plan_of(against) if against is not None else None)


def _diagnosed(batches: Iterable[Batch], plan: Plan | None) -> Diagnosis:
    observed = Observed(tuple(batches), plan)
    with _untold():
        mfu = utilisation(observed)
        ledger, gpu_steps = _ledger(observed, mfu)
        return Diagnosis(
            observed,
            ledger,
            gpu_steps,
            tuple(find_all(observed)),
            mfu,
            observed.run.to_dict() if observed.run is not None else None,
            tuple(_ranks(observed)),
            tuple(_notes(observed)),
        )


@contextmanager
def _untold() -> Iterator[None]:
    """NaN is what a file does not tell; the median of nothing told is not told either, and no reason to warn."""
    with warnings.catch_warnings():
        for message in ("All-NaN", "Mean of empty", "Degrees of freedom"):
            warnings.filterwarnings("ignore", message, RuntimeWarning)
        yield


def _holds(batch: Batch) -> bool:
    return any(
        (
            batch.traces,
            batch.tables,
            batch.logs,
            batch.messages,
            batch.recordings,
            batch.faults,
            batch.series,
            batch.jobs,
            batch.benchmarks,
        )
    ) or (batch.input.status in ("read", "partial") and batch.input.kind not in ("", "unknown"))


def _unreadable(batches: Iterable[Batch]) -> str:
    lines = []
    for batch in batches:
        told = "; ".join(problem.message for problem in batch.input.problems[:2])
        lines.append(f"{batch.input.path}: {told or 'nothing in it that a diagnosis can use'}")
    shown = lines[:20] + ([f"and {len(lines) - 20} more files"] if len(lines) > 20 else [])
    return "\n".join(shown) or "no file found; write files or folders of traces, logs, dumps or metrics"


def _ledger(observed: Observed, mfu: dict[str, Any] | None) -> tuple[Ledger | None, float]:
    """The waterfall of the best source there is, traces before tables before logs, and the GPU-steps that it covers."""
    tree = waterfall(observed)
    if tree is not None and observed.alignment is not None:
        return tree, float(sum(len(trace.step_number) for trace in observed.alignment.traces))
    if observed.replays:
        replay = observed.replays[0]
        ranks = len(np.unique(replay.table.rank))
        return table_waterfall(replay), float(len(replay.steps) * ranks)
    for log in sorted(observed.logs, key=lambda each: -len(each.iteration)):
        tree = log_waterfall(observed, log, _useful(mfu))
        if tree is not None:
            return tree, tree.amount / float(observed.step_s or 1.0)
    return None, 0.0


def _useful(mfu: dict[str, Any] | None) -> float | None:
    found = (mfu or {}).get("value")
    return float(found) if isinstance(found, int | float) and 0 < found <= 1 else None


def _input(each: Any) -> dict[str, Any]:
    return {
        "path": each.path,
        "kind": each.kind,
        "status": each.status,
        "events": each.events,
        "problems": [
            {"path": problem.path, "line": problem.line, "message": problem.message}
            for problem in each.problems
        ],
    }


def _ranks(observed: Observed) -> list[dict[str, Any]]:
    """One row a rank that has a trace, and one for each that should have had one."""
    alignment, late = observed.alignment, observed.lateness
    if alignment is None:
        return _table_ranks(observed)
    parts = trace_parts(alignment)
    rows = []
    for i, (rank, trace) in enumerate(zip(alignment.ranks, alignment.traces, strict=True)):
        step = trace.step_end_ns - trace.step_start_ns
        residual = float(alignment.residual_ns[i])
        row: dict[str, Any] = {
            "rank": rank,
            "node": observed.node_of(rank),
            "stage": observed.stages[i],
            "data": trace.position.data,
            "path": trace.path,
            "steps": len(step),
            "step_s": float(np.median(step)) * 1e-9 if len(step) else None,
            "clock_offset_s": float(alignment.offset_ns[i]) * 1e-9,
            "clock_residual_s": residual * 1e-9 if np.isfinite(residual) else None,
        }
        whole = float(parts.step[i]) or 1.0
        lines = ("compute", "optimizer", "wait", "transfer", "bubble", "copy", "host", "data", "idle")
        row["shares"] = {name: float(getattr(parts, name)[i]) / whole for name in lines}
        if late is not None:
            row |= {
                "own_s": float(np.median(late.own_s[i])),
                "excess_s": float(late.typical_excess_s[i]),
                "robust_z": float(late.z[i]),
                "persistence": float(late.persistence[i]),
                "last_in": int(late.last_in[i]),
                "barriers": int(late.barriers[i]),
                "last_in_all": int(late.last_in_all[i]),
            }
        rows.append(row)
    return rows + [{"rank": rank, "missing": True} for rank in alignment.missing[:10_000]]


def _table_ranks(observed: Observed) -> list[dict[str, Any]]:
    """Rows of an operation table: compute seconds a step by stage and replica."""
    rows = []
    for replay in observed.replays[:1]:
        total = sum(np.nansum(times, axis=(3, 4)) for times in replay.measured.compute.values())
        for k, stage in enumerate(replay.stages):
            for i, replica in enumerate(replay.data):
                here = (replay.table.stage == stage) & (replay.table.data == replica)
                if here.any():
                    rank = int(replay.table.rank[np.flatnonzero(here)[0]])
                    own = float(np.median(total[:, i, k]))
                    rows.append({"rank": rank, "stage": int(stage), "data": int(replica), "own_s": own})
    return sorted(rows, key=lambda row: row["rank"])


def _alignment(observed: Observed) -> dict[str, Any] | None:
    """How well the clocks are known, and what of the communication was waiting."""
    alignment = observed.alignment
    if alignment is None or not len(alignment.matched.operation):
        return None
    matched = alignment.matched
    took, wait = matched.end_ns - matched.start_ns, matched.wait_ns()
    own = matched.barrier[matched.instance]
    known = alignment.residual_ns[np.isfinite(alignment.residual_ns)]
    return {
        "collectives": len(matched.operation),
        "barrier_like": int(matched.barrier.sum()),
        "groups": {name: list(ranks) for name, ranks in list(alignment.groups.items())[:1000]},
        "residual_s": float(np.median(known)) * 1e-9 if known.size else None,
        "waiting_share": float(wait[own].sum() / took[own].sum()) if own.any() else None,
        "waiting_share_all": observed.lateness.waiting_all if observed.lateness is not None else None,
        "missing_ranks": len(alignment.missing),
    }


def _what_if(observed: Observed) -> list[dict[str, Any]]:
    """Replays of operation tables: slowdown, and by stage, replica and operation."""
    return [
        {
            "path": replay.table.path,
            "slowdown": replay.slowdown,
            "actual_step_s": float(replay.actual_s.mean()),
            "ideal_step_s": float(replay.ideal_s.mean()),
            "by_stage": {str(key): value for key, value in replay.by_stage.items()},
            "by_data": {str(key): value for key, value in replay.by_data.items()},
            "by_operation": dict(replay.by_operation),
        }
        for replay in observed.replays
    ]


def _notes(observed: Observed) -> list[str]:
    alignment, late = observed.alignment, observed.lateness
    notes = list(alignment.notes) if alignment is not None else []
    if late is not None and alignment is not None and late.kernels > int(late.barriers.max()):
        worst = int(np.argmax(late.last_in_all))
        if late.last_in_all[worst] > 0.5 * late.kernels and not late.last_in[worst] > 0.5 * max(
            int(late.barriers[worst]), 1
        ):
            notes.append(
                f"rank {alignment.ranks[worst]} came last in {int(late.last_in_all[worst])} of {late.kernels} "
                f"communication kernels, but "
                f"only in {int(late.last_in[worst])} of {int(late.barriers[worst])} barrier-like ones: sends and "
                f"receives carry no blame"
            )
    return notes + _of_logs(observed) + _of_plan(observed) + _of_benchmarks(observed)


def _of_logs(observed: Observed) -> list[str]:
    """Which log is taken, where several tell of unlike jobs."""
    kinds = {
        (log.framework, number(log.settings, "world"), number(log.settings, "layers"))
        for log in observed.logs
        if len(log.iteration)
    }
    if len(kinds) < 2:
        return []
    chosen = "" if observed.alignment else f"; step time and waterfall are of {observed.logs[0].path}"
    return [f"the training logs are of {len(kinds)} unlike jobs{chosen}; diagnose each job alone"]


def _of_plan(observed: Observed) -> list[str]:
    """A plan for another number of GPUs than the job's."""
    worlds = [trace.position.world for trace in (observed.alignment.traces if observed.alignment else ())]
    worlds += [int(world) for log in observed.logs if (world := number(log.settings, "world"))]
    seen = next((world for world in worlds if world), None)
    planned = observed.plan.training["layout"]["gpus"] if observed.plan else None
    if not seen or not planned or seen == planned:
        return []
    return [
        f"the plan is for {planned:,} GPUs, the job ran on {seen:,}: the lines of one step are of unlike jobs"
    ]


def _of_benchmarks(observed: Observed) -> list[str]:
    """The largest message of every run of nccl-tests, also where nothing can be expected of the machine."""
    told = []
    for path, run in observed.benchmarks[:8]:
        if any(point.bytes >= 1 << 20 for point in run.points):  # below it latency decides
            point = max(run.points, key=lambda each: each.bytes)
            told.append(
                f"{path}: {run.collective or 'a collective'} over {run.ranks} ranks reaches {point.bus / 1e9:.4g} GB/s "
                f"(bus) at {point.bytes / 2**20:.4g} MiB"
            )
    return told
