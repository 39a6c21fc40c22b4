"""Replay of operation tables: against the pipeline's formula, and against what was slowed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from argosy.observe.attribution_other import table_waterfall
from argosy.observe.diagnosis import diagnosed
from argosy.observe.records import Batch, Input, OperationTable
from argosy.observe.replay_table import table_replay

OPERATIONS = ("forward-compute", "backward-compute", "optimizer")


def table(stages: int, batches: int, steps: int = 4, replicas: int = 2, slow: dict[tuple[int, int], float] | None = None,
          lengths: np.ndarray | None = None) -> OperationTable:  # fmt: skip
    """1F1B of equal stages (forward 10 ms, backward 20 ms), run from its dependencies; (stage, replica) slowed by factors."""
    rows = []
    for step in range(steps):
        for replica in range(replicas):
            done: dict[tuple[str, int, int], float] = {}
            clock = [0.0] * stages
            todo = [_order(stage, stages, batches) for stage in range(stages)]
            while any(todo):
                for stage in range(stages):
                    while todo[stage]:
                        name, batch = todo[stage][0]
                        source = stage - 1 if name == OPERATIONS[0] else stage + 1
                        needs = (
                            (name, source, batch) if 0 <= source < stages else (OPERATIONS[0], stage, batch)
                        )
                        ready = 0.0 if name == OPERATIONS[0] and stage == 0 else done.get(needs)
                        if ready is None:
                            break
                        factor = (slow or {}).get((stage, replica), 1.0)
                        factor *= 1.0 if lengths is None else lengths[step, replica, batch]
                        took = (0.010 if name == OPERATIONS[0] else 0.020) * factor
                        start = max(clock[stage], ready)
                        done[name, stage, batch] = clock[stage] = start + took
                        rows.append(
                            (
                                OPERATIONS.index(name),
                                stage * replicas + replica,
                                replica,
                                stage,
                                step,
                                batch,
                                start,
                                took,
                            )
                        )
                        todo[stage].pop(0)
            for stage in range(stages):
                rows.append((2, stage * replicas + replica, replica, stage, step, -1, max(clock), 0.001))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    whole = [column.astype(np.int64) for column in columns[:6]]
    chunk = np.where(whole[0] == 2, -1, 0)
    return OperationTable(
        "ops.parquet", OPERATIONS, *whole, chunk, np.arange(len(rows)), columns[6], columns[7]
    )


def _order(stage: int, stages: int, batches: int) -> list[tuple[str, int]]:
    warm = min(stages - 1 - stage, batches)
    order = [(OPERATIONS[0], batch) for batch in range(warm)]
    for batch in range(batches):
        order += [(OPERATIONS[0], warm + batch)] if warm + batch < batches else []
        order.append((OPERATIONS[1], batch))
    return order


def test_equal_stages_take_what_the_formula_says() -> None:
    replay = table_replay(table(4, 6))
    assert replay is not None
    assert replay.actual_s == pytest.approx((4 + 6 - 1) * 0.030 + 0.001, rel=1e-9)
    assert replay.slowdown == pytest.approx(1.0, rel=1e-9)


def test_a_slow_stage_is_found_with_its_share_of_the_slowdown() -> None:
    observed = table(4, 8, slow={(2, 0): 1.3, (2, 1): 1.3})
    replay = table_replay(observed)
    assert replay is not None
    assert max(replay.by_stage, key=lambda stage: replay.by_stage[stage]) == 2
    # At its peers' speed the step is that of equal stages.
    assert replay.without(2) == pytest.approx(replay.actual_s.mean() - (11 * 0.030 + 0.001), rel=1e-9)
    found = diagnosed([Batch(Input("ops.parquet", "operation_table", "read", 1), tables=(observed,))])
    uneven = [each for each in found.findings if each.id == "uneven-stage"]
    assert [each.culprit.stage for each in uneven] == [2]
    assert not [each for each in found.findings if each.id in ("straggler-rank", "sequence-imbalance")]


def test_a_slow_worker_is_no_uneven_stage_and_no_long_sequence() -> None:
    observed = table(2, 8, replicas=6, slow={(1, 3): 1.25})
    found = diagnosed([Batch(Input("ops.parquet", "operation_table", "read", 1), tables=(observed,))])
    blamed = [(each.id, each.culprit.rank) for each in found.findings if each.id != "bubble"]
    assert blamed == [("straggler-rank", 1 * 6 + 3)]


def test_long_sequences_blame_no_machine() -> None:
    lengths = 1.0 + np.random.default_rng(1).exponential(0.3, (6, 4, 8))
    observed = table(2, 8, steps=6, replicas=4, lengths=lengths)
    found = diagnosed([Batch(Input("ops.parquet", "operation_table", "read", 1), tables=(observed,))])
    assert [each.id for each in found.findings if each.id != "bubble"] == ["sequence-imbalance"]
    assert found.findings[0].culprit.nobody


def test_the_waterfall_of_a_table_sums_to_its_steps() -> None:
    observed = table(3, 5)
    replay = table_replay(observed)
    assert replay is not None
    tree = table_waterfall(replay)
    assert tree.amount == pytest.approx(4 * 6 * ((3 + 5 - 1) * 0.030 + 0.001), rel=1e-9)
    compute = tree.find("compute")
    assert compute is not None and compute.amount == pytest.approx(4 * 6 * 5 * 0.030, rel=1e-6)


def test_a_table_without_passes_is_not_replayed() -> None:
    assert table_replay(replace(table(2, 2), operations=("a", "b", "c"))) is None
