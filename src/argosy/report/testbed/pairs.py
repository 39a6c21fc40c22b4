"""Bars of what was predicted above those of what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from argosy.report import charts as drawing

WHAT = ("predicted", "measured")


def pairs(rows: list[dict[str, Any]], by: str, order: Sequence[str], title: str) -> drawing.Chart:
    """A pair of bars for every `by` of the rows, in this order. Rows: `by`, `what` (one of WHAT), `seconds` (s); `title`: of
    the seconds.
    """
    scale = alt.Scale(domain=list(WHAT), range=[drawing._FULL, drawing._USEFUL])
    return (
        alt.Chart(drawing._data(rows))
        .mark_bar()
        .encode(
            y=alt.Y(f"{by}:N", sort=list(order), title=None, axis=alt.Axis(labelLimit=400, ticks=False)),
            yOffset=alt.YOffset("what:N", sort=list(WHAT)),
            x=alt.X("seconds:Q", title=title),
            color=alt.Color("what:N", scale=scale, title=None),
        )
    )
