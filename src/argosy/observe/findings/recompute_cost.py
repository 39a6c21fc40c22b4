"""Activations computed a second time in the backward pass, and what that costs."""

from __future__ import annotations

import numpy as np

from argosy.observe import thresholds
from argosy.observe.findings.finding import Bound, Finding
from argosy.observe.observed import Observed
from argosy.observe.records import Place, TrainingLog
from argosy.observe.settings import value

ID = "recompute-cost"
_FULL = 0.25  # of forward and backward compute: one forward of 1 + 1 + 2
_AGAIN = 1.2  # FLOPs over 6N from which the forward pass was computed twice (it is 8/6 when all of it is)
_ADVICE = "recompute attention alone (selective), or fewer layers, if memory allows; argosy plan tells which layout fits without"


def find(observed: Observed) -> list[Finding]:
    """Full recomputation by a log's settings, by FLOPs against the plan, or by attention kernels that run twice forward."""
    found = [finding for log in observed.distinct_logs for finding in _of_log(log)]
    return (found or _against_plan(observed) or _kernels(observed))[:1]


def _of_log(log: TrainingLog) -> list[Finding]:
    told = value(
        log.settings,
        "recompute",
        "recompute_granularity",
        "activation_checkpoint_mode",
        "checkpoint_activations",
    )
    if str(told).lower() not in ("full", "true", "1", "block", "uniform"):
        return []
    timers = [t for name, t in log.timers_s.items() if name in ("forward-compute", "backward-compute")]
    step = float(np.nanmedian(log.step_time_s)) if np.isfinite(log.step_time_s).any() else 0.0
    compute = float(np.nanmedian(np.sum(timers, axis=0))) if len(timers) == 2 else step
    saved = _FULL * compute
    if not step or saved < thresholds.LEAST_SHARE * step:
        return []
    return [
        Finding(
            ID,
            f"all activations are recomputed: a quarter of the compute, at most {saved / step:.0%} of the step",
            _ADVICE,
            thresholds.confidence(thresholds.INFERRED if len(timers) == 2 else thresholds.WEAK),
            saved / step,
            saved,
            evidence=(Place(log.path, int(log.line[0]) if len(log.line) else None),),
        )
    ]


def _against_plan(observed: Observed) -> list[Finding]:
    plan, alignment = observed.plan, observed.alignment
    if plan is None or alignment is None or plan.training["layout"].get("recompute") == "full":
        return []
    flops = [trace.flops / max(len(trace.step_number), 1) for trace in alignment.traces if trace.flops]
    needed = (
        6.0
        * plan.training["mfu"]["parameters"]
        * plan.training["tokens_per_gpu_s"]
        * plan.training["step_time_s"]
    )
    if not flops or needed <= 0:
        return []
    ratio = float(np.mean(flops)) / needed
    if not _AGAIN <= ratio <= 1.6:
        return []
    compute = float(np.mean([np.median(trace.activity_s["compute"]) for trace in alignment.traces]))
    saved, step = compute * (1.0 - 1.0 / ratio), observed.step_s or 1.0
    return [
        Finding(
            ID,
            f"products make {ratio:.2f} times the FLOPs that the model needs, where the plan recomputes nothing",
            _ADVICE,
            thresholds.confidence(thresholds.WEAK, (ratio / _AGAIN,)),
            saved / step,
            saved,
            evidence=(Place(alignment.traces[0].path),),
            bound=Bound(needed, float(np.mean(flops)), "FLOP", "6·N per token of the plan"),
        )
    ]


def _kernels(observed: Observed) -> list[Finding]:
    """Attention kernels: twice as many forward as backward ones, where without recomputation there is one of each."""
    for trace in observed.traces:
        forward = [n for name, (_, n) in trace.kernels.items() if _attention(name) and "fwd" in name.lower()]
        backward = [n for name, (_, n) in trace.kernels.items() if _attention(name) and "bwd" in name.lower()]
        if not forward or not backward or sum(forward) < 1.8 * max(backward):
            continue
        compute = float(np.sum(trace.activity_s["compute"])) / max(len(trace.step_number), 1)
        step = observed.step_s or 0.0
        if not step:
            return []
        saved = _FULL * compute
        return [
            Finding(
                ID,
                f"attention runs {sum(forward) / max(backward):.1f} times forward for each backward: activations are "
                f"recomputed, at most "
                f"{saved / step:.0%} of the step",
                _ADVICE,
                thresholds.confidence(thresholds.WEAK),
                saved / step,
                saved,
                evidence=(Place(trace.path),),
            )
        ]
    return []


def _attention(name: str) -> bool:
    return any(word in name.lower() for word in ("flash", "fmha", "attention", "attn"))
