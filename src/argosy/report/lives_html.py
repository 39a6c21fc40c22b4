"""A job's lives as one HTML page: the answer, pictures, a strip of one life to zoom into, tables; no request leaves it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from argosy.report import lives
from argosy.report import text as write
from argosy.report.html import _STYLE, _figure, _section, _table

_MOST_STRETCHES = 6000  # of the strip: the first so many
_ZOOM = """
for (const strip of document.querySelectorAll('svg.strip')) {
  let [x, , w] = strip.getAttribute('viewBox').split(' ').map(Number); const all = w;
  const show = () => { w = Math.min(Math.max(w, all / 2000), all); x = Math.min(Math.max(x, 0), all - w);
    strip.setAttribute('viewBox', `${x} 0 ${w} 60`);
    document.getElementById('seen').textContent = `day ${(x / 24).toFixed(2)} to ${((x + w) / 24).toFixed(2)}`; };
  strip.addEventListener('wheel', e => { e.preventDefault();
    const at = x + w * e.offsetX / strip.clientWidth, by = Math.exp(e.deltaY / 400);
    x = at - (at - x) * by; w *= by; show(); }, { passive: false });
  strip.addEventListener('pointermove', e => { if (e.buttons) { x -= w * e.movementX / strip.clientWidth; show(); } });
  strip.addEventListener('dblclick', () => { x = 0; w = all; show(); });
  show();
}
"""


def lives_html(answer: Mapping[str, Any]) -> str:
    """A self-contained page for a payload of `argosy simulate`."""
    name = escape(str(answer["job"]))
    charts = lives.life_charts(answer)
    sections = [_top(answer), _section("Where the time goes", _figure(charts["ledger"]) + _ledger(answer))]
    sections.append(_section("When it finishes", _figure(charts["finish"]) + _views(answer)))
    sections.append(_section("One life", _figure(charts["life"]) + _strip(answer)))
    if "fixes" in charts:
        sections.append(_section("What to fix first", _figure(charts["fixes"])))
    curves = "".join(_figure(charts[key]) for key in ("spares", "interval") if key in charts)
    if curves:
        note = (
            '<p class="soft">Dots: simulated, with two standard errors (of the difference from the chosen interval, where '
            "intervals are compared). Line: closed form. Dashed: recommended.</p>"
        )
        sections.append(_section("How many spares, how often to save", curves + note))
    sections.append(_section("What fails", _failures(answer)))
    version, date = escape(str(answer.get("version", ""))), escape(str(answer.get("facts_date", "")))
    sections.append(f'<p class="soft">Argosy {version}, facts of {date}.</p>')
    body = "\n".join(sections)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{name}: life by Argosy</title><style>{_STYLE}</style></head><body>\n{body}\n"
        f"<script>{_ZOOM}</script></body></html>\n"
    )


def _top(answer: Mapping[str, Any]) -> str:
    days, good = answer["days"], answer["goodput"]
    if answer["finishes"]:
        verdict = (
            f"<b class=feasible>finishes after {write.significant(days['p50'])} days</b> (P10 "
            f"{write.significant(days['p10'])}, P90 {write.significant(days['p90'])})"
        )
    else:
        verdict = "<b class=infeasible>will never finish</b>"
    notes = "".join(f"<li>{escape(note)}</li>" for note in answer.get("notes", []))
    return (
        f"<h1>Life of {escape(str(answer['job']))}</h1><p class=verdict>{verdict}; goodput {write.percent(good['mean'])} ± "
        f"{write.percent(good['stderr'], 2)}, closed form {write.percent(answer['closed_form_goodput'])}</p>"
        f"<p>{answer['replications']:,} lives; a checkpoint every {write.duration(answer['interval_s'])}; "
        f"{answer['spares']} spare nodes.</p><ul>{notes}</ul>"
    )


def _ledger(answer: Mapping[str, Any]) -> str:
    total = answer["total_gpu_s"] or 1.0
    rows = [
        [escape(lives.state_name(state)), write.large(amount / 3600.0), write.percent(amount / total, 3)]
        for state, amount in answer["ledger_gpu_s"].items()
    ]
    rows.append(["<b>all</b>", f"<b>{write.large(total / 3600.0)}</b>", "<b>100 %</b>"])
    return f"<details><summary>every state</summary>{_table(['state', 'GPU-hours', 'share'], rows, {1, 2})}</details>"


def _views(answer: Mapping[str, Any]) -> str:
    rows = [
        [escape(name), write.percent(value, 2), escape(answer.get("definitions", {}).get(name, ""))]
        for name, value in answer["views"].items()
    ]
    return _table(["goodput as", "", "what it counts"], rows, {1})


def _failures(answer: Mapping[str, Any]) -> str:
    rows = []
    for name, each in sorted(answer["failures"].items(), key=lambda row: -row[1]["mean"]):
        expected = "–" if each["expected"] is None else f"{each['expected']:,.2f}"
        rows.append([escape(name), expected, f"{each['mean']:,.2f}"])
    return _table(["in a life", "expected", "simulated"], rows, {1, 2})


def _strip(answer: Mapping[str, Any]) -> str:
    """One life as a strip of time: turn the wheel to zoom, drag to move, click twice for all of it."""
    stretches = answer["timeline"]["stretches"][:_MOST_STRETCHES]
    if not stretches:
        return ""
    end = stretches[-1]["end_s"] / 3600.0
    parts = []
    for stretch in stretches:
        start, until = stretch["start_s"] / 3600.0, stretch["end_s"] / 3600.0
        told = f"{lives.state_name(stretch['state'])}, {write.duration(3600.0 * (until - start))}, day {start / 24:.2f}"
        parts.append(
            f'<rect x="{start:.4f}" y="14" width="{until - start:.4f}" height="46" '
            f'fill="{lives.COLOURS[stretch["state"]]}"><title>{told}</title></rect>'
        )
    for failure in answer["timeline"]["failures"]:
        at = failure["start_s"] / 3600.0
        if at <= end:
            node = "" if failure["node"] is None else f" on node {failure['node']}"
            parts.append(
                f'<line x1="{at:.4f}" x2="{at:.4f}" y1="0" y2="12" stroke="#111" vector-effect="non-scaling-stroke">'
                f"<title>{escape(str(failure['category']))}{node}</title></line>"
            )
    whole = (
        "" if len(stretches) == len(answer["timeline"]["stretches"]) else f" (its first {end / 24:.0f} days)"
    )
    return (
        f'<p class="soft">The same life{whole} to look into: turn the wheel to zoom, drag to move, click twice for all; '
        'point at a stretch to read it. Seen: <span id="seen"></span>.</p>'
        f'<svg class="strip" viewBox="0 0 {end:.4f} 60" preserveAspectRatio="none" '
        f'style="width: 100%; height: 60px; touch-action: none">{"".join(parts)}</svg>'
    )
