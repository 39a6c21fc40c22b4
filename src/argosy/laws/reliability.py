"""How often a fleet fails, how many spares it needs, and how far its slowest member lags.

Failures arrive as a Poisson process: memoryless, independent, at a constant rate. That holds for a large
fleet of mixed ages over weeks; it fails for bursts, shared causes and a fleet that is all new (hazard still
falling) or all old.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from argosy.laws.arrays import Array, plain, require


def system_failure_rate(populations: Iterable[Array], rates_per_s: Iterable[Array]) -> Array:
    """Failures per second of a system that stops when any part stops: λ = Σ nᵢ·λᵢ.

    `populations`: number of parts of each kind. `rates_per_s`: failures per second of one part of each kind
    (1/MTTF). Valid for independent parts in their flat-hazard life; shared causes must be counted once, as a
    kind of their own. Source: superposition of Poisson processes (textbook, e.g. Barlow and Proschan 1975).
    """
    return sum((count * rate for count, rate in zip(populations, rates_per_s, strict=True)), start=0.0)


def system_mtbf(populations: Iterable[Array], mttfs_s: Iterable[Array]) -> Array:
    """Mean seconds between failures of a system of independent parts: M = 1 / Σ (nᵢ / MTTFᵢ).

    `populations`: number of parts of each kind. `mttfs_s`: mean seconds to failure of one part of each kind.
    Range and source as `system_failure_rate`. A system without failing parts has M = ∞.
    """
    rate = np.asarray(
        system_failure_rate(populations, [1.0 / np.asarray(mttf, dtype=float) for mttf in mttfs_s])
    )
    with np.errstate(divide="ignore"):
        return plain(np.divide(1.0, rate))


def failure_probability(duration_s: Array, mtbf_s: Array) -> Array:
    """Probability of at least one failure within `duration_s` seconds: 1 − exp(−T/M).

    `mtbf_s`: mean seconds between failures of the whole system. Poisson failures; T → 0 gives T/M.
    """
    return -np.expm1(-np.asarray(duration_s) / np.asarray(mtbf_s))


def nodes_in_repair(failures_per_s: Array, repair_s: Array) -> Array:
    """Mean number of nodes away in repair: L = λ·W (Little's law), the mean of a Poisson distribution.

    `failures_per_s`: failures per second that take a node away; `repair_s`: mean seconds until it is back.
    Valid when every failed node is replaced at once (otherwise the fleet stops failing while it waits:
    `queueing.erlang_b`); then the number is Poisson whatever the distribution of repair times (Palm's theorem).
    """
    return failures_per_s * repair_s


_LARGE_MEAN = 10_000.0


def poisson_quantile(mean: Array, probability: Array) -> Array:
    """Smallest k with P(N ≤ k) ≥ `probability` for N ~ Poisson(`mean`): the spares that suffice with that
    probability.

    `mean` ≥ 0, dimensionless; `probability` 0 or in [1e-12, 1 − 1e-12]; they broadcast. Returns floats that are
    whole numbers. By summing the distribution, e^−m·mᵏ/k!; beyond a mean of 10,000 from the Cornish–Fisher
    expansion m + z√m + (z² − 1)/6 of the quantile (Fisher & Cornish 1960), which is then within one, and a step
    to the neighbour that the distribution itself asks for.
    """
    mean, probability = np.broadcast_arrays(
        np.asarray(mean, dtype=float), np.asarray(probability, dtype=float)
    )
    require(mean >= 0, "mean must not be negative")
    require((probability >= 0) & (probability <= 1 - 1e-12), "probability must lie in [0, 1 - 1e-12]")
    large = mean > _LARGE_MEAN
    spares = np.empty(mean.shape)
    spares[large] = _quantile_near_normal(mean[large], probability[large])
    spares[~large] = _quantile_by_summing(mean[~large], probability[~large])
    return plain(spares)


def _quantile_near_normal(mean: Array, probability: Array) -> Array:
    """Cornish–Fisher's guess for flat arrays of means beyond 10,000, mended by at most one."""
    if mean.size == 0:
        return mean
    from scipy.special import ndtri, pdtr

    z = ndtri(np.maximum(probability, 1e-12))
    guess = np.ceil(mean + z * np.sqrt(mean) + (z * z - 1.0) / 6.0)
    guess = guess + (pdtr(guess, mean) < probability) - (pdtr(guess - 1.0, mean) >= probability)
    return np.where(probability > 0.0, guess, 0.0)


def _quantile_by_summing(mean: Array, probability: Array) -> Array:
    """Flat arrays of means up to 10,000: how many partial sums of the distribution stay below."""
    most = int(np.max(mean + 12.0 * np.sqrt(mean), initial=0.0)) + 50  # beyond it lies less than 1e-14
    logarithms = np.log(np.arange(1.0, most + 1.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.log(mean)[..., None] - logarithms
    terms = np.concatenate([-mean[..., None], terms], axis=-1)
    cumulative = np.cumsum(np.exp(np.cumsum(terms, axis=-1)), axis=-1)
    return np.sum(cumulative < probability[..., None], axis=-1).astype(float)


def expected_maximum_of_normals(count: Array) -> Array:
    """Mean of the largest of `count` independent standard normal numbers, in standard deviations.

    E[max] = ∫₀^∞ (1 − Φ(x)ⁿ) dx − ∫₋∞⁰ Φ(x)ⁿ dx, by the trapezoidal rule (exact to 1e-9 for 1 ≤ n ≤ 1e9). A
    synchronous step of n ranks whose times have mean 1 and coefficient of variation cv takes about 1 +
    cv·E[max]: light tails only; √(2·ln n) overstates it (4.4 against 4.0 at n = 16,384). Source: order
    statistics (David 1981).
    """
    from scipy.special import log_ndtr

    count = np.asarray(count, dtype=float)
    grid = np.linspace(-12.0, 12.0, 4801)
    power = np.exp(count[..., None] * log_ndtr(grid))  # P(max ≤ x)
    integrand = np.where(grid >= 0, 1.0 - power, -power)
    # The integrand jumps by one at 0, which lies on the grid: the trapezoid gives that point half of each
    # side.
    integrand[..., 2400] -= 0.5
    return plain(np.trapezoid(integrand, grid, axis=-1))
