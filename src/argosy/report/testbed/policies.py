"""`argosy testbed policies` for people: timelines of the three policies, goodput in the simulated interval, the ledgers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from argosy.report import charts as drawing
from argosy.report.lives import COLOURS, state_name
from argosy.report.markdown import table

TITLE = "Policies under failures"
INTRODUCTION = """
`argosy testbed policies` trains a small transformer on four hosts, a rank each, and kills: now a rank, now all of a host,
whose cables are pulled first, at seeded exponential moments. Three policies go on in their way. What must hold exactly is
checked exactly: every sample of every epoch is in one committed step, once; every step's loss is that of a run that nobody
disturbed. Where the time went is held against the engine behind `argosy simulate` ([Reliability](../reliability.md)), which
is given the same rate, steps, interval and spares, and recovery times measured on other runs.

- *restart*: all ranks are killed, the job queues, and new processes on four of the hosts that are left begin at the last
  checkpoint. One host is spare.
- *spare-swap*: survivors keep process and memory. A rank that waits on the spare host takes the dead one's place; all go back
  to the last checkpoint, survivors to the copy in their memory.
- *elastic*: no spare. Survivors go on from where they are, on three hosts or two, with the same global batch (each takes more
  of its samples). A host that comes back joins at the end of a step and gets weights and optimizer from the others.
"""
SHOWN_S = 60.0  # of each timeline
POLICIES = ("restart", "spare_swap", "elastic")


def charts(answer: Mapping[str, Any]) -> dict[str, drawing.Chart]:
    """The page's pictures."""
    return {"policies-timelines": timelines(answer), "policies-goodput": goodput(answer)}


def timelines(answer: Mapping[str, Any]) -> drawing.Chart:
    """The first minute of every policy: a row of states, a tick for every failure, the ranks at work of the elastic job."""
    pieces, ticks = [], []
    names = [name.replace("_", "-") for name in POLICIES]
    for key, name in zip(POLICIES, names, strict=True):
        told = answer[key]["measured"]
        pieces += [
            {"policy": name, "start": start, "end": min(end, SHOWN_S), "state": state_name(state)}
            for start, end, state in told["timeline"]
            if start < SHOWN_S
        ]
        ticks += [{"policy": name, "at": one["at_s"]} for one in told["failures"] if one["at_s"] < SHOWN_S]
    seen = [state for state in COLOURS if any(row["state"] == state_name(state) for row in pieces)]
    scale = alt.Scale(domain=[state_name(s) for s in seen], range=[COLOURS[s] for s in seen])
    end = max(row["end"] for row in pieces)
    x = alt.Scale(domain=[0, end], nice=False)
    y = alt.Y("policy:N", sort=names, title=None, axis=alt.Axis(ticks=False))
    bars = (
        alt.Chart(drawing._data(pieces))
        .mark_bar(size=26)
        .encode(
            x=alt.X("start:Q", title="seconds", scale=x),
            x2="end:Q",
            y=y,
            color=alt.Color(
                "state:N", scale=scale, legend=alt.Legend(orient="bottom", title=None, columns=4)
            ),
        )
    )
    marks = (
        alt.Chart(drawing._data(ticks)).mark_tick(color="#111111", thickness=2, size=36).encode(x="at:Q", y=y)
    )
    return alt.vconcat(
        alt.layer(bars, marks).properties(
            title="Measured: colours are states, ticks are failures", width=drawing.WIDTH, height=150
        ),
        _ranks(answer, end),
    )


def _ranks(answer: Mapping[str, Any], end: float) -> drawing.Chart:
    """How many ranks of the elastic job are at work."""
    told = answer["elastic"]["measured"]["capacity"]
    rows = [{"at": at, "ranks": count} for at, count in told if at <= end]
    rows.append({"at": end, "ranks": rows[-1]["ranks"]})
    return (
        alt.Chart(drawing._data(rows))
        .mark_line(interpolate="step-after", color=drawing._PLAIN)
        .encode(
            x=alt.X("at:Q", title="seconds", scale=alt.Scale(domain=[0, end], nice=False)),
            y=alt.Y("ranks:Q", title=None, scale=alt.Scale(domain=[0, 4]), axis=alt.Axis(tickCount=4)),
        )
        .properties(title="elastic: ranks at work", width=drawing.WIDTH, height=70)
    )


def goodput(answer: Mapping[str, Any]) -> drawing.Chart:
    """Measured goodput as a point on the interval of the simulated lives; the closed form as a rule."""
    rows = []
    for key in POLICIES:
        good = answer[key]["predicted"]["goodput"]
        rows.append(
            {
                "policy": key.replace("_", "-"),
                "low": good["low"],
                "high": good["high"],
                "mean": good["mean"],
                "closed": answer[key]["predicted"]["closed_form"],
                "measured": answer[key]["measured"]["goodput"],
            }
        )
    y = alt.Y("policy:N", sort=[row["policy"] for row in rows], title=None, axis=alt.Axis(ticks=False))
    base = alt.Chart(drawing._data(rows)).encode(y=y)
    x = alt.X("low:Q", title="goodput", scale=alt.Scale(zero=False))
    band = base.mark_bar(size=14, color=drawing._FULL).encode(x=x, x2="high:Q")
    mean = base.mark_tick(size=14, thickness=2, color=drawing._PLAIN).encode(x="mean:Q")
    closed = base.mark_tick(size=24, thickness=1, color="#111111").encode(x="closed:Q")
    point = base.mark_point(size=70, filled=True, color=drawing._LOSS, opacity=1).encode(x="measured:Q")
    return alt.layer(band, mean, closed, point).properties(
        title="Grey: 95 % of simulated lives, blue their mean; black: closed form; dot: measured",
        width=drawing.WIDTH,
        height=110,
    )


