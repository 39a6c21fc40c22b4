"""All layouts of a fleet, pruned by divisibility and memory, ranked by the step model of a single one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.training.communication import Network
from argosy.training.device import Device
from argosy.training.job import Job
from argosy.training.layout import RULES, SCHEDULES, Layouts, exclusions
from argosy.training.stack import Stack
from argosy.training.step import Steps, evaluate
from argosy.training.uncertainty import NOISE_FLOOR

Array = Any
OUT_OF_MEMORY = "does not fit in memory"
ACROSS_DOMAIN = "tensor parallelism leaves the scale-up domain"
UNEVEN_CHUNKS = "interleaved chunks would differ in size"


@dataclass(frozen=True)
class Search:
    """What a search found.

    `best`: the leading layouts, fastest first, evaluated; empty where nothing fits. `evaluated`: candidates
    looked at; `feasible`: those that passed every rule; `ties`: of the leading ones, how many are within the
    model's resolution of the best; `tied`: of all feasible ones. `excluded`: candidates by the first reason
    that put them out.
    `faults`: where no layout is allowed, the rules that every candidate breaks.
    `simulated_s`: step times of the ties by the event simulation of their schedules, by which they are then
    ordered (`rerank.by_schedule`); empty where the closed form alone ranked them.
    """

    best: Steps | None
    evaluated: int
    feasible: int
    seconds: float
    ties: int
    tied: int
    excluded: dict[str, int]
    faults: tuple[str, ...] = ()
    simulated_s: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready data with the contract's keys; a tie says how much slower than the best it is."""
        ties = []
        if self.best is not None:
            seconds = np.array(self.simulated_s) if self.simulated_s else self.best.step_s
            ratio = seconds / seconds[0] - 1
            ties = [
                {
                    **self.best.layouts.to_dict(i),
                    "step_time_s": float(self.best.step_s[i]),
                    "simulated_step_time_s": self.simulated_s[i] if self.simulated_s else None,
                    "slower_by": float(ratio[i]),
                }
                for i in range(1, self.ties)
            ]
        return {
            "evaluated": self.evaluated,
            "feasible": self.feasible,
            "seconds": self.seconds,
            "ties": ties,
            "tied": self.tied,
            "excluded": self.excluded,
            "ranked_by": "closed form, ties by event schedule" if self.simulated_s else "closed form",
            "simulated_step_time_s": self.simulated_s[0] if self.simulated_s else None,
        }


def search(
    job: Job,
    device: Device,
    network: Network,
    stack: Stack,
    gpus: int,
    peak_bytes: Callable[[Layouts], Array],
    capacity_bytes: float,
    fixed: Mapping[str, Any] | None = None,
    micro_batch_max: int = 8,
    schedules: Iterable[str] | None = None,
    rank: Callable[[Steps], Array] = lambda steps: steps.step_s,
    keep: int = 10,
    tolerance: float | None = None,
) -> Search:
    """The fastest layouts of exactly `gpus` accelerators.

    `peak_bytes`: memory of the worst stage's rank for each of L layouts, byte (L,); what exceeds
    `capacity_bytes` is out. `fixed`: layout fields that are given (by name). `schedules`: those to try
    (default: the stack's). `rank`: what to minimise, from the steps of L layouts, (L,) (default: step time).
    `keep`: leading layouts that are returned; `tolerance`: relative difference within which two layouts are
    a tie (default: what runs with equal settings differ by). `device` and `stack` hold scalars here.
    ValueError for an unknown name of a mode.
    """
    started = time.perf_counter()
    layouts = candidates(
        job, gpus, device.node_size, dict(fixed or {}), micro_batch_max, tuple(schedules or stack.schedules)
    )
    evaluated = len(layouts)
    valid, excluded = allowed(job, device.node_size, layouts, fixed or ())
    faults: tuple[str, ...] = () if valid.any() else broken_by_all(job, layouts)
    layouts = layouts.take(valid)
    if len(layouts):
        fits = np.broadcast_to(np.asarray(peak_bytes(layouts)) <= capacity_bytes, (len(layouts),))
        if not fits.all():
            excluded[OUT_OF_MEMORY] = int((~fits).sum())
        layouts = layouts.take(fits)
    if not len(layouts):
        return Search(None, evaluated, 0, time.perf_counter() - started, 0, 0, excluded, faults)
    steps = evaluate(job, device, network, stack, layouts)
    score = np.asarray(rank(steps))
    order = np.argsort(score, kind="stable")
    best = steps.take(order[:keep])
    limit = score[order[0]] * (1 + (NOISE_FLOOR.value if tolerance is None else tolerance))
    tied = int((score <= limit).sum())
    seconds = time.perf_counter() - started
    return Search(best, evaluated, len(layouts), seconds, min(tied, keep), tied, excluded)


def allowed(
    job: Job, node_size: int, layouts: Layouts, fixed: Iterable[str] = ()
) -> tuple[np.ndarray, dict[str, int]]:
    """Which layouts a search may propose, memory apart (L,), and how many are out for which reason.

    Beside what cannot run (`layout.exclusions`), what a search does not propose unless its fields are `fixed`.
    """
    valid, excluded = exclusions(job.model, job.sequence_length, job.global_batch_sequences, layouts)
    for reason, out in _unwise(job, node_size, layouts, set(fixed)):
        if (valid & out).any():
            excluded[reason] = int((valid & out).sum())
            valid = valid & ~out
    return valid, excluded


