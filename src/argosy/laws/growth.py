"""How fast hardware grows: doubling times from pairs or series of products, and projections.

Exponential growth y = y0 · 2^(t / T). A rule of thumb, not a law: always give the pair of products and
their dates with it.
"""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array, plain, require


def doubling_time(ratio: Array, years: Array) -> Array:
    """Years per doubling when a figure grew by `ratio` (> 1) in `years`: T = years · ln 2 / ln ratio."""
    require(np.asarray(ratio) > 1, "ratio must exceed 1: a figure that did not grow has no doubling time")
    return plain(years * np.log(2.0) / np.log(ratio))


def annual_growth(ratio: Array, years: Array) -> Array:
    """Growth per year as a fraction (0.41 = 41 % a year): ratio^(1/years) - 1."""
    return plain(np.power(ratio, 1.0 / np.asarray(years, dtype=float)) - 1.0)


def projection(value: Array, years: Array, doubling_years: Array) -> Array:
    """`value` after `years`, at one doubling per `doubling_years`, in the unit of `value`."""
    return plain(value * np.exp2(np.divide(years, doubling_years)))


def fitted_doubling_time(years: Array, values: Array) -> float:
    """Years per doubling of a series, by least squares of log2(values) on years; both shape (n,), n ≥ 2,
    values > 0 and growing.
    """
    require(np.asarray(values) > 0, "values must be positive")
    slope = float(np.polyfit(np.asarray(years, dtype=float), np.log2(np.asarray(values, dtype=float)), 1)[0])
    require(slope > 0, "the series does not grow: it has no doubling time")
    return 1.0 / slope
