"""The waterfall of traces and logs: it closes, its lines are what was put in, and it lies beside the plan."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from made_traces import batches, traces

import argosy
from argosy.observe.attribution import waterfall
from argosy.observe.attribution_other import log_waterfall
from argosy.observe.diagnosis import diagnosed
from argosy.observe.observed import Observed
from argosy.observe.planned import LINES, compared, plan_of
from argosy.observe.records import TrainingLog

SCENARIO = (
    "name: planned\nfleet: {accelerator: H100-SXM, count: 64}\n"
    "training: {name: pretrain, model: llama-3.1-8b, tokens: 1e11, sequence_length: 8192, "
    "global_batch: 256 sequences, layout: {tp: 2, pp: 1, micro_batch: 1, recompute: none, zero: 1}}\n"
)


def test_lines_of_a_known_job() -> None:
    made = traces(4, 5, lambda rank, step, k: 30.0 if rank == 2 else 20.0, transfer_ms=2.0)
    tree = waterfall(Observed(tuple(batches(made))))
    assert tree is not None
    steps = sum(float((trace.step_end_ns - trace.step_start_ns).sum()) for trace in made) * 1e-9
    assert tree.amount == pytest.approx(steps, rel=1e-9)

    def line(name: str) -> float:
        found = tree.find(name)
        assert found is not None
        return found.amount

    assert line("waiting for late ranks") == pytest.approx(3 * 5 * 4 * 0.010, rel=1e-6)
    assert line("transfer") == pytest.approx(4 * 5 * 4 * 0.002, rel=1e-6)
    assert line("compute") == pytest.approx(5 * 4 * (3 * 0.020 + 0.030), rel=1e-6)
    assert line("unattributed") == pytest.approx(0.0, abs=1e-9)


def test_flops_divide_compute_at_the_peak() -> None:
    made = [replace(trace, device="NVIDIA H100 80GB HBM3", flops=0.5 * 989.5e12 * float(trace.activity_s["compute"].sum()))
            for trace in traces(2, 4, lambda rank, step, k: 20.0)]  # fmt: skip
    tree = waterfall(Observed(tuple(batches(made))))
    assert tree is not None
    useful, whole = tree.find("useful FLOPs at peak"), tree.find("compute")
    assert useful is not None and whole is not None
    assert useful.amount == pytest.approx(0.5 * whole.amount, rel=0.01)


def test_idle_time_without_a_reason_is_shown() -> None:
    made = []
    for trace in traces(2, 4, lambda rank, step, k: 20.0):
        compute = trace.activity_s["compute"]
        made.append(
            replace(trace, activity_s={**trace.activity_s, "compute": 0.7 * compute, "idle": 0.3 * compute})
        )
    tree = waterfall(Observed(tuple(batches(made))))
    rest = tree.find("unattributed") if tree is not None else None
    assert rest is not None and rest.amount == pytest.approx(0.3 * 2 * 4 * 4 * 0.020, rel=1e-6)


def test_a_log_s_lines_close_and_never_exceed_the_step() -> None:
    none = np.full(20, math.nan)
    log = TrainingLog(
        "t.log", "megatron", np.arange(20), none, np.full(20, 2.0), none, none, none, none, none,
        {"forward-compute": np.full(20, 0.6), "backward-compute": np.full(20, 0.9), "optimizer": np.full(20, 0.1),
         "grads-all-reduce": np.full(20, 3.0)},
        np.arange(20), {"world_size": 8},
    )  # fmt: skip
    tree = log_waterfall(Observed(()), log, 0.4)
    assert tree is not None and tree.amount == pytest.approx(20 * 2.0 * 8)
    shares = {path.rpartition("/")[2]: node.amount / tree.amount for path, node in tree.walk()}
    assert shares["useful FLOPs at peak"] == pytest.approx(0.4) and shares[
        "kernel inefficiency"
    ] == pytest.approx(0.35)
    assert shares["exposed communication"] == pytest.approx(0.25) and shares["unattributed"] == pytest.approx(
        0.0
    )
    assert min(shares.values()) >= 0


def test_every_line_lies_beside_the_plan_s_and_both_add_up() -> None:
    plan = plan_of(argosy.loads(SCENARIO))
    assert {key for keys in LINES.values() for key in keys} == set(plan.breakdown_s)
    tree = waterfall(Observed(tuple(batches(traces(4, 5, lambda rank, step, k: 20.0)))))
    assert tree is not None
    rows = compared(plan, tree, 20.0)
    assert sum(row["observed_s"] for row in rows[:-1]) == pytest.approx(rows[-1]["observed_s"])
    assert rows[-1]["observed_s"] == pytest.approx(tree.amount / 20)
    assert rows[-1]["planned_s"] == pytest.approx(plan.training["step_time_s"])
    answer = diagnosed(batches(traces(4, 5, lambda rank, step, k: 20.0)), argosy.loads(SCENARIO)).to_dict()
    assert answer["against"]["scenario"] == "planned" and answer["bounds"]["compute"]["gpu_s"] > 0
