"""Pictures of a diagnosis: ranks in one step, who is slow, the waterfall, arrivals of collectives, goodput over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from argosy.report import diagnosis as say
from argosy.report import text as write
from argosy.report.charts import WIDTH

Chart = Any  # an Altair chart: its layered types do not tell themselves apart
COLOURS = {
    "compute": "#2a7f62", "forward": "#2a7f62", "backward": "#7fb69e", "copy": "#9aa0a6", "transfer": "#33658a",
    "send, receive": "#86a8c5", "waiting": "#c8553d", "other": "#d9a441",
}  # fmt: skip
STATES = {
    "productive": "#2a7f62", "checkpoint": "#33658a", "evaluation": "#86a8c5", "rework": "#c8553d", "restart": "#a26769",
    "detection": "#e0a458", "queue": "#9aa0a6", "idle": "#c9ccd1", "unattributed": "#dfe3e8",
}  # fmt: skip
_BLUE, _GREEN, _RED, _GREY = "#33658a", "#2a7f62", "#c8553d", "#c9ccd1"
_SQUARE = 14  # pixels of a rank in the heat map


def charts(answer: Mapping[str, Any]) -> dict[str, Chart]:
    """Every picture that a payload of `argosy diagnose` has, by name, in the order in which to show them."""
    drawn = answer.get("pictures") or {}
    found: dict[str, Chart] = {}
    if drawn.get("timeline"):
        found["timeline"] = timeline(answer)
    if drawn.get("heat") and len(drawn["heat"]) > 1:
        found["heat"] = heat(answer)
    if say.lines(answer["ledger"]):
        found["waterfall"] = waterfall(answer)
    if (answer.get("against") or {}).get("lines"):
        found["against"] = against(answer)
    if drawn.get("arrivals"):
        found["arrivals"] = arrivals(answer)
    if stretches(answer):
        found["goodput"] = goodput(answer)
    return found


def _data(rows: list[dict[str, Any]]) -> Any:
    return alt.Data(values=rows)  # type: ignore[no-untyped-call]


def timeline(answer: Mapping[str, Any]) -> Chart:
    """One step on a common clock, a row for each rank: what computes, who waits, when data moves. Axis: ms.

    The unified view of MegaScale (Jiang et al. 2024, section 5.2): the late rank is the one with no red.
    """
    rows = [
        {"rank": row["rank"], "kind": row["kind"], "start": 1e3 * row["start_s"], "end": 1e3 * row["end_s"]}
        for row in answer["pictures"]["timeline"]
    ]
    kinds = [kind for kind in COLOURS if any(row["kind"] == kind for row in rows)]
    ranks = sorted({row["rank"] for row in rows})
    word = "rank" if answer.get("alignment") or not answer.get("what_if") else "stage"
    return (
        alt.Chart(_data(rows))
        .mark_bar(height=12)
        .encode(
            x=alt.X("start:Q", title="ms of the recorded step, clocks aligned"),
            x2="end:Q",
            y=alt.Y("rank:O", sort=ranks, title=word),
            color=alt.Color(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=kinds, range=[COLOURS[kind] for kind in kinds]),
                legend=alt.Legend(orient="top"),
            ),
        )
        .properties(title=f"One step, {word} by {word}", width=WIDTH, height=18 * len(ranks))
    )


def heat(answer: Mapping[str, Any]) -> Chart:
    """Own time of every rank above its peers', as per cent of the step: by stage where stages are known, else in rows of 16."""
    rows = []
    for row in answer["pictures"]["heat"]:
        stage = row["stage"]
        rows.append(
            {
                "x": row["rank"] % 16 if stage is None else row["rank"],
                "y": f"{16 * (row['rank'] // 16)}" if stage is None else f"stage {stage}",
                "order": row["rank"] // 16 if stage is None else stage,
                "excess": 100.0 * row["excess"],
            }
        )
    levels = list(dict.fromkeys(row["y"] for row in sorted(rows, key=lambda row: row["order"])))
    widest = max(len([row for row in rows if row["y"] == level]) for level in levels)
    edge = max(5.0, *(abs(row["excess"]) for row in rows))
    staged = any(row["stage"] is not None for row in answer["pictures"]["heat"])
    return (
        alt.Chart(_data(rows))
        .mark_rect(stroke="white")
        .encode(
            x=alt.X(
                "x:O",
                title="rank" if staged else "rank, from the row's first on",
                axis=alt.Axis(labelOverlap=True),
            ),
            y=alt.Y("y:O", sort=levels, title=None),
            color=alt.Color(
                "excess:Q",
                title="% of a step",
                scale=alt.Scale(domain=[-edge, 0, edge], range=[_BLUE, "#f4f4f2", _RED]),
            ),
        )
        .properties(
            title="Own time above the peers' median: who is slow by itself",
            width=min(max(_SQUARE * widest, 240), WIDTH),
            height=max(18 * len(levels), 40),
        )
    )


