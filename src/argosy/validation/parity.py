"""Predicted against measured step time as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def parity_chart(payload: dict[str, Any], target: Path) -> None:
    """Predicted against measured step time of every unflagged row, both on logarithmic axes, as SVG."""
    import altair as alt

    points = [
        {
            "measured": r["measured_step_time_s"],
            "predicted": r["predicted_step_time_s"],
            "source": r["source"],
        }
        for r in payload["rows"]
        if r["status"] == "ok" and not r["flag"] and r["measured_step_time_s"]
    ]
    low, high = min(p["measured"] for p in points), max(p["measured"] for p in points)
    scale = alt.Scale(type="log", domain=[low, high])
    dots = (
        alt.Chart(alt.InlineData(values=points))
        .mark_point(size=18, opacity=0.6)
        .encode(
            x=alt.X("measured:Q", scale=scale, title="measured step time (s)"),
            y=alt.Y("predicted:Q", scale=scale, title="predicted step time (s)"),
            color=alt.Color("source:N", title="source"),
        )
    )
    line = (
        alt.Chart(
            alt.InlineData(
                values=[{"measured": low, "predicted": low}, {"measured": high, "predicted": high}]
            )
        )
        .mark_line(color="black", strokeWidth=1)
        .encode(x="measured:Q", y="predicted:Q")
    )
    (dots + line).properties(width=520, height=520).save(str(target), format="svg")
