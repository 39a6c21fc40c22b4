"""The map of layouts as a chart: MFU over tensor and pipeline parallelism, with what is out and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from argosy.report import text as write

_WIDTH, _LINE = 560, 34


def layout_heat_map(found: Mapping[str, Any]) -> Any:
    """One cell for each (tp, pp) of `study.layout_map`: coloured by its best MFU, grey where nothing fits or divides.

    The tooltip has the layout, its step and memory, or the reason; a selection named `cell` answers clicks.
    """
    rows = [_row(cell, found["capacity_bytes"]) for cell in found["cells"]]
    order = {key: sorted({cell[key] for cell in found["cells"]}) for key in ("tp", "pp")}
    titles = {
        "tp": "tensor parallel",
        "pp": "pipeline",
        "shown": "best MFU",
        "told": "layout, or why not",
    }
    tooltip = [alt.Tooltip(f"{key}:N", title=title) for key, title in titles.items()]
    base = alt.Chart(alt.Data(values=rows)).encode(  # type: ignore[no-untyped-call]
        x=alt.X("pp:O", sort=order["pp"], title="pipeline stages", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("tp:O", sort=order["tp"], title="tensor parallelism"),
        tooltip=tooltip,
    )
    picked = alt.selection_point(name="cell", fields=["tp", "pp"])
    out = (
        base.transform_filter("datum.mfu == null")
        .mark_rect(fill="#c9ccd1", fillOpacity=0.35, stroke="white")
        .add_params(picked)
    )
    able = (
        base.transform_filter("datum.mfu != null")
        .mark_rect(stroke="white")
        .encode(
            color=alt.Color(
                "mfu:Q",
                title="best MFU",
                scale=alt.Scale(scheme="viridis", zero=False),
                legend=alt.Legend(format=".0%"),
            )
        )
    )
    texts = (
        base.transform_filter("datum.mfu != null")
        .mark_text(fontSize=11)
        .encode(
            text=alt.Text("mfu:Q", format=".0%"),
            color=alt.condition(f"datum.mfu > {_middle(rows)}", alt.value("#111"), alt.value("white")),
        )
    )
    return alt.layer(out, able, texts).properties(
        title="The best layout of every shape", width=_WIDTH, height=_LINE * max(1, len(order["tp"]))
    )


def _middle(rows: list[dict[str, Any]]) -> float:
    values = [row["mfu"] for row in rows if row["mfu"] is not None]
    return (min(values) + max(values)) / 2 if values else 0.0


def _row(cell: Mapping[str, Any], capacity: float) -> dict[str, Any]:
    mfu = cell.get("mfu")
    if mfu is not None:
        layout = cell["layout"]
        told = (
            f"{write.layout_arithmetic(layout)}, micro-batch {layout['micro_batch']}, recompute {layout['recompute']}; "
            f"step {write.duration(cell['step_time_s'])}, {write.binary_bytes(cell['peak_bytes'])}"
        )
    elif cell.get("peak_bytes"):
        told = f"needs {write.binary_bytes(cell['peak_bytes'])} at least, of {write.binary_bytes(capacity)}"
    else:
        told = str(cell["reason"])
    shown = "–" if mfu is None else write.percent(mfu)
    return {"tp": cell["tp"], "pp": cell["pp"], "mfu": mfu, "shown": shown, "told": told}
