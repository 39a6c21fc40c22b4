"""`argosy testbed planes` for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from argosy.report import charts as drawing

TITLE = "Control plane and data plane"
INTRODUCTION = """
Every host of the testbed has an interface `ctl0` on a switch of its own beside the cards that carry data. MPI's process manager,
torchrun's rendezvous, heartbeats and proxies' checks are there. `argosy testbed planes` shows what that separation
is worth: the data plane is saturated by a ring, a data cable is cut, and a control cable is cut under a running ring.

Which plane is broken follows from who answers the manager and who hears whom: a host that answers, but neither hears its
peers nor is heard, has lost its data plane; one that does not answer but is heard has lost its control plane; one that is
neither is down (`argosy.testbed.planes.told`).
"""


def charts(answer: Mapping[str, Any]) -> dict[str, drawing.Chart]:
    """Round trips on the control plane: idle, saturated, and with cables cut."""
    trips = {
        "idle": answer["round_trips_s"]["idle"],
        "cards saturated": answer["round_trips_s"]["saturated"],
        "a data cable cut": answer["data_cut"]["round_trips_s"],
        "a control cable cut (the others)": answer["control_cut"]["round_trips_s"],
    }
    rows = [
        {"when": when, "share": 100 * (place + 1) / len(values), "milliseconds": 1000 * value}
        for when, values in trips.items()
        for place, value in enumerate(sorted(values))
    ]
    chart = (
        alt.Chart(drawing._data(rows))
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X(
                "milliseconds:Q", title="round trip on the control plane, ms", scale=alt.Scale(type="log")
            ),
            y=alt.Y("share:Q", title="% of round trips at most so long"),
            color=alt.Color("when:N", sort=list(trips), title=None),
        )
    )
    return {
        "planes": chart.properties(
            title="The control plane does not feel the data plane", width=drawing.WIDTH, height=220
        )
    }


def more(answer: Mapping[str, Any]) -> list[str]:
    """What the page says after the table."""
    carried = answer["carried"]
    return [
        f"The process manager carried {carried['printed']:,} bytes that the hosts printed:",
        f"{carried['control']:,} bytes left them by their control interfaces, {carried['cards']:,} by their cards.",
    ]
