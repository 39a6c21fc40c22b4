"""`argosy testbed sites` for people: steps of every method, and what they taught."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from argosy.report import charts as drawing
from argosy.report.markdown import table

TITLE = "Two sites, 40 ms apart"
NAMES = {
    "alone": "nothing exchanged",
    "within": "each site on its own",
    "sites": "synchronous, between leaders",
    "ring": "synchronous, one ring",
    "gloo": "synchronous, gloo's own ring",
    "diloco": "DiLoCo",
    "late": "late weights (quicker steps)",
    "gpipe": "pipeline, GPipe",
    "1f1b": "pipeline, 1F1B",
}

INTRODUCTION = """
`argosy testbed sites` joins two groups of two ranks by a cable of 40 ms one way and trains a small transformer across it:
synchronously, with local steps and outer ones (DiLoCo), with weights that arrive steps late, and as a pipeline whose middle cut
lies between the sites. Predictions are the laws of the wide area (`argosy.laws.wide_area`), the flow schedule of the cables, and
the event simulation of the pipeline. Losses are compared with the same methods in one process.

```
argosy testbed sites                             # about two minutes; root, Linux, torch
argosy testbed sites --short --json
```
"""

_HOW = """
## How

- *Cables.* Four hosts on two leaves and a spine; the cable from the second leaf to the spine is long, and keeps a quarter of a
  card's rate. Every frame on it is held for 40 ms by a process of ours.
- *Synchronous.* Gradients are added up inside each site, between the two leaders by a ring of halves (reduce-scatter, then
  all-gather), and handed on inside the sites: 2(s − 1)/s · M/B + 2(s − 1)α of `cross_site_all_reduce`. Or by one ring over all
  ranks, which crosses between the sites twice.
- *DiLoCo.* AdamW inside each site; every H steps Nesterov momentum on the mean of what both moved by. H is what `local_steps`
  says for a fifth of the time.
- *Late weights.* A site sends its weights, goes on, and moves half of the way towards the other's when these come: steps behind
  by `staleness_steps`.
- *Pipeline.* Four stages, eight micro-batches. GPipe by `pipeline_cut` and by the event simulation, 1F1B by the simulation, which
  takes a way for every cut.
- *Losses.* Weights are float64, so that the order of sums does not show: every method gives the loss that it gives in one
  process without a network, up to rounding (1e-9).
"""

_TAUGHT = """
## What it taught

- Forty milliseconds do not forbid synchronous training: they cost two ways and the bytes in every step. What matters is the
  step: beside steps of seconds that is little.
- Over a long cable a message must have been asked for before it is there. gloo's own collectives ask when they begin: a message
  waits for the question, for the answer, and only then goes. With receives posted one step ahead the same ring took less than
  half the time.
- 1F1B hides nothing on a long cable: its stages hold only as many micro-batches as there are stages behind them, and wait for
  each answer. GPipe pays the way once each way (`pipeline_cut`: in_flight tells how many more 1F1B would have to hold).
- One ring over both sites is quicker than the flow schedule says, which adds up the busiest link's bytes of all rounds and the
  ways of the hops as if no byte were sent while another is on its way. Played message by message the time is right.
- The losses say that each method does over the cable what it does without one, not which is better: in so short a run
  DiLoCo's outer momentum goes farther than AdamW alone, and late weights less far.
- A barrier lets go of the sites a way apart. Begun that way, one site found the other's weights two steps old and the other
  four, not three: whose clock counts matters as soon as a step is shorter than the way.
"""


def steps_chart(answer: Mapping[str, Any]) -> drawing.Chart:
    """Mean or median step of every method, predicted and measured; every measured step is a dot."""
    bars, dots = [], []
    for name, title in NAMES.items():
        steps = answer["steps"][name]
        middle = sum(steps) / len(steps) if name == "diloco" else sorted(steps)[len(steps) // 2]
        bars.append({"method": title, "what": "measured", "seconds": middle})
        if name in answer["predicted_steps"]:
            bars.append({"method": title, "what": "predicted", "seconds": answer["predicted_steps"][name]})
        dots += [{"method": title, "what": "measured", "seconds": one} for one in steps]
    y = alt.Y("method:N", sort=list(NAMES.values()), title=None, axis=alt.Axis(labelLimit=260, ticks=False))
    offset = alt.YOffset("what:N", sort=["predicted", "measured"])
    colour = alt.Color(
        "what:N",
        scale=alt.Scale(domain=["predicted", "measured"], range=[drawing._FULL, drawing._USEFUL]),
        title=None,
    )
    x = alt.X("seconds:Q", title="seconds per step")
    base = alt.Chart(drawing._data(bars)).mark_bar().encode(y=y, yOffset=offset, x=x, color=colour)
    points = (
        alt.Chart(drawing._data(dots))
        .mark_point(size=14, filled=True, color="#222222")
        .encode(y=y, yOffset=offset, x=x)
    )
    return alt.layer(base, points).properties(
        title="A step across two sites: said and measured", width=drawing.WIDTH, height=34 * len(NAMES)
    )


def charts(answer: Mapping[str, Any]) -> dict[str, drawing.Chart]:
    """The page's picture."""
    return {"sites-steps": steps_chart(answer)}


def more(answer: Mapping[str, Any]) -> list[str]:
    """What the page says after the table of comparisons."""
    law, losses = answer["pipeline_law"], answer["losses"]
    behind = "; ".join(
        f"site {number}: {', '.join(map(str, steps))}" for number, steps in enumerate(answer["behind"], 1)
    )
    alone = losses["samples"]
    rows = [
        ["synchronous", f"{losses['sites']:.12f}", f"{alone['together']:.12f}"],
        ["DiLoCo", f"{losses['diloco']:.12f}", f"{alone['diloco']:.12f}"],
        ["late weights", f"{losses['late']:.12f}", f"{alone['late']:.12f}"],
        ["synchronous, as many samples as these two", "", f"{alone['together, as many samples']:.12f}"],
    ]
    return [
        f"Synchronous training spends {answer['synchronous_overhead']:.0%} of such short steps on the other site; DiLoCo talks",
        f"every {answer['interval']} steps. Weights came late by steps of {behind}. The pipeline's bubble is",
        f"{law['bubble']:.0%} by the law, and 1F1B would have to hold {law['in_flight']:.0f} more micro-batches.",
        "",
        *table(["loss afterwards", "on two sites", "in one process"], rows),
        "",
        _HOW.strip(),
        "",
        _TAUGHT.strip(),
    ]
