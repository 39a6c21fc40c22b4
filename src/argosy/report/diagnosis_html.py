"""A diagnosis as one HTML page that is read in two minutes: the answer, who and what to do, pictures, then every number."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from argosy.report import diagnosis as say
from argosy.report import diagnosis_charts
from argosy.report import text as write
from argosy.report.html import _STYLE, _figure, _section, _table, _tree

_CLASS = {"critical": "infeasible", "high": "infeasible", "medium": "violates", "low": ""}
_MOST_RANKS = 256  # rows of the table of ranks: the slowest
_TITLES = {
    "timeline": "One step",
    "heat": "Who is slow",
    "waterfall": "Where the time went",
    "against": "Against the plan",
    "arrivals": "Who comes late",
    "goodput": "The whole run",
}


def diagnosis_html(answer: Mapping[str, Any]) -> str:
    """A self-contained page for a payload of `argosy diagnose`."""
    sections = [_top(answer)]
    if answer["findings"]:
        sections.append(
            _section("Findings", "".join(_finding(i, each) for i, each in enumerate(answer["findings"], 1)))
        )
    for name, chart in diagnosis_charts.charts(answer).items():
        note = f'<p class="soft">{escape(diagnosis_charts.caption(name, answer))}</p>'
        more = (
            _tree(answer["ledger"])
            if name == "waterfall"
            else _comparison(answer)
            if name == "against"
            else ""
        )
        sections.append(_section(_TITLES[name], _figure(chart) + note + more))
    sections += [_ranks(answer), _inputs(answer)]
    version, date = escape(str(answer["version"])), escape(str(answer["facts_date"]))
    sections.append(f'<p class="soft">Argosy {version}, facts of {date}.</p>')
    body = "\n".join(sections)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Diagnosis by Argosy</title><style>{_STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )


def _top(answer: Mapping[str, Any]) -> str:
    """The answer in one sentence, the step and its MFU, what was read."""
    worst = answer["findings"][0]["severity"] if answer["findings"] else "low"
    told = [f"{write.duration(answer['step_time_s'])} a step"] if answer["step_time_s"] else []
    told += [each for each in (say.utilisation(answer), *say.inputs(answer)) if each]
    notes = "".join(f"<li>{escape(note)}</li>" for note in answer["notes"])
    return (
        f'<h1>Diagnosis</h1><p class="verdict"><b class="{_CLASS[worst] or "feasible"}">{escape(say.headline(answer))}</b></p>'
        f"<p>{escape('; '.join(told))}</p><ul>{notes}</ul>"
    )


def _finding(number: int, finding: Mapping[str, Any]) -> str:
    """One finding: what, who, what it costs, what to do; its evidence folded away."""
    rows = [
        ["to blame", f"<b>{escape(say.culprit(finding))}</b>" if say.culprit(finding) else ""],
        ["costs", escape(say.cost(finding))],
        ["bound", escape(say.bound(finding))],
        ["do", escape(finding["advice"])],
        ["also seen", escape("; ".join(finding["causes"]))],
    ]
    places = "".join(f"<li><code>{escape(say.place(each))}</code></li>" for each in finding["evidence"])
    return (
        f'<h3>{number}. <span class="{_CLASS[finding["severity"]]}">{escape(finding["id"])}</span> '
        f'<span class="soft">{finding["severity"]}, confidence {finding["confidence"]:.2f}</span></h3>'
        f"<p>{escape(finding['title'])}</p>"
        + _table(["", ""], [row for row in rows if row[1]], set())
        + (f"<details><summary>evidence</summary><ul>{places}</ul></details>" if places else "")
    )


def _comparison(answer: Mapping[str, Any]) -> str:
    rows = [
        [escape(name), write.duration(max(seen, 0.0)), write.duration(planned), f"{1e3 * delta:+,.4g} ms"]
        for name, seen, planned, delta in say.comparison(answer)
    ]
    return _table(["a step", "observed", "planned", "difference"], rows, {1, 2, 3})


def _ranks(answer: Mapping[str, Any]) -> str:
    """The ranks, the slowest by themselves first, folded away."""
    found = [row for row in answer["ranks"] if not row.get("missing")]
    if not found:
        return ""
    found.sort(key=lambda row: -(row.get("excess_s") or 0.0))
    rows = []
    for row in found[:_MOST_RANKS]:
        shares = row.get("shares") or {}
        late = f"{row['last_in']} of {row['barriers']}" if row.get("barriers") else ""
        rows.append(
            [
                str(row["rank"]),
                escape(str(row.get("node") or "")),
                "" if row.get("stage") is None else str(row["stage"]),
                write.duration(row["own_s"]) if row.get("own_s") else "",
                f"{1e3 * row['excess_s']:+,.3g} ms" if row.get("excess_s") is not None else "",
                late,
                *(
                    write.percent(shares[name]) if name in shares else ""
                    for name in ("compute", "wait", "host", "data")
                ),
            ]
        )
    heads = [
        "rank",
        "node",
        "stage",
        "own time",
        "above peers",
        "last in",
        "compute",
        "waiting",
        "host",
        "data",
    ]
    table = _table(heads, rows, set(range(3, 10)))
    return _section(
        "Ranks",
        f"<details><summary>{len(found)} ranks, the slowest by themselves first</summary>{table}</details>",
    )


def _inputs(answer: Mapping[str, Any]) -> str:
    rows = [
        [
            f"<code>{escape(each['path'])}</code>",
            escape(each["kind"]),
            escape(each["status"]),
            write.count(each["events"]),
        ]
        for each in answer["inputs"]
    ]
    told = "".join(f"<li>{escape(problem)}</li>" for problem in say.problems(answer)[:100])
    table = _table(["file", "taken as", "status", "entries"], rows[:1000], {3})
    return _section(
        "What was read", f"<ul>{told}</ul><details><summary>{len(rows)} files</summary>{table}</details>"
    )
