"""Kineto traces: eras of time, where a step's time goes, collectives, shapes, and whatever can be wrong with a file."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trace_files import ADD, ALL_REDUCE, BASE_NS, ERAS, GEMM, event, kernel, launch, small, step, trace

from argosy.observe.readers import kineto, source, trace_stream
from argosy.observe.records import ACTIVITIES, Batch, RankTrace


def read(folder: Path, raw: bytes, name: str = "t.json") -> Batch:
    path = folder / name
    path.write_bytes(raw)
    assert kineto.looks_like(source.head(path), path)
    return kineto.read(path)


def one(batch: Batch) -> RankTrace:
    (found,) = batch.traces
    return found


@pytest.mark.parametrize("era", ERAS)
def test_every_era_gives_the_same_nanoseconds(tmp_path: Path, era: str) -> None:
    batch = read(tmp_path, trace(small(), era, distributedInfo={"rank": 3, "world_size": 8}))
    found = one(batch)
    assert (batch.input.status, batch.input.problems, batch.input.events) == ("read", (), len(small()))
    assert (found.era, found.position.rank, found.position.world) == (era, 3, 8)
    assert found.step_number.tolist() == [5, 6]
    # The second step begins on the device with its first kernel; the last ends with the host's step.
    assert (found.step_start_ns - BASE_NS).tolist() == [0, 1_020_000]
    assert (found.step_end_ns - BASE_NS).tolist() == [1_020_000, 1_990_000]


def test_a_step_is_divided_without_rest(tmp_path: Path) -> None:
    found = one(read(tmp_path, trace(small())))
    first = {kind: round(float(seconds[0]) * 1e6, 6) for kind, seconds in found.activity_s.items()}
    # 20 before the first kernel, 200–300 the all-reduce alone, 450–500 the copy alone, 500–610 launched late at 600,
    # 700–1020 the next step's first kernel was launched at 1010.
    assert first == {
        "compute": 180 + 150 + 90,
        "communication": 100,
        "copy": 50,
        "host": 20 + 110 + 320,
        "data": 0,
        "idle": 0,
    }
    assert found.communication_s.tolist() == pytest.approx([200e-6, 200e-6])
    assert found.collectives.exposed_ns.tolist() == [100_000, 100_000]
    assert found.collectives.step.tolist() == [0, 1]
    assert found.kernels[ADD] == (pytest.approx(480e-6), 4)
    assert found.categories == {
        "elementwise": pytest.approx(480e-6),
        "communication": pytest.approx(400e-6),
        "gemm": pytest.approx(360e-6),
        "copy": pytest.approx(120e-6),
    }
    assert found.flops == 2 * (2 * 64 * 32 * 16)


def test_a_gap_whose_kernel_waited_in_its_queue_is_idle_and_one_of_the_loader_is_data(tmp_path: Path) -> None:
    loader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    events = [
        step(1, 0, 1000),
        launch(0, 1),
        launch(5, 2),
        launch(800, 3),
        kernel(GEMM, 10, 90, 1),
        kernel(GEMM, 300, 100, 2),
        event("user_annotation", loader, 500, 200),
        kernel(GEMM, 850, 150, 3),
    ]
    found = one(read(tmp_path, trace(events)))
    seconds = {kind: round(float(each[0]) * 1e6) for kind, each in found.activity_s.items()}
    assert seconds == {
        "compute": 340,
        "communication": 0,
        "copy": 0,
        "host": 10 + 250,
        "data": 200,
        "idle": 200,
    }
    assert [(kind, end - start) for kind, start, end, _ in found.marks] == [("data-loading", 200_000)]


def test_activities_are_those_of_a_painted_timeline(tmp_path: Path) -> None:
    """The oracle paints every µs of the step in the order of precedence."""
    draw = random.Random(4)
    names = {"compute": GEMM, "communication": ALL_REDUCE, "copy": "Memcpy DtoH"}
    for _ in range(20):
        spans = [
            (draw.choice(list(names)), draw.randrange(0, 900), draw.randrange(1, 80))
            for _ in range(draw.randrange(1, 60))
        ]
        events = [step(0, 0, 1000)] + [
            kernel(names[kind], at, length, i + 1, stream=draw.randrange(4))
            for i, (kind, at, length) in enumerate(spans)
        ]
        painted = np.full(1000, 5)
        for kind, at, length in spans:
            painted[at : at + length] = np.minimum(painted[at : at + length], ACTIVITIES.index(kind))
        found = one(read(tmp_path, trace(events)))
        assert [round(float(found.activity_s[kind][0]) * 1e6) for kind in ACTIVITIES] == [
            int((painted == i).sum()) for i in range(len(ACTIVITIES))
        ]


def test_a_trace_without_steps_is_one_step_of_the_profilers_span(tmp_path: Path) -> None:
    span = {
        "ph": "X",
        "cat": "Trace",
        "name": "PyTorch Profiler (0)",
        "pid": "Spans",
        "tid": "PyTorch Profiler",
    }
    events = [
        span | {"ts": 100, "dur": 500, "args": {"Op count": 0}},
        kernel(GEMM, 50, 100, 1),
        kernel(GEMM, 550, 100, 2),
    ]
    found = one(read(tmp_path, trace(events)))
    assert (found.step_number.tolist(), (found.step_start_ns - BASE_NS).tolist()) == ([0], [100_000])
    assert found.activity_s["compute"].tolist() == pytest.approx([100e-6])
    bare = one(read(tmp_path, trace(events[1:])))
    assert (bare.step_end_ns - bare.step_start_ns).tolist() == [600_000]


def test_a_last_step_whose_kernels_run_on_is_kept_whole(tmp_path: Path) -> None:
    events = [
        step(7, 0, 100),
        step(8, 100, 100),
        launch(10, 1),
        launch(110, 2),
        kernel(GEMM, 20, 300, 1),
        kernel(GEMM, 320, 300, 2),
    ]
    found = one(read(tmp_path, trace(events)))
    assert (found.step_end_ns - found.step_start_ns).tolist() == [320_000, 300_000]


def test_a_profilers_pause_between_steps_is_nobodys_time(tmp_path: Path) -> None:
    events = [
        step(0, 0, 100),
        step(50, 10_000, 100),
        launch(1, 1),
        kernel(GEMM, 2, 150, 1),
        launch(10_001, 2),
        kernel(GEMM, 10_002, 90, 2),
    ]
    found = one(read(tmp_path, trace(events)))
    assert (found.step_end_ns - found.step_start_ns).tolist() == [152_000, 98_000]


def test_what_nccls_arguments_tell(tmp_path: Path) -> None:
    told = {
        "Collective name": "_allgather_base",
        "In msg nelems": 1024,
        "Out msg nelems": 8192,
        "dtype": "BFloat16",
        "Process Group Name": "dp",
        "Process Group Ranks": "[0, 2, 4, 6]",
        "Seq": 41,
    }
    spread = {"Collective name": "all_to_allv", "In msg nelems": 10, "Out msg nelems": 99, "dtype": "Float"}
    events = [
        step(0, 0, 100),
        kernel("ncclDevKernel_AllGather_RING_LL(x)", 10, 5, 1) | {"args": {"stream": 3, **told}},
        kernel("ncclDevKernel_SendRecv(x)", 20, 5, 2) | {"args": {"stream": 3, **spread}},
        kernel("ncclKernel_ReduceScatter_RING_LL_Sum_float(x)", 30, 5, 3),
    ]
    info = {"rank": 0, "pg_config": [{"pg_name": "tp", "pg_desc": "TENSOR", "pg_size": 2, "ranks": [0, 1]}]}
    found = one(read(tmp_path, trace(events, distributedInfo=info)))
    each = found.collectives
    assert [each.operations[i] for i in each.operation] == ["all_gather", "all_to_all", "reduce_scatter"]
    assert [each.groups[i] for i in each.group] == ["dp", "", ""]
    assert (each.sequence.tolist(), each.bytes.tolist()) == ([41, -1, -1], [16384, 40, 0])
    assert found.groups == {"dp": (0, 2, 4, 6), "tp": (0, 1)}
    assert found.metadata["group_descriptions"] == {"tp": "TENSOR"}


def test_older_traces_tell_the_size_by_the_span_that_launched_the_kernel(tmp_path: Path) -> None:
    shapes = {"Input Dims": [[1000, 3], [7]], "Input type": ["c10::Half", "long int"]}
    events = [
        step(0, 0, 100),
        event("user_annotation", "nccl:all_reduce", 5, 10, **shapes),
        event("user_annotation", "nccl:all_reduce", 50, 10, **{"Input Dims": [[9]], "Input type": ["float"]}),
        launch(8, 1),
        kernel("ncclKernel_AllReduce_RING_LL_Sum_half(x)", 40, 5, 1, stream=9),
    ]
    each = one(read(tmp_path, trace(events))).collectives
    assert (each.operations, each.bytes.tolist()) == (("all_reduce",), [3000 * 2 + 7 * 8])


@pytest.mark.parametrize(
    ("name", "dims", "flops"),
    [
        ("aten::mm", [[3, 5], [5, 7]], 2 * 3 * 5 * 7),
        ("aten::addmm", [[7], [3, 5], [5, 7], [], []], 2 * 3 * 5 * 7),
        ("aten::bmm", [[4, 3, 5], [4, 5, 7]], 2 * 4 * 3 * 5 * 7),
        ("aten::baddbmm", [[4, 3, 7], [4, 3, 5], [4, 5, 7]], 2 * 4 * 3 * 5 * 7),
        ("aten::_scaled_dot_product_flash_attention", [[2, 8, 100, 64]] * 3, 4 * 2 * 8 * 100 * 100 * 64),
        (
            "aten::_scaled_dot_product_flash_attention_backward",
            [[2, 8, 100, 64]] * 5,
            10 * 2 * 8 * 100 * 100 * 64,
        ),
        ("aten::linear", [[3, 5], [7, 5]], None),  # its aten::addmm counts
        ("aten::mm", [[3, 5], [6, 7]], 0),  # no product
        ("aten::mm", [[3, -5], [5, "x"]], 0),
        ("aten::mm", "nonsense", 0),
    ],
)
def test_flops_of_recorded_shapes(tmp_path: Path, name: str, dims: Any, flops: int | None) -> None:
    events = [
        step(0, 0, 100),
        event("cpu_op", name, 10, 5, **{"Input Dims": dims}),
        event("cpu_op", name, 120, 5, **{"Input Dims": dims}),
    ]
    assert one(read(tmp_path, trace(events))).flops == flops  # the second stands outside the step


def test_marks_name_what_the_host_did_and_nothing_that_merely_sounds_so(tmp_path: Path) -> None:
    names = {
        "python_function": ["<built-in function collect>", "torch/_dynamo/convert_frame.py(701): _compile"],
        "user_annotation": ["save_checkpoint", "Torch-Compiled Region: 0/0", "forward"],
        "cpu_op": ["CompiledFunction", "CheckpointFunction", "TorchDynamo Cache Lookup"],
    }
    events = [step(0, 0, 900)]
    events += [
        event(kind, name, 10 * i, 5)
        for i, (kind, name) in enumerate((k, n) for k, each in names.items() for n in each)
    ]
    found = one(read(tmp_path, trace(events)))
    assert [kind for kind, *_ in found.marks] == ["garbage-collection", "compilation", "checkpoint"]


def test_slices_are_those_of_the_middle_step_and_bounded(tmp_path: Path) -> None:
    events = [step(i, 10_000 * i, 10_000) for i in range(3)]
    events += [kernel(GEMM, 10_000 * i + j, 0.5, 0) for i in range(3) for j in range(5_000)]
    events += [event("cpu_op", f"aten::op{j}", 10_000 + j, 0.7, thread=99) for j in range(3_000)]
    found = one(read(tmp_path, trace(events)))
    assert len(found.slices) == 4_000
    assert {lane for lane, *_ in found.slices} == {"stream 7", "thread 1", "thread 99"}
    start, end = int(found.step_start_ns[1]), int(found.step_end_ns[1])
    assert all(slice_[4] > start and slice_[3] < end for slice_ in found.slices)


def test_the_categories_of_the_first_versions(tmp_path: Path) -> None:
    older = {
        "kernel": "Kernel",
        "cuda_runtime": "Runtime",
        "cpu_op": "Operator",
        "user_annotation": "Operator",
        "gpu_memcpy": "Memcpy",
    }
    events = [each | {"cat": older[each["cat"]]} for each in small()]
    found, expected = one(read(tmp_path, trace(events))), one(read(tmp_path, trace(small())))
    assert found.step_end_ns.tolist() == expected.step_end_ns.tolist()
    assert found.kernels == expected.kernels
    assert [each.tolist() for each in found.activity_s.values()] == [
        each.tolist() for each in expected.activity_s.values()
    ]


def test_a_process_on_several_devices_counts_the_busiest(tmp_path: Path) -> None:
    other = [kernel(GEMM, 100 * i, 10, 0) | {"args": {"device": 3, "stream": 7}} for i in range(3)]
    batch = read(
        tmp_path, trace([*small(), *other], deviceProperties=[{"id": 3, "name": "B"}, {"id": 0, "name": "A"}])
    )
    assert "kernels of 2 devices; only those of the busiest, device 0" in batch.input.problems[0].message
    assert one(batch).device == "A"
    assert one(batch).kernels[GEMM][1] == 2


def test_more_kernels_and_names_than_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_stream, "LARGEST_NAMES", 64)
    monkeypatch.setattr(kineto, "MOST_DEVICE", 100)
    monkeypatch.setattr(trace_stream, "_ROWS", 50)
    events = [step(0, 0, 1000)] + [kernel(f"kernel {i}", i, 1, 0) for i in range(500)]
    batch = read(tmp_path, trace(events))
    text = " ".join(problem.message for problem in batch.input.problems)
    assert "more names than are told apart" in text
    assert "more than 100 kernels: the rest is not read" in text
    assert 100 <= sum(count for _, count in one(batch).kernels.values()) < 200


# --- what can be wrong with a file ---


def test_a_trace_cut_anywhere_gives_what_stands_before(tmp_path: Path) -> None:
    raw = trace(small())
    whole = read(tmp_path, raw).input.events
    seen = set()
    for cut in range(1, len(raw) - 2, 31):
        path = tmp_path / "cut.json"
        path.write_bytes(raw[:cut])
        batch = kineto.read(path)
        (problem,) = [each for each in batch.input.problems if "ends in the middle" in each.message]
        assert problem.line == raw[:cut].count(b"\n") + 1
        assert batch.input.status == ("partial" if batch.input.events else "unreadable")
        seen.add(batch.input.events)
    assert seen == set(range(whole + 1))


def test_a_broken_event_is_told_with_its_line_and_the_others_count(tmp_path: Path) -> None:
    raw = trace(small())
    for wrong in (b'"dur" 180', b'"dur": @', b'"dur": 180, "args": {"a": [}', b'{"dur": 180'):
        damaged = raw.replace(b'"dur": 180', wrong, 1)
        batch = read(tmp_path, damaged)
        assert batch.input.events == len(small()) - 1
        (problem,) = batch.input.problems
        assert "broken event" in problem.message
        lines = damaged.split(b"\n")
        assert b'"ph"' in lines[problem.line - 1]
        assert problem.line <= damaged[: damaged.index(wrong)].count(b"\n") + 1
        assert one(batch).kernels[GEMM][1] == 1


def test_objects_larger_than_the_buffer_and_any_size_of_it_give_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = one(read(tmp_path, trace(small())))
    for size in (16, 100, 1000):
        monkeypatch.setattr(trace_stream, "BUFFER", size)
        found = one(read(tmp_path, trace(small())))
        assert found.kernels == expected.kernels
        assert found.step_end_ns.tolist() == expected.step_end_ns.tolist()


def test_an_object_too_large_to_hold_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_stream, "BUFFER", 1 << 10)
    monkeypatch.setattr(trace_stream, "LARGEST_VALUE", 8 << 10)
    events = small()
    events.insert(3, event("cpu_op", "aten::huge", 1, 1, text="x" * 40_000))
    batch = read(tmp_path, trace(events))
    assert batch.input.events == len(small())
    assert "an event of more than" in batch.input.problems[0].message


@pytest.mark.parametrize("cut", [0.2, 0.7, 0.99])
def test_a_gzip_file_that_breaks_off_counts_as_far_as_it_goes(tmp_path: Path, cut: float) -> None:
    events = [step(0, 0, 1e6)] + [kernel(GEMM, 10 * i + i % 7, 5, i) for i in range(3_000)]
    raw = gzip.compress(trace(events), mtime=0)
    whole = read(tmp_path, raw, "t.json.gz")
    assert (whole.input.status, whole.input.events) == ("read", 3_001)
    batch = read(tmp_path, raw[: int(len(raw) * cut)], "t.json.gz")
    assert batch.input.status == "partial"
    assert 0 < batch.input.events < 3_001
    assert "gzip stream ends in the middle" in batch.input.problems[0].message
    spoilt = bytearray(raw)
    spoilt[len(raw) // 2] ^= 0xFF
    batch = read(tmp_path, bytes(spoilt), "t.json.gz")
    assert batch.input.status == "partial"


def test_a_decompression_bomb_ends_early(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(trace(small())[:-10] + b" " * (40 << 20)))
    with source.Source(path, ratio_from=1 << 20) as opened:
        while opened.read():
            pass
        assert opened.damage is not None
        assert "decompression bomb" in opened.damage
        assert opened.offset < 20 << 20
    with source.Source(path, largest=1 << 20) as opened:
        while opened.read():
            pass
        assert "more than" in str(opened.damage)


def test_values_that_no_slice_can_have(tmp_path: Path) -> None:
    events = small()
    raw = trace(events)
    raw = raw.replace(b'"dur": 180', b'"dur": 86400000001', 1).replace(b'"dur": 150', b'"dur": NaN', 1)
    raw = raw.replace(b'"dur": 90,', b'"dur": -90,', 1).replace(
        b'"correlation": 11', b'"correlation": 18446744073709551615'
    )
    raw = raw.replace(b"Memcpy HtoD", b"Memcpy \xff\xfe", 1)
    batch = read(tmp_path, raw)
    text = " ".join(each.message for each in batch.input.problems)
    assert "1 slices last longer than a day" in text
    assert "2 slices have no usable time" in text
    assert "1 names are no UTF-8" in text
    assert batch.input.events == len(events)
    assert one(batch).kernels[GEMM][1] == 1


def test_overlapping_kernels_are_not_counted_twice(tmp_path: Path) -> None:
    events = [step(0, 0, 100)] + [kernel(GEMM, 10 + i, 50, i) for i in range(20)]
    assert one(read(tmp_path, trace(events))).activity_s["compute"].tolist() == pytest.approx([69e-6])


def test_json_nested_without_end(tmp_path: Path) -> None:
    raw = trace(small())
    deep = b"[" * 20_000
    for place, end in ((b'"schemaVersion": 1', b"]" * 20_000), (b'"dur": 180', b"")):
        batch = read(tmp_path, raw.replace(place, place.split(b":")[0] + b": " + deep + end))
        assert batch.input.status == "partial"
        assert batch.input.events >= len(small()) - 2
    batch = read(tmp_path, b'{"traceEvents": ' + b'[{"ph":' * 50_000)
    assert batch.input.status == "unreadable"


@pytest.mark.parametrize(
    "members",
    [
        {"distributedInfo": {"rank": "0", "world_size": -1, "pg_config": "x"}},
        {"distributedInfo": [1], "deviceProperties": {"id": 0}},
        {"distributedInfo": {"rank": 1e99, "pg_config": [{"pg_name": 1, "ranks": "[0, 1, ...]"}, None]}},
        {"deviceProperties": [{"id": 0, "name": 7}, None]},
    ],
)
def test_members_of_other_types_than_expected(tmp_path: Path, members: dict[str, Any]) -> None:
    found = one(read(tmp_path, trace(small(), **members)))
    assert found.position.rank is None
    assert found.groups == {}


def test_a_base_that_is_no_time(tmp_path: Path) -> None:
    raw = trace(small()).replace(str(BASE_NS).encode(), b"9" * 30)
    batch = read(tmp_path, raw)
    assert "is no time" in batch.input.problems[0].message
    assert one(batch).era == "absolute-float-us"


def test_negative_relative_times(tmp_path: Path) -> None:
    found = one(read(tmp_path, trace([step(0, -500.25, 400), kernel(GEMM, -400.5, 100, 1)])))
    assert (found.step_start_ns - BASE_NS).tolist() == [-500_250]


def test_bytes_changed_at_random_are_never_a_crash(tmp_path: Path) -> None:
    draw, raw = (
        random.Random(11),
        trace(small(), distributedInfo={"rank": 0, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]}),
    )
    path = tmp_path / "f.json"
    for _ in range(400):
        changed = bytearray(raw)
        for _ in range(draw.randrange(1, 12)):
            at = draw.randrange(len(changed))
            how = draw.randrange(3)
            if how == 0:
                changed[at] = draw.randrange(256)
            elif how == 1:
                del changed[at : at + draw.randrange(40)]
            else:
                changed[at:at] = draw.choice(
                    [b"{", b"}", b"[", b"]", b'"', b"\\", b"\n", b"\0", b"9" * 30, b'{"ph":', b"e308"]
                )
        path.write_bytes(bytes(changed))
        batch = kineto.read(path)
        assert batch.input.status in ("read", "partial", "unreadable", "ignored")
        for found in batch.traces:
            total = sum(found.activity_s[kind] for kind in ACTIVITIES)
            assert total == pytest.approx((found.step_end_ns - found.step_start_ns) * 1e-9, abs=1e-9)
            assert all((seconds >= -1e-12).all() for seconds in found.activity_s.values())


def test_other_chrome_traces_and_the_bare_array(tmp_path: Path) -> None:
    other = json.dumps(
        {"traceEvents": [{"ph": "X", "cat": "stage", "name": "fwd", "ts": 1, "dur": 2}]}
    ).encode()
    assert read(tmp_path, other).input.status == "ignored"
    bare = json.dumps(small()).encode()
    assert read(tmp_path, bare).input.events == len(small())


# --- real traces ---


def test_real_kernels_are_those_that_json_gives(shared_directory: Path) -> None:
    path = shared_directory / "samples/kineto" / "hta_ns_rank0.pt.trace.json.gz"
    found = one(kineto.read(path))
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    expected = sum(
        each["dur"] for each in events if each.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
    )
    window = found.step_end_ns[-1] - found.step_start_ns[0]
    assert sum(seconds for seconds, _ in found.kernels.values()) == pytest.approx(expected * 1e-6, rel=1e-4)
    assert (found.era, found.step_number.tolist(), found.device) == (
        "absolute-float-us",
        list(range(101, 106)),
        "Tesla V100-SXM2-32GB",
    )
    assert sum(float(each.sum()) for each in found.activity_s.values()) == pytest.approx(window * 1e-9)


def test_the_real_eight_ranks_wait_for_rank_seven(shared_directory: Path) -> None:
    traces = sorted(
        (one(kineto.read(path)) for path in (shared_directory / "samples/kineto").glob("param_dlrm8_*.json")),
        key=lambda each: each.position.rank or 0,
    )
    assert [each.position.rank for each in traces] == list(range(8))
    starts = np.array([each.collectives.start_ns for each in traces])
    ends = np.array([each.collectives.end_ns for each in traces])
    assert starts.shape == (8, 8)
    assert (starts.argmax(axis=0) == 7).sum() == 5
    names = [traces[0].collectives.operations[i] for i in traces[0].collectives.operation]
    assert names.count("send_recv") == 5
    waiting = starts.max(axis=0) - starts
    assert np.minimum(waiting, ends - starts).sum() / (ends - starts).sum() > 0.9
    spent = [float(each.communication_s[0]) for each in traces]
    assert spent.index(min(spent)) == 7
    assert all((each.collectives.bytes > 0).all() for each in traces)


@pytest.mark.parametrize(
    ("name", "era", "rank", "device", "status"),
    [
        ("hta_rank_not_found.json.gz", "absolute-us", None, None, "partial"),
        ("hta_amd_mi250.json.gz", "relative-us", None, "AMD Radeon Graphics", "read"),
        ("hta_triton.json.gz", "relative-us", None, "NVIDIA A100-PG509-200", "read"),
        ("hta_sampled_rank1.json.gz", "absolute-us", 1, None, "read"),
    ],
)
def test_other_real_traces(
    shared_directory: Path, name: str, era: str, rank: int | None, device: str | None, status: str
) -> None:
    batch = kineto.read(shared_directory / "samples/kineto" / name)
    found = one(batch)
    assert (found.era, found.position.rank, found.device, batch.input.status) == (era, rank, device, status)
    if status == "read":
        assert found.kernels
