"""Step times put right by a load test of one's own: a CSV of measured points, the roofline between them.

Columns: `concurrency` (clients of a closed loop), `input_tokens`, `output_tokens` (means), `tpot_ms`; optionally `ttft_ms`.
At every point the measured time over the roofline's gives a ratio; between the points the ratio is interpolated linearly
in the logarithms of batch and context, so that the provider agrees with the test where it was made. Outside of the points
it does not pretend: the nearest ratio is used and the answer is graded `extrapolated`, or refused (`strict`).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from argosy.serving.around import Around
from argosy.serving.roofline import Roofline
from argosy.serving.steady import prompt_s, steady_state
from argosy.spec.problems import Problem, ScenarioError

Array = Any
NEEDED = ("concurrency", "input_tokens", "output_tokens", "tpot_ms")
OPTIONAL = ("ttft_ms",)


@dataclass(frozen=True)
class LoadTest:
    """Measured points, arrays (n,): `batch` clients, `input`, `output` tokens, `tpot_s`, `ttft_s` (NaN: not measured)."""

    batch: np.ndarray
    input: np.ndarray
    output: np.ndarray
    tpot_s: np.ndarray
    ttft_s: np.ndarray


def read_load_test(path: Path) -> LoadTest:
    """The points of a load test's CSV. ScenarioError with every faulty line: `file:line:column: what; what instead`."""
    problems: list[Problem] = []
    try:
        with path.open(newline="", encoding="utf-8-sig") as handle:
            reader = csv.DictReader(handle)
            columns = list(reader.fieldnames or ())
            rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as why:
        raise ScenarioError(
            [Problem(str(path), 0, 0, "", f"cannot be read ({why})", "name a CSV file")]
        ) from None
    if missing := [name for name in NEEDED if name not in columns]:
        wanted = f"columns are {', '.join(NEEDED)} and if measured {', '.join(OPTIONAL)}"
        raise ScenarioError([Problem(str(path), 1, 1, "", f"lacks the columns {', '.join(missing)}", wanted)])
    found = [list(_numbers(path, line, row, columns, problems)) for line, row in enumerate(rows, start=2)]
    if not found and not problems:
        problems.append(Problem(str(path), 0, 0, "", "has no measured points", "write one line per point"))
    if problems:
        raise ScenarioError(problems)
    batch, input, output, tpot, ttft = np.array(found).T
    return LoadTest(batch, input, output, tpot / 1e3, ttft / 1e3)


def _numbers(
    path: Path, line: int, row: dict[str, Any], columns: list[str], problems: list[Problem]
) -> Iterator[float]:
    for name in (*NEEDED, *OPTIONAL):
        text = (row.get(name) or "").strip()
        if not text and name in OPTIONAL:
            yield math.nan
            continue
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value > 0):
            column = columns.index(name) + 1
            problems.append(
                Problem(str(path), line, column, name, f"{text!r} is no positive number", "write a number")
            )
        yield value


