"""Which rank hangs, how, and when. No torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argosy.testbed.training.shape import Shape

RANKS = 4
# A step adds gradients up in pairs of neighbours, then across the pairs; the loss in the world.
INSIDE = ((0, 1), (2, 3))
ACROSS = ((0, 2), (1, 3))
SHAPE = Shape(layers=2, hidden=32, heads=2)
STEP_S = 0.07
BATCH = 8
BEAT_S = 0.1
MISSED = 3  # beats in a row after which a rank is taken for dead
PATIENCE = 6  # beats in a row with the same step after which the job is taken for hanging
KINDS = {
    "stopped": "its process is stopped (SIGSTOP): no beats, connections open",
    "stuck": "it waits for its data and never gets them: beats go on",
    "skipped": "it leaves one sum out and goes on: in the end all wait for each other",
}
EARLIEST_S, LATEST_S = 0.5, 1.5


@dataclass(frozen=True)
class Plant:
    """A hang: `rank` hangs as `kind` says, `after_s` seconds after the job is up (in its next step, but for "stopped")."""

    kind: str
    rank: int
    after_s: float


def plants(each: int, seed: int) -> list[Plant]:
    """`each` of every kind, in random order, on ranks and at times drawn; every rank is as likely."""
    draw = np.random.default_rng(seed)
    found = [
        Plant(kind, int(draw.integers(RANKS)), float(draw.uniform(EARLIEST_S, LATEST_S)))
        for kind in KINDS
        for _ in range(each)
    ]
    draw.shuffle(found)
    return found
