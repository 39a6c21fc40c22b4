"""What the model says about measured runs, as a function of the facts that it rests on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from argosy import training
from argosy.facts import Fact, Values
from argosy.facts.values import two_piece_normal
from argosy.planning.context import Context, stack_name
from argosy.planning.job import machine, step_job
from argosy.spec import Stage, Training
from argosy.study.measurements import Measurement
from argosy.training import Job
from argosy.training.layout import concatenate
from argosy.training.memory import memory
from argosy.training.memory_traits import StateBytes, memory_traits


@dataclass(frozen=True)
class Predictor:
    """The step times and memory peaks of measured runs, predicted at any value of the facts.

    Facts are moved in units of their own bands: z = 0 is a fact's value, ±1.645 its `high` and `low`.
    """

    setting: Context
    job: Training
    measurements: Sequence[Measurement]

    @cached_property
    def _groups(self) -> list[tuple[np.ndarray, Job]]:
        """Runs of one sequence length and one batch are evaluated together."""
        keys = [(each.sequence_length, each.global_batch_sequences) for each in self.measurements]
        groups = []
        for length, batch in dict.fromkeys(keys):
            stage = Stage(tokens=float(length * batch), sequence_length=length, global_batch=batch)
            index = np.flatnonzero([key == (length, batch) for key in keys])
            groups.append((index, step_job(self.job, stage)))
        return groups

    @cached_property
    def _with_peak(self) -> np.ndarray:
        has: np.ndarray = np.array([each.peak_bytes is not None for each in self.measurements])
        return has

    @cached_property
    def measured(self) -> np.ndarray:
        """ln of the measurements: step times (n,), then the memory peaks of runs that have one (k,)."""
        steps = [each.step_s for each in self.measurements]
        peaks = [each.peak_bytes for each in self.measurements if each.peak_bytes is not None]
        logs: np.ndarray = np.log(np.array([*steps, *peaks]))
        return logs

    @property
    def runs(self) -> int:
        """Measured step times, n."""
        return len(self.measurements)

    def values(self, moved: Mapping[str, float]) -> Values:
        """The facts with some of them moved by z units of their bands."""
        facts = self.setting.values.facts
        return Values({**facts, **{path: self.moved(path, z) for path, z in moved.items()}})

    def moved(self, path: str, z: float) -> Fact:
        """One fact z units of its band away from its value; a fraction stays between 0 and 1."""
        fact = self.setting.values.facts[path]
        value = float(two_piece_normal(fact, np.asarray(z)))
        return replace(fact, value=min(value, 1.0) if is_fraction(fact) else value)

    def __call__(self, moved: Mapping[str, float]) -> np.ndarray:
        """ln of what is predicted for every measurement, in the order of `measured` (n + k,)."""
        return self._logs(self.values(moved))

    def only(self, kept: np.ndarray) -> Callable[[Mapping[str, float]], np.ndarray]:
        """The same predictions for some of the measurements: `kept` is a mask (n + k,)."""
        return lambda moved: self(moved)[kept]

    def candidates(self) -> list[str]:
        """Facts with a band that these predictions read, in order of reading."""
        values = self.values({})
        self._logs(values)
        return [
            path
            for path, fact in values.used.items()
            if None not in (fact.low, fact.high) and fact.low != fact.high
        ]

    def _logs(self, values: Values) -> np.ndarray:
        name = stack_name(self.job)
        on = machine(replace(self.setting, values=values), name)
        traits, state = memory_traits(name, values), StateBytes.of(self.job.precision)
        steps, peaks = np.empty(self.runs), np.empty(self.runs)
        for index, job in self._groups:
            layouts = concatenate([self.measurements[i].layout for i in index])
            steps[index] = training.evaluate(job, on.device, on.network, on.stack, layouts).step_s
            if self._with_peak.any():
                peaks[index] = memory(job, layouts, traits, state).peak_reserved
        logs: np.ndarray = np.log(np.concatenate([steps, peaks[self._with_peak]]))
        return logs


def is_fraction(fact: Fact) -> bool:
    """True for a number without a unit whose whole band lies between 0 and 1: it is a share of something."""
    bounds = (fact.value, fact.low, fact.high)
    return fact.unit in ("", "ratio") and all(bound is None or 0 <= bound <= 1 for bound in bounds)
