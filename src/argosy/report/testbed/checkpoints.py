"""`argosy testbed checkpoints` for people."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

import altair as alt

from argosy.report import charts as drawing
from argosy.report.testbed.pairs import WHAT, pairs
from argosy.testbed.checkpoints.predict import Rhythm, lost

TITLE = "Checkpoints, and kills that tear them"
POINTS = 400  # of the law's line
INTRODUCTION = """
A small transformer trains on ranks under torchrun, its optimiser state divided between them (ZeRO-1), and saves by
`torch.distributed.checkpoint`: synchronously, and asynchronously in two stages (device to host, which stops the job; host to
storage, behind the next steps). A rank's link to storage has a stated rate.

- *Pauses* are `argosy.reliability.checkpoints`' for the bytes and the rates: copy and write, or the copy alone; and where
  the interval is shorter than a write, the rest of it, as the next save waits for the one before. Measured once: a save of
  nearly nothing in either mode, the share of the rates that a middle-sized one gets, a step alone.
- *Kills.* Ranks get SIGKILL at exponential times since the job was up, one rank or all at once, and at every point of a save:
  in the copy, in the middle of a file, between files and metadata, before and after the metadata's rename, before the
  marker's rename, just after it, and while a checkpoint is being loaded. torchrun restarts the ranks.
- *Whole or torn.* A checkpoint is whole when its marker is there (`COMMITTED.json`, renamed into place after all ranks' files
  are synchronised) and its files have the bytes and the CRC-32 that the marker says. What is not is passed over, and removed
  before the next save.
- *Compared with an undisturbed run*, without saves and kills: the state after every restore, the loss of every step in every
  attempt, bit for bit; every sample of the job's history used exactly once. Lost work, by `argosy.laws.checkpoint.time_shares`
  and, kill for kill, by the save that must have been safe by then.
"""


def charts(answer: Mapping[str, Any]) -> dict[str, drawing.Chart]:
    """Pauses and writes beside the law's; lost work of every kill on the law's line."""
    found = {"checkpoints-pauses": _pauses(answer["pauses"])}
    for mode, told in answer["kills"].items():
        found[f"checkpoints-lost-{mode}"] = _lost(mode, told)
    return found


def _pauses(rows: list[dict[str, Any]]) -> drawing.Chart:
    data = [
        {"case": row["name"], "what": what, "seconds": row[what]["pause_s"]} for row in rows for what in WHAT
    ]
    order = [row["name"] for row in rows]
    chart = pairs(data, "case", order, "seconds that a save stops the job")
    return chart.properties(
        title="What a checkpoint stops the job for", width=drawing.WIDTH, height=34 * len(order)
    )


def _lost(mode: str, told: Mapping[str, Any]) -> drawing.Chart:
    rhythm = Rhythm(**told["rhythm"])
    last = max(loss["up_s"] for loss in told["losses"])
    times = [last * n / POINTS for n in range(POINTS + 1)]
    line = [
        {"up": up, "lost": float(seconds), "kill": "law"}
        for up, seconds in zip(times, lost(rhythm, times), strict=True)
    ]
    dots = [
        {
            "up": loss["up_s"],
            "lost": loss["seconds"],
            "kill": "random time" if loss["point"] == "random" else "point of a save",
        }
        for loss in told["losses"]
    ]
    x = alt.X("up:Q", title="seconds from the job's start until the kill")
    y = alt.Y("lost:Q", title="seconds of work lost")
    law = alt.Chart(drawing._data(line)).mark_line(strokeWidth=1.2, color="#777777").encode(x=x, y=y)
    kills = (
        alt.Chart(drawing._data(dots))
        .mark_point(filled=True, size=30)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "kill:N",
                scale=alt.Scale(
                    domain=["random time", "point of a save"], range=[drawing._USEFUL, "#222222"]
                ),
                title=None,
            ),
        )
    )
    name = "synchronous" if mode == "sync" else "asynchronous"
    return alt.layer(law, kills).properties(
        title=f"Lost work per kill, {name} checkpoints: law (line) and measured",
        width=drawing.WIDTH,
        height=220,
    )


def more(answer: Mapping[str, Any]) -> list[str]:
    """What the page says after the table."""
    lines = []
    for mode, told in answer["kills"].items():
        rhythm = Rhythm(**told["rhythm"])
        back = [loss["back_s"] for loss in told["losses"]]
        torn = sum(loss["passed"] for loss in told["losses"])
        kind = "synchronous" if mode == "sync" else "asynchronous"
        lines += [
            f"Kills with {kind} saves: usually {rhythm.compute_s:.3f} s of steps, {rhythm.stop_s:.3f} s of stop, and",
            f"{rhythm.persist_s:.3f} s more until the save is safe. {torn} torn ones were passed over. From a kill until all",
            f"ranks were up again torchrun's notice, rendezvous and the load took {statistics.median(back):.1f} s (median).",
            "",
        ]
    return [*_misses(answer), *lines, TAUGHT.strip()]


def _misses(answer: Mapping[str, Any]) -> list[str]:
    """What is outside its bar, and what the machine did meanwhile."""
    outside = [row for row in answer["comparisons"] if row["within"] is False]
    if not outside:
        return []
    cores, load = answer["machine"]["cores"], answer["machine"]["load_average"]
    return [
        f"Outside: {'; '.join(row['what'] for row in outside)}. The load average was {load:g} on {cores} cores:",
        "other programs lengthen steps, and writes by what the disk takes to synchronise, in one stretch of the run and not in",
        "another. Exact counts do not depend on that.",
        "",
    ]


TAUGHT = """
## What it taught

- The next save waits for the one before, and only then copies (so do torch's `async_save` as it is meant to be used, and
  Megatron): the pause is the rest of the write *and* the copy, not the longer of the two. The event simulator had the
  longer of the two; it was corrected by this run.
- `.metadata`, which torch renames into place last, is no marker: it says nothing about the bytes of the ranks' files. A
  changed byte in one of them is found by the marker's CRC-32 alone.
- A torn folder must be gone before the same step is saved again: torch writes into a folder that is there, and its old
  metadata would vouch for new files that are half written.
- torch 2.13's stager fails for a slice that is a view into a longer vector (it takes a DTensor's data pointer of an offset
  view for one with data): ranks keep their slices as vectors of their own.
- The first step and the first save after a restart take longer: a job that is killed often never sees its steady period. The
  ranks here do one step's arithmetic on nothing before they count as up.
"""
