"""A cluster's queue as one HTML page: the answer, pictures, tables; no request leaves it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from argosy.report import schedule as told
from argosy.report import text as write
from argosy.report.html import _STYLE, _figure, _section, _table
from argosy.report.schedule_charts import charts

_MOST_JOBS = 500  # listed


def schedule_html(answer: Mapping[str, Any]) -> str:
    """A self-contained page for a payload of `argosy schedule` that has `pictures`."""
    made = charts(answer)
    name = escape(str(answer["name"]))
    sections = [_top(answer)]
    sections.append(_section("How full it was", _figure(made["occupancy"])))
    for key, title in (("nodes", "Jobs on nodes"), ("leaves", "Leaves")):
        if key in made:
            sections.append(_section(title, _figure(made[key])))
    sections.append(
        _section("Who waited", _figure(made["waits"]) + _groups("accelerators", answer["by_size"]))
    )
    if len(answer["by_tenant"]) > 1:
        sections.append(_section("By tenant", _groups("tenant", answer["by_tenant"])))
    sections.append(_section("Where GPU-time goes", _ledger(answer)))
    if "compare" in answer:
        figure = _figure(made["policies"]) if "policies" in made else ""
        sections.append(_section("Policies", figure + _compared(answer["compare"])))
    sections.append(_section("Jobs", _jobs(answer["jobs"])))
    version, date = escape(str(answer["version"])), escape(str(answer["facts_date"]))
    sections.append(f'<p class="soft">Argosy {version}, facts of {date}.</p>')
    body = "\n".join(sections)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{name}: queue by Argosy</title><style>{_STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )


def _top(answer: Mapping[str, Any]) -> str:
    from rich.text import Text

    lines = [escape(Text.from_markup(line).plain) for line in told.headline(answer)]
    notes = "".join(f"<li>{escape(note)}</li>" for note in answer["notes"])
    return (
        f"<h1>{escape(str(answer['name']))}</h1><p class=verdict>{'</p><p>'.join(lines)}</p><ul>{notes}</ul>"
    )


def _groups(head: str, rows: list[Mapping[str, Any]]) -> str:
    heads = [
        head,
        "jobs",
        "wait P50",
        "P90",
        "P99",
        "of fleet",
        "goodput",
        "evicted",
        "restarts",
        "lost GPU-hours",
    ]
    cells = [
        [
            escape(row["name"]),
            f"{row['jobs']:,}",
            *(told.time(row["wait_s"][key]) for key in ("p50", "p90", "p99")),
            told.share(row["allocation"]),
            told.share(row["goodput"]),
            f"{row['preemptions']:,}",
            f"{row['restarts']:,}",
            write.large(row["lost_gpu_s"] / 3600.0),
        ]
        for row in rows
    ]
    return _table(heads, cells, set(range(1, len(heads))))


def _ledger(answer: Mapping[str, Any]) -> str:
    total = answer["total_gpu_s"] or 1.0
    rows = [
        [told.LEDGER_NAMES[name], write.large(amount / 3600.0), write.percent(amount / total, 2)]
        for name, amount in answer["ledger_gpu_s"].items()
    ]
    rows.append(["<b>all</b>", f"<b>{write.large(total / 3600.0)}</b>", "<b>100 %</b>"])
    return _table(["state", "GPU-hours", "share"], rows, {1, 2})


def _compared(compared: Mapping[str, Any]) -> str:
    policies = compared["policies"]
    rows = [
        [name, *(told.cell(figure, row["figures"][figure]) for row in policies)]
        for figure, name in told.FIGURE_NAMES.items()
        if any(row["figures"][figure]["mean"] for row in policies)
    ]
    return _table(["", *(row["policy"] for row in policies)], rows, set(range(1, len(policies) + 1)))


def _jobs(jobs: list[Mapping[str, Any]]) -> str:
    """The jobs that waited longest."""
    waited = sorted(jobs, key=lambda job: -(job["wait_s"] if job["wait_s"] is not None else float("inf")))[
        :_MOST_JOBS
    ]
    rows = [
        [
            escape(job["job"]),
            escape(job["tenant"]),
            f"{job['accelerators']:g}",
            told.time(job["wait_s"]),
            f"{job['preemptions']:,}",
            f"{job['restarts']:,}",
            job["status"],
        ]
        for job in waited
    ]
    more = f" (the {_MOST_JOBS} that waited longest)" if len(jobs) > _MOST_JOBS else ""
    table = _table(
        ["job", "tenant", "accelerators", "wait", "evicted", "restarts", "status"], rows, {2, 3, 4, 5}
    )
    return f"<details><summary>{len(jobs):,} jobs{more}</summary>{table}</details>"
