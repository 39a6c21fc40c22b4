"""Look-up of iteration times on grids that double: the compiled form of a step-time provider.

A cell is found by the logarithm of the coordinate, and inside it the value is linear in the coordinate itself, so
that times linear in batch or context are exact everywhere. Beyond the grid the last cell is continued.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from argosy.kernels.compiled import compiled


class StepGrids(NamedTuple):
    """Times in s on grids of `per_octave` points a doubling, each from 1 on.

    `decode` (batch, context), `prefill` (tokens, context: keys that a prompt token sees on average), `shared`
    (tokens, batch): what a mixed iteration pays once, not twice.
    """

    per_octave: float
    batch: np.ndarray
    context: np.ndarray
    tokens: np.ndarray
    decode: np.ndarray
    prefill: np.ndarray
    shared: np.ndarray


@compiled(inline="always")
def _cell(axis, per_octave, x):  # type: ignore[no-untyped-def]
    last = axis.shape[0] - 2
    i = int(math.log2(x) * per_octave) if x > 1.0 else 0
    i = min(max(i, 0), last)
    return i, (x - axis[i]) / (axis[i + 1] - axis[i])


@compiled()
def _bilinear(rows, columns, values, per_octave, x, y):  # type: ignore[no-untyped-def]
    i, u = _cell(rows, per_octave, x)
    j, v = _cell(columns, per_octave, y)
    low = values[i, j] + v * (values[i, j + 1] - values[i, j])
    high = values[i + 1, j] + v * (values[i + 1, j + 1] - values[i + 1, j])
    return low + u * (high - low)


@compiled()
def decode_time(grids, batch, context):  # type: ignore[no-untyped-def]
    """Seconds of a decode iteration of `batch` sequences of mean `context` tokens; 0 without any."""
    if batch <= 0:
        return 0.0
    return _bilinear(grids.batch, grids.context, grids.decode, grids.per_octave, batch, context)


@compiled()
def mixed_time(grids, tokens, seen, batch, context):  # type: ignore[no-untyped-def]
    """Seconds of an iteration of `tokens` prompt tokens seeing `seen` keys on average beside `batch` sequences."""
    if tokens <= 0:
        return decode_time(grids, batch, context)
    prefill = _bilinear(grids.tokens, grids.context, grids.prefill, grids.per_octave, tokens, seen)
    if batch <= 0:
        return prefill
    both = prefill + decode_time(grids, batch, context)
    return both - _bilinear(grids.tokens, grids.batch, grids.shared, grids.per_octave, tokens, batch)
