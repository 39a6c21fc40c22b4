"""What the ranks wrote, line by line, as pauses, lost work, and samples that must add up. No torch."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

Event = dict[str, Any]


def read_events(folder: Path, case: str) -> list[Event]:
    """Events of a case, of all ranks. A last line that is not ended is left out."""
    return [event for event in Follow(folder).more() if event["case"] == case]


class Follow:
    """Events as they are written: what came since the last look."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.read: dict[Path, int] = {}

    def more(self) -> list[Event]:
        """Events of all cases since the last call, rank by rank. A last line without its end waits for it."""
        found = []
        for path in sorted(self.folder.glob("events-*.jsonl")):
            with path.open("rb") as stream:
                stream.seek(self.read.get(path, 0))
                *lines, _ = stream.read().split(b"\n")
            self.read[path] = self.read.get(path, 0) + sum(len(line) + 1 for line in lines)
            found += [json.loads(line) for line in lines]
        return found


def of(events: Iterable[Event], kind: str, **values: Any) -> list[Event]:
    """Those of a kind with these values."""
    return [e for e in events if e["event"] == kind and all(e[key] == v for key, v in values.items())]


@dataclass(frozen=True)
class Saves:
    """Medians over the saves of a case but the first, s: `pause_s`, of which `wait_s` for the save before and `copy_s` in the
    copy to the host; `persist_s` from the pause's end until the checkpoint is whole; `period_s` between saves. `quiet_s`,
    `busy_s`: of a step while nothing is being written, and while something is (None: no such step). `bytes`: of the
    fullest rank. `count`: saves counted.
    """

    pause_s: float
    wait_s: float
    copy_s: float
    persist_s: float
    period_s: float
    quiet_s: float | None
    busy_s: float | None
    bytes: int
    count: int


def saves(events: Sequence[Event]) -> Saves:
    """Of a case without kills. The slowest rank counts: others wait for it in the next step. ValueError for under two saves."""
    by_step: dict[int, list[Event]] = {}
    for event in of(events, "saved"):
        by_step.setdefault(event["steps"], []).append(event)
    whole = {event["steps"]: event["at"] for event in of(events, "committed")}
    steps = sorted(by_step)
    if len(steps) < 2:
        raise ValueError("one save is not enough to measure by")
    rows = []
    for before, step in pairwise(steps):
        ranks = by_step[step]
        end = max(e["at"] for e in ranks)
        rows.append(
            {
                "pause": max(e["at"] - e["begun"] for e in ranks),
                "wait": max(e["waited"] - e["begun"] for e in ranks),
                "copy": max(e["copied"] - e["waited"] for e in ranks),
                "persist": max(0.0, whole[step] - end),
                "period": min(e["begun"] for e in ranks) - min(e["begun"] for e in by_step[before]),
            }
        )
    quiet, busy = step_times(events, [(max(e["at"] for e in by_step[step]), whole[step]) for step in steps])
    middle = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
    return Saves(
        pause_s=middle["pause"],
        wait_s=middle["wait"],
        copy_s=middle["copy"],
        persist_s=middle["persist"],
        period_s=middle["period"],
        quiet_s=statistics.median(quiet) if quiet else None,
        busy_s=statistics.median(busy) if busy else None,
        bytes=max(e["bytes"] for e in of(events, "restored")),
        count=len(rows),
    )


def step_times(
    events: Sequence[Event], writes: Sequence[tuple[float, float]] = ()
) -> tuple[list[float], list[float]]:
    """Seconds of rank 0's steps with no write going on, and of those that a write lasts through; the first two steps, which
    pay for memory, and steps that are partly so are left out.
    """
    quiet, busy = [], []
    for event in of(events, "step", rank=0):
        if event["steps"] <= 2:
            continue
        begun, at = event["begun"], event["at"]
        if any(first <= begun and at <= last for first, last in writes):
            busy.append(at - begun)
        elif not any(first < at and begun < last for first, last in writes):
            quiet.append(at - begun)
    return quiet, busy


@dataclass(frozen=True)
class Life:
    """One attempt from its restore to its kill (`end_s` seconds after it was up; None: it ended by itself).

    `restored`, `done`: steps at its beginning, and of the rank that came furthest. `saved`: begin and end of every save's
    pause, s since it was up, by step; `whole`: when it was marked whole. `passed`: checkpoints that the restore passed
    over, (step, why). `up_at`: by the events' clock.
    """

    attempt: int
    up_at: float
    restored: int
    done: int
    end_s: float | None
    saved: Mapping[int, tuple[float, float]]
    whole: Mapping[int, float]
    passed: Sequence[tuple[int, str]]
    point: str = ""


