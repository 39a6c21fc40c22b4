"""The trace is decoded by a reader of the wire format that shares nothing with the writer."""

from __future__ import annotations

import json
import random
from collections import defaultdict

import pytest

from argosy.cli.main import run as command
from argosy.ledger import Interval
from argosy.observe.align import align
from argosy.observe.readers import kineto
from argosy.report.perfetto import Slice, observed, trace, varint, write
from argosy.training import simulate


def decoded(data: bytes) -> dict[int, list]:
    """Field number → values; wire types 0 and 2 only."""
    fields, at = defaultdict(list), 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value += (byte % 128) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = number()
        if tag % 8 == 0:
            fields[tag // 8].append(number())
        else:
            assert tag % 8 == 2
            length = number()
            fields[tag // 8].append(data[at : at + length])
            at += length
    assert at == len(data)
    return fields


def test_varints_of_the_encoding_guide():
    # protobuf.dev, Encoding: 150 is 96 01; one byte holds up to 127.
    assert varint(150) == bytes([0x96, 0x01]) and varint(127) == b"\x7f" and varint(0) == b"\0"
    with pytest.raises(ValueError, match="negative"):
        varint(-1)


def test_a_trace_holds_every_operation_on_its_stage():
    run = simulate("dualpipe", [0.001] * 4, [0.002] * 4, 8)
    packets = [decoded(each) for each in decoded(trace(run.timeline, "a step"))[1]]
    assert all(packet[10] == [1] for packet in packets)  # one sequence
    tracks, found, open_slices, last = {}, [], {}, 0
    for packet in packets:
        for descriptor in map(decoded, packet[60]):
            (uuid,) = descriptor[1]
            if descriptor[3]:
                assert decoded(descriptor[3][0])[6] == [b"a step"]
                process = uuid
            else:
                assert descriptor[5] == [process]
                tracks[uuid] = descriptor[2][0].decode()
        for event in map(decoded, packet[11]):
            (time,), (track,), (kind,) = packet[8], event[11], event[9]
            assert time >= last
            last = time
            if kind == 1:
                assert track not in open_slices  # nothing nests
                open_slices[track] = (time, event[23][0].decode())
            else:
                start, name = open_slices.pop(track)
                found.append((tracks[track], name, start, time))
    assert not open_slices
    expected = [(i.place, i.state, round(i.start_s * 1e9), round(i.end_s * 1e9)) for i in run.timeline]
    assert sorted(found) == sorted(expected)


def test_stages_are_in_order_of_their_number():
    timeline = [Interval(0, 1, "F0", f"stage {i}") for i in (10, 9, 0)]
    packets = [decoded(each) for each in decoded(trace(timeline, "x"))[1]]
    names = [decoded(d)[2][0] for packet in packets for d in packet[60] if decoded(d)[2]]
    assert names == [b"stage 0", b"stage 9", b"stage 10"]


def read(data: bytes) -> tuple[dict[int, tuple[str, str]], list]:
    """Tracks (process, name) by number; slices (track, depth, name, start, end) by a viewer's rules: an end closes the
    innermost open slice of its track."""
    packets = [decoded(each) for each in decoded(data)[1]]
    processes, tracks, found, open_slices, last = {}, {}, [], defaultdict(list), 0
    for packet in packets:
        for descriptor in map(decoded, packet[60]):
            if descriptor[3]:
                processes[descriptor[1][0]] = decoded(descriptor[3][0])[6][0].decode()
            else:
                tracks[descriptor[1][0]] = (processes[descriptor[5][0]], descriptor[2][0].decode())
        for event in map(decoded, packet[11]):
            (time,), (track,), (kind,) = packet[8], event[11], event[9]
            assert time >= last
            last = time
            if kind == 1:
                open_slices[track].append((event[23][0].decode(), time))
            else:
                name, start = open_slices[track].pop()
                found.append((track, len(open_slices[track]), name, start, time))
    assert not any(open_slices.values())
    return tracks, found


def test_slices_nest_and_overlapping_ones_are_not_dropped():
    spans = [
        ("outer", 0, 100),
        ("inner", 10, 50),
        ("innermost", 10, 20),
        ("beside", 50, 100),
        ("across", 90, 130),
        ("dot", 60, 60),
    ]
    tracks, found = read(
        write(Slice("rank 0", "stream 7", name, "k", start, end) for name, start, end in spans)
    )
    assert sorted((name, start, end) for _, _, name, start, end in found) == sorted(spans)
    assert set(tracks.values()) == {("rank 0", "stream 7")} and len(tracks) == 2
    depth = {name: depth for _, depth, name, _, _ in found}
    assert depth == {"outer": 0, "inner": 1, "innermost": 2, "beside": 1, "dot": 2, "across": 0}


def test_any_slices_come_back_as_they_were():
    draw = random.Random(5)
    for _ in range(30):
        slices = []
        for i in range(draw.randrange(1, 80)):
            start = draw.randrange(-50, 200)
            place = (f"rank {draw.randrange(3)}", f"stream {draw.randrange(2)}")
            slices.append(Slice(*place, f"slice {i}", "k", start, start + draw.randrange(60)))
        shift = min(0, *(each.start_ns for each in slices)) if len(slices) > 1 else min(0, slices[0].start_ns)
        tracks, found = read(write(slices))
        assert sorted((*tracks[track], name, start, end) for track, _, name, start, end in found) == sorted(
            (each.process, each.track, each.name, each.start_ns - shift, each.end_ns - shift)
            for each in slices
        )


def test_aligned_ranks_stand_on_one_clock_with_their_waiting(tmp_path):
    # Rank 1's clock is 1 ms ahead, and it comes 90 µs late to every all-reduce.
    def event(category, name, start, duration, thread):
        times = {"ts": start, "dur": duration}
        return {
            "ph": "X",
            "cat": category,
            "name": name,
            "pid": 0,
            "tid": thread,
            "args": {"stream": thread},
        } | times

    traces = []
    for rank in (0, 1):
        events = [event("user_annotation", "ProfilerStep#3", 1000 * rank, 5_000, 1)]
        for k in range(10):
            start, late = 1000 * rank + 400 * k, 100 + 90 * rank
            events.append(event("kernel", "gemm", start, late, 7))
            events.append(event("kernel", "ncclDevKernel_AllReduce_Sum(x)", start + late, 300 - late, 20))
        path = tmp_path / f"rank{rank}.json"
        members = {"distributedInfo": {"rank": rank, "world_size": 2}, "baseTimeNanoseconds": 10**18}
        path.write_text(json.dumps({**members, "traceEvents": events}))
        traces += kineto.read(path).traces
    alignment = align(traces)
    assert alignment is not None
    tracks, found = read(observed(alignment))
    assert set(tracks.values()) == {
        ("rank 0", "stream 7"), ("rank 0", "stream 20"), ("rank 0", "thread 1"), ("rank 0", "waiting"),
        ("rank 1", "stream 7"), ("rank 1", "stream 20"), ("rank 1", "thread 1"),
    }  # fmt: skip
    waits = [(name, end - start) for _, _, name, start, end in found if name.startswith("waiting")]
    assert waits == [("waiting for rank 1: all_reduce", 90_000)] * 10
    ends = defaultdict(set)
    for track, _, name, _, end in found:
        if name.startswith("nccl"):
            ends[tracks[track][0]].add(end)
    assert ends["rank 0"] == ends["rank 1"]  # on the common clock


SCENARIO = """
name: small
fleet: {accelerator: H100-SXM, count: 64}
training:
  {name: pretrain, model: llama-3.1-8b, tokens: 1e9, sequence_length: 8192, global_batch: 128 sequences,
   layout: {tp: 2, pp: 4, vp: 1, micro_batch: 1}}
"""


def test_the_command_writes_trace_chart_and_json(tmp_path, capsys):
    (tmp_path / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    out = [str(tmp_path / name) for name in ("t.pftrace", "t.html")]
    arguments = ["timeline", str(tmp_path / "s.yaml"), "--perfetto", out[0], "--html", out[1]]
    assert command([*arguments, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "argosy.timeline/1" and answer["schedule"] == "1f1b"
    assert len(answer["timeline"]) == 2 * 4 * answer["layout"]["grad_accumulation"]
    assert answer["seconds"] < answer["step_time_s"] * 1.05
    assert len(decoded((tmp_path / "t.pftrace").read_bytes())[1]) == 1 + 4 + 2 * len(answer["timeline"])
    page = (tmp_path / "t.html").read_text(encoding="utf-8")
    assert "<svg" in page and "pipeline stage" in page and "src=" not in page
    assert command([*arguments[:2], "--schedule", "dualpipe"]) == 0
    assert "dualpipe" in capsys.readouterr().out
    assert command([*arguments[:2], "--schedule", "chimera"]) == 1
    assert "zero-bubble-v" in capsys.readouterr().err
