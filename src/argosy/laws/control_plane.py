"""Control apart from data: commands over TCP, tensors over InfiniBand or NVLink, each with delays and
faults of its own.

The control plane carries little and must only be quick enough to notice failures; a fleet keeps computing
while it is away, as long as no decision is needed. The two planes fail independently only if they share no
cable, switch or power.
"""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array, plain, require


def command_delay(ranks: Array, fan_out: Array, latency: Array) -> Array:
    """Seconds until a command has reached all `ranks` through a tree of `fan_out` (≥ 2) at one-way
    `latency` (s): ⌈log_f n⌉ α.
    """
    require(np.asarray(fan_out) >= 2, "fan_out must be at least 2")
    depth = np.ceil(np.round(np.log(ranks) / np.log(fan_out), 9))
    return plain(depth * latency)


def detection_time(interval: Array, missed: Array, delay: Array = 0.0) -> Array:
    """Mean seconds until a dead node is noticed by heartbeats: (missed - 1/2) interval + delay.

    A heartbeat every `interval` s, `missed` of them in a row before the alarm, `delay` (s) to reach whoever
    decides. The node dies at a uniform moment between two beats, hence the half.
    """
    return (missed - 0.5) * interval + delay


def false_alarm_rate(interval: Array, missed: Array, loss: Array) -> Array:
    """False alarms per second and node: each of `missed` beats in a row lost with probability `loss` (0–1),
    one trial per beat.

    (1 - p) p^k / (1 - p^k) / interval: the renewal rate of a run of k losses.
    """
    run = np.power(loss, missed)
    return plain((1.0 - np.asarray(loss)) * run / (1.0 - run) / interval)


def both_planes_available(control: Array, data: Array, shared: Array = 1.0) -> Array:
    """Availability (0–1) of a fleet that needs both planes: product of what each has alone and of what they
    `shared` (cables, power).
    """
    return control * data * shared
