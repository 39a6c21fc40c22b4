"""Traces of jobs that compute on processors and exchange over gloo: real ones of our own, and made ones for the corners."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from argosy.observe.diagnosis import diagnose
from argosy.observe.gather import gather
from argosy.observe.matching import divisions
from argosy.observe.observed import Observed
from argosy.observe.rates import group_rates
from argosy.observe.readers import kineto
from argosy.observe.readers.kineto_processor import outermost
from argosy.observe.records import Batch, RankTrace

REAL = Path(__file__).parent / "processor_traces"
DISTRIBUTED = {
    "backend": "gloo",
    "rank": 0,
    "world_size": 2,
    "pg_config": [{"pg_name": "0", "ranks": [0, 1]}],
}


def slice_of(
    name: str, start: float, length: float, thread: int = 1, kind: str = "cpu_op", **args: Any
) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": kind,
        "name": name,
        "pid": 9,
        "tid": thread,
        "ts": start,
        "dur": length,
        "args": args,
    }


def span(name: str, start: float, length: float, thread: int = 2, elements: int = 1000) -> dict[str, Any]:
    sizes = {"Input Dims": [[elements]], "Input type": ["float"]}
    return slice_of(name, start, length, thread, "user_annotation", **sizes)


def written(folder: Path, events: list[dict[str, Any]], rank: int = 0, **more: Any) -> Path:
    path = folder / f"rank-{rank}.json"
    head = {"schemaVersion": 1, "deviceProperties": [], "distributedInfo": {**DISTRIBUTED, "rank": rank}}
    path.write_text(json.dumps({**head, **more, "traceEvents": events}), encoding="utf-8")
    return path


def one(batch: Batch) -> RankTrace:
    (found,) = batch.traces
    return found


def blamed(path: Path) -> list[tuple[str, Any]]:
    """Findings that blame somebody, and whom: a rank, else a stage."""
    found = diagnose([path]).to_dict()["findings"]
    named = [(each["id"], each["culprit"]) for each in found if any(each["culprit"].values())]
    return [(kind, who["stage"] if kind == "uneven-stage" else who["rank"]) for kind, who in named]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("healthy", []),
        ("slow-rank", [("straggler-rank", 2)]),
        ("slow-loader", [("data-starvation", 1)]),
        ("uneven-stages", [("uneven-stage", 1)]),
    ],
)
def test_real_traces_blame_what_was_planted(name: str, expected: list[tuple[str, int]]) -> None:
    assert blamed(REAL / name) == expected


def test_a_real_log_alone_names_the_slow_rank() -> None:
    assert blamed(REAL / "slow-rank" / "train.log") == [("straggler-rank", 2)]


def test_seconds_saved_are_those_that_were_planted() -> None:
    """Rank 2's waits are 1.4 times 0.36 s: 144 ms."""
    (found,) = [
        each
        for each in diagnose([REAL / "slow-rank"]).to_dict()["findings"]
        if each["id"] == "straggler-rank"
    ]
    assert found["time_saved_s"] == pytest.approx(0.144, rel=0.1)


def test_real_steps_are_compute_and_exchange() -> None:
    found = one(kineto.read(REAL / "healthy" / "rank-0.pt.trace.json.gz"))
    step = (found.step_end_ns - found.step_start_ns) * 1e-9
    total = sum(found.activity_s.values())
    assert np.allclose(total, step)
    assert (found.activity_s["compute"] / step > 0.85).all()
    assert set(found.collectives.operations) == {"all_reduce"}
    assert set(found.collectives.groups) == {"0"}
    assert found.device is None


