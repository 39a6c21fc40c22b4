"""The plan as one HTML file: no request leaves it, charts are drawn in it, every number says why."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from argosy.report import charts, sentences
from argosy.report import text as write

_STYLE = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")


def plan_html(plan: Mapping[str, Any]) -> str:
    """A self-contained page for a plan (the contract's JSON)."""
    name = plan["scenario"]["name"]
    sections = [_top(plan), _headline(plan)]
    if plan.get("ledger"):
        sections.append(
            _section(
                "Where every GPU-second goes", _figure(charts.ledger_waterfall(plan)) + _tree(plan["ledger"])
            )
        )
    sections += [_job(job) for job in plan["training"]]
    if plan.get("serving"):
        from argosy.report.serving_html import service_sections

        sections += [section for entry in plan["serving"] for section in service_sections(entry)]
    if plan.get("shared_fleet"):
        lines = "".join(f"<li>{escape(line)}</li>" for line in sentences.shared(plan["shared_fleet"]))
        sections.append(_section("One fleet for both", f"<ul>{lines}</ul>"))
    if plan["fabrics"]:
        sections.append(_fabrics(plan))
    if plan.get("facility"):
        sections.append(_facility(plan))
    if plan.get("cost"):
        sections.append(_cost(plan))
    sections += [_assumptions(plan), _facts(plan), _footer(plan)]
    body = "\n".join(sections)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(name)}: plan by Argosy</title><style>{_STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>\n{content}</section>"


def _figure(chart: Any) -> str:
    return f"<figure>{charts.to_svg(chart)}</figure>" if chart is not None else ""


def _table(heads: list[str], rows: list[list[str]], numeric: set[int]) -> str:
    """An HTML table; cells are already escaped HTML. `numeric` columns align right."""

    def cell(tag: str, number: int, value: str) -> str:
        return f'<{tag} class="n">{value}</{tag}>' if number in numeric else f"<{tag}>{value}</{tag}>"

    head = "".join(cell("th", number, escape(value)) for number, value in enumerate(heads))
    body = "".join(
        "<tr>" + "".join(cell("td", number, value) for number, value in enumerate(row)) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _top(plan: Mapping[str, Any]) -> str:
    answer = plan["verdict"]
    binding = f"; what binds: {escape(answer['binding'])}" if answer["binding"] else ""
    margin = f", margin {write.percent(answer['margin'])}" if answer["margin"] is not None else ""
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in answer["reasons"])
    notes = "".join(f"<li>{escape(note)}</li>" for note in plan.get("notes") or [])
    return (
        f"<h1>{escape(plan['scenario']['name'])}</h1>"
        f'<p class="verdict"><b class="{answer["status"]}">{answer["status"]}</b>{binding}{margin}</p>'
        f"<ul>{reasons}{notes}</ul>"
    )


def _why(row: Mapping[str, Any]) -> str:
    """The formula and inputs behind a headline number, folded away until asked for."""
    inputs = "".join(
        f"<li>{escape(item['name'])} = {escape(item['shown'])} <span class=soft>{escape(item.get('from', ''))}</span></li>"
        for item in row.get("inputs", [])
    )
    return f"<details><summary>why this number?</summary>{escape(row['law'])}<ul>{inputs}</ul></details>"


def _headline(plan: Mapping[str, Any]) -> str:
    if not plan.get("headline"):
        return ""
    rows = [
        [
            escape(row["label"]) + _why(row),
            *(write.quantity(row[key], row["unit"]) for key in ("p10", "p50", "p90", "nominal")),
        ]
        for row in plan["headline"]
    ]
    table = _table(["", "P10", "P50", "P90", "nominal"], rows, {1, 2, 3, 4})
    return _section("The answer", table + _figure(charts.headline_intervals(plan)))


def _tree(node: Mapping[str, Any]) -> str:
    whole = node["amount"]

    def rows(tree: Mapping[str, Any], level: int) -> list[list[str]]:
        indent = "&nbsp;" * 4 * level
        own = [
            [
                indent + escape(tree["name"]),
                write.large(tree["amount"] / 3600),
                write.percent(tree["amount"] / whole),
                f'<span class="soft">{escape(tree["law"])}</span>',
            ]
        ]
        return own + [row for child in tree["children"] for row in rows(child, level + 1)]

    table = _table(["line", "GPU-hours", "share", "law"], rows(node, 0), {1, 2})
    return f"<details><summary>every line, with its law</summary>{table}</details>"


_IN_ARITHMETIC = ("gpus", "tp", "pp", "cp", "dp")  # layout fields that the product already shows


def _job(job: Mapping[str, Any]) -> str:
    chosen, search = job["layout"], job.get("search")
    others = (
        f"{key} {value}" for key, value in chosen.items() if key not in _IN_ARITHMETIC and value is not None
    )
    total, each = write.scaled(job["tokens_per_s"], "tokens/s"), write.significant(job["tokens_per_gpu_s"])
    facts = [
        ["layout", escape(write.layout_arithmetic(chosen))],
        ["also", escape(", ".join(others))],
        ["utilisation", escape(sentences.utilisation(job))],
        ["throughput", f"{total}, {each} per GPU"],
        ["evidence", escape(job["grade"])],
    ]
    if search:
        out = f"<br><span class=soft>left out: {escape(sentences.left_out(search))}</span>"
        facts.append(["search", escape(sentences.searched(search)) + out])
    drawn = (charts.step_breakdown(job), charts.memory_bar(job), charts.layout_ranking(job))
    figures = "".join(_figure(chart) for chart in drawn)
    return _section(f"Training: {job['name']}", _table(["", ""], facts, set()) + figures)


def _fabrics(plan: Mapping[str, Any]) -> str:
    content = ""
    for fabric in plan["fabrics"]:
        rows = []
        for tier in fabric["tiers"]:
            switch = escape(str(tier.get("switch") or "–"))
            rows.append(
                [escape(tier["name"]), write.count(tier["switches"]), write.count(tier["links"]), switch]
            )
        content += _figure(charts.fabric_drawing(fabric))
        content += _table(["tier", "switches", "cables to it", "switch"], rows, {1, 2})
        content += f"<p>{escape(sentences.bandwidth(fabric))}</p>"
    return _section("Fabric", content)


def _facility(plan: Mapping[str, Any]) -> str:
    site = plan["facility"]
    rows = [
        [
            "IT power",
            f"{write.scaled(site['it_mean_w'], 'W')} mean, {write.scaled(site['it_peak_w'], 'W')} peak",
        ],
        [
            "facility power",
            f"{write.scaled(site['facility_mean_w'], 'W')} mean, {write.scaled(site['facility_peak_w'], 'W')} peak",
        ],
        ["PUE", f"{site['pue']:.3f} over the year, {site['pue_peak']:.3f} at the peak in the hottest hour"],
        ["power tree", f"trips first at the {escape(site['trips_first'])} as the load grows"],
        ["energy at the meter", f"{write.large(site['energy_kwh'])} kWh"],
        [
            "racks",
            f"{write.count(site['racks'])} of {write.significant(site['rack_kw'])} kW, cooled by {escape(site['cooling'])}",
        ],
        ["water", f"{write.large(site['water_kg'])} kg"],
        ["carbon", f"{write.significant(site['carbon_kg'] / 1e3)} t CO2e; {escape(site['carbon_basis'])}"],
        ["boundary", escape(site["boundary"])],
    ]
    return _section("Facility", _table(["", ""], rows, set()))


def _cost(plan: Mapping[str, Any]) -> str:
    cost = plan["cost"]
    rows = [
        [escape(line["name"]), write.dollars(line["usd"]), write.percent(line["usd"] / cost["total_usd"])]
        for line in cost["lines"]
    ]
    rows.append(["<b>total</b>", f"<b>{write.dollars(cost['total_usd'])}</b>", ""])
    return _section("Cost", _table(["line", "USD", "share"], rows, {1, 2}))


def _assumptions(plan: Mapping[str, Any]) -> str:
    """What rests on nobody's measurement: to be looked at before the answer is believed."""
    rows = []
    for item in plan.get("assumptions") or []:
        path = f"<code>{escape(item['path'])}</code>"
        value = f"{escape(_value(item['value']))} {escape(item['unit'])}"
        rows.append([path, value, escape(item["note"].removeprefix("assumption").lstrip(": "))])
    return _section("Assumptions", _table(["what", "value", "assumed because"], rows, set())) if rows else ""


def _facts(plan: Mapping[str, Any]) -> str:
    """Every fact that was used, with its band and source, folded away until asked for."""
    rows = []
    for fact in plan.get("facts") or []:
        known = None not in (fact["low"], fact["high"])
        band = f"{write.significant(fact['low'])} – {write.significant(fact['high'])}" if known else ""
        number = f"{write.significant(fact['value'], 4)} {escape(fact['unit'])}"
        source = escape(fact["source"]) or "assumption"
        rows.append([f"<code>{escape(fact['path'])}</code>", number, band, escape(fact["kind"]), source])
    table = _table(["path", "value", "band (90 %)", "kind", "source"], rows, set())
    return _section(
        "Facts", f"<details><summary>{len(rows)} facts, with their sources</summary>{table}</details>"
    )


def _value(value: Any) -> str:
    """A setting in words: numbers with four digits, nothing for an empty mapping."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return write.significant(value, 4)
    return "none" if value in ({}, [], None) else str(value)


def _footer(plan: Mapping[str, Any]) -> str:
    version, date, scenario = (
        escape(text) for text in (plan["version"], plan["facts_date"], plan["scenario"]["hash"])
    )
    return f'<p class="soft">Argosy {version}, facts of {date}, scenario <code>{scenario}</code>.</p>'
