"""The paradigm table as an experiment: one fleet and one load under the presets of the three worlds, measured in every dimension.

Only how work gets its machines differs between the presets; what the table says of each dimension shows in the queue as the
measures below. Bottleneck and network stand for their consequence there: which part of the free machine no job can use, and
how far apart a gang's nodes are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy import __version__
from argosy.facts import load_catalog
from argosy.handbook.paradigms import table
from argosy.planning.payload import plain
from argosy.planning.queue import Queue
from argosy.planning.schedule import cluster_row
from argosy.scheduling import CODE, Outcome
from argosy.scheduling.compare import interval
from argosy.scheduling.summary import by_size, whole

PRESETS = {"hpc": "hpc", "wsc": "wsc", "ml": "ml-fleet"}
"""The policy of each paradigm of the table."""
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Measure:
    """What shows a dimension in an outcome: `value` gives a number in `unit`, None where there is nothing to measure."""

    dimension: str
    name: str
    unit: str
    value: Callable[[Outcome], float | None]


def _held_by_partial_gangs(outcome: Outcome) -> float:
    return float(outcome.held_gpu_s.sum()) / HOUR


def _lost(outcome: Outcome) -> float:
    return float(outcome.lost_gpu_s.sum()) / HOUR


def _saving(outcome: Outcome) -> float:
    return float(outcome.checkpoint_gpu_s.sum()) / HOUR


def _spread(outcome: Outcome) -> float | None:
    """Leaves of a gang at its start ÷ the fewest that could hold its nodes, mean over starts on several nodes."""
    cluster, log = outcome.cluster, outcome.log
    per_leaf = int(np.bincount(cluster.leaf).max())
    ratios = []
    for index in np.flatnonzero(log.event == CODE["start"]):
        nodes = np.unique(log.node[log.first[index] : log.first[index] + log.size[index]])
        if len(nodes) > 1:
            ratios.append(len(np.unique(cluster.leaf[nodes])) / -(-len(nodes) // per_leaf))
    return float(np.mean(ratios)) if ratios else None


def _useless(outcome: Outcome) -> float:
    return float(outcome.totals["fragmentation"])


def _per_stop(outcome: Outcome) -> float | None:
    """GPU-hours undone and spent on restarts, for each stop by a failure or an eviction."""
    stops = int(outcome.restarts.sum() + outcome.preemptions.sum())
    cost = float(outcome.lost_gpu_s.sum() + outcome.restart_gpu_s.sum() + outcome.checkpoint_gpu_s.sum())
    return cost / HOUR / stops if stops else None


def _wait(place: int, quantile: str) -> Callable[[Outcome], float | None]:
    def value(outcome: Outcome) -> float | None:
        rows = by_size(outcome)
        waited = rows[place]["wait_s"][quantile] if rows else None
        return None if waited is None else float(waited) / HOUR

    return value


def _upgraded(outcome: Outcome) -> float | None:
    """Days from the first node taken out for planned work to the last one back."""
    log = outcome.log
    out = np.flatnonzero(log.event == CODE["node-maintenance"])
    if not len(out):
        return None
    nodes = {int(log.node[log.first[index]]) for index in out}
    back = [
        float(log.time_s[index])
        for index in np.flatnonzero(log.event == CODE["node-up"])
        if int(log.node[log.first[index]]) in nodes
    ]
    drained = np.flatnonzero(log.event == CODE["node-drain"])
    began = float(log.time_s[drained[0] if len(drained) else out[0]])
    return (max(back) - began) / 86400.0 if back and len(nodes) == outcome.cluster.nodes else None


def _moved(outcome: Outcome) -> float | None:
    """Different nodes that a job stood on ÷ nodes at its first start, mean over jobs of several nodes: 1 where nodes are kept."""
    log = outcome.log
    stood: dict[int, set[int]] = {}
    first: dict[int, int] = {}
    for index in np.flatnonzero(np.isin(log.event, (CODE["start"], CODE["grow"]))):
        job, places = int(log.job[index]), log.node[log.first[index] : log.first[index] + log.size[index]]
        stood.setdefault(job, set()).update(int(node) for node in places)
        first.setdefault(job, len(stood[job]))
    ratios = [len(nodes) / first[job] for job, nodes in stood.items() if first[job] > 1]
    return float(np.mean(ratios)) if ratios else None


def _productive(outcome: Outcome) -> float:
    return float(whole(outcome)["utilization"])


MEASURES = (
    Measure("aim", "productive share of all GPU-time", "share", _productive),
    Measure("coupling", "held by workers whose gang is not whole", "GPU-hours", _held_by_partial_gangs),
    Measure("state", "work undone", "GPU-hours", _lost),
    Measure("state", "saving before leaving", "GPU-hours", _saving),
    Measure("network", "leaves of a gang ÷ the fewest possible", "ratio", _spread),
    Measure("bottleneck", "share of free GPUs in pieces of no use to the mix", "share", _useless),
    Measure("failure", "undone and restarting, per stop", "GPU-hours", _per_stop),
    Measure("scheduling", "wait P90, smallest jobs", "hours", _wait(0, "p90")),
    Measure("scheduling", "wait P90, largest jobs", "hours", _wait(-1, "p90")),
    Measure("nodes", "nodes a gang stood on ÷ those at its start", "ratio", _moved),
    Measure("nodes", "rolling upgrade through all nodes", "days", _upgraded),
)


def experiment(
    queue: Queue, seeds: int = 1, seed: int = 0, tell: Callable[[str], None] = lambda message: None
) -> dict[str, Any]:
    """{dimensions: [{id, name, hpc, wsc, ml, measures: [{name, unit, hpc, wsc, ml}]}]}: the table's words, and beside them
    each measure as {mean, low, high} over `seeds` seeds from `seed` on, the same jobs and failures under every preset, and
    `against_hpc` with the differences paired by seed."""
    outcomes: dict[str, np.ndarray] = {}
    for paradigm, name in PRESETS.items():
        rows = []
        for number in range(seed, seed + seeds):
            tell(f"{name}, seed {number}")
            rows.append(list(_measured(queue.case.played(queue.preset(name), number))))
        outcomes[paradigm] = np.array(rows)
    words = table()
    dimensions = []
    for dimension in words["dimensions"]:
        measures = [
            {
                "name": measure.name,
                "unit": measure.unit,
                **{paradigm: interval(rows[:, index]) for paradigm, rows in outcomes.items()},
                "against_hpc": {
                    paradigm: interval(rows[:, index] - outcomes["hpc"][:, index])
                    for paradigm, rows in outcomes.items()
                    if paradigm != "hpc"
                },
            }
            for index, measure in enumerate(MEASURES)
            if measure.dimension == dimension["id"]
        ]
        dimensions.append({**dimension, "measures": measures})
    answer = {
        "schema": "argosy.schedule/1",
        "version": __version__,
        "facts_date": load_catalog().facts_date,
        "name": queue.name,
        "policies": PRESETS,
        "paradigms": words["paradigms"],
        "cluster": cluster_row(queue.case.cluster),
        "load": queue.load,
        "seeds": list(range(seed, seed + seeds)),
        "dimensions": dimensions,
        "notes": list(queue.notes),
    }
    return dict(plain(answer))


def _measured(outcome: Outcome) -> Iterator[float]:
    for measure in MEASURES:
        value = measure.value(outcome)
        yield np.nan if value is None else value
