"""A run with what follows from its notes: samples, losses, the book of time; and all of it as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.testbed.policies import predict
from argosy.testbed.policies.books import book, stretches
from argosy.testbed.policies.failures import RANK
from argosy.testbed.policies.record import Run
from argosy.testbed.policies.samples import account, losses, read_notes
from argosy.testbed.policies.settings import ELASTIC, Order


@dataclass(frozen=True)
class Told:
    """A run with what follows from its notes. `step_s`: median seconds of a step by the number of ranks, `save_s`: of a save."""

    run: Run
    wall_s: float
    book: dict[str, float]
    pieces: list[tuple[float, float, str]]
    samples: dict[str, Any]
    losses: list[float | None]
    versions: dict[int, int]
    step_s: dict[int, float]
    save_s: float

    @property
    def goodput(self) -> float:
        """Productive ÷ wall-clock time."""
        return self.book["productive"] / self.wall_s


def tell(one: Run) -> Told:
    """What a run's notes say."""
    s, notes = one.settings, read_notes(one.folder)
    starts = [(begun.generation, begun.step) for begun in one.begins]
    pieces = stretches(one.phases, one.begins, notes, one.end_s, s.ranks)
    order = Order(s.epoch_steps, s.micro_batches, s.seed)
    versions: dict[int, int] = {}
    lengths: dict[int, list[float]] = {}
    saves: dict[tuple[int, int], float] = {}
    for note in notes:
        if note["what"] == "born":
            versions[note["host"]] = max(note["version"], versions.get(note["host"], 0))
        elif note["what"] == "commit":
            lengths.setdefault(note["ranks"], []).append(note["end"] - note["start"])
        elif note["what"] == "save":
            which = (note["generation"], note["step"])
            saves[which] = max(saves.get(which, 0.0), note["end"] - note["start"])
    return Told(
        one,
        one.end_s - one.phases[0][0],
        book(pieces),
        pieces,
        account(notes, starts, order, s.steps),
        losses(notes, starts, s.steps),
        versions,
        {ranks: float(np.median(each)) for ranks, each in sorted(lengths.items())},
        float(np.median(list(saves.values()))) if saves else 0.0,
    )


def away_s(one: Run) -> float:
    """Mean seconds from a failure until its host can be used again; for elastic jobs until it is at work again."""
    if one.settings.policy != ELASTIC:
        return float(np.mean([back - failed for _, failed, back in one.returns]))
    found = []
    for host, failed, back in one.returns:
        joined = [group["at_s"] for group in one.groups if group["host"] == host and group["at_s"] >= back]
        if joined:
            found.append(min(joined) - failed)
    return float(np.mean(found))


def start_up_s(one: Run) -> float:
    """Mean seconds from the end of a repair until the host can be used, where its cables were in: after a killed rank."""
    of_rank = {each["at_s"] for each in one.failures if each["kills"] == RANK}
    found = [back - failed - one.settings.repair_s for _, failed, back in one.returns if failed in of_rank]
    return float(np.mean(found)) if found else 0.0


def as_measured(told: Told) -> dict[str, Any]:
    """A run as JSON: its book, its failures, what was rebuilt, its timeline from 0."""
    one, zero = told.run, told.run.phases[0][0]
    groups: dict[int, list[dict[str, Any]]] = {}
    for group in one.groups:
        groups.setdefault(group["generation"], []).append(group)
    rebuilt = [members for generation, members in sorted(groups.items()) if generation > 0]
    sources: dict[str, int] = {}
    for members in rebuilt:
        for group in members:
            sources[group["source"]] = sources.get(group["source"], 0) + 1

    def slowest(key: str) -> float | None:
        return float(np.mean([max(g[key] for g in members) for members in rebuilt])) if rebuilt else None

    return {
        "wall_s": told.wall_s,
        "goodput": told.goodput,
        "book_s": told.book,
        "told_s": predict.as_told(told.book, one.settings.policy),
        "samples": told.samples,
        "failures": [{**each, "at_s": each["at_s"] - zero} for each in failures_of(one)],
        "groups": {
            "rebuilt": len(rebuilt),
            "connect_s": slowest("connect_s"),
            "restore_s": slowest("restore_s"),
            "restored_from": sources,
        },
        "step_s": {str(ranks): seconds for ranks, seconds in told.step_s.items()},
        "processes_started": one.started,
        "unexplained": one.broken,
        "capacity": [[at - zero, count] for at, count in one.capacity],
        "timeline": [[start - zero, end - zero, state] for start, end, state in told.pieces],
    }


def failures_of(one: Run) -> list[dict[str, Any]]:
    """Failures with the seconds until they were found."""
    return [
        {
            "at_s": each["at_s"],
            "host": each["host"],
            "kills": each["kills"],
            "by": each["by"],
            "detection_s": None if each["found_s"] is None else each["found_s"] - each["at_s"],
        }
        for each in one.failures
    ]
