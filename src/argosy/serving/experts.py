"""Tiles and experts: how uneven few tokens make the work of products."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from argosy.spec.model import MixtureOfExperts

Array = Any

# Rows of a tile of large products, and of the smallest that decode kernels use.
ROW_TILE, SMALL_TILE = 128, 16

# Expected largest of n standard normal numbers (L. Tippett, Biometrika 17, 1925), and of its square (the same integral).
TIPPETT = (1, 2, 4, 8, 16, 32, 64, 128, 256, 320)
LARGEST = (0.0, 0.564, 1.029, 1.424, 1.766, 2.070, 2.344, 2.595, 2.827, 2.898)
LARGEST_SQUARED = (1.0, 1.0, 1.551, 2.400, 3.414, 4.525, 5.697, 6.907, 8.145, 8.548)
GROUPS = 24  # of experts of like popularity: the most popular by themselves, then ever more, so that few numbers do
FILLS = 6  # rounds of handing on what experts that every token visits cannot take


@cache
def _groups(experts: int) -> tuple[Array, Array]:
    """Bounds of the groups as shares of the experts, from the most popular on, (G + 1,), and the groups' shares, (G,)."""
    bounds = np.unique(np.round(np.geomspace(1, experts, GROUPS)))
    bounds = np.concatenate([[0.0], bounds]) / experts
    return bounds, np.diff(bounds)


def popularity(moe: MixtureOfExperts, skew: Array = 0.0) -> tuple[Array, Array]:
    """Chance q that a token visits an expert, by groups of experts, (…, G), and each group's share of the experts, (G,).

    A power law over the experts' places x (0 to 1) in the order of popularity, density (1 − s)·x^(−s); its exponent `skew` s
    is 0 where routing is uniform, below 1. A token visits top_k different experts, so that no chance is above 1: what the
    most popular cannot take, the others share in proportion. Sums to top_k over the experts.
    """
    bounds, shares = _groups(moe.experts)
    s = np.asarray(skew, float)[..., None]
    density = np.diff(bounds ** (1.0 - s)) / shares * moe.top_k / moe.experts
    chance = np.minimum(density, 1.0)
    for _ in range(FILLS):
        full = chance >= 1.0
        wanted = moe.top_k / moe.experts - full @ shares
        open_to = np.where(full, 0.0, density) @ shares
        scale = (wanted / np.maximum(open_to, 1e-30))[..., None]
        chance = np.where(full, 1.0, np.minimum(density * scale, 1.0))
    return chance, shares


def touched_share(moe: MixtureOfExperts, tokens: Array, skew: Array = 0.0) -> Array:
    """Share of the experts that `tokens` visit: the mean of 1 − (1 − q)^T over experts of popularity q.

    1 − (1 − k/E)^T where routing is uniform.
    """
    chance, shares = popularity(moe, skew)
    missed = np.log1p(-np.minimum(chance, 1.0 - 1e-12))
    return np.clip(-np.expm1(np.asarray(tokens, float)[..., None] * missed) @ shares, 0.0, 1.0)


def busiest_rank(
    moe: MixtureOfExperts, local: float, ranks: int, tokens: Array, skew: Array = 0.0
) -> tuple[Array, Array]:
    """Experts touched and rows computed on the busiest of `ranks` expert ranks of `local` experts each, (touched, rows).

    Experts are placed without regard to popularity q. A rank touches local·f of them, f = `touched_share`, the busiest
    z(ranks)·√(local·f·(1 − f)) more. It computes λ = T·k/ranks rows on average, with the second and third cumulant
    κ₂ = local·(T·E[q(1 − q)] + T²·E[d²]) and κ₃ = local·(T·E[q(1 − q)(1 − 2q)] + 3T²·E[d·q(1 − q)] + T³·E[d³]), d = q − E[q]:
    binomial rows of experts, and which experts a rank has. The largest of `ranks` is by Cornish and Fisher's expansion
    λ + √κ₂·(E[z] + κ₃/(6·κ₂^1.5)·(E[z²] − 1)) with the largest z of as many normal numbers (that a token's experts add to
    k correlates ranks alike, which lowers their spread and not their largest over the mean). Within a tenth of drawn routing
    for 128 experts and more and exponents to 0.75, too few by a sixth for 16 experts of which a token visits one. Rows
    besides times the model's `imbalance`. Exact for one rank, and where a token visits all experts.
    """
    tokens = np.asarray(tokens, float)
    share, (chance, shares) = touched_share(moe, tokens, skew), popularity(moe, skew)
    z, squared = (float(np.interp(ranks, TIPPETT, of)) for of in (LARGEST, LARGEST_SQUARED))
    touched = np.minimum(local * share + z * np.sqrt(local * share * (1.0 - share)), local)
    mean = tokens * moe.top_k / ranks
    apart = chance - (chance @ shares)[..., None]
    own = chance * (1.0 - chance)  # variance of a token's visit
    second = local * (tokens * (own @ shares) + tokens**2 * (apart**2 @ shares))
    third = local * (
        tokens * (own * (1.0 - 2.0 * chance) @ shares)
        + 3.0 * tokens**2 * (apart * own @ shares)
        + tokens**3 * (apart**3 @ shares)
    )
    second = np.maximum(second, 1e-12)
    excess = z * np.sqrt(second) + third / second / 6.0 * (squared - 1.0)
    rows = np.minimum(mean + excess, tokens * min(local, moe.top_k)) * moe.imbalance
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
