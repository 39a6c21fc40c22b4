"""`argosy testbed training` for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from argosy.report import charts as drawing
from argosy.report.testbed.pairs import WHAT, pairs

TITLE = "A training job, and its traces diagnosed"
INTRODUCTION = """
A small transformer is trained by torch under torchrun's agents, a rank per host, gradients over gloo on links of 100 Mb/s.
Weights, gradients, losses and messages are real; the accelerator's time is a wait of a stated length per layer, the processor's
arithmetic being part of it.

- *Data parallel.* Gradients go in buckets of a block each, or of several, after the backward pass or as soon as they are there
  (hooks on the gradients). `all-reduce`: every rank updates all weights. `sharded` (ZeRO): ranks get the sums of their part,
  update it, and gather the weights, which the next forward pass waits for block by block. Predicted: a bucket's seconds by the
  flow schedule of its collective on the same cables, what stays exposed by `argosy.laws.overlap`; the step model's own rule for a
  share that may hide (`argosy.training.communication.exposed`) is in the JSON beside it.
- *Pipelines.* Four stages hand over by send and receive in the order of `argosy.training.schedule`, whose event simulation
  predicts the step and the share in which ranks idle.
- *Losses* of every form are held against the same samples in a single process, relatively to 1e-9 (in double precision).
- *Traces.* Steps of all ranks are profiled (PyTorch's Kineto), a log is written in Megatron's words, and `argosy diagnose` reads
  them without being told anything: a rank 1.4 times as slow, a loader that takes 150 ms, a stage with three layers among stages
  of two, a cable with 40 % of its rate among eight ranks; and jobs with nothing wrong, in which nobody may be blamed.
"""
_TAUGHT = """
## What it taught

- `argosy diagnose` could not read such traces: without a GPU it found no kernel, called all time idle, and ended in a division
  by zero. It now takes PyTorch's operators as the kernels and gloo's spans as the exchanges of a job without devices.
- gloo moves a message only once its receiver has asked for it, so receives are posted when the step begins; their spans then
  last from there on. In a trace a send or receive therefore counts from the last operator before its end.
- torch's `reduce_scatter` over gloo sends an all-reduce's bytes: the cards' counters say so. Sharded sums here go directly to
  their owners.
- gloo's spans name no process group. With whatever ended together taken for one, the slow cable was found in one recording and
  only the pair behind it in another. Exchanges are now divided as the job's own groups divide its ranks, which the traces' heads
  tell, the most frequent kind first; the clocks that one kind ties tell the next apart (a recording in which the cable was not
  found had shown that four exchanges alone do not). Groups of a rank that exchange messages of one size still cannot be told
  apart, and then nobody is blamed.
- One bucket of everything hides nothing, and two hide a half: the law says so, and the steps do.
"""
_OPEN = """
## What this does not show

- An accelerator that waits does not slow down because its network is busy, as real ones do that share memory bandwidth and
  cores between both: the step model's `overlap_drag` is not tested.
- Zero-bubble and DualPipe schedules are simulated, not run: autograd does not split a backward pass.
- Launching, kernels and memory of real devices; tensor and expert parallelism.
"""


def charts(answer: Mapping[str, Any]) -> dict[str, drawing.Chart]:
    """Steps of every case; starts of groups, where they were measured."""
    found = {"training-steps": _steps(answer["steps"])}
    if answer.get("starts"):
        found["training-starts"] = _starts(answer["starts"])
    return found


def _steps(steps: list[dict[str, Any]]) -> drawing.Chart:
    rows = [
        {"case": one["name"], "what": what, "seconds": one[f"{what}_s"]} for one in steps for what in WHAT
    ]
    order = [one["name"] for one in steps]
    chart = pairs(rows, "case", order, "seconds of a step")
    return chart.properties(title="Steps of a real job", width=drawing.WIDTH, height=28 * len(order))


def _starts(starts: Mapping[str, Any]) -> drawing.Chart:
    first = starts["measured_s"][0] / starts["ranks"][0]
    rows = [
        {"ranks": ranks, "what": what, "milliseconds": 1000 * seconds}
        for ranks, measured in zip(starts["ranks"], starts["measured_s"], strict=True)
        for what, seconds in (("measured", measured), ("in proportion to the ranks", first * ranks))
    ]
    chart = (
        alt.Chart(drawing._data(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("ranks:Q", title="ranks", scale=alt.Scale(type="log", base=2)),
            y=alt.Y("milliseconds:Q", title="start of a group, ms", scale=alt.Scale(type="log")),
            color=alt.Color("what:N", title=None),
        )
    )
    return chart.properties(
        title="A group's start by a TCPStore grows faster than its ranks", width=drawing.WIDTH, height=200
    )


def more(answer: Mapping[str, Any]) -> list[str]:
    """What the page says after the table."""
    base = answer["baseline"]
    lines = [
        f"Between two hosts {100 * base['share_of_wire']:.1f} % of a link's rate arrives as payload, a small message takes",
        f"{1e6 * base['message_s']:.0f} µs; a step that exchanges nothing takes {1e3 * base['overhead_s']:.1f} ms more than its "
        "waits.",
    ]
    for again in answer["recorded_again"]:
        lines.append(
            f"The traces of {again['name']} were recorded twice: first they blamed {again['first']}."
        )
    told = answer["machine"]
    outside = [row["what"] for row in answer["comparisons"] if row["within"] is False]
    if outside and told["load_average"] > 2 * told["cores"]:
        lines += [
            "",
            f"Outside: {'; '.join(outside)}. The machine was busy with others: {told['load_average']:.0f} programs wanted its",
            f"{told['cores']} cores. A rank that is kept from running really is late, and its trace says so.",
        ]
    if starts := answer.get("starts"):
        measured = ", ".join(
            f"{1e3 * seconds:.3g} ms for {ranks}"
            for ranks, seconds in zip(starts["ranks"], starts["measured_s"], strict=True)
        )
        lines += [
            "",
            "## Starting a group",
            "",
            f"A gloo group by a TCPStore on the control plane took {measured} ranks:",
            f"as the ranks to the power of {starts['exponent']:.2f}. Every rank writes its addresses and reads all others',",
            "and one store serves all. The law (`argosy.reliability.group_start_up_s`) carries 1,047 s, published for 2,048",
            f"ranks, to other sizes in proportion to the ranks: {starts['law_s'][-1]:.1f} s for 16. It holds NCCL's start",
            "and Megatron's barriers, not a bare group: the seconds are not compared. Seen here is that a store's part",
            "of it grows faster than the ranks: below 2,048 the law says too much, above too little.",
        ]
    return [*lines, *_TAUGHT.splitlines(), *_OPEN.splitlines()]