def test_a_step_of_a_processor_is_divided_without_rest(tmp_path: Path) -> None:
    events = [
        slice_of("ProfilerStep#3", 0, 1000, kind="user_annotation"),
        slice_of("autograd::engine::evaluate_function: MmBackward0", 100, 300),
        slice_of("aten::mm", 150, 200),  # inside: counts once
        slice_of("c10d::allreduce_", 400, 50),  # the call, no work
        span("gloo:all_reduce", 350, 400),
        slice_of("aten::add_", 800, 100),
    ]
    batch = kineto.read(written(tmp_path, events))
    assert (batch.input.status, batch.input.problems) == ("read", ())
    found = one(batch)
    parts = {kind: round(float(seconds[0]) * 1e6, 3) for kind, seconds in found.activity_s.items()}
    assert parts == {"compute": 400, "communication": 350, "copy": 0, "host": 250, "data": 0, "idle": 0}
    assert found.collectives.bytes.tolist() == [4000]
    assert found.collectives.exposed_ns.tolist() == [350_000]
    assert found.kernels["MmBackward0"] == (pytest.approx(300e-6), 1)


def test_a_receive_that_was_asked_for_early_counts_from_where_its_thread_waited(tmp_path: Path) -> None:
    events = [
        slice_of("ProfilerStep#0", 0, 1000, kind="user_annotation"),
        slice_of("aten::mm", 100, 500),
        span("gloo:recv", 50, 700, thread=1),  # asked for at 50, waited for from 600 to 750
        span("gloo:send", 60, 300, thread=1),  # through while the product ran
    ]
    found = one(kineto.read(written(tmp_path, events)))
    times = sorted(zip(found.collectives.start_ns, found.collectives.end_ns, strict=True))
    waits = [end - start for start, end in times]
    assert 150_000 in waits
    assert float(found.activity_s["communication"][0]) == pytest.approx(190e-6)  # 60 to 100, and 600 to 750


def test_groups_are_not_guessed_where_there_are_several(tmp_path: Path) -> None:
    several = {
        **DISTRIBUTED,
        "pg_config": [{"pg_name": "0", "ranks": [0, 1]}, {"pg_name": "1", "ranks": [0]}],
    }
    events = [slice_of("aten::mm", 0, 10), span("gloo:all_reduce", 10, 10)]
    found = one(kineto.read(written(tmp_path, events, distributedInfo=several)))
    assert set(found.collectives.groups) == {""}