def more(answer: Mapping[str, Any]) -> list[str]:
    """The ledgers, what was rebuilt, the times given to the simulator, what it taught."""
    lines = [
        "## Where the time went",
        "",
        *_ledgers(answer),
        "",
        "## What a failure costs",
        "",
        *_costs(answer),
    ]
    return [*lines, "", *_upgrade(answer), "", *_disturbed(answer), TAUGHT.strip()]


def _disturbed(answer: Mapping[str, Any]) -> list[str]:
    """What a busy machine did to the run: hosts taken for dead, steps that took longer; nothing where it did nothing."""
    false = sum(answer[key]["measured"]["unexplained"] for key in (*POLICIES, "chaos"))
    if not false:
        return []
    return [
        "## Disturbances",
        "",
        f"{false} times a host was taken for dead though it",
        "lived, or a group fell apart: heartbeats or messages came too late, as on a real fleet. Such a host is ended and comes",
        "back as others do; it is no failure of the schedule, which the simulator knows, and its process is started anew.",
        "",
    ]


def _ledgers(answer: Mapping[str, Any]) -> list[str]:
    """Measured seconds by state beside the simulated mean and interval, a column per policy."""
    lines = [
        "Seconds, measured; in brackets the mean of the simulated lives and what 95 % of them lie between. What a failure",
        "costs an elastic job at once is one pause in the simulator: detection and the step that was cut stand under restart.",
        "",
    ]
    rows = []
    for state in COLOURS:
        cells = []
        for key in POLICIES:
            measured = answer[key]["measured"]["told_s"][state]
            simulated = answer[key]["predicted"]["seconds"][state]
            if measured < 0.005 and simulated["mean"] < 0.005:
                cells.append("")
                continue
            cells.append(
                f"{measured:.1f} ({simulated['mean']:.1f}: {simulated['low']:.1f}–{simulated['high']:.1f})"
            )
        if any(cells):
            rows.append([state_name(state), *cells])
    walls = [
        f"{answer[key]['measured']['wall_s']:.1f} ({answer[key]['predicted']['wall_s']:.1f})"
        for key in POLICIES
    ]
    rows.append(["all", *walls])
    return [*lines, *table(["state", *(key.replace("_", "-") for key in POLICIES)], rows)]


def _costs(answer: Mapping[str, Any]) -> list[str]:
    """Recovery times from the calibration runs, and what is rebuilt."""
    rows = []
    for key in POLICIES:
        times, told = answer[key]["times"], answer[key]["measured"]
        groups = told["groups"]
        sources = ", ".join(f"{count} {name}" for name, count in sorted(groups["restored_from"].items()))
        rows.append(
            [
                key.replace("_", "-"),
                f"{times['detection_s']:.2f} s",
                f"{times['restart_s']:.2f} s",
                f"{times['pause_s']:.2f} s" if times["pause_s"] else "",
                f"{times['repair_s']:.2f} s",
                _milliseconds(groups["connect_s"]),
                _milliseconds(groups["restore_s"]),
                f"{groups['rebuilt']}",
                sources,
                f"{told['processes_started']}",
            ]
        )
    head = [
        "policy", "detection", "restart", "pause", "host back", "connections", "weights", "groups rebuilt",
        "weights from", "processes started",
    ]  # fmt: skip
    return [
        "Means of the calibration runs (detection to host back), and of the measured run: seconds until all members of a new",
        "process group are connected, and until their weights are those it begins with.",
        "",
        *table(head, rows),
    ]


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1000 * seconds:.0f} ms"


def _upgrade(answer: Mapping[str, Any]) -> list[str]:
    """The planned changes and the failures at any moment in words."""
    told, wild = answer["upgrade"]["measured"], answer["chaos"]["measured"]
    book, least = told["book_s"], min(count for _, count in wild["capacity"])
    return [
        "## Rolling upgrade, pause, failures at any moment",
        "",
        "Every host in turn leaves at the end of a step, ends, comes back as another version and joins again; then all",
        f"stand still for {book['maintenance']:.2f} s with their memory, and go on: {told['wall_s']:.1f} s in all, of which",
        f"{book['degraded']:.2f} s of speed and {book['restart']:.2f} s of regrouping are lost. No step is computed twice, no",
        "process is started but the changed ones.",
        "",
        "The last job is hit at any moment, also while it regroups:",
        f"{len(wild['failures'])} failures in {wild['wall_s']:.0f} s, on {least} to 4 ranks,",
        f"{100 * wild['goodput']:.0f} % of the time productive. It ends, with every sample counted once and the",
        "undisturbed losses: to it, faults are normal.",
    ]


TAUGHT = """
## What it taught

- torchrun's elastic mode is not what "without a full restart" means: when membership changes, its agents end every rank and
  start all of them anew, and memory is gone. Here the surviving process drops its process group and builds the next one:
  model, optimizer and data order stay where they are. What is rebuilt is a connection to every other member; addresses are
  exchanged in a store beside the controller that no dead host takes along.
- A collective whose peer has vanished without goodbye does not fail, it waits. It can be asked whether it is done and be left
  alone; but the group that it belongs to, when it is freed, waits for it until its own time is over, and `abort` does not
  change that. So old groups are kept until their last message's time is over, or the next regrouping stands still for seconds.
- Survivors need not agree: the all-reduce of a step can end on one rank and fail on another. All then take the state of
  whoever has come furthest; the step counts once, with the dead rank's samples in it.
- A group store on rank 0 cost up to 0.7 s of a regrouping, as ranks that came before it had opened its port tried again later.
- Who wants to join is told in the gradients' own all-reduce, as one number more: so all leave after the same step.
"""
