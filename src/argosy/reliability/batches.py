"""Spares where nodes are lost several at a time: the distribution of nodes in repair under shared failures."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt

import numpy as np


def batch_quantile(sizes: Sequence[int], means: Sequence[float], probability: float = 0.999) -> int:
    """Smallest k with P(N ≤ k) ≥ `probability` for N = Σ size·Poisson(mean): the spares that suffice at that share of moments.

    `sizes` (K,): nodes that one event of a kind takes, at least 1; `means` (K,): events of that kind whose nodes are in
    repair at a random moment (their rate × their repair time). All nodes of an event are back together; the number of
    events is Poisson whatever the distribution of repair times (Palm's theorem); kinds are independent. The distribution
    is the inverse Fourier transform of its generating function exp(Σ mean·(z^size − 1)), exact but for what lies beyond
    twelve standard deviations. Probabilities up to 1 − 10⁻⁹; means up to a million nodes.
    """
    room = ceil(
        sum(size * (mean + 12.0 * sqrt(mean) + 12.0) for size, mean in zip(sizes, means, strict=True))
    )
    angle = -2.0j * np.pi * np.arange(room + 1) / (room + 1)
    power = sum(mean * np.expm1(size * angle) for size, mean in zip(sizes, means, strict=True))
    chances = np.fft.ifft(np.exp(power)).real
    return int(np.searchsorted(np.cumsum(chances), probability - 1e-12))
