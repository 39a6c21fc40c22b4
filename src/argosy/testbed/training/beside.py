"""Measured steps, losses and bytes of the training experiment beside what is predicted for them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from argosy.facts import Values, load_catalog
from argosy.reliability import group_start_up_s
from argosy.testbed.comparison import bounded, compared, counted
from argosy.testbed.fabrics import Fabric
from argosy.testbed.predict import Baseline, ring_bytes
from argosy.testbed.training import cases, predict
from argosy.testbed.training.shape import Pace

BAR = 0.1
SHARE_BAR = (
    0.05  # of the step: what the processor does between the waits is no idling, and not in the simulation
)
BYTES_BAR = 0.03  # headers and acknowledgements are some 1.2 %
LOSSES = 1e-9  # losses of all forms lie within this of the single process's, relatively
Found = list[dict[str, Any]]  # what every rank found of a case
Row = dict[str, Any]


def timed_rows(
    plan: Sequence[Mapping[str, Any]], found: Sequence[Found], fabric: Fabric, judged: bool
) -> tuple[list[Row], dict[str, Any]]:
    """Comparisons of the timed cases (`cases.timed`, run by as many ranks as each found has), and more of the payload:
    baseline, steps. `judged` False: on the loopback, whose times and bytes say nothing.
    """
    ranks = len(found[0])
    base, told = _baseline(plan, found, fabric)
    exchanges = predict.Exchanges(fabric, ranks, base)
    references = {
        case["batch"]: each[0]["losses"]
        for case, each in zip(plan, found, strict=False)
        if _is(case, "reference")
    }
    rows: list[Row] = []
    steps = []
    for case, each in zip(plan, found, strict=False):
        if case["kind"] not in ("data-parallel", "pipeline") or _is(case, "reference") or _is(case, "none"):
            continue
        if case["kind"] == "pipeline":
            row, one = _pipeline(case, each, exchanges, told["overhead_s"], judged)
        else:
            row, one = _data_parallel(case, each, exchanges, told["overhead_s"], judged)
        losses = each[0]["losses"]
        apart = float(np.max(np.abs(np.divide(losses, references[case["batch"]][: len(losses)]) - 1)))
        rows += row
        steps.append({**one, "losses_apart": apart, "losses": losses})
    rows += _gains(steps, judged)
    equal = sum(one["losses_apart"] <= LOSSES for one in steps)
    rows.append(counted("forms whose losses are the single process's", len(steps), equal))
    for case, each in zip(plan, found, strict=False):
        if case["kind"] == "reduce-scatter" and judged:
            rows += _reduce_scatter(case, each)
    return rows, {"baseline": told, "steps": steps}


def _is(case: Mapping[str, Any], form: str) -> bool:
    return case.get("form") == form


def _baseline(
    plan: Sequence[Mapping[str, Any]], found: Sequence[Found], fabric: Fabric
) -> tuple[Baseline, dict[str, Any]]:
    """Share of a link's rate, seconds of a small message, and of a step beyond its pace where nothing is exchanged."""
    messages = next(each[0] for case, each in zip(plan, found, strict=False) if case["kind"] == "messages")
    size = next(case["bytes"] for case in plan if case["kind"] == "messages")
    small = statistics.median(messages["small_s"]) / 2
    rate = float(fabric.graph.rate[0]) / 8
    large = statistics.median(messages["large_s"]) - 2 * small
    case, each = next((case, each) for case, each in zip(plan, found, strict=False) if _is(case, "none"))
    overhead = step_s(each) - Pace.of(case["pace"]).step_s
    share = size / large / rate
    told = {"share_of_wire": share, "message_s": small, "overhead_s": overhead, "rate_bps": 8 * rate}
    return Baseline(share, small), told


def step_s(each: Found) -> float:
    """Median seconds of a case's steps after the first, between the last rank's ends."""
    ends = np.array([one["ends_s"] for one in each]).max(axis=0)
    return float(np.median(np.diff(ends)[1:]))


def name_of(case: Mapping[str, Any]) -> str:
    """A case in words."""
    if case["kind"] == "pipeline":
        even = "even" if tuple(case["bounds"]) != cases.UNEVEN else "uneven"
        return f"pipeline, {case['schedule']}, {even} stages"
    form = {"all-reduce": "all-reduce", "sharded": "sharded (ZeRO)"}[case["form"]]
    words = [form, "overlapped" if case["overlap"] else "after the backward pass"]
    if case["blocks"] > 1:
        words.append(f"{case['blocks']} blocks a bucket")
    if case["pace"]["forward_s"][1] == cases.HASTY_S:
        words.append("the network bound")
    if case.get("read_s"):
        words.append("samples read ahead" if case.get("ahead") else "samples read in the step")
    return ", ".join(words)