def test_exchanges_without_a_name_are_of_groups_that_the_job_has(tmp_path: Path) -> None:
    """Two by two, in rows and in columns: messages of one size end together in the rows, of another in the columns. Ranks that
    happen to end together without having a group are not taken for one.
    """
    draw = np.random.default_rng(3)
    ends = {(0, "row"): 30.0, (1, "row"): 30.0, (2, "row"): 36.0, (3, "row"): 36.0}
    ends |= {(0, "column"): 70.0, (2, "column"): 70.0, (1, "column"): 70.2, (3, "column"): 70.2}
    wobble = draw.normal(0, 1.0, (2, 2, 12))
    for rank in range(4):
        lines = {"row": [rank // 2 * 2, rank // 2 * 2 + 1], "column": [rank % 2, rank % 2 + 2]}
        told = [{"pg_name": name, "ranks": line} for name, line in lines.items()]
        told.append({"pg_name": "all", "ranks": [0, 1, 2, 3]})
        events = [slice_of("ProfilerStep#0", 0, 2_000_000, kind="user_annotation")]
        for k in range(12):
            for number, (name, elements) in enumerate((("row", 100_000), ("column", 50_000))):
                line = rank // 2 if name == "row" else rank % 2
                end = 100_000 * (k + 1) + 1000 * (ends[rank, name] + wobble[number, line, k])
                events.append(span("gloo:all_reduce", end - 20_000, 20_000, elements=elements))
            events.append(slice_of("aten::mm", 100_000 * (k + 1), 1000))
        written(tmp_path, events, rank, distributedInfo={"rank": rank, "world_size": 4, "pg_config": told})
    observed = Observed(tuple(gather([tmp_path])))
    assert {(each.bytes, each.members) for each in group_rates(observed)} == {
        (400_000, (0, 1)), (400_000, (2, 3)), (200_000, (0, 2)), (200_000, (1, 3)),
    }  # fmt: skip


def test_few_collectives_tie_the_clocks_of_parts_that_talk_much_inside(tmp_path: Path) -> None:
    """Pairs that exchange forty times, all four ranks three times: the second pair's clocks are 70 ms ahead."""
    told = [{"pg_name": str(k), "ranks": line} for k, line in enumerate(([0, 1], [2, 3], [0, 1, 2, 3]))]
    wobble = np.random.default_rng(5).normal(0, 300, (2, 40))  # each pair has its own
    for rank in range(4):
        ahead, late = 70_000.0 * (rank // 2), 40_000.0 * (rank // 2)  # of its clock; of its own beginning
        events = [slice_of("ProfilerStep#0", late, 900_000, kind="user_annotation")]
        for k in range(40):
            at = late + 10_000 * k + 3000 + float(wobble[rank // 2, k])
            events.append(span("gloo:all_reduce", at, 5000, elements=1000))
        for k in range(3):
            events.append(span("gloo:all_reduce", 500_000 + 100_000 * k, 9000, elements=7000))
        events = [{**each, "ts": each["ts"] + ahead} for each in events]
        written(tmp_path, events, rank, distributedInfo={"rank": rank, "world_size": 4, "pg_config": told})
    alignment = Observed(tuple(gather([tmp_path]))).alignment
    assert alignment is not None
    assert np.ptp(alignment.offset_ns[:2]) < 1e3 and np.ptp(alignment.offset_ns[2:]) < 1e3
    assert alignment.offset_ns[2] - alignment.offset_ns[0] == pytest.approx(70e6, abs=1e4)


def test_divisions_are_groups_of_a_pattern_that_hold_all_ranks() -> None:
    groups = [(0, 1), (2, 3), (0, 2), (1, 3), (0, 3), (0, 1, 2, 3), (1,)]
    assert divisions(groups, range(4)) == [[(0, 1), (2, 3)], [(0, 2), (1, 3)], [(0, 1, 2, 3)]]
    assert divisions([(0, 1)], range(4)) == []


def test_gloo_beside_a_device_is_no_kernel(tmp_path: Path) -> None:
    """A job on GPUs may have barriers over gloo: what its device did is what counts."""
    kernel = {**slice_of("gemm", 0, 10, 7, "kernel"), "args": {"device": 0, "stream": 7, "correlation": 1}}
    found = one(kineto.read(written(tmp_path, [kernel, span("gloo:all_reduce", 0, 100)])))
    assert not len(found.collectives.start_ns)
    assert set(found.kernels) == {"gemm"}


def test_only_the_host_of_a_gpu_job_is_told_and_blames_nobody(tmp_path: Path) -> None:
    """Traces without kernels and without gloo: no NaN in a finding, as there once was."""
    for rank in (0, 1):
        events = [slice_of(f"ProfilerStep#{k}", 100 * k, 90, kind="user_annotation") for k in range(4)]
        events += [slice_of("aten::mm", 100 * k + 10 * rank, 20) for k in range(4)]
        batch = kineto.read(written(tmp_path, events, rank))
        assert "only the host" in batch.input.problems[0].message
    assert blamed(tmp_path) == []


def test_outermost_slices_by_thread() -> None:
    start = np.array([0, 1, 5, 0, 9, 20])
    length = np.array([10, 2, 5, 3, 4, 1])
    thread = np.array([1, 1, 1, 2, 1, 1])
    # 1–3 and 5–10 lie in 0–10; 9–13 begins in it and ends later; thread 2 is its own.
    assert outermost(start, length, thread).tolist() == [0, 4, 5, 3]


def test_small_exchanges_that_take_long_have_rates(tmp_path: Path) -> None:
    """400 kB in 30 ms are limited by the wire, though 4 MiB are not reached; 400 kB in 0.1 ms tell nothing."""
    for length, expected in ((30_000, 1), (100, 0)):
        folder = tmp_path / str(length)
        folder.mkdir()
        for rank in (0, 1):
            events = [slice_of("ProfilerStep#0", 0, 500_000, kind="user_annotation")]
            events += [slice_of("aten::mm", 50_000 * k, 1000) for k in range(6)]
            events += [span("gloo:all_reduce", 50_000 * k + 2000, length, elements=100_000) for k in range(6)]
            written(folder, events, rank)
        assert len(group_rates(Observed(tuple(gather([folder]))))) == expected
