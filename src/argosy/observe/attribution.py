"""The closed waterfall of aligned traces: where every GPU-second of the observed steps went, from peak to achieved.

Lines exclude one another and sum to the ranks' steps. Exposed communication is split at the last rank's arrival: the
exposed part of a kernel is taken from its end backwards, so that transfer is exposed before waiting is. Sends and receives
tie two ranks: of a pipelined job what they take beyond their own quick tenth is its bubble.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argosy.ledger import Ledger
from argosy.observe.align import Alignment
from argosy.observe.matching import POINT_TO_POINT
from argosy.observe.observed import Observed
from argosy.observe.records import Floats, RankTrace
from argosy.observe.settings import value

_UNATTRIBUTED = "unattributed"
RECOMPUTED = 0.25  # of all products' FLOPs, where the whole forward pass is done twice: 1 of 1 + 1 + 2


@dataclass(frozen=True)
class Parts:
    """Seconds by rank (R,) of one line each; `step` is their sum."""

    step: Floats
    compute: Floats
    optimizer: Floats
    wait: Floats
    transfer: Floats
    bubble: Floats
    pipeline_transfer: Floats
    other_exposed: Floats
    copy: Floats
    host: Floats
    data: Floats
    idle: Floats
    checkpoint: Floats


def trace_parts(alignment: Alignment) -> Parts:
    """Every rank's observed seconds, line by line."""
    count = len(alignment.traces)
    rows = {name: np.zeros(count) for name in Parts.__dataclass_fields__}
    wait, transfer = _collective_split(alignment)
    for i, trace in enumerate(alignment.traces):
        step = (trace.step_end_ns - trace.step_start_ns) * 1e-9
        kinds = {kind: float(np.sum(values)) for kind, values in trace.activity_s.items()}
        rows["step"][i] = float(step.sum())
        share = _optimizer_share(trace)
        rows["optimizer"][i] = share * kinds.get("compute", 0.0)
        rows["compute"][i] = kinds.get("compute", 0.0) - rows["optimizer"][i]
        for kind in ("copy", "data", "host"):
            rows[kind][i] = kinds.get(kind, 0.0)
        saved = min(_marked(trace, "checkpoint"), kinds.get("host", 0.0) + kinds.get("idle", 0.0))
        rows["checkpoint"][i] = saved
        rows["host"][i] -= min(saved, rows["host"][i])
        bubble, hop = _point_to_point(trace)
        exposed = kinds.get("communication", 0.0)
        told = wait[i] + transfer[i] + bubble + hop
        scale = exposed / told if told > exposed > 0 else float(exposed > 0)
        rows["wait"][i], rows["transfer"][i] = scale * wait[i], scale * transfer[i]
        rows["bubble"][i], rows["pipeline_transfer"][i] = scale * bubble, scale * hop
        rows["other_exposed"][i] = max(exposed - scale * told, 0.0)
        lines = ("compute", "optimizer", "copy", "host", "data", "checkpoint")
        rows["idle"][i] = rows["step"][i] - exposed - sum(rows[name][i] for name in lines)
    return Parts(**rows)


def _optimizer_share(trace: RankTrace) -> float:
    """Share of compute kernels' seconds that are the optimizer's."""
    compute = sum(
        seconds for name, seconds in trace.categories.items() if name not in ("communication", "copy")
    )
    return trace.categories.get("optimizer", 0.0) / compute if compute else 0.0


def _marked(trace: RankTrace, kind: str) -> float:
    return sum(max(end - start, 0) for each, start, end, _ in trace.marks if each == kind) * 1e-9


def _collective_split(alignment: Alignment) -> tuple[Floats, Floats]:
    """Exposed waiting and exposed transfer of matched barrier-like collectives inside steps, s by rank."""
    matched, count = alignment.matched, len(alignment.traces)
    if not len(matched.operation):
        return np.zeros(count), np.zeros(count)
    took = matched.end_ns - matched.start_ns
    waits = matched.wait_ns()
    exposed = np.minimum(matched.exposed_ns, took)
    waiting = np.maximum(exposed - (took - waits), 0.0)
    own = (matched.step >= 0) & matched.barrier[matched.instance]
    wait = np.bincount(matched.who[own], waiting[own], count) * 1e-9
    moved = np.bincount(matched.who[own], (exposed - waiting)[own], count) * 1e-9
    return np.asarray(wait, np.float64), np.asarray(moved, np.float64)


