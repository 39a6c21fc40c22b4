"""What `argosy.reliability` says of a checkpoint of so many bytes at such rates, and of work lost to kills. No torch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from argosy.facts import Fact, Values
from argosy.laws import checkpoint as law
from argosy.reliability.checkpoints import CheckpointCost, cadence, checkpoint_cost
from argosy.testbed.checkpoints.plan import Case

NEVER_S = 1e12


@dataclass(frozen=True)
class Baseline:
    """Measured once: seconds of a save and of a copy of nearly nothing, and of the stop and the rest of an asynchronous one,
    `stop_s` and `behind_s`; shares of the links' rates that arrive, and seconds
    of a step by the width of its model. `processor_s`: seconds of processor that a byte's copy, sum and write take.
    """

    save_s: float
    copy_s: float
    stop_s: float
    behind_s: float
    write_share: float
    copy_share: float
    processor_s: float
    step_s: Mapping[int, float]


def checkpoint(case: Case, ranks: int, size: int, base: Baseline) -> CheckpointCost:
    """The law's cost of a checkpoint of which every rank has `size` bytes; the fixed part of a save added."""
    write, copy = case.write_rate or math.inf, case.copy_rate or math.inf
    values = Values(
        {
            "reliability.checkpoint.blocking": Fact(0.0, "s"),
            "reliability.checkpoint.host_copy_bandwidth": Fact(copy * base.copy_share, "B/s"),
            "reliability.checkpoint.storage_efficiency": Fact(base.write_share, ""),
            "reliability.checkpoint.interference": Fact(0.0, ""),
            "storage.SuperPOD.bandwidth_per_node": Fact(write, "B/s"),
        }
    )
    found = checkpoint_cost(values, size * ranks, ranks, ranks, ranks * write, case.mode)
    if case.mode == "sync":
        return replace(found, blocking_s=found.blocking_s + base.copy_s + base.save_s)
    return replace(
        found, blocking_s=found.blocking_s + base.stop_s, persist_s=found.persist_s + base.behind_s
    )


@dataclass(frozen=True)
class Pause:
    """Of every save but the first: the stop, of which `wait_s` for the save before; until the copy is safe; between saves."""

    pause_s: float
    wait_s: float
    persist_s: float
    period_s: float


def pause(case: Case, ranks: int, size: int, base: Baseline) -> Pause:
    """A save waits until the one before is safe: the interval is then the law's shortest one, and the rest of it a wait."""
    cost = checkpoint(case, ranks, size, base)
    compute = case.interval * base.step_s[case.shape.hidden]
    feasible = float(cadence(cost, NEVER_S, compute).interval_s)
    stop, wait = float(cost.blocking_s), feasible - compute
    return Pause(stop + wait, wait, float(cost.persist_s), feasible + stop)


@dataclass(frozen=True)
class Rhythm:
    """Of a job that is killed: seconds of compute between saves, of a save's stop, and until it is safe."""

    compute_s: float
    stop_s: float
    persist_s: float

    @property
    def period_s(self) -> float:
        """From save to save."""
        return self.compute_s + self.stop_s


def kept(rhythm: Rhythm, up_s: Sequence[float] | np.ndarray) -> np.ndarray:
    """Saves that count when the job is killed after `up_s` seconds, (n,): the k-th does from k·w + p on, w the period."""
    late = np.asarray(up_s) - rhythm.period_s - rhythm.persist_s
    return np.asarray(np.maximum(np.floor(late / rhythm.period_s) + 1.0, 0.0))


def lost(rhythm: Rhythm, up_s: Sequence[float], later_s: float = 0.0) -> np.ndarray:
    """Seconds of each attempt that are done again, (n,): all but the periods that count. `later_s`: that much later, by the
    same clock, a save would count (negative: earlier).
    """
    return np.asarray(up_s) - kept(rhythm, np.asarray(up_s) - later_s) * rhythm.period_s


def steps_done(rhythm: Rhythm, up_s: Sequence[float], interval: int) -> np.ndarray:
    """Steps after so many seconds at the usual pace, (n,): none while a save stops the job."""
    periods, rest = np.divmod(np.asarray(up_s), rhythm.period_s)
    return np.asarray(interval * (periods + np.minimum(rest / rhythm.compute_s, 1.0)))


def mean_lost(rhythm: Rhythm, mtbf_s: float) -> float:
    """Seconds lost per kill at exponential times of mean `mtbf_s`: `laws.checkpoint.time_shares`' rework, over the kills.

    For kills rarer than saves this is half the period, and the time until a save is safe.
    """
    shares = law.time_shares(rhythm.compute_s, rhythm.stop_s, 0.0, 0.0, mtbf_s, rhythm.persist_s)
    return float(shares.rework) * mtbf_s


def spread(values: Sequence[float], quantile: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a mean of independent values, by their own spread."""
    found = np.asarray(values, dtype=float)
    half = quantile * found.std(ddof=1) / math.sqrt(len(found))
    return float(found.mean() - half), float(found.mean() + half)
