"""Critical batch size against its hyperbola; compute-optimal sizes against a numerical minimum."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from argosy.laws import batch


def test_steps_and_examples_lie_on_the_hyperbola():
    fewest_steps, fewest_examples = 1000.0, 5e9
    critical = batch.critical_batch(fewest_examples, fewest_steps)
    sizes = np.geomspace(1e3, 1e9, 9)
    steps, examples = (
        batch.steps_needed(sizes, critical, fewest_steps),
        batch.examples_needed(sizes, critical, fewest_steps),
    )
    assert (steps / fewest_steps - 1) * (examples / fewest_examples - 1) == pytest.approx(np.ones(9))
    assert examples == pytest.approx(steps * sizes)
    assert batch.data_efficiency(sizes, critical) == pytest.approx(fewest_examples / examples)


def test_at_the_critical_batch_both_limits_double():
    assert batch.steps_needed(7.0, 7.0, 100.0) == 200.0
    assert batch.data_efficiency(7.0, 7.0) == 0.5


def test_tokens_at_another_batch_follow_the_hyperbola():
    critical, fewest_steps, sizes = 7.0, 100.0, np.array([0.1, 3.0, 50.0])
    tokens = batch.steps_needed(sizes, critical, fewest_steps) * sizes
    assert batch.tokens_at_batch(tokens[0], sizes[0], sizes, critical) == pytest.approx(tokens)
    assert batch.tokens_at_batch(5.0, 2.0, 2.0, critical) == 5.0


def test_critical_batch_grows_as_the_loss_falls():
    assert batch.critical_batch_at_loss(1.0) == 2e8
    assert batch.critical_batch_at_loss(2.0) < batch.critical_batch_at_loss(1.9)


def test_noise_scale_of_known_gradients():
    rng = np.random.default_rng(5)
    mean, deviation = np.array([1.0, 2.0]), np.array([0.5, 0.1])
    gradients = rng.normal(mean, deviation, (200_000, 2))
    trace, norm = gradients.var(axis=0).sum(), (gradients.mean(axis=0) ** 2).sum()
    assert batch.simple_noise_scale(trace, norm) == pytest.approx((0.25 + 0.01) / 5, rel=0.02)


@pytest.mark.parametrize("name", sorted(batch.FITS))
@pytest.mark.parametrize("flops", [1e20, 5.76e23])
def test_compute_optimal_against_a_numerical_minimum(name: str, flops: float):
    fit = batch.FITS[name]

    def loss_at(log_parameters: float) -> float:
        n = 10**log_parameters
        d = flops / (6 * n)
        return (
            fit.irreducible
            + fit.parameter_scale / n**fit.parameter_exponent
            + fit.token_scale / d**fit.token_exponent
        )

    best = 10 ** minimize_scalar(loss_at, bounds=(6, 14), method="bounded", options={"xatol": 1e-10}).x
    parameters, tokens = batch.compute_optimal(flops, fit)
    assert parameters == pytest.approx(best, rel=1e-4)
    assert 6 * parameters * tokens == pytest.approx(flops)
    assert batch.loss(parameters, tokens, fit) == pytest.approx(loss_at(np.log10(best)))


def test_chinchilla_by_the_rule():
    parameters, tokens = batch.compute_optimal_rule(5.76e23)  # the compute of Gopher and Chinchilla
    assert parameters == pytest.approx(70e9, rel=0.02)
    assert tokens == pytest.approx(1.4e12, rel=0.02)