def waterfall(answer: Mapping[str, Any]) -> Chart:
    """From all observed GPU-time down to what is useful: each loss starts where the one before it ends. Axis: per cent."""
    whole = answer["ledger"]["amount"]
    leaves = [leaf for leaf in _leaves(answer["ledger"]) if leaf["amount"] > 5e-4 * whole]
    useful = [leaf for leaf in leaves if leaf["name"] in ("useful FLOPs at peak", "kernels", "compute")]
    rest = [leaf for leaf in leaves if leaf not in useful]
    edge, rows = 100.0, []
    for leaf in [*reversed(rest), *useful]:
        share = 100.0 * leaf["amount"] / whole
        rows.append(
            {
                "name": leaf["name"],
                "start": edge - share,
                "end": edge,
                "shown": f"{share:.1f} %, {say.gpu_time(leaf['amount'])}",
                "colour": _GREEN if leaf in useful else _GREY if leaf["name"] == "unattributed" else _RED,
            }
        )
        edge -= share
    base = alt.Chart(_data(rows)).encode(
        y=alt.Y(
            "name:N",
            sort=[row["name"] for row in rows],
            title=None,
            axis=alt.Axis(ticks=False, labelLimit=220),
        )
    )
    bars = base.mark_bar(size=15).encode(
        x=alt.X("start:Q", title="per cent of the observed GPU-time", scale=alt.Scale(domain=[0, 100])),
        x2="end:Q",
        color=alt.Color("colour:N", scale=None),
    )
    labels = base.mark_text(align="left", dx=4, fontSize=11).encode(x="end:Q", text="shown:N")
    return alt.layer(bars, labels).properties(
        title="Where the time went", width=WIDTH - 160, height=23 * max(1, len(rows))
    )


def _leaves(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [node] if not node["children"] else [leaf for child in node["children"] for leaf in _leaves(child)]


def against(answer: Mapping[str, Any]) -> Chart:
    """Every line of one step, as observed and as planned, side by side. Axis: ms."""
    lines = answer["against"]["lines"]
    rows = [
        {"line": row["line"], "which": which, "ms": 1e3 * max(row[key], 0.0)}
        for row in lines
        for which, key in (("observed", "observed_s"), ("planned", "planned_s"))
    ]
    return (
        alt.Chart(_data(rows))
        .mark_bar()
        .encode(
            x=alt.X("ms:Q", title="ms of one GPU's step"),
            y=alt.Y("line:N", sort=[row["line"] for row in lines], title=None),
            yOffset=alt.YOffset("which:N", sort=["planned", "observed"]),
            color=alt.Color(
                "which:N",
                title=None,
                scale=alt.Scale(domain=["planned", "observed"], range=[_GREY, _BLUE]),
                legend=alt.Legend(orient="top"),
            ),
        )
        .properties(
            title=f"One step against the plan of {answer['against']['scenario']}",
            width=WIDTH - 160,
            height=34 * len(lines),
        )
    )


def arrivals(answer: Mapping[str, Any]) -> Chart:
    """How long after the median rank the last one came to each collective; the ranks that come last most in colour. "
    "Axes: s, ms."""
    rows = answer["pictures"]["arrivals"]
    waited: dict[int, float] = {}
    for row in rows:
        waited[row["last"]] = waited.get(row["last"], 0.0) + row["spread_s"]
    often = sorted(waited, key=lambda rank: -waited[rank])[:4]
    shown = [
        {
            "at": row["at_s"],
            "ms": max(1e3 * row["spread_s"], 1e-4),
            "last": f"rank {row['last']}" if row["last"] in often else "others",
        }
        for row in rows
    ]
    names = [f"rank {rank}" for rank in often] + ["others"]
    return (
        alt.Chart(_data(shown))
        .mark_circle(size=36, opacity=0.8)
        .encode(
            x=alt.X("at:Q", title="s since the first, common clock"),
            y=alt.Y("ms:Q", title="ms from median to last", scale=alt.Scale(type="log")),
            color=alt.Color(
                "last:N",
                title="last to come",
                scale=alt.Scale(domain=names, range=[_RED, "#e0a458", _BLUE, "#6d597a", _GREY]),
            ),
        )
        .properties(
            title="Arrival at barrier-like collectives: how long the last rank is waited for",
            width=WIDTH - 140,
            height=200,
        )
    )


def stretches(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The run's stretches of time by state, where the goodput ledger has a timeline."""
    rows = (answer.get("goodput") or {}).get("timeline") or []
    return [{"start_s": start, "end_s": end, "state": state} for start, end, state in rows]


def goodput(answer: Mapping[str, Any]) -> Chart:
    """The whole run in stretches: productive, rework, restarts, queue. Axis: hours since its start."""
    found = stretches(answer)
    first = min(row["start_s"] for row in found)
    rows = [
        {
            "start": (row["start_s"] - first) / 3600.0,
            "end": (row["end_s"] - first) / 3600.0,
            "state": row["state"],
            "row": "run",
        }
        for row in found
    ]
    states = list(dict.fromkeys(row["state"] for row in rows))
    return (
        alt.Chart(_data(rows))
        .mark_bar(height=34)
        .encode(
            x=alt.X("start:Q", title="hours since the first line"),
            x2="end:Q",
            y=alt.Y("row:N", title=None, axis=None),
            color=alt.Color(
                "state:N",
                title=None,
                scale=alt.Scale(domain=states, range=[STATES.get(state, _GREY) for state in states]),
                legend=alt.Legend(orient="top"),
            ),
        )
        .properties(title="The run over time", width=WIDTH, height=44)
    )


def caption(name: str, answer: Mapping[str, Any]) -> str:
    """What to look for in a picture, in one sentence."""
    waiting = (answer.get("alignment") or {}).get("waiting_share")
    told = (
        f" {write.percent(waiting)} of barrier-like communication is waiting." if waiting is not None else ""
    )
    return {
        "timeline": "Red waits for another rank; the rank without red is the one that is waited for." + told,
        "heat": "Red ranks take longer than their peers by themselves; blue ones less. Waiting for others is not in it.",
        "waterfall": "From all GPU-time at the top; green is what is left. Grey has no recorded reason.",
        "against": "The plan is the planner's own model of this scenario; what is longer than planned is where to look.",
        "arrivals": "One dot a collective: high dots of one colour are one rank that comes late again and again.",
        "goodput": "Rework is what was trained again after a restart.",
    }[name]
