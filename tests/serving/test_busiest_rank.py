"""Popular experts and the busiest of the ranks that share them, against routing drawn token by token."""

from __future__ import annotations

import numpy as np
import pytest

from argosy.serving.experts import busiest_rank, popularity, touched_share
from argosy.spec.model import MixtureOfExperts


def chances(moe: MixtureOfExperts, skew: float) -> np.ndarray:
    """Every expert's chance to be visited by a token, by bisection: a power law, none above 1, top_k in sum; (E,)."""
    weight = np.diff((np.arange(moe.experts + 1) / moe.experts) ** (1 - skew))
    low, high = 0.0, 1e6
    for _ in range(100):
        middle = (low + high) / 2
        short = np.minimum(middle * weight, 1).sum() < moe.top_k
        low, high = (middle, high) if short else (low, middle)
    return np.minimum(high * weight, 1)


def drawn(
    moe: MixtureOfExperts, ranks: int, tokens: int, skew: float, times: int = 100
) -> tuple[float, float]:
    """Experts touched and rows of the busiest rank, means over drawings.

    Experts are dealt to ranks at random; each token picks top_k different ones with the given chances (systematic
    sampling from a shuffled list).
    """
    rng, chance = np.random.default_rng(3), chances(moe, skew)
    touched, rows = [], []
    for _ in range(times):
        rank = rng.permutation(moe.experts) % ranks
        load = np.zeros(moe.experts, int)
        for _ in range(tokens):
            order = rng.permutation(moe.experts)
            places = np.searchsorted(np.cumsum(chance[order]), rng.random() + np.arange(moe.top_k))
            load[order[np.minimum(places, moe.experts - 1)]] += 1
        touched.append(np.bincount(rank, load > 0, minlength=ranks).max())
        rows.append(np.bincount(rank, load, minlength=ranks).max())
    return float(np.mean(touched)), float(np.mean(rows))


@pytest.mark.parametrize("skew", [0.0, 0.3, 0.6, 0.75, 0.87])
@pytest.mark.parametrize(
    ("experts", "top_k", "ranks", "tokens"), [(128, 8, 4, 64), (128, 4, 8, 40), (256, 8, 8, 100)]
)
def test_busiest_rank_as_drawn_routing_has_it(
    experts: int, top_k: int, ranks: int, tokens: int, skew: float
) -> None:
    moe = MixtureOfExperts(experts=experts, top_k=top_k, expert_ffn=8)
    touched, rows = drawn(moe, ranks, tokens, skew)
    found_touched, found_rows = busiest_rank(moe, experts // ranks, ranks, tokens, skew)
    assert found_touched == pytest.approx(touched, rel=0.05)
    assert found_rows == pytest.approx(rows, rel=0.1)


def test_one_expert_in_sixteen_on_its_rank_is_told_worse() -> None:
    """Few experts, one for a token: the expansion ends too early, by a sixth at most."""
    moe = MixtureOfExperts(experts=16, top_k=1, expert_ffn=8)
    _, rows = drawn(moe, 8, 64, 0.75, 400)
    assert 0.8 < busiest_rank(moe, 2, 8, 64, 0.75)[1] / rows < 0.95


@pytest.mark.parametrize("skew", [0.0, 0.6, 0.89])
def test_a_token_visits_top_k_experts_whatever_the_popularity(skew: float) -> None:
    for experts, top_k in ((16, 1), (128, 8), (160, 6), (384, 8)):
        moe = MixtureOfExperts(experts=experts, top_k=top_k, expert_ffn=8)
        chance, shares = popularity(moe, skew)
        assert shares.sum() == pytest.approx(1)
        assert chance @ shares * experts == pytest.approx(top_k)
        assert (np.diff(chance) <= 1e-12).all()
        assert chance.max() <= 1
        one_by_one = np.mean(1 - (1 - chances(moe, skew)) ** 40)
        assert touched_share(moe, 40, skew) == pytest.approx(one_by_one, rel=0.01)
        assert touched_share(moe, np.array([0.0, 1e12]), skew) == pytest.approx([0.0, 1.0])


def test_limits_of_the_busiest_rank() -> None:
    """One rank has all rows; alike popular experts give the binomial's spread; all experts visited leave none."""
    moe = MixtureOfExperts(experts=128, top_k=8, expert_ffn=8)
    tokens = np.array([1.0, 64.0, 4096.0])
    for skew in (0.0, 0.7):
        assert busiest_rank(moe, 128, 1, tokens, skew)[1] == pytest.approx(tokens * 8)
    much = 1e6
    spread = busiest_rank(moe, 16, 8, much, 0.0)[1] - much
    largest_of_eight = 1.4236  # standard normal
    assert spread == pytest.approx(largest_of_eight * np.sqrt(much * (1 - 8 / 128)), rel=0.01)
    assert busiest_rank(moe, 16, 8, 512.0, 0.6)[1] > 1.5 * 512
    full = MixtureOfExperts(experts=8, top_k=8, expert_ffn=8)
    touched, rows = busiest_rank(full, 2, 4, 100.0, 0.0)
    assert touched == pytest.approx(2)
    assert rows == pytest.approx(200)


def test_numbers_may_be_arrays_of_draws() -> None:
    moe = MixtureOfExperts(experts=128, top_k=8, expert_ffn=8)
    tokens, skews = np.array([3.0, 50.0, 700.0]), np.array([[0.1], [0.6]])
    touched, rows = busiest_rank(moe, 16, 8, tokens, skews)
    assert touched.shape == rows.shape == (2, 3)
    for i, skew in enumerate(skews[:, 0]):
        alone = busiest_rank(moe, 16, 8, tokens, float(skew))
        assert touched[i] == pytest.approx(alone[0])
        assert rows[i] == pytest.approx(alone[1])
