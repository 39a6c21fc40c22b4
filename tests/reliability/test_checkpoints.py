"""Checkpoint costs from bytes and bandwidths, and how often to take them."""

import numpy as np
import pytest

from argosy.facts import FactError, Values, load_catalog
from argosy.laws.checkpoint import time_shares
from argosy.reliability import CheckpointCost, cadence, checkpoint_cost, group_start_up_s, restart_s


@pytest.fixture(scope="module")
def values() -> Values:
    return Values(load_catalog().facts)


def test_synchronous_waits_and_asynchronous_does_not(values: Values) -> None:
    size = 405e9 * 14
    wait = checkpoint_cost(values, size, 16384, 2048, 2e12, "sync")
    behind = checkpoint_cost(values, size, 16384, 2048, 2e12, "async")
    # 5.67 TB at 80 % of 2 TB/s.
    assert behind.persist_s == pytest.approx(5.67e12 / 1.6e12)
    assert wait.blocking_s == pytest.approx(behind.blocking_s + behind.persist_s)
    assert wait.persist_s == 0.0
    assert behind.blocking_s == pytest.approx(0.59)
    assert behind.overhead_s < wait.overhead_s


def test_large_shards_take_longer_to_copy(values: Values) -> None:
    # 70 GB a GPU at 25 GB/s.
    assert checkpoint_cost(values, 8 * 70e9, 8, 1, 1e9).blocking_s == pytest.approx(2.8)


def test_few_nodes_cannot_fill_the_storage(values: Values) -> None:
    assert checkpoint_cost(values, 4e12, 16, 2, 2e12).persist_s == pytest.approx(4e12 / 80e9)


def test_tiers_and_what_undoes_them(values: Values) -> None:
    memory = checkpoint_cost(values, 1e12, 1024, 128, 1e11, "async", ("memory", "storage"))
    local = checkpoint_cost(
        values, 1e12, 1024, 128, 1e11, "async", ("local", "storage"), node_failure_share=0.85
    )
    assert (memory.fast, memory.loss_share) == ("memory", 0.10)
    assert (local.fast, local.loss_share) == ("local", 0.85)
    with pytest.raises(FactError, match="add storage"):
        checkpoint_cost(values, 1e12, 1024, 128, 1e11, "async", ("memory",))


def test_interval_is_never_shorter_than_persisting() -> None:
    slow = CheckpointCost(0.0, 0.1, 5000.0, 0.01, 0.0)
    plan = cadence(slow, 20_000.0)
    assert plan.interval_s == pytest.approx(5000 * 0.99)
    assert plan.limited_by_persist
    assert cadence(slow, 20_000.0, 60.0).interval_s == pytest.approx(5000 * 0.99)
    assert cadence(CheckpointCost(0.0, 1.0, 0.0, 0.0, 0.0), 20_000.0, 0.0).interval_s > 0
    tiered = cadence(CheckpointCost(0.0, 0.1, 5000.0, 0.01, 0.0, "memory", 0.1), 20_000.0)
    assert tiered.interval_s < 100.0
    assert tiered.storage_interval_s >= 5000.0


@pytest.mark.parametrize("persist", [0.0, 50.0])
def test_automatic_interval_is_the_best_one(persist: float) -> None:
    cost = CheckpointCost(0.0, 4.0, persist, 0.1, 0.0)
    best = cadence(cost, 8000.0).interval_s

    def productive(tau: float) -> float:
        return time_shares(tau, 4.0, 60.0, 300.0, 8000.0, persist, 0.1).productive

    grid = np.geomspace(60.0, 4000.0, 400)
    assert productive(best) >= max(productive(tau) for tau in grid) - 1e-9


def test_group_start_up_grows_with_ranks(values: Values) -> None:
    assert group_start_up_s(values, 2048, "tcp-store") == pytest.approx(1047)
    assert group_start_up_s(values, 2048) == pytest.approx(5)
    # Published: under 30 s at more than 10,000.
    assert group_start_up_s(values, 10_000) < 30
    total = restart_s(values, 2048, 1e12, 1e11)
    assert total == pytest.approx(300 + 5 + 10)
