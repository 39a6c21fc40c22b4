"""`argosy testbed collectives` for people: the table of cases, the picture, and what the page says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from argosy.report import charts as drawing
from argosy.report.markdown import table
from argosy.testbed.experiment import title

RATIO = "bytes ÷ predicted"
COLUMNS = [
    "fabric",
    "all-reduce",
    "message",
    "predicted",
    "measured",
    "error",
    RATIO,
    "busiest link, predicted?",
]
TITLE = "Collectives on shaped links"


def cells(row: Mapping[str, Any]) -> list[str]:
    """One case as texts, in the order of COLUMNS."""
    name = title(row).partition(": ")[2]
    first = [row["fabric"], name, f"{row['bytes'] / 2**20:g} MiB"]
    if row["predicted_time_s"] is None:
        return [*first, "", f"{row['measured_time_s']:.3f} s", "", "", ""]
    ratio, hot = row["bytes_over_predicted"], row["hot_link"]
    mark = {True: "", False: " (outside)", None: " (not judged)"}[row["within_bar"]]
    tied = len(hot["predicted"])
    link = f"one of {tied}, yes" if tied > 2 else hot["measured"].partition(" (")[0] + ", yes"
    return [
        *first,
        f"{row['predicted_time_s']:.3f} s",
        f"{row['measured_time_s']:.3f} s",
        f"{100 * row['error']:+.1f} %{mark}",
        f"{ratio['min']:.3f}–{ratio['max']:.3f}",
        link if hot["right"] else f"{hot['measured']}, no",
    ]


def times_chart(answer: Mapping[str, Any]) -> drawing.Chart:
    """Predicted and measured seconds of every case, side by side; every measured repeat is a dot."""
    bars, dots, order = [], [], []
    for number, row in enumerate(answer["rows"], 1):
        name = f"{number}. {row['fabric']}: {cells(row)[1]}"
        order.append(name)
        for what, key in (("predicted", "predicted_time_s"), ("measured", "measured_time_s")):
            if row[key] is not None:
                bars.append({"case": name, "what": what, "seconds": row[key]})
        dots += [{"case": name, "what": "measured", "seconds": value} for value in row["measured_times_s"]]
    y = alt.Y("case:N", sort=order, title=None, axis=alt.Axis(labelLimit=320, ticks=False))
    offset = alt.YOffset("what:N", sort=["predicted", "measured"])
    colour = alt.Color(
        "what:N",
        scale=alt.Scale(domain=["predicted", "measured"], range=[drawing._FULL, drawing._USEFUL]),
        title=None,
    )
    base = (
        alt.Chart(drawing._data(bars))
        .mark_bar()
        .encode(y=y, yOffset=offset, x=alt.X("seconds:Q", title="seconds"), color=colour)
    )
    points = (
        alt.Chart(drawing._data(dots))
        .mark_point(size=18, filled=True, color="#222222")
        .encode(y=y, yOffset=offset, x="seconds:Q")
    )
    return alt.layer(base, points).properties(
        title="All-reduce on shaped links: flow simulator and MPI",
        width=drawing.WIDTH,
        height=34 * len(order),
    )


def charts(answer: Mapping[str, Any]) -> dict[str, drawing.Chart]:
    """The page's picture."""
    return {"collectives": times_chart(answer)}


def more(answer: Mapping[str, Any]) -> list[str]:
    """What the page says after the table of comparisons."""
    return [
        "## Case by case",
        "",
        *_machine(answer),
        "",
        *table(COLUMNS, [cells(row) for row in answer["rows"]]),
        "",
        *_rings(answer),
        *_misses(answer),
        _METHOD,
        "",
        _TAUGHT,
    ]


INTRODUCTION = """
`argosy testbed collectives` builds small fabrics out of network namespaces, runs real collectives over MPI and over
torch.distributed (gloo) between them, and holds seconds, bytes and the busiest link against the flow simulator's answer
for the same cables ([Collectives](../collectives.md)).

```
argosy testbed collectives                       # all fabrics
argosy testbed collectives --fabric degraded --bytes 16MiB --json
argosy testbed collectives SCENARIO              # the fabric of a fleet of at most 16 accelerators
```
""".strip()