def _point_to_point(trace: RankTrace) -> tuple[float, float]:
    """Exposed seconds of sends and receives: beyond their own quick tenth (waiting), and within it (transfer)."""
    each = trace.collectives
    numbers = [i for i, name in enumerate(each.operations) if name in POINT_TO_POINT]
    own = np.isin(each.operation, numbers) & (each.step >= 0)
    if not own.any():
        return 0.0, 0.0
    exposed = each.exposed_ns[own] * 1e-9
    took = (each.end_ns - each.start_ns)[own] * 1e-9
    quick = np.zeros(len(took))
    for size in np.unique(each.bytes[own]):
        same = each.bytes[own] == size
        quick[same] = np.quantile(took[same], 0.1)
    hop = np.minimum(exposed, quick)
    return float((exposed - hop).sum()), float(hop.sum())


def pipelined(observed: Observed) -> bool:
    """Whether the job is a pipeline, by positions, the plan, or a log."""
    if observed.plan and int(observed.plan.training["layout"].get("pp") or 1) > 1:
        return True
    if len(set(observed.stages) - {None}) > 1:
        return True
    return any(
        (value(log.settings, "pipeline_model_parallel_size", "pp") or 1) not in (1, "1")
        for log in observed.logs
    )


def waterfall(observed: Observed) -> Ledger | None:
    """The ledger of the traces in GPU-seconds; None without a trace that has a step."""
    alignment = observed.alignment
    if alignment is None or not any(len(trace.step_number) for trace in alignment.traces):
        return None
    parts = trace_parts(alignment)
    total = {name: float(getattr(parts, name).sum()) for name in Parts.__dataclass_fields__}
    chain = pipelined(observed)
    exposed = [
        Ledger("waiting for late ranks", total["wait"], law="last arrival − own arrival, on aligned clocks"),
        Ledger("transfer", total["transfer"], law="end − last arrival"),
    ]
    if not chain:
        exposed.append(
            Ledger(
                "sends and receives",
                total["bubble"] + total["pipeline_transfer"],
                law="not split: two ranks each",
            )
        )
    else:
        exposed.append(
            Ledger(
                "pipeline transfer",
                total["pipeline_transfer"],
                law="quick tenth of sends and receives of a size",
            )
        )
    exposed.append(
        Ledger("other communication", total["other_exposed"], law="no other rank's trace to compare with")
    )
    children = [
        Ledger.parent("compute", _compute(observed, alignment, parts)),
        Ledger.parent(
            "exposed communication", tuple(exposed), law="union of communication less union of compute"
        ),
    ]
    if chain:
        law = "sends and receives beyond their quick tenth; formula (p − 1)/(v·m + p − 1)"
        children.append(Ledger("pipeline bubble", total["bubble"], law=law))
    children += [
        Ledger("host and launch gaps", total["host"], law="device idle while the host works"),
        Ledger("memory copies", total["copy"], law="copies that nothing hides"),
        Ledger("data loading", total["data"], law="device idle while input is loaded"),
        Ledger("optimizer", total["optimizer"], law="share of the optimizer's kernels in compute"),
        Ledger("checkpoint", total["checkpoint"], law="marked saving while the device idles"),
        Ledger(_UNATTRIBUTED, total["idle"], law="device idle for no recorded reason"),
    ]
    return Ledger.parent("observed steps", tuple(children), law="ranks × their steps")


def _compute(observed: Observed, alignment: Alignment, parts: Parts) -> tuple[Ledger, ...]:
    """Compute from peak on: useful FLOPs at the dense peak, recomputation, and what kernels lose; whole, where unknown."""
    total = float(parts.compute.sum())
    device = observed.device()
    peak = None
    if device:
        peak = observed.fact(f"accelerators.{device}.peak_bf16") or observed.fact(
            f"accelerators.{device}.peak_fp16"
        )
    flops = [trace.flops for trace in alignment.traces]
    if peak is None or not all(flops) or total <= 0:
        return (Ledger("kernels", total, law="FLOPs or peak not known: not split"),)
    ideal = min(sum(each or 0.0 for each in flops) / peak, total)
    again = RECOMPUTED * ideal if recomputes(observed) else 0.0
    path = f"accelerators.{device}.peak_bf16"
    return (
        Ledger("useful FLOPs at peak", ideal - again, law="recorded products ÷ dense peak", facts=(path,)),
        Ledger("recompute", again, law="a quarter of the products, where all activations are recomputed"),
        Ledger("kernel inefficiency", total - ideal, law="compute − products at peak"),
    )


def recomputes(observed: Observed) -> bool:
    """Whether plan or log say that all activations are recomputed."""
    if observed.plan is not None:
        return str(observed.plan.training["layout"].get("recompute")) == "full"
    return any(
        str(value(log.settings, "recompute", "recompute_granularity")) == "full" for log in observed.logs
    )
