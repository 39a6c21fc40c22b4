"""Failure laws against simulation, summation and balance equations."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from argosy.laws import queueing
from argosy.laws import reliability as law

HOUR, DAY = 3600.0, 86400.0


def test_mtbf_is_one_over_the_sum_of_rates() -> None:
    # 16,384 parts of 50,000 h: 3.0517578125 h, by long division.
    assert law.system_mtbf([16384], [50_000 * HOUR]) / HOUR == pytest.approx(3.0517578125, rel=1e-12)
    assert law.system_mtbf([10, 5], [100.0, np.inf]) == pytest.approx(10.0)
    assert law.system_mtbf([], []) == math.inf


def test_mtbf_against_the_first_of_many_exponentials() -> None:
    random = np.random.default_rng(1)
    first = np.minimum(
        random.exponential(50.0, (20_000, 8)).min(axis=1), random.exponential(20.0, (20_000, 3)).min(axis=1)
    )
    expected = law.system_mtbf([8, 3], [50.0, 20.0])
    assert first.mean() == pytest.approx(expected, abs=4 * expected / math.sqrt(20_000))


@pytest.mark.parametrize(
    ("gpus", "printed"),
    [(256, 0.1156302194), (1024, 0.3883040906), (2048, 0.6258281144), (8192, 0.9803987120)],
)
def test_probability_of_a_failure_in_a_day(gpus: int, printed: float) -> None:
    mtbf = law.system_mtbf([gpus], [50_000 * HOUR])
    assert law.failure_probability(DAY, mtbf) == pytest.approx(printed, abs=1e-9)
    # No failure at all has the Poisson probability of zero.
    assert law.failure_probability(DAY, mtbf) == pytest.approx(stats.poisson.sf(0, DAY / mtbf), rel=1e-9)


def test_probability_limits() -> None:
    assert law.failure_probability(1e-6, 1.0) == pytest.approx(1e-6, rel=1e-6)
    assert law.failure_probability(1.0, np.array([1e-9, np.inf])) == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize(("repair_days", "spares"), [(1, 18), (7, 79)])
def test_spares_at_the_scale_of_llama3(repair_days: int, spares: int) -> None:
    failures_per_s = 16384 / (50_000 * HOUR)
    mean = law.nodes_in_repair(failures_per_s, repair_days * DAY)
    assert law.poisson_quantile(mean, 0.999) == spares
    cumulative = [
        sum(math.exp(-mean + k * math.log(mean) - math.lgamma(k + 1)) for k in range(n + 1))
        for n in (spares - 1, spares)
    ]
    assert cumulative[0] < 0.999 <= cumulative[1]


def test_poisson_quantile_against_another_inverse() -> None:
    means = np.array([0.0, 1e-9, 0.001, 0.5, 1.0, 3.3, 55.3, 4000.0])
    for probability in (0.01, 0.5, 0.9, 0.999):
        assert law.poisson_quantile(means, probability) == pytest.approx(
            np.maximum(stats.poisson.ppf(probability, means), 0.0)
        )


@pytest.mark.parametrize(("servers", "load"), [(1, 0.5), (9, 55.3), (65, 55.3), (20, 3.0)])
def test_erlang_against_the_balance_equations(servers: int, load: float) -> None:
    # Stationary distribution of the birth-death chain, solved as a linear system.
    generator = np.zeros((servers + 1, servers + 1))
    for k in range(servers):
        generator[k, k + 1], generator[k + 1, k] = load, k + 1.0
    generator -= np.diag(generator.sum(axis=1))
    system = np.vstack([generator.T, np.ones(servers + 1)])
    stationary = np.linalg.lstsq(system, np.append(np.zeros(servers + 1), 1.0), rcond=None)[0]
    assert queueing.erlang_b(load, servers) == pytest.approx(stationary[-1], rel=1e-6)


def test_erlang_limits() -> None:
    assert queueing.erlang_b(3.0, 0) == 1.0
    assert queueing.erlang_b(0.0, 4) == 0.0
    assert queueing.erlang_b(np.array([1e-9, 1e9]), 1) == pytest.approx([1e-9, 1.0])


def test_expected_maximum_small_counts_are_known() -> None:
    values = law.expected_maximum_of_normals(np.array([1, 2, 3]))
    assert values == pytest.approx([0.0, 1 / math.sqrt(math.pi), 1.5 / math.sqrt(math.pi)], abs=1e-9)


@pytest.mark.parametrize("count", [64, 16384, 1_000_000])
def test_expected_maximum_against_quadrature_of_its_density(count: int) -> None:
    def weighted(x: float) -> float:
        return x * count * stats.norm.pdf(x) * math.exp((count - 1) * stats.norm.logcdf(x))

    mean, _ = integrate.quad(weighted, -2, 12, limit=400, epsabs=1e-12)
    assert law.expected_maximum_of_normals(count) == pytest.approx(mean, abs=1e-7)
    assert law.expected_maximum_of_normals(count) < math.sqrt(2 * math.log(count))


def test_poisson_quantile_takes_every_elements_own_probability() -> None:
    means = np.array([[5.0], [9_999.0], [10_001.0], [12_000.0], [1e6], [1e8]])
    probabilities = np.array([1e-6, 0.01, 0.5, 0.9, 0.999, 1 - 1e-9])
    together = law.poisson_quantile(means, probabilities)
    assert np.array_equal(together, stats.poisson.ppf(probabilities, means))
    one_by_one = [[law.poisson_quantile(m, p) for p in probabilities] for m in means[:, 0]]
    assert np.array_equal(together, one_by_one)
    assert law.poisson_quantile(1e6, np.array([0.0, 0.5])).tolist() == [0.0, 1e6]


def test_poisson_quantile_refuses_what_is_no_probability() -> None:
    with pytest.raises(ValueError, match="probability"):
        law.poisson_quantile(3.0, np.array([0.5, 1.0]))
    with pytest.raises(ValueError, match="mean"):
        law.poisson_quantile(-1.0, 0.5)
