"""The curves of a sized fleet against counting by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from argosy.planning.serving_curves import curves


def sized(latency, step=lambda batch: 0.01 + 0.001 * batch, batch=64, kept=20.0, tokens_per_step=1.0):
    provider = SimpleNamespace(
        decode_s=lambda batch, context: step(batch), tokens_per_step=tokens_per_step, gpus=4
    )
    option = SimpleNamespace(last=SimpleNamespace(batch=batch, provider=provider))
    limits = SimpleNamespace(
        mean=SimpleNamespace(context=1000.0),
        by_pool=[SimpleNamespace(batch=5.0), SimpleNamespace(batch=kept)],
    )
    run = SimpleNamespace(ttft_s=latency, tpot_s=latency / 10, e2e_s=latency * 10)
    return SimpleNamespace(option=option, limits=limits, runs=[run, run])


def test_a_share_of_all_arrivals_stays_within_each_latency():
    latency = np.random.default_rng(0).permutation(np.arange(1.0, 1001.0))
    found = curves(sized(latency))["latency"]
    for metric, factor in (("ttft_s", 1.0), ("tpot_s", 0.1), ("e2e_s", 10.0)):
        for each in found[metric]:
            within = np.mean(latency * factor <= each["seconds"] * (1 + 1e-12))
            assert within >= each["share"] - 1e-9
            assert np.mean(latency * factor < each["seconds"] * (1 - 1e-12)) < each["share"]


def test_shares_that_are_never_served_have_no_latency():
    latency = np.array([1.0] * 95 + [np.inf] * 5)
    by_share = {each["share"]: each["seconds"] for each in curves(sized(latency))["latency"]["ttft_s"]}
    assert by_share[0.95] == 1.0 and by_share[0.96] is None and by_share[0.999] is None


def test_the_frontier_trades_speed_for_throughput():
    found = curves(sized(np.ones(10)))["frontier"]
    batches = [each["batch"] for each in found]
    assert (
        batches[0] == 1 and batches[-1] == 64 and 20 in batches and all(each == int(each) for each in batches)
    )
    for each in found:
        assert each["tpot_s"] == pytest.approx(0.01 + 0.001 * each["batch"])
        # one second: 1 / step iterations, each with a token for every sequence, on four accelerators
        assert each["tokens_per_gpu_s"] == pytest.approx(each["batch"] / (0.01 + 0.001 * each["batch"]) / 4)
        assert each["within_promise"] == (each["batch"] <= 20)
    rates = [each["tokens_per_gpu_s"] for each in found]
    assert rates == sorted(rates)


def test_tokens_drafted_count_for_both():
    plain, drafted = (curves(sized(np.ones(10), tokens_per_step=n))["frontier"][3] for n in (1.0, 1.6))
    assert drafted["tpot_s"] == pytest.approx(plain["tpot_s"] / 1.6)
    assert drafted["tokens_per_gpu_s"] == pytest.approx(plain["tokens_per_gpu_s"] * 1.6)