def _data_parallel(
    case: Mapping[str, Any], each: Found, exchanges: predict.Exchanges, overhead: float, judged: bool
) -> tuple[list[Row], dict[str, Any]]:
    sizes, blocks = each[0]["bucket_bytes"], each[0]["bucket_blocks"]
    step = predict.data_parallel(case, sizes, blocks, exchanges, overhead)
    measured, name = step_s(each), name_of(case)
    reading = max(case.get("read_s") or [0.0])
    seconds = max(step.seconds, reading) if case.get("ahead") else step.seconds + reading
    rows = [compared(f"step: {name}", seconds, measured, "s", BAR if judged else None)]
    sent = [one["sent_bytes"] / (len(one["ends_s"]) - 1) for one in each]
    said = ring_bytes(exchanges.ranks, sum(sizes))
    if judged and case["blocks"] == 1 and not case.get("read_s"):
        rows.append(compared(f"bytes sent by a card a step: {name}", said, max(sent), "bytes", BYTES_BAR))
    one = {"name": name, **{key: case[key] for key in ("kind", "form", "overlap", "blocks")}}
    one["forward_s"] = case["pace"]["forward_s"][1]
    return rows, {
        **one,
        "predicted_s": seconds,
        "measured_s": measured,
        "overhead_s": overhead,
        **asdict(step),
    }


def _pipeline(
    case: Mapping[str, Any], each: Found, exchanges: predict.Exchanges, overhead: float, judged: bool
) -> tuple[list[Row], dict[str, Any]]:
    """Step and bubble: idle rank-seconds of the pipeline over all of them, measured by what ranks waited."""
    simulated = predict.pipeline(case, len(each), exchanges)
    measured, name = step_s(each), name_of(case)
    idle = statistics.fmean(statistics.median(one["waited_s"][1:]) for one in each) / measured
    seconds = simulated.seconds + overhead
    rows = [
        compared(f"step: {name}", seconds, measured, "s", BAR if judged else None),
    ]
    share = simulated.bubble_fraction
    if judged:
        rows.append(
            bounded(f"idle share: {name}", share - SHARE_BAR, share + SHARE_BAR, idle, "", predicted=share)
        )
    one = {key: case[key] for key in ("kind", "schedule", "bounds", "micro_batches")}
    told = {"predicted_s": seconds, "measured_s": measured}
    return rows, {"name": name, **one, **told, "bubble": simulated.bubble_fraction, "measured_bubble": idle}


def _gains(steps: Sequence[Mapping[str, Any]], judged: bool) -> list[Row]:
    """How many times shorter the overlapped step is, for every pair of cases that differ in that alone."""
    rows = []
    for off in steps:
        for on in steps:
            alike = all(off.get(key) == on.get(key) for key in ("kind", "form", "forward_s", "blocks"))
            if off["kind"] == "pipeline" or not alike or off["overlap"] or not on["overlap"]:
                continue
            if "samples" in on["name"]:
                continue
            said, seen = (off[key] / on[key] for key in ("predicted_s", "measured_s"))
            rows.append(
                compared(f"gain of overlap: {on['name']}", said, seen, "times", BAR if judged else None)
            )
    return rows


def _reduce_scatter(case: Mapping[str, Any], each: Found) -> list[Row]:
    """What torch's own reduce_scatter sends over gloo: an all-reduce's bytes, twice those of a reduce-scatter."""
    sent = max(one["sent_bytes"] for one in each)
    said = ring_bytes(len(each), case["bytes"])
    name = "bytes of torch's reduce_scatter over gloo, as of an all-reduce"
    return [compared(name, said, sent, "bytes", BYTES_BAR)]


def starts(each: Found) -> dict[str, Any]:
    """Median seconds in which the last member of a group has it, by ranks, beside the published law for a TCPStore."""
    values = Values(load_catalog().facts)
    measured = {int(size): float(np.median(seconds)) for size, seconds in each[0].items()}
    sizes = np.array(sorted(measured))
    seconds = np.array([measured[int(size)] for size in sizes])
    slope, start = np.polyfit(sizes, seconds, 1)
    return {
        "ranks": sizes.tolist(),
        "measured_s": seconds.tolist(),
        "per_rank_s": float(slope),
        "fixed_s": float(start),
        "last_exponent": float(np.log(seconds[-1] / seconds[-2]) / np.log(sizes[-1] / sizes[-2])),
        "exponent": float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0]),
        "law_s": [float(group_start_up_s(values, int(size), "tcp-store")) for size in sizes],
    }
