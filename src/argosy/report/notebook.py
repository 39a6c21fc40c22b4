"""Answers inside a notebook: the part of a report that fits a cell, drawn from the contract's JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from argosy.report import advice, charts, differences
from argosy.report import text as write

_CELL = 'style="text-align:{};padding:2px 8px"'


def fragment(answer: Mapping[str, Any]) -> str:
    """The answer of any command as HTML without scripts or requests; by its `schema`."""
    kind = str(answer.get("schema", "")).removeprefix("argosy.").partition("/")[0]
    shown = {
        "plan": _plan,
        "simulate": _simulation,
        "recommend": _recommendation,
        "diff": _difference,
        "sensitivity": _tornado,
        "diagnose": _diagnosis,
        "serving": _service,
        "schedule": _queue,
    }
    return shown[kind](answer) if kind in shown else f"<pre>{escape(str(dict(answer))[:2000])}</pre>"


def _service(answer: Mapping[str, Any]) -> str:
    from argosy.report.serving_html import service_sections

    return "".join(service_sections(answer)[:2])


def _queue(answer: Mapping[str, Any]) -> str:
    from rich.text import Text

    from argosy.report.schedule import headline, share, time

    told = "".join(f"<p>{escape(Text.from_markup(line).plain)}</p>" for line in headline(answer))
    rows = [
        [
            row["name"],
            f"{row['jobs']:,}",
            *(time(row["wait_s"][key]) for key in ("p50", "p90", "p99")),
            share(row["allocation"]),
        ]
        for row in answer["by_size"]
    ]
    return told + table(["size", "jobs", "wait P50", "P90", "P99", "of fleet"], rows)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain table; first column left, the others right."""

    def line(tag: str, cells: Sequence[str]) -> str:
        sides = ["left", *["right"] * (len(cells) - 1)]
        return (
            "<tr>"
            + "".join(
                f"<{tag} {_CELL.format(side)}>{escape(cell)}</{tag}>"
                for side, cell in zip(sides, cells, strict=True)
            )
            + "</tr>"
        )

    return f"<table>{line('th', heads)}{''.join(line('td', row) for row in rows)}</table>"


def _plan(plan: Mapping[str, Any]) -> str:
    answer = plan["verdict"]
    binding = f"; what binds: {escape(answer['binding'])}" if answer["binding"] else ""
    parts = [f"<p><b>{escape(plan['scenario']['name'])}: {answer['status']}</b>{binding}</p>"]
    if plan.get("headline"):
        keys = ("p10", "p50", "p90", "nominal")
        rows = [
            [row["label"], *(write.quantity(row[key], row["unit"]) for key in keys)]
            for row in plan["headline"]
        ]
        parts.append(table(["", "P10", "P50", "P90", "nominal"], rows))
    else:
        parts += [f"<p>{escape(reason)}</p>" for reason in answer["reasons"]]
    if plan.get("ledger"):
        parts.append(charts.to_svg(charts.ledger_waterfall(plan)))
    return "".join(parts)


def _simulation(answer: Mapping[str, Any]) -> str:
    goodput = answer["goodput"]
    span = f"{write.percent(goodput['p10'])} – {write.percent(goodput['p90'])}"
    rows = [
        [state.replace("_", " "), write.large(seconds / 3600), write.percent(seconds / answer["total_gpu_s"])]
        for state, seconds in answer["ledger_gpu_s"].items()
        if seconds
    ]
    return (
        f"<p><b>goodput {write.percent(goodput['mean'])}</b> (P10–P90 {span}) "
        f"over {write.count(answer['replications'])} lives</p>" + table(["state", "GPU-hours", "share"], rows)
    )


def _recommendation(answer: Mapping[str, Any]) -> str:
    parts = [f"<p><b>{escape(advice.headline(answer))}</b></p>"]
    names = ("days", "usd", "facility_peak_w", "mfu")
    rows = [
        [advice.chosen(option["free"]), *(advice.figure(option["figures"][name], name) for name in names)]
        for option in answer["options"]
    ]
    if rows:
        parts.append(table(["", *names], rows))
    told = [advice.binding_sentence(row) for row in answer["binding"]]
    told += [advice.relaxation_sentence(row) for row in answer["relax"]]
    return "".join([*parts, *(f"<p>{escape(sentence)}</p>" for sentence in told)])


def _difference(answer: Mapping[str, Any]) -> str:
    parts = [f"<p><b>{escape(differences.headline(answer))}</b></p>"]
    parts += [
        f"<p>{escape(title)}</p>{table(heads, rows)}" for title, heads, rows in differences.sections(answer)
    ]
    return "".join(parts)


def _tornado(answer: Mapping[str, Any]) -> str:
    from argosy.report import tornado

    return f"<p><b>{escape(tornado.headline(answer))}</b></p>" + charts.to_svg(tornado.tornado_chart(answer))


def _diagnosis(answer: Mapping[str, Any]) -> str:
    from argosy.report import diagnosis, diagnosis_charts

    rows = [
        [each["id"], diagnosis.culprit(each), diagnosis.cost(each), f"{each['confidence']:.2f}"]
        for each in answer["findings"]
    ]
    parts = [f"<p><b>{escape(diagnosis.headline(answer))}</b></p>"]
    if rows:
        parts.append(table(["finding", "to blame", "costs", "confidence"], rows))
    drawn = diagnosis_charts.charts(answer)
    return "".join(
        parts + [charts.to_svg(drawn[name]) for name in ("timeline", "waterfall", "against") if name in drawn]
    )
