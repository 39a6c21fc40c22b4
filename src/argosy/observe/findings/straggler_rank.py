"""One rank that is slower than its peers, for whom the others wait."""

from __future__ import annotations

import numpy as np

from argosy.observe import thresholds
from argosy.observe.findings.finding import Culprit, Finding, span
from argosy.observe.findings.ranks import SlowRank, explained
from argosy.observe.lateness import robust_z
from argosy.observe.observed import Observed
from argosy.observe.records import Place, TrainingLog
from argosy.observe.replay_table import TableReplay

ID = "straggler-rank"
_COMPUTE_TIMERS = ("forward-compute", "backward-compute", "forward-backward")
_WHY = {
    "compute": "its kernels are slower: look at clocks, temperature, power, ECC and Xid of that GPU, then swap it",
    "host": "its host launches late: look at CPU frequency, cores bound to the process, other processes, NUMA",
    "idle": "its device idles: look at the host's process, CPU and other users of that node",
    "copy": "its copies are slower: look at PCIe width and speed, pinned memory, NUMA of that GPU",
    "data": "its input comes late: look at the data loader's workers and storage of that rank",
}


def find(observed: Observed) -> list[Finding]:
    """Slow ranks of traces, of per-rank timers in logs, and of operation tables (against the same stage's replicas)."""
    inside = {index for node in observed.slow_nodes for index in node.indices}
    found = [
        _of_trace(observed, each)
        for each in observed.slow_ranks
        if each.index not in inside and each.leading != "data"
    ]
    if not observed.traces:
        for log in observed.distinct_logs:
            found += _of_log(observed, log)
        for replay in observed.replays:
            found += _of_table(replay)
    return found


def _of_trace(observed: Observed, slow: SlowRank) -> Finding:
    late, alignment = observed.lateness, observed.alignment
    assert late is not None and alignment is not None
    step = float(np.median(late.step_s))
    reasons = explained(observed, slow.node)
    path = alignment.traces[slow.index].path
    worst = int(np.argmax(late.excess_s[slow.index]))
    known = thresholds.INFERRED if np.isfinite(alignment.residual_ns[slow.index]) else thresholds.WEAK
    known = thresholds.DIRECT if reasons else known
    share = slow.saved_s / step
    ratios = (slow.z / thresholds.ROBUST_Z, share / thresholds.LEAST_SHARE)
    return Finding(
        ID,
        f"rank {slow.rank} takes {span(slow.excess_s)} a step longer than its peers by itself, mostly in {slow.leading}; "
        f"the others wait for it",
        _WHY[slow.leading],
        thresholds.confidence(known, ratios, slow.persistence),
        share,
        slow.saved_s,
        Culprit(rank=slow.rank, node=slow.node),
        (Place(path, event=f"step {int(late.steps[worst])}"), *(place for _, place in reasons)),
        causes=tuple(text for text, _ in reasons),
    )


def _of_log(observed: Observed, log: TrainingLog) -> list[Finding]:
    """Ranks whose compute timers stand out; without a replay the saving is the excess."""
    timers = [t for name, t in log.rank_timers_s.items() if any(word in name for word in _COMPUTE_TIMERS)]
    if not timers:
        return []
    ranks = sorted(set.intersection(*(set(timer) for timer in timers)))
    if len(ranks) < thresholds.ENOUGH_PEERS:
        return []
    total = np.stack([np.sum([timer[rank] for timer in timers], axis=0) for rank in ranks])
    kept = np.isfinite(total).all(axis=0)
    if not kept.any():
        return []
    total, step = total[:, kept], float(np.nanmedian(log.step_time_s[kept]))
    z, excess = robust_z(np.median(total, axis=1)), total - np.median(total, axis=0)
    found = []
    for i, rank in enumerate(ranks):
        typical = float(np.median(excess[i]))
        lasting = float(np.mean(excess[i] >= thresholds.LEAST_SHARE * step))
        if (
            z[i] < thresholds.ROBUST_Z
            or typical < thresholds.LEAST_SHARE * step
            or lasting <= thresholds.PERSISTENCE
        ):
            continue
        node = observed.node_of(rank)
        reasons = explained(observed, node)
        ratios = (float(z[i]) / thresholds.ROBUST_Z, typical / step / thresholds.LEAST_SHARE)
        found.append(
            Finding(
                ID,
                f"rank {rank} computes {span(typical)} a step longer than the median rank",
                _WHY["compute"],
                thresholds.confidence(thresholds.INFERRED, ratios, lasting),
                typical / step,
                typical,
                Culprit(rank=rank, node=node),
                (
                    Place(log.path, int(log.line[int(np.flatnonzero(kept)[0])])),
                    *(place for _, place in reasons),
                ),
                causes=tuple(text for text, _ in reasons),
            )
        )
    return found


def _of_table(replay: TableReplay) -> list[Finding]:
    """Workers against the same stage of the other replicas."""
    step = float(replay.actual_s.mean())
    total = sum(
        np.nansum(times, axis=(3, 4)) for times in replay.measured.compute.values()
    )  # steps, data, stage
    if total.shape[1] < 2:
        return []
    # A long sequence makes all stages of its replica slow: only what one stage is slower than the others of its replica blames.
    usual = np.median(total, axis=1, keepdims=True)
    over = total / usual - 1.0
    found = []
    for k, stage in enumerate(replay.stages):
        shared = (
            np.median(np.delete(over, k, axis=2), axis=2) if total.shape[2] > 1 else np.zeros(total.shape[:2])
        )
        own = ((1.0 + over[:, :, k] - shared) * usual[:, :, k]).T
        enough = len(own) >= thresholds.ENOUGH_PEERS
        for i, replica in enumerate(replay.data):
            others = np.delete(own, i, axis=0)
            excess = own[i] - np.median(others, axis=0)
            typical = float(np.median(excess))
            scatter = np.median(np.abs(others - np.median(others, axis=1)[:, None]))
            spread = max(float(scatter), thresholds.NOISE_FLOOR * float(np.median(others)), 1e-12)
            z = float(robust_z(np.median(own, axis=1))[i]) if enough else 0.6745 * typical / spread
            lasting = float(np.mean(excess >= thresholds.LEAST_SHARE * step))
            if z < thresholds.ROBUST_Z or lasting <= thresholds.PERSISTENCE:
                continue
            saved = replay.without(int(stage), int(replica))
            if saved < thresholds.LEAST_SHARE * step:
                continue
            table = replay.table
            here = (table.stage == stage) & (table.data == replica)
            rank = int(table.rank[np.flatnonzero(here)[0]])
            ratios = (z / thresholds.ROBUST_Z, saved / step / thresholds.LEAST_SHARE)
            found.append(
                Finding(
                    ID,
                    f"rank {rank} (stage {stage}, replica {replica}) computes {span(typical)} a step longer than the "
                    "same stage of the other replicas",
                    _WHY["compute"],
                    thresholds.confidence(thresholds.INFERRED, ratios, lasting),
                    saved / step,
                    saved,
                    Culprit(rank=rank, stage=int(stage)),
                    (Place(table.path, event=f"rank {rank}"),),
                )
            )
    return found