_METHOD = """
## How

- *Over MPI.* Ring (as many as a host has ranks), binomial tree, double binary tree in pieces, and hierarchical
  (ring in the node group, double tree across), written over MPI's point-to-point messages with NumPy. Every message is TCP over
  the rank's own card. Whole numbers are added, and every sum is compared exactly.
- *Over gloo.* torch.distributed's own all-reduce, one ring in rank order; hierarchical: a ring reduce-scatter by messages in the
  group of neighbours, gloo's all-reduce across, gloo's all-gather. Ranks are started by torchrun's agents.
- *Scenarios.* `argosy testbed collectives SCENARIO` takes the compute fabric of a fleet of at most 16 accelerators with a
  card each (`spares: {nodes: 0}`), all cards together scaled to 400 Mb/s. Give it 16 MiB or more: what ranks of one host
  pass to each other takes cores, and small pieces take more.
- *Prediction.* `argosy.fabric.schedule` on the same cables at the same scaled rates. Two figures are measured
  beforehand between two hosts on one switch: what share of a link's rate arrives as payload, and what a small message
  takes. Nothing is fitted per case.
- *Losses.* The lossy cable takes 10 ms one way and loses 1 % of its packets. One connection then gets
  segment/RTT √(3/(2bp)) (Mathis et al. 1997) with b = 2 segments per acknowledgement; the law holds on average, with
  b between 1 and 2, so its bar is 50 %.
- *Noise.* Links are slow, so that the cores mostly wait; ranks sleep between looks at their requests, and run ahead of
  others (real-time scheduling) where that is allowed. A case is repeated after a warm-up, the median counts.
""".strip()

_TAUGHT = """
## What it taught

- A ring in host order does not feel a 2:1 oversubscription: one flow crosses between the leaves each way. Four groups
  whose members stand on both leaves do, and take twice as long, as predicted.
- The same degraded cable doubles MPI's ring and leaves gloo's alone: gloo's messages go to the rank *before*, and the way back
  between those two hosts is another cable.
- A pipelined tree needs a limit on the pieces under way (16 here, as NCCL's buffers hold): with all at once, pieces
  going up queue before those coming down, and the double tree took 3 to 17 % longer than predicted.
- Over a long cable those pieces have to fill it: with pieces of 8 KiB the hierarchical form between two sites took 12 %
  longer than predicted, with 32 KiB as long as predicted.
- A round of a ring may wait for what it receives alone. Waiting for its own message to be gone as well cost a round trip
  in every round between two sites: 0.59 s for 64 KiB, 0.11 s without.
- A ring's block goes on where the first pass left it. The flow schedule began the second pass where the first began, and
  so left out the hop that closes the ring: two ways between the sites of the four that a block of 64 KiB takes. It
  follows the slowest block now.
- gloo's sender waits until it is told that the receiver is ready: over a long cable every round takes a way more. Its
  reduce_scatter is an all-reduce inside: the cards count twice the bytes of the law.
- Ranks that check their sums at once take the cores from those still at it: 30 % longer, until all waited for each other.
""".strip()


def _machine(answer: Mapping[str, Any]) -> list[str]:
    """The conditions of the run."""
    if answer["hosts"] == "loopback":
        return []
    base, room = answer["baseline"], answer["headroom"]
    scales = ", ".join(sorted({f"{scale:,.0f}" for scale in answer["scale"].values()}))
    return [
        f"Rates are divided by {scales}: a card has {base['rate_bps'] / 1e6:g} Mb/s.",
        f"Between two hosts {100 * base['share_of_wire']:.1f} % of a link's rate arrives as payload,",
        f"and a small message takes {base['message_s'] * 1000:.2f} ms.",
        f"Without shaping the same eight hosts move {room['ratio']:.0f} times what the shaped ring asks,",
        "so the cores are not what is measured. Error: predicted ÷ measured − 1.",
    ]


def _rings(answer: Mapping[str, Any]) -> list[str]:
    """What rings' cards sent, beside the law."""
    ratios = [row["ring_bytes"] for row in answer["rows"] if row.get("ring_bytes")]
    if not ratios:
        return []
    low, high = min(one["min"] for one in ratios), max(one["max"] for one in ratios)
    return [
        f"Every card of every ring sent {low:.4f} to {high:.4f} times the 2(N − 1)M/N of the law, by its interface's",
        "counter. What is above 1 are headers (66 bytes per packet of at most 16 kB), acknowledgements of what comes the",
        "other way, and MPI's own control messages.",
        "",
    ]


def _misses(answer: Mapping[str, Any]) -> list[str]:
    """Cases outside their bar, if any."""
    outside = [row for row in answer["rows"] if row["within_bar"] is False]
    if not outside:
        return []
    names = "; ".join(f"{row['fabric']} {row['algorithm']} ({100 * row['error']:+.1f} %)" for row in outside)
    return [
        f"Outside the bar of 10 %: {names}. Repeats: "
        + "; ".join(", ".join(f"{value:.3f}" for value in row["measured_times_s"]) + " s" for row in outside)
        + ".",
        "",
    ]
