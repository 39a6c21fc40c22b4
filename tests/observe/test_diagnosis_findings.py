"""Every finding on hand-made records: that it comes with its cause and culprit, and does not come without it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from made_traces import MS, batches, even, traces

from argosy.observe.diagnosis import Diagnosis, diagnosed
from argosy.observe.findings.mfu_drift import trend
from argosy.observe.records import (
    Batch,
    FaultEvent,
    FlightRecording,
    Input,
    LibraryMessage,
    LogEvent,
    RankTrace,
    Series,
    TrainingLog,
)


def taken(**records: Any) -> Batch:
    return Batch(Input("file", "made", "read", 1), **records)


def ids(found: Diagnosis) -> list[str]:
    return [each.id for each in found.findings]


def log(
    step_s: np.ndarray,
    timers: Mapping[str, np.ndarray] | None = None,
    settings: dict[str, Any] | None = None,
    **more: Any,
) -> TrainingLog:
    n = len(step_s)
    none = np.full(n, math.nan)
    fields: dict[str, Any] = {
        "path": "train.log", "framework": "megatron", "iteration": np.arange(1, n + 1), "time_s": none, "step_time_s": step_s,
        "tokens_per_s": none, "tokens_per_gpu_s": none, "flops_per_gpu": none, "mfu": none, "loss": none,
        "timers_s": timers or {}, "line": np.arange(10, 10 + n), "settings": settings or {},
    }  # fmt: skip
    return TrainingLog(**(fields | more))


def steady(n: int = 200) -> np.ndarray:
    return 2.0 * (1 + 0.01 * np.random.default_rng(0).standard_normal(n))


def _idling(trace: RankTrace, kind: str) -> RankTrace:
    """The trace with a fifth of its compute as another activity."""
    compute = trace.activity_s["compute"]
    return replace(trace, activity_s={**trace.activity_s, "compute": 0.8 * compute, kind: 0.2 * compute})


# Ranks


@pytest.mark.parametrize("offset", [0, 40 * MS])
def test_a_healthy_job_blames_nobody(offset: int) -> None:
    made = traces(8, 6, even, offset_ns=[offset * i for i in range(8)])
    assert ids(diagnosed(batches(made))) == []


def test_the_late_rank_is_blamed_and_none_of_the_waiting_ones() -> None:
    found = diagnosed(batches(traces(8, 6, lambda r, s, k: even(r, s, k) * (1.1 if r == 3 else 1.0))))
    assert ids(found) == ["straggler-rank"]
    blamed = found.findings[0]
    assert blamed.culprit.rank == 3 and blamed.evidence[0].path == "rank3.json"
    assert blamed.time_saved_s == pytest.approx(
        0.010 * 19 / 20, rel=0.1
    )  # the first collective has nothing before it
    assert 0.3 < blamed.confidence <= 0.8


def test_a_rank_that_is_slow_once_is_not_blamed() -> None:
    found = diagnosed(
        batches(traces(8, 8, lambda r, s, k: even(r, s, k) * (2.0 if (r, s) == (3, 4) else 1.0)))
    )
    assert "straggler-rank" not in ids(found)


def test_less_than_the_gate_is_not_blamed() -> None:
    found = diagnosed(batches(traces(8, 6, lambda r, s, k: even(r, s, k) * (1.01 if r == 3 else 1.0))))
    assert ids(found) == []


@pytest.mark.parametrize("nodes", [2, 4])
def test_a_slow_node_is_one_finding(nodes: int) -> None:
    made = traces(4 * nodes, 6, lambda r, s, k: even(r, s, k) * (1.15 if r // 4 == 1 else 1.0), nodes=nodes)
    found = diagnosed(batches(made))
    assert ids(found) == ["straggler-node"]
    assert found.findings[0].culprit.node == "node1" and found.findings[0].culprit.ranks == (4, 5, 6, 7)


def test_an_xid_on_the_blamed_node_joins_the_finding() -> None:
    made = traces(8, 6, lambda r, s, k: even(r, s, k) * (1.2 if r == 5 else 1.0), nodes=4)
    fault = FaultEvent(
        "dmesg", 7, 48, None, "memory", "node2", "0000:9b:00", None, math.nan, math.nan, "Xid 48"
    )
    found = diagnosed([*batches(made), taken(faults=(fault,))])
    blamed = next(each for each in found.findings if each.id == "straggler-rank")
    assert blamed.culprit.node == "node2" and any("Xid 48" in cause for cause in blamed.causes)
    assert ("dmesg", 7) in [(place.path, place.line) for place in blamed.evidence]
    assert "hardware-fault" in ids(found)


def test_one_rank_that_waits_for_data_is_data_starvation() -> None:
    made = traces(8, 6, lambda r, s, k: even(r, s, k) + (8.0 if r == 2 else 0.0), activity="data")
    found = diagnosed(batches(made))
    assert ids(found) == ["data-starvation"] and found.findings[0].culprit.rank == 2


def test_all_ranks_that_wait_for_data_blame_none() -> None:
    made = [_idling(trace, "data") for trace in traces(4, 6, even)]
    found = diagnosed(batches(made))
    assert ids(found) == ["data-starvation"] and found.findings[0].culprit.nobody


def test_launch_gaps_make_a_job_host_bound() -> None:
    made = [_idling(trace, "host") for trace in traces(4, 6, even)]
    assert ids(diagnosed(batches(made))) == ["host-bound"]


@pytest.mark.parametrize(
    ("mark", "wanted"), [("garbage-collection", "gc-pause"), ("compilation", "recompilation")]
)
def test_marked_pauses_are_named(mark: str, wanted: str) -> None:
    made = traces(
        4,
        6,
        lambda r, s, k: even(r, s, k) + (30.0 if k == 0 and s % 2 == 0 and r == s % 4 else 0.0),
        activity="host",
    )
    out = []
    for rank, trace in enumerate(made):
        marks = tuple(
            (mark, int(trace.step_start_ns[s]), int(trace.step_start_ns[s]) + 30 * MS, s)
            for s in range(6)
            if s % 2 == 0 and rank == s % 4
        )
        out.append(replace(trace, marks=marks))
    found = diagnosed(batches(out))
    assert wanted in ids(found)
    assert found.findings[ids(found).index(wanted)].time_saved_s == pytest.approx(0.015, rel=0.2)


def test_the_slow_group_s_ranks_are_the_slow_link() -> None:
    made = []
    for pair in range(6):
        some = traces(
            2,
            6,
            even,
            transfer_ms=4.0 if pair == 4 else 1.0,
            bytes_=256 << 20,
            metadata=True,
            group=f"g{pair}",
        )
        for i, trace in enumerate(some):
            rank = 2 * pair + i
            made.append(replace(trace, path=f"rank{rank}.json", position=replace(trace.position, rank=rank, world=12),
                                groups={f"g{pair}": (2 * pair, 2 * pair + 1)}))  # fmt: skip
    found = diagnosed(batches(made))
    slow = [each for each in found.findings if each.id == "slow-link"]
    assert (
        len(slow) == 1 and "ranks 8, 9" in slow[0].title and slow[0].culprit.ranks == ()
    )  # which of the two, it cannot tell


# Logs


def test_a_steady_log_has_no_finding() -> None:
    assert ids(diagnosed([taken(logs=(log(steady()),))])) == []


def test_drift_is_told_with_its_cause() -> None:
    rise = np.linspace(0.0, 0.2, 200)
    found = diagnosed(
        [
            taken(
                logs=(
                    log(
                        steady() + rise,
                        {"grads-reduce-scatter": 0.1 + rise, "forward-compute": np.full(200, 0.5)},
                    ),
                )
            )
        ]
    )
    assert ids(found) == ["mfu-drift"]
    assert "gradient exchange" in found.findings[0].causes[0]


def test_trend_of_a_line_and_of_chance() -> None:
    rise, z = trend(np.linspace(1.0, 1.1, 40))
    assert rise == pytest.approx(0.1) and z > 3
    _, z = trend(np.random.default_rng(3).standard_normal(100) + 10)
    assert abs(z) < 3


def test_a_bubble_booked_as_all_reduce_is_unmasked() -> None:
    step = np.full(30, 6.7)
    timers = {
        "forward-compute": np.full(30, 0.1),
        "backward-compute": np.full(30, 0.3),
        "embedding-all-reduce": np.full(30, 4.5),
    }
    settings = {
        "world_size": 64,
        "pipeline_parallel": 64,
        "global_batch": 4,
        "micro_batch": 1,
        "vocabulary": 50304,
        "hidden": 8192,
    }
    found = diagnosed([taken(logs=(log(step, timers, settings),))])
    assert set(ids(found)) == {"bubble", "timer-misattribution"}
    lying = next(each for each in found.findings if each.id == "timer-misattribution")
    assert lying.bound is not None and lying.bound.observed == 4.5 and lying.bound.value < 0.5
    busy = {**timers, "forward-compute": np.full(30, 2.0), "backward-compute": np.full(30, 3.0)}
    assert (
        ids(diagnosed([taken(logs=(log(step, busy, settings),))])) == []
    )  # compute that fills the step is no bubble


def test_checkpoints_that_take_a_tenth_of_the_time() -> None:
    events = tuple(LogEvent("checkpoint-end", math.nan, 8.0, 100 + i, iteration=40 * i) for i in range(1, 6))
    found = diagnosed([taken(logs=(log(steady(), events=events),))])
    assert ids(found) == ["checkpoint-cost"]
    assert found.findings[0].share_of_time == pytest.approx(40 / 440, rel=0.02)


def test_full_recompute_costs_a_quarter_of_compute() -> None:
    timers = {"forward-compute": np.full(50, 0.6), "backward-compute": np.full(50, 1.0)}
    found = diagnosed([taken(logs=(log(steady(50), timers, {"recompute": "full"}),))])
    assert ids(found) == ["recompute-cost"] and found.findings[0].time_saved_s == pytest.approx(0.4)


def test_an_mfu_above_one_and_a_sparse_peak_contradict() -> None:
    over = log(steady(20), mfu=np.full(20, 1.3))
    assert ids(diagnosed([taken(logs=(over,))])) == ["contradiction"]
    sparse = log(
        steady(20),
        None,
        {"device": "H100-SXM"},
        mfu=np.full(20, 0.2),
        flops_per_gpu=np.full(20, 0.2 * 1979e12),
    )
    found = diagnosed([taken(logs=(sparse,))])
    assert ids(found) == ["contradiction"] and "sparse" in found.findings[0].title


def test_slow_ranks_of_a_log_s_timers() -> None:
    rng = np.random.default_rng(5)
    by_rank = {
        rank: 1.0 * (1 + 0.003 * rng.standard_normal(40)) * (1.2 if rank == 6 else 1.0) for rank in range(8)
    }
    found = diagnosed([taken(logs=(log(steady(40), rank_timers_s={"forward-compute": by_rank}),))])
    assert [(each.id, each.culprit.rank) for each in found.findings] == [("straggler-rank", 6)]


# Messages, dumps, counters


def _timeout(rank: int, sequence: int, collective: str = "all_reduce", numel: int = 80) -> LibraryMessage:
    values = {"sequence": sequence, "collective": collective, "numel": numel, "group": "default_pg"}
    return LibraryMessage("nccl.log", 10 + rank, "timeout", rank, None, math.nan, values)


def test_ranks_behind_the_hanging_work_are_to_blame() -> None:
    messages = [_timeout(rank, 78) for rank in (1, 2, 3)]
    messages.append(
        LibraryMessage(
            "nccl.log", 5, "dump", 0, "n0", math.nan, {"enqueued": 77, "completed": 77, "group": "default_pg"}
        )
    )
    found = diagnosed([taken(messages=tuple(messages))])
    assert [(each.id, each.culprit.rank, each.severity) for each in found.findings] == [
        ("hang-missing-rank", 0, "critical")
    ]


def test_a_silent_rank_is_to_blame_where_nobody_is_behind() -> None:
    messages = [_timeout(rank, 5) for rank in (0, 1, 3)]
    messages.append(LibraryMessage("nccl.log", 1, "init", 0, None, math.nan, {"ranks": 4}))
    found = diagnosed([taken(messages=tuple(messages))])
    assert [(each.id, each.culprit.rank) for each in found.findings] == [("hang-missing-rank", 2)]


def test_unlike_collectives_blame_the_fewer() -> None:
    messages = [_timeout(0, 9), _timeout(1, 9), _timeout(2, 9, "all_gather"), _timeout(3, 9)]
    found = diagnosed([taken(messages=tuple(messages))])
    assert [(each.id, each.culprit.ranks) for each in found.findings] == [
        ("hang-mismatched-collective", (2,))
    ]


def test_flight_recorders_tell_who_never_came() -> None:
    def recording(rank: int, last: int, state: str) -> FlightRecording:
        entries = tuple(
            {
                "group": "0",
                "sequence": s,
                "operation": "all_reduce",
                "state": "completed" if s < last else state,
                "input_sizes": [[8]],
            }
            for s in range(1, last + 1)
        )
        return FlightRecording(f"dump_{rank}", rank, "2.3", {"0": (0, 1, 2, 3)}, entries)

    hanging = [
        recording(0, 7, "started"),
        recording(1, 7, "started"),
        recording(2, 6, "completed"),
        recording(3, 7, "started"),
    ]
    found = diagnosed([taken(recordings=tuple(hanging))])
    assert [(each.id, each.culprit.rank) for each in found.findings] == [("hang-missing-rank", 2)]
    healthy = [recording(rank, 7, "completed") for rank in range(4)]
    assert ids(diagnosed([taken(recordings=tuple(healthy))])) == []


def test_sockets_are_blamed_on_who_chose_them() -> None:
    def message(line: int, kind: str, node: str, **values: Any) -> LibraryMessage:
        return LibraryMessage("nccl.log", line, kind, None, node, math.nan, values)

    messages = (
        message(1, "network", "n1", transport="NET/IB", found=True),
        message(2, "network", "n2", transport="Socket", found=True),
        message(3, "transport", "n1", transport="NET/Socket", source=0, target=1),
    )
    found = diagnosed([taken(messages=messages)])
    assert [(each.id, each.culprit.node, each.severity) for each in found.findings] == [
        ("socket-fallback", "n2", "high")
    ]


def _series(metric: str, gpu: int, value: float | np.ndarray, host: str = "n1") -> Series:
    values = np.broadcast_to(np.asarray(value, float), (30,))
    return Series("dcgm.prom", metric, {"gpu": str(gpu), "Hostname": host}, np.arange(30) * 30.0, values)


def test_a_hot_gpu_and_one_whose_clock_lags() -> None:
    hot = _series("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", 2, 0x40)
    found = diagnosed([taken(series=(hot, _series("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", 1, 0x4)))])
    assert [(each.id, each.culprit.node) for each in found.findings] == [("throttling", "n1")]
    assert "GPU 2" in found.findings[0].title
    clocks = tuple(_series("DCGM_FI_DEV_SM_CLOCK", gpu, 1400.0 if gpu == 5 else 1755.0) for gpu in range(8))
    found = diagnosed([taken(series=clocks)])
    assert ids(found) == ["throttling"] and "GPU 5" in found.findings[0].title


def test_silent_counters_contradict_full_utilisation() -> None:
    pair = (_series("DCGM_FI_DEV_GPU_UTIL", 0, 100.0), _series("DCGM_FI_PROF_SM_ACTIVE", 0, 0.0))
    assert ids(diagnosed([taken(series=pair)])) == ["contradiction"]
    busy = (_series("DCGM_FI_DEV_GPU_UTIL", 0, 100.0), _series("DCGM_FI_PROF_SM_ACTIVE", 0, 0.8))
    assert ids(diagnosed([taken(series=busy)])) == []


def test_an_old_xid_in_a_gauge_is_told_with_doubt() -> None:
    found = diagnosed([taken(series=(_series("DCGM_FI_DEV_XID_ERRORS", 3, 79.0),))])
    assert (
        ids(found) == ["hardware-fault"]
        and found.findings[0].confidence < 0.5
        and "never resets" in found.findings[0].title
    )


def test_the_same_log_of_every_rank_is_one_finding() -> None:
    rising = steady() + np.linspace(0.0, 0.3, 200)
    logs = tuple(log(rising, path=f"rank{rank}.log") for rank in range(6))
    assert ids(diagnosed([taken(logs=(each,)) for each in logs])) == ["mfu-drift"]


def test_logs_of_two_jobs_in_one_folder_contradict() -> None:
    def of(path: str, loss: float) -> TrainingLog:
        return log(steady(30), path=path, time_s=1.7e9 + 2.0 * np.arange(30), loss=np.full(30, loss))

    found = diagnosed([taken(logs=(of("a.log", 2.0),)), taken(logs=(of("b.log", 3.0),))])
    assert ids(found) == ["contradiction"]
    assert ids(diagnosed([taken(logs=(of("a.log", 2.0),)), taken(logs=(of("b.log", 2.0),))])) == []


def test_steps_out_of_order_are_found_by_their_number():
    """A damaged trace has its steps in any order (found by the fuzzer)."""
    from types import SimpleNamespace

    from argosy.observe.records import RankTrace

    damaged = SimpleNamespace(step_number=np.array([9, 2, 5]))
    assert RankTrace.places(damaged, [2, 9]).tolist() == [1, 0]  # type: ignore[arg-type]