@dataclass(frozen=True)
class Measured(Around):
    """The roofline `base`, put right by a load test of the same replica; `strict`: ValueError beyond its points."""

    base: Roofline
    test: LoadTest
    strict: bool = False

    @cached_property
    def _decode_ratios(self) -> tuple[np.ndarray, np.ndarray]:
        """Points (n, 2) in (ln batch, ln context) and ln of measured over predicted time per token (n,)."""
        test = self.test
        steady = steady_state(self.base, self.base.engine, test.input, test.output, test.batch)
        points = np.log(np.stack([test.batch, test.input + test.output / 2], axis=1))
        return points, np.log(test.tpot_s / np.asarray(steady.tpot_s))

    @cached_property
    def _prompt_ratio(self) -> float:
        """Measured over predicted time of a prompt, median of the points with the fewest clients; 1 without any."""
        test, engine = self.test, self.base.engine
        few = np.isfinite(test.ttft_s) & (test.batch == np.min(test.batch))
        if not few.any():
            return 1.0
        own = np.asarray(prompt_s(self.base, engine, test.input[few]))
        return float(np.median(np.maximum(test.ttft_s[few] - engine.request_s, 0.2 * own) / own))

    @cached_property
    def _surface(self) -> tuple[Any, Any]:
        """Interpolation inside the points' hull (None where they span no area) and the nearest point outside."""
        from scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator
        from scipy.spatial import QhullError

        points, ratios = self._decode_ratios
        nearest = NearestNDInterpolator(points, ratios)
        try:
            return LinearNDInterpolator(points, ratios), nearest
        except (QhullError, ValueError):
            return None, nearest

    def _ratio(self, batch: Array, context: Array) -> tuple[Array, Array]:
        """Measured over predicted at (batch, context), and whether that lies beyond the points."""
        batch, context = np.broadcast_arrays(np.maximum(batch, 1.0), np.maximum(context, 1.0))
        at = np.stack([np.log(batch), np.log(context)], axis=-1)
        inside, nearest = self._surface
        found = np.full(batch.shape, np.nan) if inside is None else np.asarray(inside(at))
        if inside is None:  # points on a line: only the points themselves are known
            points, ratios = self._decode_ratios
            distance = np.abs(at[..., None, :] - points).max(axis=-1)
            found = np.where(distance.min(axis=-1) < 1e-9, ratios[distance.argmin(axis=-1)], np.nan)
        beyond = ~np.isfinite(found)
        return np.exp(np.where(beyond, nearest(at), found)), beyond

    def beyond(self, batch: Array, context: Array) -> Array:
        """Whether a decode iteration lies outside of what was measured, bool."""
        return self._ratio(batch, context)[1][()]

    def grade_at(self, batch: Array, context: Array) -> str:
        """`measured-like` where all of the iterations lie among the measured points, else `extrapolated`."""
        return "extrapolated" if np.any(self.beyond(batch, context)) else "measured-like"

    def _checked(self, batch: Array, context: Array) -> Array:
        ratio, beyond = self._ratio(batch, context)
        if self.strict and np.any(beyond):
            test = self.test
            reach = np.exp(self._decode_ratios[0][:, 1])
            raise ValueError(
                f"the load test measured {test.batch.min():g} to {test.batch.max():g} clients at contexts of "
                f"{reach.min():g} to {reach.max():g} tokens, and the question lies outside; measure there, or drop `strict`"
            )
        return ratio

    @property
    def name(self) -> str:
        """The base's, and how many points put it right."""
        return f"load test of {len(self.test.batch)} points: {self.base.name}"

    @property
    def grade(self) -> str:
        """Of the measured points; `grade_at` says it of a question."""
        return "measured-like"

    @property
    def residual_sigma(self) -> float:
        """Spread of the points about their own mean ratio, half of it taken as not repeatable; at least 3 %."""
        return float(max(np.std(self._decode_ratios[1]) / 2, 0.03))

    def prefill_s(self, tokens: Array, cached_tokens: Array = 0, batch: Array = 1) -> Array:
        """Seconds of one iteration over whole prompts."""
        return self._prompt_ratio * self.base.prefill_s(tokens, cached_tokens, batch)

    def decode_s(self, batch: Array, context: Array) -> Array:
        """Seconds of one decode iteration."""
        return (self._checked(batch, context) * self.base.decode_s(batch, context))[()]

    def mixed_s(
        self, prefill_tokens: Array, prefill_context: Array, decode_batch: Array, decode_context: Array
    ) -> Array:
        """Seconds of one mixed iteration: by the decodes' ratio where there are any, else by the prompts'."""
        decoding = np.asarray(decode_batch, float) > 0
        at = (np.where(decoding, decode_batch, self.test.batch[0]), np.where(decoding, decode_context, 1.0))
        own = np.exp(self._decode_ratios[0][0, 1])
        ratio = np.where(decoding, self._checked(at[0], np.where(decoding, at[1], own)), self._prompt_ratio)
        return (ratio * self.base.mixed_s(prefill_tokens, prefill_context, decode_batch, decode_context))[()]


def with_engine(provider: Measured, **changes: Any) -> Measured:
    """The provider with other engine settings (`Engine` fields)."""
    return replace(provider, base=replace(provider.base, engine=replace(provider.base.engine, **changes)))
