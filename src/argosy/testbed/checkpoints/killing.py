"""Runs a job's cases by torchrun, and kills its ranks as planned. No torch here."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from argosy.testbed.checkpoints import account, commit
from argosy.testbed.checkpoints.plan import Case, Fault
from argosy.testbed.hosts import TestbedError
from argosy.testbed.priority import ahead
from argosy.testbed.torch_launch import Job

SECONDS, RESTART_SECONDS = 200.0, 10.0  # of a job, and more for every kill; what takes longer is ended
LOOK_S = 0.005
PRELOAD = (
    "torch.distributed.checkpoint",
    "torch.distributed.tensor",
    "argosy.testbed.checkpoints.storage",
    "argosy.testbed.training.model",
)


def launch(
    folder: Path, cases: Sequence[Case], ranks: int, faults: Sequence[Fault] = ()
) -> dict[int, tuple[str, float]]:
    """Run cases in `folder`, and kill as planned; point and time of every kill by attempt."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "plan.json"
    path.write_text(json.dumps({"cases": [case.as_plan(folder) for case in cases]}), encoding="utf-8")
    with Job(
        None,
        "argosy.testbed.checkpoints.rank",
        [str(path)],
        [0],
        ranks,
        folder,
        SECONDS + RESTART_SECONDS * len(faults),
        max_restarts=len(faults),
        preload=PRELOAD,
    ) as job:
        kills = _kill(job, folder, ranks, faults)
        job.check(job.wait())
    return kills


def _kill(job: Job, folder: Path, ranks: int, faults: Sequence[Fault]) -> dict[int, tuple[str, float]]:
    """Kill at random times, from the moment that all ranks are up; ranks that are killed at points of a save say so."""
    kills: dict[int, tuple[str, float]] = {}
    ups: dict[int, list[float]] = {}
    follow = account.Follow(folder)
    with ahead():
        for attempt, fault in enumerate(faults):
            if fault.point != "random":
                continue
            while len(ups.get(attempt, ())) < ranks:
                if job.poll():
                    raise TestbedError(f"the job ended before attempt {attempt}")
                time.sleep(LOOK_S)
                for event in account.of(follow.more(), "up", case="killed"):
                    ups.setdefault(event["attempt"], []).append(event["at"])
            time.sleep(max(0.0, max(ups[attempt]) + fault.after_s - time.monotonic()))
            kills[attempt] = ("random", time.monotonic())
            for rank in range(ranks) if fault.rank is None else [fault.rank]:
                job.kill(rank=rank)
    if faults:
        job.check(job.wait())
        for event in account.of(account.read_events(folder, "killed"), "killed"):
            kills[event["attempt"]] = (event["point"], event["at"])
    return kills


def spoil(root: Path) -> None:
    """Change one byte of the latest checkpoint, as a disk may."""
    folder, _ = commit.latest_whole(root)
    if folder is None:
        raise TestbedError("the killed job left no whole checkpoint")
    with sorted(folder.glob("*.distcp"))[0].open("r+b") as stream:
        stream.seek(stream.seek(0, os.SEEK_END) // 2)
        byte = stream.read(1)
        stream.seek(-1, os.SEEK_CUR)
        stream.write(bytes([byte[0] ^ 1]))