def broken_by_all(job: Job, layouts: Layouts) -> tuple[str, ...]:
    """The rules that every one of the layouts breaks: what is wrong with the job or its fixed fields themselves."""
    asked = (job.model, job.sequence_length, job.global_batch_sequences, layouts)
    return tuple(reason for reason, breaks in RULES.items() if len(layouts) and np.all(breaks(*asked)))


def _unwise(job: Job, node_size: int, layouts: Layouts, fixed: set[str]) -> Iterable[tuple[str, np.ndarray]]:
    """Layouts that run, but that a search does not propose unless the field is given; with the reason."""
    if "tp" not in fixed:
        yield ACROSS_DOMAIN, layouts.tp > node_size
    if "vp" not in fixed:
        # As Megatron-Core: equal chunks, where the embedding and the output head may each count as a layer.
        layers, chunks = job.model.layers + job.model.mtp_modules, layouts.pp * layouts.vp
        even = np.any([(layers + ends) % chunks == 0 for ends in (0, 1, 2)], axis=0)
        yield UNEVEN_CHUNKS, (layouts.vp > 1) & ~even


def candidates(
    job: Job,
    gpus: int,
    node_size: int,
    fixed: Mapping[str, Any],
    micro_batch_max: int,
    schedules: tuple[str, ...],
) -> Layouts:
    """Every combination of the fields' sensible values that takes exactly `gpus` accelerators.

    Values: tp, divisors of the head count up to twice the scale-up domain; pp up to the layers; cp and ep,
    divisors of the sequence's chunks and of the experts; micro-batches, powers of two; ZeRO-1, and ZeRO-3
    without a pipeline; sequence parallelism with tensor parallelism (off, it is never faster and never
    smaller). Broken divisibility is left to `layout.exclusions`, so that the answer can say why a family is
    out.
    """
    axes = _axes(job, gpus, node_size, micro_batch_max, schedules)
    for name, value in fixed.items():
        if name in axes:
            axes[name] = [_code(name, value)]
    names = list(axes)
    grids = np.meshgrid(*(np.asarray(axes[name]) for name in names), indexing="ij")
    columns = {name: grid.reshape(-1) for name, grid in zip(names, grids, strict=True)}
    ranks = columns["tp"] * columns["pp"] * columns["cp"]
    dp = gpus // ranks
    micro_batches = np.maximum(job.global_batch_sequences // np.maximum(dp * columns["micro_batch"], 1), 1)
    keep = (dp * ranks == gpus) & _sensible(columns, given_sharding="zero" in fixed)
    if "dp" in fixed:
        keep &= dp == fixed["dp"]
    rest = {name: fixed[name] for name in ("sequence_parallel",) if name in fixed}
    columns = {name: column[keep] for name, column in columns.items()}
    return Layouts.one(**columns, dp=dp[keep], grad_accumulation=micro_batches[keep], **rest)


def _sensible(columns: dict[str, np.ndarray], given_sharding: bool) -> Any:
    """Combinations that mean something: interleaving has chunks, others do not; FSDP stands in for a
    pipeline, unless the sharding is given.
    """
    interleaved = columns["schedule"] == SCHEDULES.index("interleaved")
    pipelined_alone = (columns["zero"] < 2) | (columns["pp"] == 1) | given_sharding
    return (interleaved == (columns["vp"] > 1)) & pipelined_alone


def _code(name: str, value: Any) -> Any:
    return int(Layouts.one(**{name: value}).__getattribute__(name)[0]) if isinstance(value, str) else value


def _axes(
    job: Job, gpus: int, node_size: int, micro_batch_max: int, schedules: tuple[str, ...]
) -> dict[str, list[int]]:
    """The values of each field."""
    model, experts = job.model, job.model.moe.experts if job.model.moe else 1
    chunks = model.layers + 2  # the ends may hold an embedding or a head alone
    doubled = [2**i for i in range(micro_batch_max.bit_length()) if 2**i <= micro_batch_max]
    return {
        "tp": [d for d in divisors(model.heads) if d <= 2 * node_size and gpus % d == 0],
        "pp": [d for d in divisors(gpus) if d <= chunks],
        "vp": list(range(1, 1 + min(chunks // 2, 16))) if "interleaved" in schedules else [1],
        # A shard of less than 4,096 tokens is too little work to hide the exchange behind.
        "cp": [2**i for i in range(8) if i == 0 or (gpus % 2**i == 0 and job.sequence_length >= 4096 * 2**i)],
        "ep": [d for d in divisors(experts) if gpus % d == 0],
        # Few experts are wide enough to be divided; many are too narrow to be worth it.
        "etp": [d for d in (1, 2, 4, 8) if d == 1 or (1 < experts <= 16 and d <= node_size)],
        "micro_batch": doubled,
        "zero": [1, 3],
        "recompute": [0, 1, 2],
        "schedule": [SCHEDULES.index(name) for name in schedules],
    }


def divisors(number: int) -> list[int]:
    """All divisors, ascending."""
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return sorted({*small, *(number // d for d in small)})
