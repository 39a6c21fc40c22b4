"""Tiles and experts: how uneven few tokens make the work of products."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.spec.model import MixtureOfExperts

Array = Any

# Rows of a tile of large products, and of the smallest that decode kernels use.
ROW_TILE, SMALL_TILE = 128, 16

# Expected largest of n standard normal numbers (L. Tippett, Biometrika 17, 1925).
TIPPETT = (
    (1, 2, 4, 8, 16, 32, 64, 128, 256, 320),
    (0.0, 0.564, 1.029, 1.424, 1.766, 2.070, 2.344, 2.595, 2.827, 2.890),
)


# Places of experts in the order of their popularity (0: the most popular) and their weights: a Gauss-Legendre rule,
# cubed because popular experts are few.
_AT, _WEIGHT = np.polynomial.legendre.leggauss(24)
PLACES, PLACE_WEIGHTS = ((_AT + 1) / 2) ** 3, 1.5 * _WEIGHT * ((_AT + 1) / 2) ** 2


def popularity(moe: MixtureOfExperts, skew: Array = 0.0) -> Array:
    """Chance that a token visits the expert at each of PLACES, (…, places): k/E·(1 − s)·x^(−s), at most 1.

    A power law over the experts' places x (0 to 1) in the order of popularity; its exponent `skew` s is 0 where routing is
    uniform, below 1.
    """
    skew = np.asarray(skew, float)[..., None]
    return np.minimum(moe.top_k / moe.experts * (1.0 - skew) * PLACES**-skew, 1.0)


def touched_share(moe: MixtureOfExperts, tokens: Array, skew: Array = 0.0) -> Array:
    """Share of the experts that `tokens` visit: the mean of 1 − (1 − q)^T over experts of popularity q.

    1 − (1 − k/E)^T where routing is uniform.
    """
    missed = np.log1p(-np.minimum(popularity(moe, skew), 1.0 - 1e-12))
    return np.clip(-np.expm1(np.asarray(tokens, float)[..., None] * missed) @ PLACE_WEIGHTS, 0.0, 1.0)


def busiest_rank(
    moe: MixtureOfExperts, local: float, ranks: int, tokens: Array, skew: Array = 0.0
) -> tuple[Array, Array]:
    """Experts touched and rows computed on the busiest of `ranks` expert ranks of `local` experts each, (touched, rows).

    A rank touches local·f experts, f = `touched_share`, and computes λ = T·k/ranks rows on average; the busiest exceeds the
    mean by z(ranks) standard deviations, √(local·f·(1 − f)) and √((λ + T²·local·var q)·(1 − 1/ranks)), since experts are
    placed without regard to popularity q. Ranks are taken as normal, so that the rows come out an eighth too few where the
    exponent is 0.6. Rows besides times the model's `imbalance`. Exact for one rank.
    """
    tokens = np.asarray(tokens, float)
    share, chance = touched_share(moe, tokens, skew), popularity(moe, skew)
    z = float(np.interp(ranks, *TIPPETT))
    touched = np.minimum(local * share + z * np.sqrt(local * share * (1.0 - share)), local)
    mean = tokens * moe.top_k / ranks
    variance = np.maximum(chance**2 @ PLACE_WEIGHTS - (chance @ PLACE_WEIGHTS) ** 2, 0.0)
    spread = np.sqrt((mean + tokens**2 * local * variance) * (1.0 - 1.0 / ranks))
    rows = np.minimum(mean + z * spread, mean * ranks) * moe.imbalance
    return touched, rows


def tile_share(rows: Array) -> Array:
    """Rows computed where kernels choose tiles of 16 to 128 rows, over those of whole tiles of 128: ⌈rows/16⌉·16 over
    ⌈rows/128⌉·128.
    """
    rows = np.maximum(np.asarray(rows, float), 1.0)
    return np.ceil(rows / SMALL_TILE) * SMALL_TILE / (np.ceil(rows / ROW_TILE) * ROW_TILE)


def grouped_tile_share(rows: Array) -> Array:
    """The same for a grouped product of `rows` rows per expert, whose curve counts rows/128 + ½ tiles, one at least.

    Experts are ragged: half a small tile is lost on average, rows + 8 are computed, and 16 at least.
    """
    padded = np.maximum(np.asarray(rows, float), SMALL_TILE / 2) + SMALL_TILE / 2
    return np.minimum(padded / ROW_TILE, 1.0)
