"""Periodic checkpoints against random failures: the best interval, and what is left of the time.

A job computes for τ seconds, writes a checkpoint, and so on. Failures are Poisson with mean time M between
them, and may strike while computing, writing or recovering. After a failure the job needs R seconds
(detection, restart, loading) and resumes from the last checkpoint that was complete. Intervals are compute
seconds between checkpoints.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from argosy.laws.arrays import Array, plain

_NEVER_S = 1e18  # a mean time between failures that stands for ∞ where ∞·0 would appear: 30 billion years


class TimeShares(NamedTuple):
    """Shares of the time that a failing job occupies, each 0–1; they sum to one."""

    productive: Array
    checkpoint: Array
    rework: Array
    detection: Array
    restart: Array


def young_interval(write_s: Array, mtbf_s: Array) -> Array:
    """First-order best seconds of compute between checkpoints: √(2·δ·M).

    `write_s`: δ, seconds that a checkpoint stops the job; `mtbf_s`: M. Valid for δ ≪ M. Source: Young 1974
    (CACM 17).
    """
    return np.sqrt(2.0 * np.asarray(write_s) * np.asarray(mtbf_s))


def daly_interval(write_s: Array, mtbf_s: Array) -> Array:
    """Higher-order best seconds of compute between checkpoints.

    √(2δM)·[1 + ⅓·√(δ/2M) + ⅑·δ/2M] − δ for δ < 2M, else M. `write_s`: δ; `mtbf_s`: M.
    Within 0.5 % of the exact optimum for δ ≤ M/2; `optimal_interval` is exact everywhere.
    Source: Daly 2006 (Future Generation Computer Systems 22).
    """
    write_s, mtbf_s = np.asarray(write_s, dtype=float), np.asarray(mtbf_s, dtype=float)
    ratio = np.minimum(write_s / (2.0 * mtbf_s), 1.0)
    series = np.sqrt(2.0 * write_s * mtbf_s) * (1.0 + np.sqrt(ratio) / 3.0 + ratio / 9.0) - write_s
    return plain(np.where(write_s < 2.0 * mtbf_s, series, mtbf_s))


def optimal_interval(write_s: Array, mtbf_s: Array) -> Array:
    """The seconds of compute between checkpoints that maximise `time_shares(...).productive`, exactly.

    τ = M·x with (1 − x)·eˣ = e^{−δ/M}, that is x = 1 + W₀(−e^{−1−δ/M}), W₀ the principal branch of Lambert's
    function; found by Newton's method on x + ln(1 − x) + δ/M = 0 from above, where it descends to the root.
    `write_s`: δ, the seconds by which one checkpoint lengthens a period (for an asynchronous one the blocking
    time and the slowdown, not the persist time, which moves the efficiency but not the optimum); `mtbf_s`: M.
    δ → 0 gives √(2δM); δ → ∞ gives M. Relative error under 1e-9 for δ/M ≥ 1e-12. Source: derivative of Daly's
    efficiency set to zero.
    """
    mtbf = np.asarray(mtbf_s, dtype=float)
    cost = np.maximum(np.asarray(write_s, dtype=float) / mtbf, 1e-14)
    # Both are above the root: −x − ln(1 − x) ≥ x²/2, and 1 − x = e^{−δ/M − x} ≥ e^{−δ/M − 1}.
    x = np.minimum(np.minimum(np.sqrt(2.0 * cost), -np.expm1(-1.0 - cost)), 1.0 - 1e-16)
    for _ in range(12):
        x = np.clip(x + (x + np.log1p(-x) + cost) * (1.0 - x) / x, 1e-300, 1.0 - 1e-16)
    return plain(x * mtbf)


def efficiency(interval_s: Array, write_s: Array, recovery_s: Array, mtbf_s: Array) -> Array:
    """Share of the time that becomes saved work: E = τ / (M·e^{R/M}·(e^{(τ+δ)/M} − 1)), between 0 and 1.

    `interval_s`: τ, compute seconds between checkpoints; `write_s`: δ, the stop for one; `recovery_s`: R,
    from failure to compute; `mtbf_s`: M of the whole job. Exact for a long run (end effects ~ one interval),
    deterministic δ and R, Poisson failures; never negative, unlike the first-order forms, which need τ, R ≪
    M. Source: Daly 2006.
    """
    return time_shares(interval_s, write_s, 0.0, recovery_s, mtbf_s).productive


def time_shares(
    interval_s: Array,
    blocking_s: Array,
    detection_s: Array,
    restart_s: Array,
    mtbf_s: Array,
    persist_s: Array = 0.0,
    interference: Array = 0.0,
) -> TimeShares:
    """Where the time of a checkpointed, failing job goes: exact shares that sum to one.

    `interval_s`: τ, productive seconds between two checkpoints. `blocking_s`: b, seconds that one stops the
    job (all of it when synchronous). `persist_s`: p, seconds after that until the copy is safe: until then a
    failure falls back to the one before; τ ≥ p·(1 − i), or writes would pile up. `interference`: i, fraction
    of speed lost while persisting. `detection_s`, `restart_s`: from failure to notice, from notice to
    compute. `mtbf_s`: M, seconds.

    A period takes w = τ + b + i·p. Between failures lie Exp(M) seconds, of which the first R = D + S recover;
    the k-th checkpoint counts if the job lives until R + k·w − i·p + p, so the saved work per failure is
    τ·e^{−(R+τ+b+p)/M} / (1 − e^{−w/M}), and productive is that over M (Daly's E for p = i = 0). Detection
    takes 1 − e^{−D/M} and restart e^{−D/M} − e^{−R/M}, failures striking during recovery included; checkpoint
    time is counted for checkpoints that counted, and rework is all other time up: work and writes that were
    lost. Range: any τ > 0, M > 0 (∞ allowed). Source: Daly 2006, extended to delayed persistence by the
    argument above.
    """
    tau, blocking, persist = (np.asarray(x, dtype=float) for x in (interval_s, blocking_s, persist_s))
    mtbf, detection = np.asarray(mtbf_s, dtype=float), np.asarray(detection_s, dtype=float)
    recovery = detection + np.asarray(restart_s, dtype=float)
    overhead = blocking + interference * persist
    period = tau + overhead
    steady = tau / period  # the share without failures
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        x = period / mtbf
        counted = np.where(x > 0, x / np.where(x > 0, -np.expm1(-x), 1.0), 1.0)
        productive = steady * counted * np.exp(-(recovery + tau + blocking + persist) / mtbf)
        up = np.exp(-recovery / mtbf)
        noticing = -np.expm1(-detection / mtbf)
        restarting = np.exp(-detection / mtbf) - up
    checkpoint = productive * overhead / tau
    rework = up - productive - checkpoint
    return TimeShares(*(plain(share) for share in (productive, checkpoint, rework, noticing, restarting)))


def two_tier_slowdown(
    interval_s: Array,
    write_s: Array,
    every: Array,
    slow_write_s: Array,
    recovery_s: Array,
    mtbf_s: Array,
    loss_share: Array,
) -> Array:
    """Seconds of life per productive second with a fast checkpoint tier backed by a slow one; 1/efficiency.

    Every `interval_s` seconds of compute a checkpoint goes to the fast tier (`write_s` seconds), and every
    `every`-th one to the slow tier too (`slow_write_s` more). A share `loss_share` of failures destroys the
    fast tier, so that the job falls back to the last slow checkpoint. `recovery_s` after each failure,
    `mtbf_s` between failures. All seconds.

    With p = e^{−w/M} the chance to live through a period, u the chance to need the slow tier, and β the mean
    time of an attempt and its recoveries divided by (p + (1−p)·u), a slow segment of k periods takes
    β·(α^{−k} − 1)/(1 − α), α = p/(p + (1−p)·u). The slow write is spread evenly over the k periods, which is
    exact for k = 1 or a free write. u = 0 gives Daly with the fast interval, u = 1 Daly with k intervals.
    Source: Markov renewal argument, this file.
    """
    mtbf = np.minimum(np.asarray(mtbf_s, dtype=float), _NEVER_S)
    every = np.asarray(every, dtype=float)
    share, recovery = np.asarray(loss_share, dtype=float), np.asarray(recovery_s, dtype=float)
    period = np.asarray(interval_s, dtype=float) + write_s + slow_write_s / every
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        survive, die = np.exp(-period / mtbf), -np.expm1(-period / mtbf)
        recovers = np.exp(-recovery / mtbf)
        # Failures during recovery may destroy the fast tier too.
        slow = 1.0 - (1.0 - share) * recovers / (recovers + share * (1.0 - recovers))
        attempt = die * mtbf + die * mtbf * np.expm1(recovery / mtbf)
        step = attempt / (survive + die * slow)
        # log(1/α) = log1p((1 − p)·u/p): the loss ratio per period, which stays accurate when it is tiny.
        lost = die * slow / survive
        growth = np.expm1(every * np.log1p(lost))
        # (α^{−k} − 1)/(1 − α) → k as u → 0
        segment = np.where(
            lost > 0, step * growth * (1.0 + lost) / np.where(lost > 0, lost, 1.0), step * every
        )
        slowdown = segment / (every * np.asarray(interval_s, dtype=float))
    # Beyond the range of floats no period is ever survived.
    return plain(np.where(np.isnan(slowdown), np.inf, slowdown))


def multi_tier_overhead(rates_per_s: list[Array], write_s: list[Array]) -> Array:
    """First-order share of time lost with one checkpoint tier per class of failure, each at its own best
    interval.

    Σ √(2·λ·C): `rates_per_s` failures per second that need tier ℓ, `write_s` seconds of a checkpoint to it.
    Recovery time not included. Valid while the sum is well below one (under 0.2 the error is under 0.02).
    Source: Moody et al. 2010 (SCR); Young's expression per tier.
    """
    return sum(
        (np.sqrt(2.0 * np.asarray(r) * np.asarray(c)) for r, c in zip(rates_per_s, write_s, strict=True)),
        start=0.0,
    )


def silent_corruption_interval(
    verify_s: Array, write_s: Array, silent_per_s: Array, failures_per_s: Array
) -> Array:
    """First-order best seconds between verified checkpoints when some errors are silent: √((V + C)/(λₛ +
    λ_f/2)).

    `verify_s`: V, seconds of a verification before each checkpoint; `write_s`: C; `silent_per_s`: λₛ, silent
    errors per second (found only at the verification, so a whole period is lost); `failures_per_s`: λ_f,
    crashes per second. No silent errors and no verification gives Young. Source: Benoit, Cavelan, Robert, Sun
    2016 (TOPC 3).
    """
    return np.sqrt((verify_s + write_s) / (silent_per_s + failures_per_s / 2.0))


def checkpoint_bytes(parameters: Array, bytes_per_parameter: Array) -> Array:
    """Bytes of a full checkpoint: parameters × bytes each (BF16 weights + FP32 master, two FP32 moments: 14).

    `parameters`: count; `bytes_per_parameter`: bytes. Activations, random states and data-loader positions
    are left out.
    """
    return parameters * bytes_per_parameter


def transfer_time(size_bytes: Array, bandwidth_bytes_per_s: Array) -> Array:
    """Seconds to move `size_bytes` at `bandwidth_bytes_per_s`: a lower bound, without metadata and
    stragglers."""
    return size_bytes / bandwidth_bytes_per_s
