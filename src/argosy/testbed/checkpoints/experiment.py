"""`argosy testbed checkpoints`: pauses against the law, kills against the marker, another number of ranks. No torch here."""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from argosy.testbed.checkpoints import account, compare, plan, predict
from argosy.testbed.checkpoints.killing import launch, spoil
from argosy.testbed.checkpoints.plan import Case, Fault
from argosy.testbed.comparison import answer, bounded, compared

RANKS, CRASH_RANKS = 2, 4
SEED = 13
POINTS = tuple(plan.POINTS)
SHORT_POINTS = ("committed", "write", "metadata", "marker", "load")
BAR = 0.10
Say = Callable[[str], None]


def run(short: bool, say: Say) -> dict[str, Any]:
    """All of it; the payload without its head. TestbedError where torch is missing or a job fails."""
    with tempfile.TemporaryDirectory(prefix=f"argosy-{os.getpid()}-testbed-") as name:
        folder = Path(name)
        rows, shown = [], {}
        modes = (
            [("async", 5, 1, SHORT_POINTS)] if short else [("sync", 24, 2, POINTS), ("async", 40, 3, POINTS)]
        )
        for mode, randoms, each, points in modes:
            say(f"{mode}: {randoms} kills at random times, {each} at each of {len(points)} points of a save")
            planned = plan.faults(randoms, each, CRASH_RANKS, SEED, points)
            found, shown[mode] = kills(folder / mode, mode, planned)
            rows += found
        say("pauses: baseline, then synchronous and asynchronous saves; the last checkpoint on fewer ranks")
        spoil(folder / "async" / "killed")
        found, told = pauses(folder / "pauses", short, plan.resharded(folder / "async" / "killed"))
        rows = (
            found
            + rows
            + compare.other_ranks(folder / "pauses", folder / "async", f"{CRASH_RANKS} to {RANKS} ranks")
        )
    return answer(rows, NOTES, reason=LOOPBACK, short=short, pauses=told, kills=shown)


def pauses(folder: Path, short: bool, *more: Case) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Every case's pause, write and period beside the law's; `more` cases run after them."""
    launch(folder, [*plan.baselines(short), *plan.pauses(short), *more], RANKS)
    base = baseline(folder, plan.baselines(short))
    rows, told = [], []
    for case in plan.pauses(short):
        found = account.saves(account.read_events(folder, case.name))
        said = predict.pause(case, RANKS, found.bytes, base)
        name = title(case, found.bytes)
        rows.append(compared(f"{name}: pause", said.pause_s, found.pause_s, "s", BAR))
        if case.mode == "async":
            rows.append(compared(f"{name}: until safe", said.persist_s, found.persist_s, "s", BAR))
        rows.append(compared(f"{name}: between saves", said.period_s, found.period_s, "s", BAR))
        told.append({"name": name, "case": case.name, **_both(said, found)})
        if case.mode == "async" and found.quiet_s and found.busy_s:
            # Beside a write a step can lose what the writer takes of a processor, and no more.
            most = (case.write_rate or 0.0) * base.processor_s
            slower = found.busy_s / found.quiet_s - 1
            rows.append(bounded(f"{name}: steps slower while writing", None, max(most, 0.05), slower, ""))
    return rows, told


def _both(said: predict.Pause, found: account.Saves) -> dict[str, Any]:
    return {
        "predicted": {
            "pause_s": said.pause_s,
            "wait_s": said.wait_s,
            "persist_s": said.persist_s,
            "period_s": said.period_s,
        },
        "measured": {
            name: getattr(found, name)
            for name in ("pause_s", "wait_s", "copy_s", "persist_s", "period_s", "quiet_s", "busy_s")
        },
        "bytes": found.bytes,
        "saves": found.count,
    }


def title(case: Case, size: int) -> str:
    """A case in words: ranks × bytes of each, rate of each to storage, steps between saves."""
    rate = (case.write_rate or 0) / 1e6
    return f"{case.mode}, {RANKS} × {size / 1e6:.0f} MB, {rate:g} MB/s, {case.interval} steps"


def baseline(folder: Path, cases: Sequence[Case]) -> predict.Baseline:
    """Steps alone, and from a small and a middle save the fixed part and the share of the rates."""
    steps = {
        case.shape.hidden: statistics.median(account.step_times(account.read_events(folder, case.name))[0])
        for case in cases
        if not case.interval
    }
    tiny, middle, free = (_parts(folder, name) for name in ("save-tiny", "save-middle", "save-unbounded"))
    behind = account.saves(account.read_events(folder, "async-tiny"))
    copy, write, size = (b - a for a, b in zip(tiny, middle, strict=True))
    return predict.Baseline(
        save_s=tiny[1],
        copy_s=tiny[0],
        stop_s=behind.pause_s,
        behind_s=behind.persist_s,
        write_share=size / write / plan.WRITE_RATE,
        copy_share=size / copy / plan.COPY_RATE,
        processor_s=(free[0] + free[1] - tiny[0] - tiny[1]) / (free[2] - tiny[2]),
        step_s=steps,
    )


def _parts(folder: Path, name: str) -> tuple[float, float, int]:
    """Seconds of the copy and of the write of a synchronous case's saves, and the bytes."""
    events = account.read_events(folder, name)
    saves = account.saves(events)
    return saves.copy_s, saves.pause_s - saves.copy_s, saves.bytes


def kills(folder: Path, mode: str, faults: Sequence[Fault]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A job that is killed as planned: every restore, the lost work, the samples, and the losses beside an undisturbed run."""
    killed = launch(folder, plan.crash(mode, faults), CRASH_RANKS, faults)
    events = account.read_events(folder, "killed")
    lives = account.lives(events, killed)
    last = lives[-1].done
    reference = account.read_events(folder, "undisturbed")
    wanted = {e["steps"]: e["loss"] for e in account.of(reference, "step", rank=0)}
    losses = account.losses(lives, plan.CRASH_INTERVAL)
    step, stop, write = account.usual(events, lives)
    rhythm = predict.Rhythm(plan.CRASH_INTERVAL * step, stop, write)
    rows = [
        *compare.whole_rows(mode, events, lives, reference, len(faults), len(killed)),
        *compare.curve_rows(mode, events, lives, wanted),
        *compare.lost_rows(mode, losses, rhythm),
    ]
    return rows, {
        "rhythm": {"compute_s": rhythm.compute_s, "stop_s": rhythm.stop_s, "persist_s": rhythm.persist_s},
        "steps": last,
        "losses": [
            {
                "point": loss.point,
                "up_s": loss.up_s,
                "steps": loss.steps,
                "seconds": loss.seconds,
                "predicted_s": float(predict.lost(rhythm, [loss.up_s])[0]),
                "passed": loss.passed,
                "back_s": loss.back_s,
            }
            for loss in losses
        ],
    }


LOOPBACK = "ranks, restarts and saves need no fabric: links to storage are waits inside the ranks"
NOTES = [
    "the accelerator's time is a wait; so are the device's link to its host and a rank's to storage (rates per rank): the bytes "
    "are really copied, written and synchronised",
    "a save of nearly nothing in either mode, the share of the rates that a middle-sized one gets, and a step alone are measured "
    "once; of the job that is killed, the usual step, stop and write (medians over all attempts): nothing is fitted per case",
    "saves of 2 MB and steps of 30 ms stand for terabytes and seconds: times between kills are as short",
    "storage is this machine's disk behind the link: nothing that a real parallel file system adds is measured",
]
