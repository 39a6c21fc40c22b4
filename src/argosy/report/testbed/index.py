"""The first page of the testbed: every experiment, how much of it was as predicted, and where to read on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair as alt

from argosy.report import charts as drawing
from argosy.report.markdown import table
from argosy.report.testbed.pages import figure, module, write_page

COLUMNS = ["experiment", "command", "within their bar", "largest error of a time judged", "load average"]
PICTURE = "testbed-errors"


def write_pages(answers: Mapping[str, Mapping[str, Any]], path: Path) -> list[Path]:
    """Write the index to `path` and the experiments' pages into a folder of its name beside it; the files written."""
    folder = path.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    written = [path]
    for name, answer in answers.items():
        written += write_page(name, answer, folder / f"{name}.md")
    written.append(folder / "images" / f"{PICTURE}.svg")
    drawing.save(errors_chart(answers), written[-1])
    path.write_text(index(answers, folder.name), encoding="utf-8")
    return written


def index(answers: Mapping[str, Mapping[str, Any]], folder: str) -> str:
    """The page."""
    judged = sum(answer["summary"]["judged"] for answer in answers.values())
    within = sum(answer["summary"]["within_bar"] for answer in answers.values())
    lines = [
        "<!-- written by argosy testbed all --report docs/testbed.md; do not edit -->",
        "# A small real fleet",
        "",
        INTRODUCTION.strip(),
        "",
        "## Predicted and measured",
        "",
        f"{within} of {judged} comparisons within their bar. Error: predicted ÷ measured − 1.",
        "",
        *table(COLUMNS, [cells(name, answer, folder) for name, answer in answers.items()]),
        "",
        f"![Errors of everything that was predicted]({folder}/images/{PICTURE}.svg)",
        "",
        *_outside(answers),
        METHOD.strip(),
    ]
    return "\n".join(lines) + "\n"


def cells(name: str, answer: Mapping[str, Any], folder: str) -> list[str]:
    """One experiment as texts, in the order of COLUMNS."""
    summary = answer["summary"]
    errors = [row["error"] for row in answer["comparisons"] if row["error"] is not None and row["bar"]]
    largest = max(errors, key=abs, default=None)
    return [
        f"[{module(name).TITLE}]({folder}/{name}.md)",
        f"`argosy testbed {name}`",
        f"{summary['within_bar']} of {summary['judged']}",
        "" if largest is None else f"{100 * largest:+.1f} %",
        f"{answer['machine']['load_average']:g}",
    ]


def _outside(answers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What missed its bar, if anything."""
    rows = [
        f"- {module(name).TITLE}: {row['what']}: predicted {figure(row['predicted'])}, measured {figure(row['measured'])}"
        for name, answer in answers.items()
        for row in answer["comparisons"]
        if row["within"] is False
    ]
    return ["Outside their bars (the pages say why, where it is known):", "", *rows, ""] if rows else []


def errors_chart(answers: Mapping[str, Mapping[str, Any]]) -> drawing.Chart:
    """Every error of a figure that was predicted, by experiment; what is not judged is hollow."""
    rows = [
        {
            "experiment": module(name).TITLE,
            "error": 100 * row["error"],
            "what": row["what"],
            "bar": {True: "within", False: "outside", None: "not judged"}[row["within"]],
        }
        for name, answer in answers.items()
        for row in answer["comparisons"]
        if row["error"] is not None
    ]
    kinds = ["within", "outside", "not judged"]
    chart = (
        alt.Chart(drawing._data(rows))
        .mark_tick(thickness=2, size=16)
        .encode(
            x=alt.X("error:Q", title="predicted ÷ measured − 1, %"),
            y=alt.Y("experiment:N", sort=[module(name).TITLE for name in answers], title=None),
            color=alt.Color(
                "bar:N",
                sort=kinds,
                scale=alt.Scale(domain=kinds, range=[drawing._USEFUL, drawing._LOSS, drawing._FULL]),
                title=None,
            ),
        )
    )
    return chart.properties(
        title="Errors of all times that were predicted", width=drawing.WIDTH, height=34 * len(answers)
    )


INTRODUCTION = """
What the simulators claim, run on this very machine: hosts are network namespaces, their links are shaped, what runs on
them is real (MPI, torch, HAProxy), and every figure stands beside what Argosy's own simulators said of it beforehand.
Linux and root; `pip install 'argosy[testbed]'` (torch's CPU wheel is enough:
`pip install torch --index-url https://download.pytorch.org/whl/cpu` before it keeps CUDA's packages out).

```
argosy testbed NAME [--short] [--json] [--report PAGE]   # one experiment
argosy testbed all --answers FOLDER --report PAGE        # all of them, and these pages
argosy testbed pages FOLDER PAGE                         # the pages again, from the answers
argosy testbed clean                                     # after a kill -9: the next run does it too
make verify-testbed                                      # the short forms, with bars
```
"""

METHOD = """
## How

- *Hosts.* A namespace per host and per switch, a veth pair per cable, a bridge per switch. Switches of the data plane learn
  nothing and flood nothing: their forwarding entries are Argosy's own routes by destination, so that packets take
  the predicted paths. Every link is shaped where it leaves a node (`tc`, token bucket), at the fabric's rate over the scale
  (400 Gb/s become 100 Mb/s). Hosts with several cards have several interfaces, a subnet per rail. Long cables and lossy ones are
  TAP interfaces between which a process of ours carries the frames.
- *Control plane.* Every host has `ctl0` on a switch of its own: process managers, rendezvous, heartbeats and health checks are
  there, data is on the cards ([Control plane and data plane](testbed/planes.md)).
- *Jobs.* torchrun's own agents, one per host, forked from one process that has imported torch: on two cores eight
  imports would take longer than what is measured.
- *Prediction.* What was measured beforehand, between two hosts or on one rank, is said on each page (share of a link's rate,
  a small message's time, seconds of a layer); nothing is fitted per case.
- *In CI.* `make verify-testbed` runs the short forms. Sums, samples and whatever else is counted must be exactly so. A bar on a
  matter of time is missed when two runs missed it, one of them while the machine was quiet: a sleep of 2 ms at the ranks'
  priority at most 1 ms late, an ordinary process with 80 % of a core (`argosy.testbed.quiet`); else it is shown as not judged.
- *Where namespaces are not permitted*, experiments that make sense without run as plain processes on the loopback, and say so.

## What this does not show

- Link rates are thousands of times below real ones: latencies of microseconds, and what depends on them, are out of reach.
- TCP is not RoCE or InfiniBand: no pauses, no congestion notification, no adaptive routing.
- Ranks inside a host have no scale-up links of a stated rate.
- The accelerators' time in training is a wait: two cores do not compute as eight accelerators do.
"""
