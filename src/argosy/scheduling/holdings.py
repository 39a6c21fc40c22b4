"""Who held what, when: stretches of every job on every node, and how full the cluster and its queue were over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.scheduling.outcome import CODE, Outcome
from argosy.scheduling.summary import SIZES, size_class

_TAKES = (CODE["start"], CODE["grow"])
_GIVES_ALL = tuple(CODE[name] for name in ("finish", "preempt", "fail", "crash", "give-up"))
_AWAY = (CODE["node-down"], CODE["node-maintenance"])


@dataclass(frozen=True, slots=True, eq=False)
class Holdings:
    """Stretches as arrays (n,): an index of a job (-1: the node was out of service), a node, accelerators, from, to (s)."""

    job: np.ndarray
    node: np.ndarray
    amount: np.ndarray
    from_s: np.ndarray
    to_s: np.ndarray


def holdings(outcome: Outcome) -> Holdings:
    """Every stretch in which a job held accelerators of a node, and in which a node was away; the last end at the horizon."""
    log = outcome.log
    held: dict[int, dict[int, tuple[float, float]]] = {}
    away: dict[int, float] = {}
    rows: list[tuple[float, float, float, float, float]] = []

    def close(job: int, node: int, now: float) -> None:
        amount, since = held[job].pop(node)
        if amount > 0 and now > since:
            rows.append((job, node, amount, since, now))

    for index in range(len(log)):
        now, event, job = float(log.time_s[index]), int(log.event[index]), int(log.job[index])
        places = slice(int(log.first[index]), int(log.first[index] + log.size[index]))
        if event in _TAKES or event == CODE["shrink"]:
            sign = 1.0 if event in _TAKES else -1.0
            mine = held.setdefault(job, {})
            for node, amount in zip(log.node[places], log.amount[places], strict=True):
                before = mine.get(int(node), (0.0, now))[0]
                if int(node) in mine:
                    close(job, int(node), now)
                after = before + sign * float(amount)
                if after > 1e-9:
                    mine[int(node)] = (after, now)
        elif event in _GIVES_ALL:
            for node in list(held.get(job, ())):
                close(job, node, now)
        elif event in _AWAY or event == CODE["node-up"]:
            for node in log.node[places]:
                since = away.pop(int(node), None)
                if since is not None and now > since:
                    rows.append((-1, int(node), float(outcome.cluster.accelerators[node]), since, now))
                if event in _AWAY:
                    away[int(node)] = now
    for job, nodes in held.items():
        for node in list(nodes):
            close(job, node, outcome.horizon_s)
    rows += [
        (-1, node, float(outcome.cluster.accelerators[node]), since, outcome.horizon_s)
        for node, since in away.items()
        if outcome.horizon_s > since
    ]
    table = np.array(rows, dtype=float).reshape(-1, 5)
    return Holdings(
        table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2], table[:, 3], table[:, 4]
    )


def binned(from_s: np.ndarray, to_s: np.ndarray, amount: np.ndarray, edges_s: np.ndarray) -> np.ndarray:
    """Mean amount (bins,) between neighbouring edges, of stretches with these amounts.

    The integral of the sum up to a time t is Σ amount · (min(t, to) − from)₊; bins are its differences.
    """
    up_to = np.zeros(len(edges_s))
    for times, sign in ((from_s, 1.0), (to_s, -1.0)):
        order = np.argsort(times)
        times, weights = times[order], amount[order]
        count = np.searchsorted(times, edges_s)
        total = np.concatenate([[0.0], np.cumsum(weights)])[count]
        moment = np.concatenate([[0.0], np.cumsum(weights * times)])[count]
        up_to += sign * (total * edges_s - moment)
    return np.asarray(np.diff(up_to) / np.diff(edges_s))


def occupancy(outcome: Outcome, found: Holdings, bins: int = 200) -> dict[str, Any]:
    """Mean accelerators by what held them, and asked for in the queue, in `bins` equal stretches of the horizon:
    {edges_s, held: {class of sizes: [..]}, away, capacity, queued}."""
    edges = np.linspace(0.0, outcome.horizon_s, bins + 1)
    sizes = np.array([job.accelerators * (job.fraction or 1.0) for job in outcome.jobs])
    classes = size_class(sizes)
    jobs = found.job >= 0
    held = {}
    for index, (_, name) in enumerate(SIZES):
        chosen = jobs & (classes[np.maximum(found.job, 0)] == index) if len(classes) else jobs
        if chosen.any():
            held[name] = binned(
                found.from_s[chosen], found.to_s[chosen], found.amount[chosen], edges
            ).tolist()
    out = ~jobs
    start, end, asked = _queue(outcome, sizes)
    return {
        "edges_s": edges.tolist(),
        "held": held,
        "away": binned(found.from_s[out], found.to_s[out], found.amount[out], edges).tolist(),
        "capacity": outcome.cluster.total,
        "queued": binned(start, end, asked, edges).tolist(),
    }


def _queue(outcome: Outcome, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stretches in the queue and the accelerators asked for: from `queue` events to the next start of the job."""
    log = outcome.log
    wanted = np.isin(log.event, [CODE[name] for name in ("queue", "start", "reject", "give-up", "back-off")])
    since: dict[int, float] = {}
    rows: list[tuple[float, float, float]] = []
    for now, event, job in zip(log.time_s[wanted], log.event[wanted], log.job[wanted], strict=True):
        began = since.pop(int(job), None)
        if began is not None and now > began:
            rows.append((began, float(now), float(sizes[job])))
        if event == CODE["queue"]:
            since[int(job)] = float(now)
    rows += [(began, outcome.horizon_s, float(sizes[job])) for job, began in since.items()]
    table = np.array(rows, dtype=float).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def waiting_stretches(outcome: Outcome, job: int) -> list[tuple[float, float]]:
    """When a job (an index) stood in the queue: (from, to) in s, the last up to the horizon where it waits still."""
    log = outcome.log
    ends = (CODE["start"], CODE["reject"], CODE["give-up"])
    since: float | None = None
    found: list[tuple[float, float]] = []
    for index in np.flatnonzero(log.job == job):
        now, event = float(log.time_s[index]), int(log.event[index])
        if event == CODE["queue"] and since is None:
            since = now
        elif event in ends and since is not None:
            if now > since:
                found.append((since, now))
            since = None
    if since is not None and outcome.horizon_s > since:
        found.append((since, outcome.horizon_s))
    return found


def by_leaf(outcome: Outcome, found: Holdings, bins: int = 120) -> dict[str, Any]:
    """Share of accelerators held (leaves, bins) and away, for a heat map: {edges_s, leaves: [{leaf, held, away}]}."""
    edges = np.linspace(0.0, outcome.horizon_s, bins + 1)
    leaf = outcome.cluster.leaf[found.node]
    sizes = np.bincount(outcome.cluster.leaf, outcome.cluster.accelerators)
    rows = []
    for number, size in enumerate(sizes):
        row: dict[str, Any] = {"leaf": number}
        for key, chosen in (("held", found.job >= 0), ("away", found.job < 0)):
            mine = chosen & (leaf == number)
            series = binned(found.from_s[mine], found.to_s[mine], found.amount[mine], edges)
            row[key] = (series / size).tolist()
        rows.append(row)
    return {"edges_s": edges.tolist(), "leaves": rows}
