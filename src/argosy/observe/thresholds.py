"""Every threshold of the findings, once, with its meaning: none is tuned to a case, none depends on the input's name.

A blame needs all of three gates: it stands out (`ROBUST_Z`), it matters (`LEAST_SHARE`), it lasts (`PERSISTENCE`); and
it must exceed what the clocks allow to be told (`CLOCK_FACTOR`). The confidence of a finding (`confidence`) follows from
how far it is above its gates, how persistently, and from how it is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

ROBUST_Z = 3.5
"""0.6745·(x − median)/MAD above which a peer is an outlier (Iglewicz and Hoaglin 1993, "How to detect outliers")."""

NOISE_FLOOR = 0.005
"""Least spread of peers, as a share of their median: below it a MAD is the luck of a few equal numbers."""

LEAST_SHARE = 0.02
"""Of the step: a cause that costs less is told in the ledger, not as a finding; steps of a healthy job vary by 1 or 2 %."""

PERSISTENCE = 0.5
"""Of the steps (or collectives, where one step was recorded) in which a cause shows itself, more than: one of two is luck."""

CLOCK_FACTOR = 3.0
"""A lateness smaller than so many residuals of the clocks blames nobody."""

ENOUGH_PEERS = 4
"""Peers from which a median and a MAD tell an outlier."""

ENOUGH_STEPS = 5
"""Steps from which a trend, or a spread over time, is told."""

UNEVEN_STAGE = 0.05
"""Compute of a pipeline stage above the median stage, as a share of it."""

TIMER_EXCESS = 3.0
"""How many times its bound (message ÷ bandwidth) a communication timer may show before it is said to hold a wait."""

BUBBLE_AGREES = 0.25
"""Relative difference within which a non-compute share is what the bubble's formula says."""

BUS_SHORTFALL = 0.6
"""Of the expected bus bandwidth: below it a link, a setting or an algorithm is wrong, not merely unlucky."""

BUS_EXCESS = 1.1
"""Of what the wires and the algorithm can carry: above it the numbers contradict each other."""

LINK_SHORTFALL = 0.7
"""Transfer rate of one group or link against its peers of the same operation and size."""

HOST_SHARE = 0.05
"""Of the step in which the device waits for the host to launch: above it the job is host-bound."""

DATA_SHARE = 0.03
"""Of the step in which the device waits for input data."""

SPIKE = 1.3
"""Step time over the running median that makes a step a spike (a pause, a recompilation, a checkpoint)."""

DRIFT = 0.03
"""Rise of the step time over the observed span (Theil-Sen) that is a drift."""

DRIFT_CERTAIN = 3.0
"""Mann-Kendall z of a trend: below it, chance."""

THROTTLE_CLOCK = 0.93
"""SM clock under load against the peers' median: below it the GPU is held back."""

CHECKPOINT_SHARE = 0.03
"""Of elapsed time spent in checkpoints, above which their cost is worth a finding."""

INTERVAL_FACTOR = 1.5
"""How far the checkpoint interval may lie from the best one (Daly) before it is told."""

SAME_BATCH = 0.8
"""Correlation, over micro-batches, of forward with backward times: above it the data, not the machine, sets the time."""

BATCH_SPREAD = 0.015
"""Standard deviation of compute that should be equal, as a share of it: sums of many kernels scatter by less than 1 %."""

PAUSE_SHARE = 0.05
"""Of the step that one rank's host stops in it: above the launch gaps' own scatter."""

BUBBLE_SHARE = 0.30
"""Of the step: below it a pipeline's bubble is what such plans usually pay."""

DIRECT, INFERRED, WEAK = 0.95, 0.8, 0.6
"""How a thing is known: a message says it; clocks and counters show it; a formula fits it."""


def confidence(known: float, ratios: Iterable[float] = (), persistence: float = 1.0) -> float:
    """How sure a finding is, 0 to 1: `known` (how it is known) × persistence × the least of 1 − ½·gate/value.

    `ratios`: value over gate, each at least 1 for a finding; at the gate 0.5 of what is known, at four times 0.875.
    """
    margins = [
        1.0 - 0.5 / ratio if ratio > 0 and math.isfinite(ratio) else float(ratio > 0) for ratio in ratios
    ]
    return round(known * min(max(persistence, 0.0), 1.0) * min(margins, default=1.0), 3)


def severity(share: float, stopped: bool = False) -> str:
    """`critical` (the job stands or a part is broken), `high` (10 % of the time), `medium` (3 %), else `low`."""
    if stopped:
        return "critical"
    return "high" if share >= 0.10 else "medium" if share >= 0.03 else "low"
