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


def busiest_rank(moe: MixtureOfExperts, local: float, ranks: int, tokens: Array) -> tuple[Array, Array]:
    """Experts touched and rows computed on the busiest of `ranks` expert ranks of `local` experts each, (touched, rows).

    Uniform routing: a rank touches local·f experts, f = 1 − (1 − k/E)^T, and computes λ = T·k/ranks rows on average; the
    busiest exceeds the mean by z(ranks) standard deviations, √(local·f·(1 − f)) and √(λ·(1 − 1/ranks)). Rows besides times
    the model's `imbalance`. Exact for one rank.
    """
    share = 1.0 - (1.0 - moe.top_k / moe.experts) ** np.asarray(tokens, float)
    z = float(np.interp(ranks, *TIPPETT))
    touched = np.minimum(local * share + z * np.sqrt(local * share * (1.0 - share)), local)
    mean = np.asarray(tokens, float) * moe.top_k / ranks
    rows = np.minimum(mean + z * np.sqrt(mean * (1.0 - 1.0 / ranks)), mean * ranks) * moe.imbalance
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
