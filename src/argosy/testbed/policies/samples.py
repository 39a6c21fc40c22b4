"""Which samples the committed steps consumed, from what the ranks wrote down: each exactly once per epoch, or it is told.

A rank notes what it has fed into a step before the gradients are added up, and the step when its weights are changed. A
step counts in the last generation (process group) that changed weights by it and was not undone by a later one, which began
at an earlier step.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from argosy.testbed.policies.settings import Order


def read_notes(folder: Path) -> list[dict[str, Any]]:
    """All that the ranks of a run noted, by file; a last line that a kill cut short is left out."""
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_bytes().split(b"\n")[:-1]:
            found.append(json.loads(line))
    return found


def kept_until(starts: Sequence[tuple[int, int]]) -> dict[int, int]:
    """The first step that each generation does not keep: where the earliest of all later ones began.

    `starts`: (generation, first step) in order. The last one keeps all, a number beyond any step.
    """
    kept, lowest = {}, 1 << 62
    for generation, step in reversed(list(starts)):
        kept[generation] = lowest
        lowest = min(lowest, step)
    return kept


def lineage(notes: Iterable[Mapping[str, Any]], starts: Sequence[tuple[int, int]]) -> dict[int, int]:
    """The generation in which each step finally counts."""
    kept = kept_until(starts)
    found: dict[int, int] = {}
    for note in notes:
        if note["what"] == "commit":
            step, generation = note["step"], note["generation"]
            if step < kept.get(generation, 0):
                found[step] = max(found.get(step, -1), generation)
    return found


def account(
    notes: Sequence[Mapping[str, Any]], starts: Sequence[tuple[int, int]], order: Order, steps: int
) -> dict[str, Any]:
    """The book of samples of a run of `steps` steps; `exact` says whether it is as it must be.

    Keys: steps, samples (in committed steps), missing, twice, wrong (not of their step), epochs (whole ones, each with every
    sample once), wasted (fed into steps that were undone or never ended), by_ranks (committed steps by the number of ranks).
    """
    counted = lineage(notes, starts)
    fed: dict[tuple[int, int], list[int]] = {}
    total = 0
    for note in notes:
        if note["what"] == "fed":
            fed.setdefault((note["step"], note["generation"]), []).extend(note["numbers"])
            total += len(note["numbers"])
    missing = twice = wrong = samples = whole = 0
    epoch: Counter[int] = Counter()
    for step in range(steps):
        took = Counter(fed.get((step, counted.get(step, -1)), []))
        due = Counter(order.numbers(step))
        missing += (due - took).total()
        wrong += sum(count for number, count in took.items() if number not in due)
        twice += sum(count - 1 for number, count in took.items() if number in due)
        samples += took.total()
        epoch += took
        if (step + 1) % order.epoch_steps == 0:
            whole += set(epoch) == set(range(order.samples)) and set(epoch.values()) == {1}
            epoch.clear()
    ranks = {(note["step"], note["generation"]): note["ranks"] for note in notes if note["what"] == "commit"}
    by_ranks = Counter(ranks[step, counted[step]] for step in range(steps) if step in counted)
    return {
        "steps": len(counted),
        "samples": samples,
        "missing": missing,
        "twice": twice,
        "wrong": wrong,
        "epochs": whole,
        "epochs_due": steps // order.epoch_steps,
        "wasted": total - samples,
        "by_ranks": {str(count): by_ranks[count] for count in sorted(by_ranks, reverse=True)},
        "exact": not (missing or twice or wrong)
        and whole == steps // order.epoch_steps
        and len(counted) == steps,
    }


def losses(
    notes: Iterable[Mapping[str, Any]], starts: Sequence[tuple[int, int]], steps: int
) -> list[float | None]:
    """The loss of every committed step, (steps,), as it finally counts; None where a step is missing."""
    notes = list(notes)
    counted = lineage(notes, starts)
    found: list[float | None] = [None] * steps
    for note in notes:
        if note["what"] == "commit" and counted.get(note["step"]) == note["generation"]:
            found[note["step"]] = note["loss"]
    return found
