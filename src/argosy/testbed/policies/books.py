"""Where a job's wall-clock time went: its phases and its ranks' notes as one ledger in the states of the simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from argosy.reliability.states import STATES
from argosy.testbed.policies.samples import kept_until

RUNNING = "running"


@dataclass(frozen=True)
class Began:
    """A generation that began to run: when, at which step, on how many ranks."""

    generation: int
    at_s: float
    step: int
    ranks: int


def stretches(
    phases: Sequence[tuple[float, str]],
    begins: Sequence[Began],
    notes: Sequence[Mapping[str, Any]],
    end_s: float,
    full: int,
) -> list[tuple[float, float, str]]:
    """(start, end, state) without gaps from the first phase to `end_s`; states as in `argosy.reliability`.

    `phases`: (moment, name) in order; `running` is cut up by what the ranks noted: steps that counted (`productive`, where
    fewer than `full` ranks shared them the longer part `degraded`), checkpoints that counted, and what was undone (`rework`).
    """
    kept = kept_until([(one.generation, one.step) for one in begins])
    steps, saves = _by_generation(notes)
    found: list[tuple[float, float, str]] = []
    running = iter(begins)
    for (start, name), (end, _) in pairwise([*phases, (end_s, "")]):
        if name == RUNNING:
            one = next(running)
            ended = steps.get(one.generation, {})
            written = saves.get(one.generation, {})
            found += _cut(start, end, one, kept[one.generation], ended, written, full)
        else:
            found.append((start, end, name))
    return [piece for piece in found if piece[1] > piece[0]]


def _by_generation(
    notes: Sequence[Mapping[str, Any]],
) -> tuple[dict[int, dict[int, float]], dict[int, dict[int, tuple[float, float]]]]:
    """By generation: the end of every step (its last rank's), and start and end of every save."""
    steps: dict[int, dict[int, float]] = {}
    saves: dict[int, dict[int, tuple[float, float]]] = {}
    for note in notes:
        if note["what"] == "commit":
            own = steps.setdefault(note["generation"], {})
            own[note["step"]] = max(own.get(note["step"], 0.0), note["end"])
        elif note["what"] == "save":
            written = saves.setdefault(note["generation"], {})
            start, end = written.get(note["step"], (note["start"], note["end"]))
            written[note["step"]] = (min(start, note["start"]), max(end, note["end"]))
    return steps, saves


def _cut(
    start: float,
    end: float,
    one: Began,
    kept: int,
    steps: Mapping[int, float],
    saves: Mapping[int, tuple[float, float]],
    full: int,
) -> list[tuple[float, float, str]]:
    """One stretch of running: what counts of it by state, then what was undone."""
    counted = [moment for step, moment in steps.items() if step < kept]
    until = max(counted, default=start)
    counting = [(a, b) for step, (a, b) in sorted(saves.items()) if step <= kept]
    until = max([until, *(b for _, b in counting)])
    until = min(max(until, start), end)
    if kept > 1 << 60:  # the last one: nothing of it was undone
        until = end
    found, at = [], start
    for a, b in [*counting, (until, until)]:
        a, b = min(max(a, at), until), min(max(b, at), until)
        useful = (a - at) * one.ranks / full
        found += [(at, at + useful, "productive"), (at + useful, a, "degraded"), (a, b, "checkpoint")]
        at = b
    return [*found, (until, end, "rework")]


def book(found: Sequence[tuple[float, float, str]]) -> dict[str, float]:
    """Seconds by state; they add up to the wall-clock time."""
    seconds = dict.fromkeys(STATES, 0.0)
    for start, end, state in found:
        seconds[state] += end - start
    return seconds
