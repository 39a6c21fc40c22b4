"""A service's fleet as one HTML page, in the design of all reports; no request leaves it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from argosy.report import charts
from argosy.report import text as write
from argosy.report.html import _STYLE, _assumptions, _figure, _section, _table, _top, _tree
from argosy.report.serving import _LATENCIES, _SHARES, gap, sentences
from argosy.report.serving_charts import front, frontier, inside, latency, over_time


def serving_html(answer: Mapping[str, Any]) -> str:
    """A self-contained page for the payload of `argosy serving`."""
    name = answer["scenario"]["name"]
    sections = [_top(answer), *service_sections(answer), _assumptions(answer)]
    version, date = escape(answer["version"]), escape(answer["facts_date"])
    sections.append(f'<p class="soft">Argosy {version}, facts of {date}.</p>')
    body = "\n".join(sections)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(name)}: serving by Argosy</title><style>{_STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )


def service_sections(entry: Mapping[str, Any]) -> list[str]:
    """The sections of one service, for its own page and for a plan's."""
    if entry.get("fleet") is None:
        return []
    lines = "".join(f"<li>{escape(line.strip())}</li>" for line in sentences(entry))
    rows = [
        [
            label,
            *(
                "–" if entry["replica"][key][name] is None else write.duration(entry["replica"][key][name])
                for name in _SHARES
            ),
        ]
        for key, label in _LATENCIES
    ]
    table = _table(["over all arrivals", *_SHARES], rows, {1, 2, 3, 4})
    told = f"<p>{escape(' '.join(gap(entry)))}</p>"
    return [
        _section(f"Serving: {entry['name']}", f"<ul>{lines}</ul>{table}{_figure(latency(entry))}"),
        _section("The fleet over time", _figure(over_time(entry)) + _figure(inside(entry))),
        _section(
            "Where its GPU-seconds go",
            _figure(charts.ledger_waterfall(entry)) + _tree(entry["ledger"]) + told,
        ),
        _section("Cost against latency", _figure(front(entry)) + _points(entry) + _figure(frontier(entry))),
        _section("Laws beside the simulation", _laws(entry) + _checks(entry)),
    ]


def _points(entry: Mapping[str, Any]) -> str:
    rows = [
        [
            escape(each["label"]), write.count(each["gpus"]), write.duration(each["ttft_p99_s"]),
            write.duration(each["tpot_p95_s"]), write.percent(each["slo_attainment"]),
        ]
        for each in entry["pareto"]
    ]  # fmt: skip
    return _table(["replica", "GPUs", "TTFT p99", "TPOT p95", "in time"], rows, {1, 2, 3, 4})


def _laws(entry: Mapping[str, Any]) -> str:
    names = {"little": "Little", "mmc": "M/M/c", "mgc": "M/G/c (Allen–Cunneen)", "simulated": "simulated"}
    rows = []
    for key, name in names.items():
        law = entry["laws"][key]
        wait = law.get("mean_wait_s")
        value = (
            f"{law['replicas']:,.0f} replicas"
            if key == "little" and law["replicas"] is not None
            else "–"
            if wait is None
            else write.duration(wait)
        )
        rows.append([name, value, escape(law["validity"])])
    return _table(["law", "replicas, or mean wait", "where it holds"], rows, {1})


def _checks(entry: Mapping[str, Any]) -> str:
    rows = [
        [escape(each["name"]), "holds" if each["holds"] else "<b>broken</b>", escape(each["detail"])]
        for each in entry["checks"]
    ]
    return _table(["checked in every run", "", ""], rows, set())
