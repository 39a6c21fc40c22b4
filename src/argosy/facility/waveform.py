"""The power waveform of a synchronous job: from what its pipeline stages do to watts, ramps and spectrum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.facility.load import ItLoad
from argosy.facility.phases import ACTIVITIES
from argosy.facility.timeline import PowerTimeline
from argosy.facts import Values
from argosy.laws import waveform as law

FINEST_S = 0.01  # samples are never coarser
SECOND = 1.0


@dataclass(frozen=True)
class StageActivity:
    """What one group of accelerators does over one step, as a value.

    `share` of all accelerators at work; `edges_s` (k + 1,) from 0 to the step's end, increasing; `mix` (k, 4): shares of
    each stretch in compute, memory, communication, idle, which sum to 1.
    """

    share: float
    edges_s: np.ndarray
    mix: np.ndarray

    def __post_init__(self) -> None:
        if self.mix.shape != (self.edges_s.size - 1, len(ACTIVITIES)) or np.any(np.diff(self.edges_s) < 0):
            raise ValueError("activity needs one edge more than stretches, in order of time")


@dataclass(frozen=True)
class Waveform:
    """One period of IT power: `watts` every `dt_s` seconds, and what of it never moves (`steady_w`).

    `boards_w`: the same before the lag of supplies, `lag_s`: where a floor or a second workload acts.
    """

    dt_s: float
    watts: np.ndarray
    steady_w: float
    boards_w: np.ndarray
    lag_s: float

    @classmethod
    def of(cls, dt_s: float, boards_w: np.ndarray, steady_w: float, lag_s: float) -> Waveform:
        """The waveform that `boards_w` give behind the lag; energy is kept."""
        return cls(dt_s, law.smoothed(boards_w, dt_s, lag_s), steady_w, boards_w, lag_s)

    @property
    def mean_w(self) -> float:
        """Mean watts."""
        return float(self.watts.mean())

    @property
    def swing_w(self) -> float:
        """Highest minus lowest watts."""
        return float(self.watts.max() - self.watts.min())

    @property
    def ramp_w_per_s(self) -> float:
        """Largest change from one sample to the next, per second."""
        return law.largest_ramp(self.watts, self.dt_s)

    @property
    def ramp_1s_w_per_s(self) -> float:
        """Largest change within one second."""
        return law.largest_ramp(self.watts, self.dt_s, SECOND)


def step_power(values: Values, load: ItLoad, stages: Sequence[StageActivity]) -> PowerTimeline:
    """IT power of one step: every stage's nodes at the power of their activity; spares, network and storage steady.

    Scalars only. All replicas of a stage move together: the upper bound of the swing.
    """
    edges, shares = _fleet_activity(stages)
    watts = float(load.nodes) * (shares @ _activity_w(values, load).ravel())
    return PowerTimeline(edges, steady_w(values, load) + watts, "IT")


def _activity_w(values: Values, load: ItLoad) -> np.ndarray:
    """Watts of one node in each activity, (4, 1) or (4, n) over draws."""
    powers = [np.atleast_1d(load.node.at(values[f"facility.activity.{name}"])) for name in ACTIVITIES]
    return np.stack(np.broadcast_arrays(*powers))


def _fleet_activity(stages: Sequence[StageActivity]) -> tuple[np.ndarray, np.ndarray]:
    """All stages together: edges (k + 1,), and the share of all nodes in each activity between them, (k, 4)."""
    none = np.zeros((1, len(ACTIVITIES)))
    times = np.concatenate([stage.edges_s[:-1] for stage in stages])
    changes = np.concatenate([np.diff(stage.share * stage.mix, axis=0, prepend=none) for stage in stages])
    order = np.argsort(times, kind="stable")
    end = max(float(stage.edges_s[-1]) for stage in stages)
    return np.append(times[order], end), np.cumsum(changes[order], axis=0)


@dataclass(frozen=True)
class DrawnWaveform:
    """The same period over n draws of what nodes draw: mean, swing and largest change within one second, (n,) each."""

    mean_w: np.ndarray
    swing_w: np.ndarray
    ramp_1s_w_per_s: np.ndarray


def drawn_waveform(
    values: Values, load: ItLoad, stages: Sequence[StageActivity], wave: Waveform
) -> DrawnWaveform:
    """The waveform over draws of the nodes' levels and the power of each activity, `values` and `load` having draws (n,).

    Schedule, sampling and lag are those of `wave`, the waveform of the same `stages` at central facts: the lag is linear,
    so that the smoothed share of nodes in each activity times its power is each draw's waveform.
    """
    edges, shares = _fleet_activity(stages)
    smooth = [
        law.smoothed(
            PowerTimeline(edges, column).sampled(wave.dt_s)[: wave.watts.size], wave.dt_s, wave.lag_s
        )
        for column in shares.T
    ]
    watts = float(load.nodes) * (np.stack(smooth, axis=1) @ _activity_w(values, load))
    others = load.spare_nodes * load.node.idle_w + load.others_w(values, load.nodes * load.node.measured_w)
    ramps = [law.largest_ramp(each, wave.dt_s, SECOND) for each in watts.T]
    return DrawnWaveform(watts.mean(axis=0) + others, np.ptp(watts, axis=0), np.array(ramps))


def steady_w(values: Values, load: ItLoad) -> float:
    """Watts of spares, network, storage and management, which do not move with the step."""
    others = load.others_w(values, load.nodes * load.node.measured_w)
    return float(load.spare_nodes * load.node.idle_w + others)


def waveform(values: Values, load: ItLoad, stages: Sequence[StageActivity]) -> Waveform:
    """One period of the job's IT power at 10 ms or finer, behind the lag of supplies and replicas; energy is kept."""
    line = step_power(values, load, stages)
    period = float(line.edges_s[-1] - line.edges_s[0])
    dt = period / max(int(np.ceil(period / FINEST_S)), 2)
    sampled = line.sampled(dt)[: round(period / dt)]
    return Waveform.of(dt, sampled, steady_w(values, load), float(values["waveform.device.rise_time"]))


