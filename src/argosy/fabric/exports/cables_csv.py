"""A cable list for the people who pull cables: which rack, device and port each end belongs to, how long, what kind.

Racks are an assumption where a design does not draw them: hosts stand `hosts_per_rack` to a rack in order; a switch
stands in the rack of its hosts when they all share one, else with its like in network racks.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from argosy.fabric.analysis import plain_name
from argosy.fabric.names import node_names
from argosy.fabric.topologies import Topology

COLUMNS = (
    "cable", "boundary", "a_tier", "a_rack", "a_device", "a_port", "b_tier", "b_rack", "b_device", "b_port",
    "rate_gbps", "length_m", "type",
)  # fmt: skip


def lines(topology: Topology) -> Iterator[str]:
    """The list, a header first. Ports count from 1; a host's port is its card's."""
    cables = topology.cables
    names = node_names(cables)
    tier = [plain_name(group.name) for group in cables.groups for _ in range(group.count)]
    yield ",".join(COLUMNS)
    columns = (cables.a, cables.a_port, cables.b, cables.b_port, cables.rate, cables.boundary)
    for number, (a, p, b, q, rate, boundary) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True), start=1
    ):
        row = [
            f"{number:0{len(str(len(cables)))}d}", plain_name(cables.boundaries[boundary].name),
            tier[a], "", names[a], p + 1, tier[b], "", names[b], q + 1, f"{rate / 1e9:g}", "", "",
        ]  # fmt: skip
        text = io.StringIO()
        csv.writer(text, lineterminator="").writerow(row)
        yield text.getvalue()
