"""Hangs over several groups: who waits because he is waited for, and who does not; gloo's dumps, which name no states."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from argosy.observe.diagnosis import diagnose
from argosy.observe.readers import flight_recorder

# Two by two: a step adds up in pairs of neighbours, then across, then in the world.
GROUPS = {"1": (0, 1), "2": (2, 3), "3": (0, 2), "4": (1, 3), "0": (0, 1, 2, 3)}
PURPOSES = {"1": "inside", "2": "inside", "3": "across", "4": "across", "0": "world"}
STEPS = 5
START_NS = 1_759_536_000_000_000_000


def names(rank: int) -> tuple[str, ...]:
    """The groups of a rank in the order of its step."""
    return tuple(name for name in ("1", "2", "3", "4", "0") if rank in GROUPS[name])


def dump(folder: Path, rank: int, done: Mapping[str, int], waiting: tuple[str, int] | None) -> None:
    """What gloo's recorder keeps of a rank: `done` collectives by group, and the one it `waits` in since that second."""
    entries: list[dict[str, Any]] = []

    def add(group: str, sequence: int, at: int) -> None:
        entries.append(
            {
                "record_id": len(entries),
                "pg_id": names(rank).index(group),  # the rank's own number of it
                "process_group": [group, "pairs"],
                "collective_seq_id": sequence,
                "p2p_seq_id": 0,
                "profiling_name": "gloo:all_reduce",
                "time_created_ns": START_NS + at,
                "input_sizes": [[10]],
                "input_dtypes": ["Float"],
                "state": "scheduled",
                "retired": True,
                "is_p2p": False,
            }
        )

    for step in range(1, STEPS + 2):
        for place, group in enumerate(names(rank)):
            if step <= done[group]:
                add(group, step, 100 * step + place)
    status = {
        group: {"last_enqueued_collective": n, "last_completed_collective": n} for group, n in done.items()
    }
    if waiting is not None:
        group, at = waiting
        add(group, done[group] + 1, 100 * STEPS + at)
        status[group]["last_enqueued_collective"] += 1
    said = {
        "version": "2.10",
        "pg_config": {
            group: {"name": group, "desc": PURPOSES[group], "ranks": list(GROUPS[group])}
            for group in names(rank)
        },
        # As torch writes JSON: by the rank's own number, and numbers as texts.
        "pg_status": {
            str(names(rank).index(group)): {key: str(value) for key, value in told.items()}
            for group, told in status.items()
        },
        "entries": entries,
        "rank": rank,
    }
    (folder / f"dump_rank_{rank}.json").write_text(json.dumps(said))


def culprits(folder: Path) -> list[int]:
    found = diagnose([folder]).to_dict()["findings"]
    return sorted(one["culprit"]["rank"] for one in found if one["id"] == "hang-missing-rank")


def all_of(rank: int, count: int = STEPS) -> dict[str, int]:
    return dict.fromkeys(names(rank), count)


def test_completed_work_of_gloo_is_read_from_its_groups_status(tmp_path: Path) -> None:
    dump(tmp_path, 0, all_of(0), ("1", 1))
    (found,) = flight_recorder.read(tmp_path / "dump_rank_0.json").recordings
    states = [(entry["group"], entry["sequence"], entry["state"]) for entry in found.entries]
    assert states[-1] == ("1", 6, "scheduled")
    assert {state for _, _, state in states[:-1]} == {"completed"}


@pytest.mark.parametrize("heard", [True, False], ids=["stuck", "stopped"])
def test_a_rank_that_waits_itself_is_not_blamed(tmp_path: Path, heard: bool) -> None:
    """Rank 3 never comes. Rank 2 waits for it in their pair, so that rank 0 waits for rank 2 in vain."""
    ahead = {"1": STEPS + 1, "3": STEPS, "4": STEPS, "0": STEPS}
    dump(tmp_path, 0, {name: ahead[name] for name in names(0)}, ("3", 2))
    dump(tmp_path, 1, {name: ahead[name] for name in names(1)}, ("4", 2))
    dump(tmp_path, 2, all_of(2), ("2", 1))
    if heard:
        dump(tmp_path, 3, all_of(3), None)
    assert culprits(tmp_path) == [3]


@pytest.mark.parametrize("late", [0, 3], ids=["on time", "the one that was left came late"])
def test_in_a_circle_the_other_order_tells_who_left_a_sum_out(tmp_path: Path, late: int) -> None:
    """Rank 3 leaves a sum with rank 2 out and goes on: in the end everybody waits, rank 3 in the world's sum. When rank 2 came
    late, the group that waits longest is not the one that was left.
    """
    dump(tmp_path, 0, {"1": STEPS + 1, "3": STEPS, "0": STEPS}, ("3", 2))
    dump(tmp_path, 1, {"1": STEPS + 1, "4": STEPS + 1, "0": STEPS}, ("0", 5))
    dump(tmp_path, 2, all_of(2), ("2", 1 + late))
    dump(tmp_path, 3, {"2": STEPS, "4": STEPS + 1, "0": STEPS}, ("0", 4))
    assert culprits(tmp_path) == [3]


def test_without_purposes_of_groups_who_was_left_first_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for group in PURPOSES:
        monkeypatch.setitem(PURPOSES, group, "")
    dump(tmp_path, 0, {"1": STEPS + 1, "3": STEPS, "0": STEPS}, ("3", 2))
    dump(tmp_path, 1, {"1": STEPS + 1, "4": STEPS + 1, "0": STEPS}, ("0", 5))
    dump(tmp_path, 2, all_of(2), ("2", 1))
    dump(tmp_path, 3, {"2": STEPS, "4": STEPS + 1, "0": STEPS}, ("0", 4))
    assert culprits(tmp_path) == [3]


def test_a_dump_of_a_job_that_works_blames_nobody(tmp_path: Path) -> None:
    for rank in range(4):
        dump(tmp_path, rank, all_of(rank), None)
    assert culprits(tmp_path) == []
