"""How large a batch pays, and how to split compute between parameters and tokens.

Sources: S. McCandlish et al., "An Empirical Model of Large-Batch Training", arXiv 1812.06162 (critical
batch size); J. Kaplan et al., arXiv 2001.08361 (its growth as the loss falls); J. Hoffmann et al.
("Chinchilla"), arXiv 2203.15556 (compute-optimal N, D); T. Besiroglu et al., arXiv 2404.10102 (the third
Chinchilla fit done again).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argosy.laws.arrays import Array, plain, require


def steps_needed(batch: Array, critical_batch: Array, fewest_steps: Array) -> Array:
    """S = S_min (1 + B_crit/B): optimizer steps to a fixed loss; `batch` and `critical_batch` in the same
    unit (tokens or sequences).
    """
    return fewest_steps * (1.0 + critical_batch / batch)


def examples_needed(batch: Array, critical_batch: Array, fewest_steps: Array) -> Array:
    """E = S B = S_min (B + B_crit): tokens (or sequences) to the same loss; at B = B_crit twice the steps
    and twice the data of the two limits.
    """
    return fewest_steps * (batch + critical_batch)


def data_efficiency(batch: Array, critical_batch: Array) -> Array:
    """Share of the data (and compute) that a batch does not waste against a very small one: 1 / (1 +
    B/B_crit), 0–1.
    """
    return 1.0 / (1.0 + batch / critical_batch)


def critical_batch(fewest_examples: Array, fewest_steps: Array) -> Array:
    """B_crit = E_min / S_min, from the two limits of a measured trade-off."""
    return fewest_examples / fewest_steps


def critical_batch_at_loss(loss: Array, scale: Array = 2e8, exponent: Array = 0.21) -> Array:
    """B_crit in tokens at `loss` (nats per token): B* / L^(1/α), with Kaplan et al.'s B* = 2×10⁸ tokens,
    α_B = 0.21 (their data, 2020).
    """
    return scale / np.power(loss, 1.0 / np.asarray(exponent))


def tokens_at_batch(tokens: Array, batch: Array, new_batch: Array, critical: Array) -> Array:
    """Tokens that reach with `new_batch` the loss that `tokens` reach with `batch`: T (B' + B_crit) / (B + B_crit).

    Batches and `critical` in tokens. Follows from E = S_min (B + B_crit) (arXiv 1812.06162, equation 2.7): far
    below B_crit a larger batch costs no tokens and saves steps in proportion; far above it saves no steps.
    Range: one optimizer with its learning rate tuned to the batch; B_crit held over the whole run.
    """
    require(np.asarray(critical) > 0, "critical must be positive")
    return tokens * (new_batch + critical) / (batch + critical)


def simple_noise_scale(gradient_variance_trace: Array, gradient_norm_squared: Array) -> Array:
    """tr(Σ)/|G|², in samples: an estimate of B_crit from gradient statistics (trace of the per-sample
    covariance; squared norm of the mean).
    """
    return gradient_variance_trace / gradient_norm_squared


@dataclass(frozen=True)
class LossFit:
    """L(N, D) = E + A/N^α + B/D^β, in nats per token; N parameters, D tokens; source of the fit."""

    irreducible: float
    parameter_scale: float
    parameter_exponent: float
    token_scale: float
    token_exponent: float
    source: str


FITS = {
    "hoffmann-2022": LossFit(1.69, 406.4, 0.34, 410.7, 0.28, "Hoffmann et al., arXiv 2203.15556, approach 3"),
    "besiroglu-2024": LossFit(
        1.8172,
        482.01,
        0.3478,
        2085.43,
        0.3658,
        "Besiroglu et al., arXiv 2404.10102, replication of approach 3",
    ),
}


def loss(parameters: Array, tokens: Array, fit: LossFit = FITS["besiroglu-2024"]) -> Array:
    """Expected loss in nats per token. Range: the runs behind the fit (70M–16B parameters, up to about 10²²
    FLOP, one data set); beyond, extrapolation.
    """
    return (
        fit.irreducible
        + fit.parameter_scale / np.power(parameters, fit.parameter_exponent)
        + fit.token_scale / np.power(tokens, fit.token_exponent)
    )


def compute_optimal(flops: Array, fit: LossFit = FITS["besiroglu-2024"]) -> tuple[Array, Array]:
    """(N, D) that minimise the loss at C = 6 N D: N = G (C/6)^(β/(α+β)), D = C/(6 N), G = (α A / (β
    B))^(1/(α+β)). `flops` in FLOP.
    """
    alpha, beta = fit.parameter_exponent, fit.token_exponent
    ratio = (alpha * fit.parameter_scale / (beta * fit.token_scale)) ** (1.0 / (alpha + beta))
    parameters = ratio * np.power(np.divide(flops, 6.0), beta / (alpha + beta))
    return plain(parameters), plain(np.divide(flops, 6.0 * parameters))


def compute_optimal_rule(flops: Array, tokens_per_parameter: Array = 20.0) -> tuple[Array, Array]:
    """(N, D) with D = r N: N = sqrt(C/(6 r)). r ≈ 20 is the rule drawn from Hoffmann et al. 2022
    (approaches 1 and 2).
    """
    require(np.asarray(tokens_per_parameter) > 0, "tokens_per_parameter must be positive")
    parameters = np.sqrt(np.divide(flops, np.multiply(6.0, tokens_per_parameter)))
    return plain(parameters), plain(parameters * tokens_per_parameter)
