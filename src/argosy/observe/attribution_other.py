"""The waterfall where no traces are: of operation tables, and of training logs as far as their timers and MFU allow."""

from __future__ import annotations

import numpy as np

from argosy.ledger import Ledger
from argosy.observe.intervals import union
from argosy.observe.observed import Observed
from argosy.observe.records import TrainingLog
from argosy.observe.replay_table import BACKWARD, FORWARD, TableReplay, local
from argosy.observe.settings import number, pipeline

_POINT_TO_POINT = ("send", "recv")
_PRIORITY = ("compute", "optimizer", "exchange", "pair")  # an earlier kind covers a later one
_EXCHANGES = ("all-reduce", "reduce-scatter", "all-gather", "allreduce", "grads-sync")
_HIDDEN = ("embedding",)  # timers that hold a bubble where there is a pipeline


def table_waterfall(replay: TableReplay) -> Ledger:
    """GPU-seconds of a table's steps: compute, exchanges split at the last arrival, sends and receives, the rest."""
    table = replay.table
    names = np.array(table.operations)[table.operation]
    start, end = table.start_s, table.start_s + table.duration_s
    sums = dict.fromkeys(_PRIORITY, 0.0)
    total = 0.0
    step_end = {int(step): float(end[table.step == step].max()) for step in np.unique(table.step)}
    kinds = {"compute": np.isin(names, (FORWARD, BACKWARD))}
    kinds["pair"] = np.array([any(word in name for word in _POINT_TO_POINT) for name in names])
    kinds["optimizer"] = np.array([local(name) for name in names]) & ~kinds["compute"] & ~kinds["pair"]
    kinds["exchange"] = ~kinds["compute"] & ~kinds["pair"] & ~kinds["optimizer"]
    order = np.lexsort((table.rank, table.step))
    keys = np.stack([table.step[order], table.rank[order]])
    cuts = np.flatnonzero((np.diff(keys, axis=1) != 0).any(axis=0)) + 1
    for own in np.split(order, cuts):
        total += step_end[int(table.step[own[0]])]
        taken, before = np.zeros(len(own), bool), 0.0
        for kind in _PRIORITY:
            taken |= kinds[kind][own]
            reached = _length(start[own[taken]], end[own[taken]])
            sums[kind] += reached - before
            before = reached
    wait = _waiting(replay, kinds["exchange"], sums["exchange"])
    children = (
        Ledger("compute", sums["compute"], law="forward and backward"),
        Ledger.parent(
            "exposed communication",
            (
                Ledger("waiting for late ranks", wait, law="last arrival − own arrival"),
                Ledger("transfer", sums["exchange"] - wait, law="end − last arrival"),
            ),
        ),
        Ledger("pipeline bubble", sums["pair"], law="sends and receives, waiting and transfer together"),
        Ledger("optimizer", sums["optimizer"], law="operations that wait for nobody"),
        Ledger("unattributed", total - sum(sums.values()), law="no operation recorded"),
    )
    return Ledger.parent("observed steps", children, law="ranks × their steps")


def _length(start: np.ndarray, end: np.ndarray) -> float:
    """Seconds of the union of intervals given in s."""
    ns = union(np.rint(start * 1e9).astype(np.int64), np.rint(end * 1e9).astype(np.int64))
    return float((ns.end - ns.start).sum()) * 1e-9


def _waiting(replay: TableReplay, exchange: np.ndarray, shown: float) -> float:
    """The part of the exchanges' seconds that is waiting: what replayed transfers leave, in proportion."""
    took = float(replay.table.duration_s[exchange].sum())
    transfer = sum(
        float(np.nansum(times)) for name, times in replay.measured.others.items() if not local(name)
    )
    return shown * min(max(1.0 - transfer / took, 0.0), 1.0) if took > 0 else 0.0


def log_waterfall(observed: Observed, log: TrainingLog, mfu: float | None) -> Ledger | None:
    """GPU-seconds of a log's iterations; lines that the log cannot tell are in `unattributed`. None without step times.

    `mfu`: of the dense peak, for the useful part; None unknown. Timers are the printing rank's, taken for all ranks.
    """
    known = np.isfinite(log.step_time_s) & (log.step_time_s > 0)
    if not known.any():
        return None
    ranks = number(log.settings, "world") or 1.0
    interval = _interval(log)
    total = float(log.step_time_s[known].sum()) * ranks * interval
    left = total

    def take(name: str, share: float, law: str) -> Ledger:
        nonlocal left
        amount = min(max(share, 0.0) * total, left)
        left -= amount
        return Ledger(name, amount, law=law)

    compute = _share(log, (FORWARD, BACKWARD), exact=True)
    if mfu:
        useful = take("useful FLOPs at peak", mfu, "MFU × steps")
        lost = take("kernel inefficiency", max(compute - mfu, 0.0), "forward and backward timers − useful")
        computed = Ledger.parent("compute", (useful, lost))
    else:
        computed = take(
            "compute", compute, "forward and backward timers; no MFU can be told from this log: not split"
        )
    shape = pipeline(log)
    bubble = take("pipeline bubble", shape.bubble if shape else 0.0, "(p − 1)/(v·m + p − 1)")
    words = tuple(name for name in log.timers_s if any(word in name for word in _EXCHANGES))
    words = tuple(name for name in words if not (shape and any(word in name for word in _HIDDEN)))
    exposed = take(
        "exposed communication", _share(log, words, exact=True), "exchange timers: wait and transfer together"
    )
    data = take("data loading", _share(log, ("batch-generator", "data-loading"), exact=True), "timer")
    update = take("optimizer", _share(log, ("optimizer",), exact=True), "timer")
    rest = Ledger("unattributed", left, law="what the log's timers do not tell")
    children = (computed, exposed, bubble, data, update, rest)
    return Ledger.parent("observed iterations", children, law="GPUs × step times, from the log alone")


def _interval(log: TrainingLog) -> float:
    """Iterations that one reported line stands for."""
    steps = np.diff(log.iteration)
    return float(np.median(steps[steps > 0])) if (steps > 0).any() else 1.0


def _share(log: TrainingLog, names: tuple[str, ...], exact: bool) -> float:
    """Median share of the step of the sum of some timers; 0 without them."""
    found = [
        t
        for name, t in log.timers_s.items()
        if (name in names if exact else any(word in name for word in names))
    ]
    if not found:
        return 0.0
    share = np.nansum(found, axis=0) / log.step_time_s
    share = share[np.isfinite(share)]
    return float(np.median(share)) if share.size else 0.0
