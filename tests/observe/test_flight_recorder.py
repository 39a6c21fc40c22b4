"""Flight recorder dumps: pickles that hold data, pickles that want to run, and JSON."""

from __future__ import annotations

import json
import os
import pickle
import random
from pathlib import Path
from typing import Any

import pytest

from argosy.observe.readers import flight_recorder, source
from argosy.observe.readers.plain_pickle import PickleFault, loads


def entry(number: int, state: str = "completed", **more: Any) -> dict[str, Any]:
    return {
        "frames": [{"name": "step", "filename": "train.py", "line": 12}],
        "record_id": number,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "collective_seq_id": number,
        "p2p_seq_id": 0,
        "op_id": number,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": 1_759_536_000_000_000_000 + number,
        "input_sizes": ((3, 4), ()),
        "input_dtypes": ["Float", "Long"],
        "output_sizes": [[3, 4]],
        "state": state,
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": 1_759_536_000_000_000_500 if state == "completed" else None,
        "duration_ms": 1.5,
        "timeout_ms": 600000,
        "is_p2p": False,
        **more,
    }


def dump(*entries: dict[str, Any]) -> dict[str, Any]:
    return {
        "version": "2.10",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}},
        "pg_status": {
            "0": {
                "last_enqueued_collective": 6,
                "last_started_collective": -1,
                "last_completed_collective": 2,
            }
        },
        "entries": list(entries),
    }


FULL = dump(
    entry(1), entry(2, "scheduled"), entry(3, profiling_name="nccl:send 0->1", is_p2p=True, p2p_seq_id=9)
)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5, "json"])
def test_every_form_gives_the_same(tmp_path: Path, protocol: int | str) -> None:
    path = tmp_path / "nccl_trace_rank_7"
    path.write_bytes(json.dumps(FULL).encode() if protocol == "json" else pickle.dumps(FULL, int(protocol)))
    assert flight_recorder.looks_like(source.head(path), path)
    batch = flight_recorder.read(path)
    (found,) = batch.recordings
    assert (batch.input.status, batch.input.events, found.rank, found.version) == ("read", 3, 7, "2.10")
    assert (found.groups, found.descriptions) == ({"0": (0, 1, 2)}, {"0": "default_pg"})
    assert found.status["0"]["last_enqueued_collective"] == 6
    first, second, third = found.entries
    assert (first["group"], first["sequence"], first["operation"], first["state"]) == (
        "0",
        1,
        "all_reduce",
        "completed",
    )
    assert (first["input_sizes"], first["dtypes"], first["ranks"]) == (
        ((3, 4), ()),
        ("Float", "Long"),
        (0, 1, 2),
    )
    assert (first["time_started_ns"], first["time_completed_ns"]) == (None, 1_759_536_000_000_000_500)
    assert first["frames"] == ("train.py:12 step",)
    assert (second["state"], second["time_completed_ns"]) == ("scheduled", None)
    assert (third["operation"], third["sequence"], third["point_to_point"]) == ("send_recv", 9, True)


def test_the_pickle_machine_agrees_with_the_standard_library() -> None:
    draw = random.Random(2)

    def value(depth: int) -> Any:
        kinds: list[Any] = [
            lambda: draw.randrange(-(1 << 70), 1 << 70) >> draw.randrange(70),
            lambda: draw.random() * 10.0 ** draw.randrange(-300, 300),
            lambda: "".join(chr(draw.randrange(32, 0x3000)) for _ in range(draw.randrange(300))),
            lambda: draw.choice([None, True, False, b"x" * draw.randrange(400)]),
        ]
        if depth:
            kinds += [
                lambda: [value(depth - 1) for _ in range(draw.randrange(6))],
                lambda: tuple(value(depth - 1) for _ in range(draw.randrange(6))),
                lambda: {
                    draw.choice([draw.random(), str(draw.random()), i]): value(depth - 1)
                    for i in range(draw.randrange(5))
                },
            ]
        return draw.choice(kinds)()

    for _ in range(200):
        expected = value(4)
        shared = [expected, expected, {"again": expected}]
        for protocol in range(6):
            raw = pickle.dumps(shared, protocol)
            if b"_codecs" not in raw:  # bytes before protocol 3 are a call
                assert loads(raw) == shared


class _Harm:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch HARM",)