def lives(events: Sequence[Event], kills: Mapping[int, tuple[str, float]]) -> list[Life]:
    """Attempts of a case in turn; `kills`: point and time (as the events' clock) of every attempt's end. One that was killed
    before its ranks were up ends at 0; one that was killed while it was restored is none.
    """
    found: list[Life] = []
    for attempt in sorted({event["attempt"] for event in of(events, "restored")}):
        mine = [event for event in events if event["attempt"] == attempt]
        restored = of(mine, "restored")[0]
        ups = [event["at"] for event in of(mine, "up")]
        begun = max(ups, default=0.0)
        steps = [event["steps"] for event in of(mine, "step")]
        point, at = kills.get(attempt, ("", None))
        first = restored["steps"]
        pauses: dict[int, tuple[float, float]] = {}
        for event in of(mine, "saved"):
            low, high = pauses.get(event["steps"], (event["begun"], 0.0))
            pauses[event["steps"]] = (min(low, event["begun"]), max(high, event["at"]))
        found.append(
            Life(
                attempt,
                begun,
                first,
                max(steps, default=first),
                None if at is None else max(at - begun, 0.0) if ups else 0.0,
                {step: (low - begun, high - begun) for step, (low, high) in pauses.items()},
                {event["steps"]: event["at"] - begun for event in of(mine, "committed")},
                [(step, why) for step, why in restored["passed"]],
                point,
            )
        )
    return found


def usual(events: Sequence[Event], found: Sequence[Life]) -> tuple[float, float, float]:
    """Medians over all attempts, s: of a step but an attempt's first, of a save's stop, of the time from there until it is
    whole. ValueError where there is no whole one.
    """
    first = {life.attempt: life.restored + 1 for life in found}
    steps = [e["at"] - e["begun"] for e in of(events, "step", rank=0) if e["steps"] > first[e["attempt"]]]
    stops = [end - begun for life in found for begun, end in life.saved.values()]
    writes = [
        at - life.saved[step][1] for life in found for step, at in life.whole.items() if step in life.saved
    ]
    if not writes:
        raise ValueError("no save became whole")
    return statistics.median(steps), statistics.median(stops), max(0.0, statistics.median(writes))


@dataclass(frozen=True)
class Loss:
    """What one kill cost: steps and seconds of work that the next attempt did again, and the most that it may be: the steps
    since the last save whose write could have ended, `allowed`. `back_s`: from the kill until all ranks were up again.
    `done`: steps that the attempt did.
    """

    attempt: int
    point: str
    up_s: float
    kept_saves: int
    steps: int
    seconds: float
    allowed: int
    passed: int
    back_s: float
    done: int


def losses(found: Sequence[Life], interval: int) -> list[Loss]:
    """Of every kill, by what the next attempt restored. A save in flight adds the steps that were done beside it."""
    rows = []
    for life, following in pairwise(found):
        if life.end_s is None:
            continue
        back = following.restored
        kept = [step for step in life.saved if life.restored < step <= back]
        since = max((life.saved[step][1] for step in kept), default=0.0)
        started = [step for step in life.saved if step > life.restored]
        flying = [step for step in started if step not in life.whole]
        beside = life.done - min(flying) if flying else 0
        rows.append(
            Loss(
                life.attempt,
                life.point,
                life.end_s,
                (back - life.restored) // interval,
                life.done - back,
                max(life.end_s - since, 0.0),
                interval + beside,
                len(following.passed),
                following.up_at - life.up_at - life.end_s,
                life.done - life.restored,
            )
        )
    return rows


def curve(events: Sequence[Event], found: Sequence[Life]) -> dict[int, str]:
    """The loss of every step as the job's history has it: of a step that was done again, the last time counts."""
    return {event["steps"]: event["loss"] for event in _history(events, found) if event["rank"] == 0}


def repeats_that_differ(events: Sequence[Event], reference: Mapping[int, str]) -> list[int]:
    """Steps of which any rank, in any attempt, had another loss than the reference, bit for bit."""
    return sorted({e["steps"] for e in of(events, "step") if reference.get(e["steps"]) != e["loss"]})


@dataclass(frozen=True)
class Samples:
    """Samples of a job's history: `used` once each, as they should be; `missing`, `twice`: not so; `again`: computed and lost."""

    used: int
    missing: int
    twice: int
    again: int


def samples(events: Sequence[Event], found: Sequence[Life], batch: int) -> Samples:
    """All samples up to the last step must be in the history exactly once, over all ranks and attempts."""
    history = _history(events, found)
    counts = Counter(n for e in history for n in range(*e["samples"]))
    last = max((e["steps"] for e in history), default=0)
    asked = range(last * batch)
    every = sum(e["samples"][1] - e["samples"][0] for e in of(events, "step"))
    return Samples(
        used=sum(counts[n] == 1 for n in asked),
        missing=sum(counts[n] == 0 for n in asked) + sum(1 for n in counts if n >= last * batch),
        twice=sum(count > 1 for count in counts.values()),
        again=every - sum(counts.values()),
    )


def _history(events: Sequence[Event], found: Sequence[Life]) -> list[Event]:
    """Steps that the job kept: of each attempt those up to what the next one restored."""
    ends = {life.attempt: following.restored for life, following in pairwise(found)}
    first = {life.attempt: life.restored for life in found}
    for attempt in sorted(ends, reverse=True):  # what a later attempt fell back behind is not kept either
        ends[attempt] = min(ends[attempt], ends.get(attempt + 1, ends[attempt]))
    return [
        e
        for e in of(events, "step")
        if first[e["attempt"]] < e["steps"] <= ends.get(e["attempt"], e["steps"])
    ]