@dataclass(frozen=True)
class Spectrum:
    """Amplitudes in watts of the lines in the band that utilities mind; `in_band` is their share of the variance."""

    hz: np.ndarray
    amplitude_w: np.ndarray
    in_band: float

    @property
    def dominant_hz(self) -> float | None:
        """Frequency of the largest line in the band; None for power that does not move in it."""
        if not self.hz.size or self.amplitude_w.max() <= 0:
            return None
        return float(self.hz[int(np.argmax(self.amplitude_w))])


def spectrum(values: Values, wave: Waveform) -> Spectrum:
    """The lines of a period within the band of the catalog (0.1 to 20 Hz)."""
    hz, amplitude = law.amplitude_spectrum(wave.watts, wave.dt_s)
    band = (hz >= float(values["waveform.band.low"])) & (hz <= float(values["waveform.band.high"]))
    whole = float(np.sum(amplitude**2))
    share = float(np.sum(amplitude[band] ** 2)) / whole if whole > 0 else 0.0
    return Spectrum(hz[band], amplitude[band], share)


@dataclass(frozen=True)
class Stretch:
    """A stretch of a job's life: `kind` (steps, checkpoint, failure, restart) and its seconds."""

    kind: str
    seconds: float


def life_power(
    values: Values, load: ItLoad, wave: Waveform, stretches: Sequence[Stretch]
) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """IT watts over a piece of the job's life at the waveform's `dt_s`, and where each stretch lies in it.

    Steps repeat the waveform; in a blocking checkpoint and until a failure is noticed the accelerators wait at full
    clocks (idle activity); while the job restarts they are idle. Changes follow the lag of the supplies.
    """
    nodes, node = float(load.nodes), load.node
    waiting = wave.steady_w + nodes * float(node.at(values["facility.activity.idle"]))
    levels = {
        "checkpoint": waiting,
        "failure": waiting,
        "restart": wave.steady_w + nodes * float(node.idle_w),
    }
    parts: list[np.ndarray] = []
    marks: list[dict[str, Any]] = []
    now = 0.0
    for stretch in stretches:
        samples = max(1, round(stretch.seconds / wave.dt_s))
        level = levels.get(stretch.kind)
        parts.append(np.resize(wave.boards_w, samples) if level is None else np.full(samples, level))
        marks.append({"kind": stretch.kind, "start_s": now, "end_s": now + samples * wave.dt_s})
        now += samples * wave.dt_s
    return law.smoothed(np.concatenate(parts), wave.dt_s, wave.lag_s), marks


def decimated(watts: np.ndarray, dt_s: float, most: int = 1200) -> dict[str, Any]:
    """At most `most` bins for display, each with its lowest, mean and highest watts: nothing that matters is hidden."""
    size = int(np.ceil(watts.size / most))
    padded = np.pad(watts, (0, -watts.size % size), mode="edge").reshape(-1, size)
    return {
        "dt_s": dt_s * size,
        "lowest_w": padded.min(axis=1),
        "mean_w": padded.mean(axis=1),
        "highest_w": padded.max(axis=1),
    }