def test_a_pickle_that_wants_to_run_is_refused_and_what_stood_before_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "nccl_trace_rank_0"
    for protocol in (2, 4):
        path.write_bytes(pickle.dumps({**FULL, "more": _Harm()}, protocol))
        batch = flight_recorder.read(path)
        assert "refused" in batch.input.problems[0].message
        assert (batch.input.status, batch.input.events) == ("partial", 3)
    assert not (tmp_path / "HARM").exists()


@pytest.mark.parametrize(
    "raw",
    [
        b"\x80\x02cbuiltins\neval\nX\x01\x00\x00\x001\x85R.",
        b"\x80\x02(dib\x00.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
        b"\x80\x02\x82\x01.",  # an extension of copyreg
        b"\x80\x02Q.",  # a persistent object
        b"\x80\x02\x8b\xff\xff\xff\x7f" + b"\0" * 100 + b".",  # a number of two gigabytes
        b"I" + b"9" * 100_000 + b"\n.",
        b"\x80\x02}((((X\x01\x00\x00\x00atttK\x01s.",  # a tuple as a key
        b"\x80\x02" + b"(" * 10 + b".",
        b"\x80\x02]r\xff\xff\xff\x7f",  # a memo index that would ask for gigabytes
        b"\x80\x02h\x05.",
        b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7fabc.",
    ],
)
def test_pickles_that_are_no_plain_data(raw: bytes) -> None:
    try:
        found = loads(raw)
    except PickleFault:
        return
    assert not callable(found)


def test_doubling_nesting_and_length_stay_bounded(tmp_path: Path) -> None:
    doubled = b"\x80\x02]q\x00" + b"".join(
        b"]q" + bytes([i]) + b"(h" + bytes([i - 1]) + b"h" + bytes([i - 1]) + b"e" for i in range(1, 200)
    )
    entries = b"\x80\x02}(X\x07\x00\x00\x00entries](}(X\x0e\x00\x00\x00profiling_name"
    entries += b"X\x01\x00\x00\x00aX\x0b\x00\x00\x00input_sizes"
    path = tmp_path / "nccl_trace_rank_0"
    path.write_bytes(entries + doubled[2:] + b"ueu.")
    batch = flight_recorder.read(path)
    assert sum(len(each["input_sizes"]) for each in batch.recordings[0].entries) <= 64
    deep = b"\x80\x02" + b"]" * 500_000 + b"a" * 499_999 + b"."
    assert isinstance(loads(deep), list)
    nested = json.dumps(FULL).replace('"frames": ', '"frames": ' + "[" * 100_000, 1)
    path.write_text(nested)
    assert flight_recorder.read(path).input.status == "unreadable"


def test_a_dump_cut_short_keeps_its_entries(tmp_path: Path) -> None:
    path = tmp_path / "nccl_trace_rank_0"
    counted = set()
    for protocol in (2, 4):
        raw = pickle.dumps(dump(*(entry(i) for i in range(20))), protocol)
        for cut in range(len(raw) - 1, 0, -37):
            path.write_bytes(raw[:cut])
            batch = flight_recorder.read(path)
            assert batch.input.status in ("partial", "unreadable")
            counted.add(batch.input.events)
    assert {0, 5, 19} <= counted


def test_bytes_changed_at_random_are_never_a_crash(tmp_path: Path) -> None:
    draw, path = random.Random(3), tmp_path / "nccl_trace_rank_0"
    for raw in (pickle.dumps(FULL, 2), json.dumps(FULL).encode()):
        for _ in range(150):
            changed = bytearray(raw)
            for _ in range(draw.randrange(1, 8)):
                changed[draw.randrange(len(changed))] = draw.randrange(256)
            path.write_bytes(bytes(changed))
            assert flight_recorder.read(path).input.status in ("read", "partial", "unreadable")


def test_old_versions_and_odd_types(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    odd = {
        "version": 2.1,
        "pg_config": {"1": {"ranks": "[0, 1, ...]"}, "2": 5, "3": {"name": "tp", "ranks": [4, 5]}},
        "pg_status": {"0": 7},
        "entries": [
            {"profiling_name": "nccl:broadcast", "seq_id": 5, "pg_id": 1, "state": 3, "input_sizes": "x"},
            7,
            {},
        ],
    }
    path.write_text(json.dumps(odd))
    batch = flight_recorder.read(path)
    (found,) = batch.recordings
    assert found.groups == {"1": (), "tp": (4, 5)}
    (only,) = found.entries
    assert (only["sequence"], only["group"], only["state"], only["operation"]) == (
        5,
        "1",
        "unknown",
        "broadcast",
    )
    assert "2 entries are no collectives" in batch.input.problems[0].message
    assert found.rank is None
