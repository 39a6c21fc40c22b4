"""Restores, losses, samples and lost work of a killed job beside an undisturbed one's and the law's. No torch."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from argosy.testbed.checkpoints import account, plan, predict
from argosy.testbed.checkpoints.plan import BATCH
from argosy.testbed.comparison import bounded, counted

OFF_PACE = (
    1.5  # steps that an attempt may be from its usual pace, and a kill from the moment that a save counts
)
BAR = 0.10  # of a mean
ROUNDING = 1e-4  # of a loss, between sums over different numbers of ranks


def whole_rows(
    mode: str,
    events: Sequence[account.Event],
    lives: Sequence[account.Life],
    reference: Sequence[account.Event],
    planned: int,
    done: int,
) -> list[dict[str, Any]]:
    """Every restore was from the latest checkpoint that was marked whole, and gave the undisturbed run's state, bit for bit."""
    states = {e["steps"]: e["crc32"] for e in account.of(reference, "state", rank=0)}
    restores = [e for e in account.of(events, "restored", rank=0) if e["folder"]]
    right = sum(states.get(e["steps"]) == e["crc32"] for e in restores)
    marked, missed = 0, 0
    for life, following in pairwise(lives):
        marked = max([marked, *life.whole])
        missed += following.restored < marked
    torn = sum(len(life.passed) for life in lives)
    return [
        counted(f"{mode}: kills carried out", planned, done),
        counted(f"{mode}: restored states equal to the undisturbed run's, bit for bit", len(restores), right),
        counted(f"{mode}: restores that went back behind a checkpoint marked whole", 0, missed),
        bounded(f"{mode}: torn checkpoints recognised and passed over", 1, None, torn, ""),
    ]


def curve_rows(
    mode: str, events: Sequence[account.Event], lives: Sequence[account.Life], wanted: dict[int, str]
) -> list[dict[str, Any]]:
    """Losses and samples of the job's history."""
    last = lives[-1].done
    curve = account.curve(events, lives)
    same = sum(curve.get(step) == wanted.get(step) for step in range(1, last + 1))
    used = account.samples(events, lives, BATCH)
    return [
        counted(f"{mode}: steps whose loss is the undisturbed run's, bit for bit", last, same),
        counted(
            f"{mode}: steps done again with another loss", 0, len(account.repeats_that_differ(events, wanted))
        ),
        counted(f"{mode}: samples used exactly once", last * BATCH, used.used),
        counted(f"{mode}: samples missing or used twice", 0, used.missing + used.twice),
    ]


def lost_rows(mode: str, losses: Sequence[account.Loss], rhythm: predict.Rhythm) -> list[dict[str, Any]]:
    """Work lost per kill: never more than allowed; of kills at random times the mean, beside the law's."""
    over = sum(loss.steps > loss.allowed for loss in losses)
    slack = OFF_PACE * rhythm.compute_s / plan.CRASH_INTERVAL
    at_random = [loss for loss in losses if loss.point == "random"]
    # An attempt that this machine held up says nothing of a law that knows steps of one length.
    usual = predict.steps_done(rhythm, [loss.up_s for loss in at_random], plan.CRASH_INTERVAL)
    random = [
        loss for loss, steps in zip(at_random, usual, strict=True) if abs(loss.done - steps) <= OFF_PACE
    ]
    rows = [
        counted(f"{mode}: kills that cost more than the interval and the save in flight", 0, over),
        bounded(
            f"{mode}: of {len(at_random)} kills at random times, those of jobs that were at their usual pace",
            max(2, len(at_random) // 2),
            None,
            len(random),
            "",
        ),
    ]
    return rows + _law_rows(mode, random, rhythm, slack) if len(random) > 1 else rows


def _law_rows(
    mode: str, random: Sequence[account.Loss], rhythm: predict.Rhythm, slack: float
) -> list[dict[str, Any]]:
    """Kills at random times of jobs at their usual pace, beside the law."""
    ups = [loss.up_s for loss in random]
    seconds = [loss.seconds for loss in random]
    # Whether a save counts is decided in a moment: kills close to it may go either way.
    soonest, latest = (predict.lost(rhythm, ups, later) for later in (-slack, slack))
    agree = int(_between(rhythm, random, slack).sum())
    low, high = predict.spread(seconds)
    return [
        bounded(
            f"{mode}: of these {len(random)}, those after which the save was restored that the law says",
            0.9 * len(random),
            None,
            agree,
            "",
        ),
        bounded(
            f"{mode}: mean lost work; law at the times of the {len(random)} kills, give or take {OFF_PACE:g} steps and {BAR:.0%}",
            (1 - BAR) * float(soonest.mean()),
            (1 + BAR) * float(latest.mean()),
            statistics.fmean(seconds),
            "s",
            predicted=float(predict.lost(rhythm, ups).mean()),
        ),
        bounded(
            f"{mode}: mean lost work by the law, kills every {plan.MTBF_S:g} s; measured mean, its 95 % interval",
            low,
            high,
            predict.mean_lost(rhythm, plan.MTBF_S),
            "s",
            predicted=statistics.fmean(seconds),
        ),
    ]


def _between(rhythm: predict.Rhythm, losses: Sequence[account.Loss], slack: float) -> np.ndarray:
    """Whether the saves that counted are those of a kill `slack` seconds earlier, or later, or between, (n,)."""
    ups = np.array([loss.up_s for loss in losses])
    found = np.array([loss.kept_saves for loss in losses])
    return np.asarray(
        (predict.kept(rhythm, ups - slack) <= found) & (found <= predict.kept(rhythm, ups + slack))
    )


def other_ranks(folder: Path, first: Path, name: str) -> list[dict[str, Any]]:
    """The last checkpoint of the killed job in `first` on another number of ranks: the same state, the same losses within
    rounding.
    """
    events = account.read_events(folder, "resharded")
    reference = account.read_events(first, "undisturbed")
    restored = account.of(events, "restored", rank=0)[0]
    states = {e["steps"]: e["crc32"] for e in account.of(reference, "state", rank=0)}
    wanted = {e["steps"]: float.fromhex(e["loss"]) for e in account.of(reference, "step", rank=0)}
    found = {e["steps"]: float.fromhex(e["loss"]) for e in account.of(events, "step", rank=0)}
    worst = max(abs(loss / wanted[step] - 1) for step, loss in found.items())
    used = [n for e in account.of(events, "step") for n in range(*e["samples"])]
    expected = set(range(restored["steps"] * BATCH, max(found) * BATCH))
    changed = [step for step, why in restored["passed"] if "changed" in why]
    return [
        counted(
            "latest checkpoint with a byte changed on disk: passed over",
            [restored["steps"] + plan.CRASH_INTERVAL],
            changed,
        ),
        counted(
            f"{name}: restored state equal, bit for bit", True, states[restored["steps"]] == restored["crc32"]
        ),
        bounded(f"{name}: largest difference of a loss over {len(found)} steps", None, ROUNDING, worst, ""),
        counted(f"{name}: samples used exactly once", len(used), len(set(used) & expected)),
    ]
