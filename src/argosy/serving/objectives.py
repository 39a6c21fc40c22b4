"""What a service promises, and how a run kept it: percentiles over all arrivals, the share that met all, goodput."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from argosy.serving.fleet import FleetRun

METRICS = ("ttft", "tpot", "e2e")


@dataclass(frozen=True)
class Objective:
    """`quantile` (0–1) of a metric (ttft, tpot, e2e) stays within `limit_s`."""

    metric: str
    quantile: float
    limit_s: float

    @property
    def name(self) -> str:
        """As the scenario writes it: `ttft_p99`."""
        return f"{self.metric}_p{100 * self.quantile:g}"


def objectives(given: Mapping[str, float]) -> tuple[Objective, ...]:
    """Objectives from `{"ttft_p99": 2.0}` (s)."""
    found = []
    for name, limit in given.items():
        metric, _, share = name.partition("_p")
        found.append(Objective(metric, float(share) / 100.0, limit))
    return tuple(found)


def quantile(values: np.ndarray, share: float) -> float:
    """The smallest value that a `share` of all does not exceed; infinity where too many are infinite, NaN of none."""
    return float(np.quantile(values, share, method="inverted_cdf")) if len(values) else float("nan")


def pooled(runs: Sequence[FleetRun], metric: str) -> np.ndarray:
    """A metric (s) of all arrivals of several runs."""
    return np.concatenate([np.asarray(getattr(run, f"{metric}_s")) for run in runs])


def reached(runs: Sequence[FleetRun], wanted: Sequence[Objective]) -> dict[str, float]:
    """What the runs together reached, by objective (s)."""
    return {each.name: quantile(pooled(runs, each.metric), each.quantile) for each in wanted}


def met(runs: Sequence[FleetRun], wanted: Sequence[Objective]) -> bool:
    """Whether the runs together keep every objective; without any, whether all requests are served but one in a hundred."""
    if not wanted:
        return float(np.mean(np.concatenate([run.done for run in runs]))) >= 0.99
    values = reached(runs, wanted)
    return all(values[each.name] <= each.limit_s for each in wanted)


def good(run: FleetRun, wanted: Sequence[Objective]) -> np.ndarray:
    """Which arrivals were served within the limit of every metric (of several percentiles of one, the outermost's)."""
    kept = np.asarray(run.done).copy()
    for metric in METRICS:
        own = [each for each in wanted if each.metric == metric]
        if own:
            limit = max(own, key=lambda each: each.quantile).limit_s
            kept &= np.asarray(getattr(run, f"{metric}_s")) <= limit
    return kept


def attainment(runs: Sequence[FleetRun], wanted: Sequence[Objective]) -> float:
    """Share of all arrivals that were served within all limits."""
    return float(np.mean(np.concatenate([good(run, wanted) for run in runs])))


def goodput_per_s(runs: Sequence[FleetRun], wanted: Sequence[Objective]) -> float:
    """Arrivals per second that were served within all limits."""
    return float(np.mean([good(run, wanted).sum() / run.requests.horizon_s for run in runs]))


def spread(values: Sequence[float]) -> dict[str, float]:
    """10th, 50th and 90th percentile over seeds."""
    low, middle, high = (quantile(np.asarray(values, float), share) for share in (0.1, 0.5, 0.9))
    return {"p10": low, "p50": middle, "p90": high}
