"""The cases of the training experiment, as its ranks read them. No torch."""

from __future__ import annotations

from typing import Any

from argosy.testbed.training.shape import Pace, Shape

SHAPE = Shape(layers=8, hidden=64, heads=4, context=32, dtype="float64")  # losses equal far beyond a bar
BATCH = 16
FORWARD_S = 0.025  # of a layer: 8 layers and their backward take 0.6 s, the exchange of their gradients 0.4 s
HASTY_S = 0.008  # of a layer in the case whose network is what takes the time
MICRO_BATCHES, PIPELINE_BATCH, STAGE_S = 8, 32, 0.02
EVEN, UNEVEN = (
    (0, 3, 5, 7, 10),
    (0, 3, 6, 8, 10),
)  # first blocks of four stages: 2, 2, 2, 2 layers; 2, 3, 2, 1
CHUNKS = (0, 2, 3, 4, 5, 6, 7, 8, 10)  # of eight chunks of a layer
MESSAGE_BYTES = 4 << 20
SLOW_RANK, SLOWER = 2, 1.4
READING_RANK, READ_S = 1, 0.15
SLOW_HOST, LEFT = 5, 0.4  # whose cable keeps this share of its rate
Case = dict[str, Any]


def data_parallel(form: str, overlap: bool, steps: int, **more: Any) -> Case:
    """A data-parallel case (`data_parallel.run`); `forward_s` of a layer, `blocks` per bucket."""
    pace = Pace.even(SHAPE, more.pop("forward_s", FORWARD_S))
    one = {
        "kind": "data-parallel",
        "shape": SHAPE.to_dict(),
        "pace": pace.to_dict(),
        "form": form,
        "overlap": overlap,
        "blocks": 1,
        "batch": BATCH,
        "steps": steps,
    }
    return {**one, **more}


def pipeline(schedule: str, bounds: tuple[int, ...], steps: int, **more: Any) -> Case:
    """A pipeline case (`pipelined.run`)."""
    one = {
        "kind": "pipeline",
        "shape": SHAPE.to_dict(),
        "pace": Pace.even(SHAPE, STAGE_S).to_dict(),
        "schedule": schedule,
        "bounds": list(bounds),
        "micro_batches": MICRO_BATCHES,
        "batch": PIPELINE_BATCH,
        "steps": steps,
    }
    return {**one, **more}


def timed(short: bool) -> list[Case]:
    """Cases of four ranks whose steps are predicted: the first are what the predictions need."""
    steps = 3 if short else 6
    cases: list[Case] = [
        {"kind": "messages", "bytes": MESSAGE_BYTES},
        data_parallel("reference", False, steps, forward_s=0.0),
        data_parallel("reference", False, steps, forward_s=0.0, batch=PIPELINE_BATCH),
        data_parallel("none", False, steps),
        data_parallel("all-reduce", False, steps),
        data_parallel("all-reduce", True, steps),
    ]
    if not short:
        cases += [
            data_parallel("all-reduce", True, steps, blocks=5),
            data_parallel("all-reduce", True, steps, blocks=SHAPE.blocks),
            data_parallel("all-reduce", False, steps, forward_s=HASTY_S),
            data_parallel("all-reduce", True, steps, forward_s=HASTY_S),
            data_parallel("sharded", False, steps),
        ]
    cases.append(data_parallel("sharded", True, steps))
    schedules = [("1f1b", EVEN), ("interleaved", CHUNKS)] if short else [
        ("gpipe", EVEN), ("1f1b", EVEN), ("interleaved", CHUNKS), ("gpipe", UNEVEN), ("1f1b", UNEVEN)
    ]  # fmt: skip
    cases += [pipeline(schedule, bounds, steps - 1) for schedule, bounds in schedules]
    if not short:
        cases += [
            data_parallel("all-reduce", True, steps, read_s=[READ_S] * 4),
            data_parallel("all-reduce", True, steps, read_s=[READ_S] * 4, ahead=True),
        ]
    cases.append({"kind": "reduce-scatter", "bytes": MESSAGE_BYTES})
    return cases


def traced(short: bool) -> list[Case]:
    """Cases of four ranks that are profiled: nothing planted, a slow rank, a slow loader, even and uneven stages."""
    steps = 4 if short else 7
    factors = [SLOWER if rank == SLOW_RANK else 1.0 for rank in range(4)]
    reads = [READ_S if rank == READING_RANK else 0.0 for rank in range(4)]
    cases = [
        data_parallel("all-reduce", True, steps, trace="healthy"),
        data_parallel("all-reduce", True, steps, trace="slow-rank", factors=factors),
        pipeline("1f1b", UNEVEN, steps - 1, trace="uneven-stages"),
    ]
    if not short:
        cases += [
            data_parallel("all-reduce", True, steps, trace="slow-loader", read_s=reads),
            pipeline("1f1b", EVEN, steps - 1, trace="even-stages"),
        ]
    return cases


def on_a_cube() -> list[Case]:
    """Cases of eight ranks, profiled, whose all-reduce goes along a cube's dimensions; between them a cable is degraded."""
    return [
        data_parallel("cube", False, 5, trace="healthy-links"),
        {"kind": "hold", "name": "degrade"},
        data_parallel("cube", False, 5, trace="slow-link"),
    ]
