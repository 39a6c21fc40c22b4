"""What is run: the cases whose pauses are measured, and what is killed when. No torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from argosy.testbed.training.shape import Pace, Shape

COPY_RATE = 200e6  # bytes/s of a rank's device to its host
WRITE_RATE = 32e6  # bytes/s of a rank to storage
LOAD_RATE = 64e6
BATCH = 8

# Where a rank can be killed in a save, in the order of a save, and who is: `all` any rank, `first` the one that marks it whole.
POINTS = {
    "stage": "all",  # in the copy to the host
    "write": "all",  # in the middle of its file
    "written": "all",  # its file is there, others may still write
    "metadata": "first",  # metadata written, not renamed
    "renamed": "first",  # metadata in place, no marker
    "marker": "first",  # marker written, not renamed
    "committed": "first",  # whole from here on
    "load": "all",  # while it is restored
}


@dataclass(frozen=True)
class Fault:
    """Rank `rank` (None: all at once) is killed: `random`, `after_s` seconds after the job is up; or at a point of its
    `save`-th save since then, when `share` of the point's bytes are done.
    """

    point: str
    rank: int | None
    after_s: float = 0.0
    save: int = 1
    share: float = 0.0


@dataclass(frozen=True)
class Case:
    """A stretch of training, as the ranks read it.

    `interval`: steps between saves (0: none). `until`: last step; None: `further` more than restored, or than the
    case before came; while a fault is left, there is no last step.
    `sums_every`: steps between sums of the whole state (0: none). `step_s`: seconds that
    the accelerator takes for a step, spread over the layers.
    """

    name: str
    shape: Shape
    step_s: float
    mode: str = "async"
    interval: int = 0
    until: int | None = None
    further: int = 0
    sums_every: int = 0
    write_rate: float | None = WRITE_RATE
    copy_rate: float | None = COPY_RATE
    load_rate: float | None = LOAD_RATE
    faults: tuple[Fault, ...] = field(default=())
    root: Path | None = None

    def as_plan(self, folder: Path) -> dict[str, Any]:
        """For the ranks; `folder` gets events, and checkpoints unless `root` is given."""
        return {
            "name": self.name,
            "shape": self.shape.to_dict(),
            "pace": Pace.even(self.shape, self.step_s / 3 / self.shape.layers).to_dict(),
            "mode": self.mode,
            "interval": self.interval,
            "until": self.until,
            "further": self.further,
            "sums_every": self.sums_every,
            "batch": BATCH,
            "rates": {"copy": self.copy_rate, "write": self.write_rate, "load": self.load_rate},
            "faults": [asdict(fault) for fault in self.faults],
            "events": str(folder / "events"),
            "root": str(self.root or folder / self.name),
        }


SMALL = Shape(layers=4, hidden=192, heads=4)  # 1.8 million weights, 22 MB with both moments
LARGE = Shape(layers=8, hidden=256, heads=4)  # 6.4 million, 76 MB
TINY = Shape(layers=1, hidden=16, heads=2)


def baselines(short: bool) -> list[Case]:
    """Measured once: a step alone, a save of nearly nothing, and a save of the size between."""
    shapes = [SMALL] if short else [SMALL, LARGE]
    return [
        *(Case(f"steps-{shape.hidden}", shape, _step_s(shape), until=8) for shape in shapes),
        Case("save-tiny", TINY, 0.01, "sync", 2, until=10),
        Case("async-tiny", TINY, 0.01, "async", 8, until=40),
        Case("save-middle", Shape(layers=4, hidden=128), 0.01, "sync", 2, until=10),
        Case("save-unbounded", SMALL, 0.01, "sync", 2, until=8, write_rate=None, copy_rate=None),
    ]


def pauses(short: bool) -> list[Case]:
    """Synchronous and asynchronous saves, at an interval that is long enough, and at one that is not."""
    found = [
        _pause("sync", SMALL, 4, 4),
        _pause("async", SMALL, 8, 4),
        _pause("async", SMALL, 2, 6),
    ]
    if not short:
        found += [
            _pause("sync", LARGE, 4, 4),
            _pause("async", LARGE, 12, 4),
            _pause("async", LARGE, 4, 5),
            _pause("async", SMALL, 12, 4, WRITE_RATE / 2),
        ]
    return found


def _pause(mode: str, shape: Shape, interval: int, saves: int, rate: float = WRITE_RATE) -> Case:
    name = f"{mode}-{shape.hidden}-{interval}-{rate / 1e6:g}"
    return Case(name, shape, _step_s(shape), mode, interval, until=interval * saves, write_rate=rate)


def _step_s(shape: Shape) -> float:
    return 0.06 if shape == SMALL else 0.1


CRASH = Shape(layers=4, hidden=64)
CRASH_STEP_S = 0.03
CRASH_INTERVAL = 10
CRASH_WRITE_RATE = 5e6
MTBF_S = 0.8


def crash(mode: str, faults: Sequence[Fault]) -> list[Case]:
    """The job that is killed; then as many steps undisturbed, at full speed."""
    common: dict[str, Any] = {"mode": mode, "interval": CRASH_INTERVAL, "write_rate": CRASH_WRITE_RATE}
    return [
        Case("killed", CRASH, CRASH_STEP_S, further=2 * CRASH_INTERVAL, faults=tuple(faults), **common),
        Case("undisturbed", CRASH, 0.0, further=2 * CRASH_INTERVAL, sums_every=CRASH_INTERVAL),
    ]


def resharded(root: Path) -> Case:
    """From the last checkpoint in `root` a while longer, on another number of ranks than wrote it."""
    return Case("resharded", CRASH, 0.0, further=2 * CRASH_INTERVAL, root=root)


def faults(
    randoms: int,
    each: int,
    ranks: int,
    seed: int,
    points: Sequence[str] = tuple(POINTS),
    mtbf_s: float = MTBF_S,
) -> list[Fault]:
    """`randoms` kills at exponential times of mean `mtbf_s`, and `each` at every one of `points`, in random order; the first
    one, "committed", leaves a whole checkpoint, so that there is one to be killed while it is loaded.
    """
    draw = np.random.default_rng(seed)
    found = [
        # Every fourth: all ranks at once, as a node that loses power.
        Fault("random", None if n % 4 == 3 else int(draw.integers(ranks)), float(draw.exponential(mtbf_s)))
        for n in range(randoms)
    ]
    for point in points:
        for _ in range(each):
            rank = int(draw.integers(ranks)) if POINTS[point] == "all" else 0
            share = float(draw.uniform(0.02, 0.95)) if point in ("write", "load") else 0.0
            found.append(Fault(point, rank, save=int(draw.integers(1, 3)), share=share))
    draw.shuffle(found)
    first = next((n for n, fault in enumerate(found) if fault.point == "committed"), 0)
    found[0], found[first] = found[first], found[0]
    return found
