"""`argosy testbed hang`: hangs that nobody reports, noticed by beats, located by flight recorders. No torch here."""

from __future__ import annotations

import json
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from argosy.observe.diagnosis import diagnose
from argosy.testbed.comparison import answer, bounded, compared, counted
from argosy.testbed.hang import plan, predict
from argosy.testbed.hang.plan import KINDS, RANKS, Plant
from argosy.testbed.hang.watch import State, Watch
from argosy.testbed.priority import ahead
from argosy.testbed.torch_launch import Job

SEED = 4
ALARM_SECONDS = 60.0
JOB_SECONDS, HANG_SECONDS = 120.0, 15.0
RECORDER = "2000"  # entries of a rank's flight recorder
BAR = 0.15
Say = Callable[[str], None]


def run(short: bool, say: Say) -> dict[str, Any]:
    """All hangs one after the other; the payload without its head. TestbedError where torch is missing or the job fails."""
    planted = plan.plants(2 if short else 10, SEED)
    with tempfile.TemporaryDirectory(prefix=f"argosy-{os.getpid()}-testbed-") as name:
        found = hangs(Path(name), planted, say)
    return answer(comparisons(found), NOTES, reason=LOOPBACK, short=short, hangs=found)


def hangs(folder: Path, planted: Sequence[Plant], say: Say) -> list[dict[str, Any]]:
    """One job, restarted by torchrun after every hang: what was planted, when it was seen, who was blamed."""
    told = folder / "planted.json"
    found = []
    with Watch() as watch:
        path = folder / "plan.json"
        settings = {
            "plants": [{"kind": one.kind, "rank": one.rank, "after_s": one.after_s} for one in planted],
            "port": watch.port,
            "planted": str(told),
            "dumps": str(folder / "dumps"),
        }
        path.write_text(json.dumps(settings), encoding="utf-8")
        with Job(
            None,
            "argosy.testbed.hang.rank",
            [str(path)],
            [0],
            RANKS,
            folder,
            JOB_SECONDS + HANG_SECONDS * len(planted),
            max_restarts=len(planted),
            environment={"TORCH_FR_BUFFER_SIZE": RECORDER},
            preload=["argosy.testbed.training.model"],
        ) as job:
            for attempt, one in enumerate(planted):
                found.append(_hang(job, watch, attempt, one, folder))
                say(
                    f"{one.kind} rank {one.rank}: seen after {found[-1]['seen_s']:.2f} s, blamed {found[-1]['blamed']}"
                )
            job.check(job.wait())
    for before, after in pairwise(found):
        before["back_s"] = after.pop("up_at") - before.pop("killed_at")
    return [{key: row[key] for key in row if not key.endswith("_at")} for row in found]


def _hang(job: Job, watch: Watch, attempt: int, one: Plant, folder: Path) -> dict[str, Any]:
    """Wait for an attempt's alarm, have the recorders written and read, and kill who is blamed, so that the job restarts."""
    begun: dict[str, float] = {}

    def act(state: State, now: float) -> None:
        job.poll()
        if len(state.heard) == RANKS:
            begun.setdefault("up", now)
        if one.kind == "stopped" and "planted" not in begun and now > begun.get("up", now) + one.after_s:
            job.kill(rank=one.rank, number=signal.SIGSTOP)
            begun["planted"] = time.monotonic()

    early = -1
    with ahead():
        while "planted" not in begun:  # a busy machine may hold a job up that nothing hangs in
            early += 1
            alarm, silent, at = watch.until_alarm(attempt, ALARM_SECONDS, act)
            if one.kind != "stopped" and (planted := _planted(folder, attempt)) is not None:
                begun["planted"] = planted
    wrote = watch.dumps(attempt, silent)
    blamed, sentences = blame(folder / "dumps" / str(attempt))
    named = time.monotonic()
    for rank in {*blamed, one.rank}:
        job.kill(rank=rank)
    return {
        "kind": one.kind,
        "rank": one.rank,
        "alarm": alarm,
        "silent": list(silent),
        "false_alarms": early,
        "seen_s": at - begun["planted"],
        "dumps": list(wrote),
        "blamed": blamed,
        "named_s": named - at,
        "says": sentences,
        "up_at": begun["up"],
        "killed_at": named,
    }


def _planted(folder: Path, attempt: int) -> float | None:
    """When an attempt's rank hung by itself; None as long as it has not."""
    with suppress(FileNotFoundError, ValueError):
        told = json.loads((folder / "planted.json").read_text(encoding="utf-8"))
        if told["attempt"] == attempt:
            return float(told["at"])
    return None


def blame(folder: Path) -> tuple[list[int], list[str]]:
    """The ranks that `argosy diagnose` blames for a hang by the dumps in a folder, and its sentences."""
    found = [one for one in diagnose([folder]).to_dict()["findings"] if one["id"].startswith("hang-")]
    ranks = {one["culprit"]["rank"] for one in found if one["culprit"]["rank"] is not None}
    return sorted(ranks), [one["title"] for one in found]


def comparisons(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of every kind: seen by the right sign, at the time that the law says, and the right rank alone blamed."""
    rows = []
    for kind in KINDS:
        mine = [one for one in found if one["kind"] == kind]
        seen = [one["seen_s"] for one in mine]
        low, high = predict.window(kind)
        sign = (
            ("silent", [[one["rank"]] for one in mine]) if kind == "stopped" else ("still", [[]] * len(mine))
        )
        right = sum(
            (one["alarm"], one["silent"]) == (sign[0], ranks)
            for one, ranks in zip(mine, sign[1], strict=True)
        )
        rows += [
            bounded(
                f"{kind}: of {len(mine)}, noticed by {'missing beats' if kind == 'stopped' else 'steps that stand still'}",
                len(mine),
                None,
                right,
                "",
            ),
            compared(
                f"{kind}: mean time until it is noticed",
                predict.seconds(kind),
                statistics.fmean(seen),
                "s",
                BAR,
            ),
            bounded(
                f"{kind}: of {len(mine)}, noticed between {low:.2f} and {high:.2f} s",
                len(mine),
                None,
                sum(low <= s <= high for s in seen),
                "",
            ),
            counted(
                f"{kind}: the culprit alone blamed",
                len(mine),
                sum(one["blamed"] == [one["rank"]] for one in mine),
            ),
        ]
    return rows


LOOPBACK = "beats and sums need no fabric: ranks of one host"
NOTES = [
    "beats come from a thread of every rank over UDP: a rank that waits for ever still beats, a stopped one does not",
    "gloo's recorder names neither its groups' members nor the states of its work; the ranks fill the first in, argosy diagnose "
    "takes the second from the groups' status",
    "the blamed rank is killed and torchrun restarts the job from nothing: what restoring costs is in checkpoints",
]
