"""A cable list for the people who pull cables: which cabinet, device and port each end belongs to, how long, what kind.

Cabinets and lengths are those of `argosy.fabric.hall`: an assumed hall that a scenario may replace fact by fact. The
same file, with names changed to the real ones and `a_guid`, `b_guid` added, is a plan for `argosy fabric diff`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from argosy.fabric.analysis import plain_name
from argosy.fabric.bill import parts_of_cables
from argosy.fabric.cables import NodeGroup
from argosy.fabric.hall import lay_out
from argosy.fabric.names import node_names
from argosy.fabric.topologies import Topology

COLUMNS = (
    "cable", "boundary", "a_tier", "a_rack", "a_device", "a_port", "a_cage", "b_tier", "b_rack", "b_device", "b_port",
    "b_cage", "rate_gbps", "length_m", "type",
)  # fmt: skip


def lines(topology: Topology, values: Any) -> Iterator[str]:
    """The list, a header first, a link a line. Ports count links from 1; a host's port is its card's. A cage is the
    physical port: `17/2` is the second link of cage 17, where each cage is broken out into as many.

    `values`: facts.Values; lengths and types are chosen at central facts. `length_m` is the way over the trays, of
    which the next longer stocked length is taken.
    """
    cables = topology.cables
    names = node_names(cables)
    hall = lay_out(topology, values)
    racks = hall.names()
    part_of, parts, _ = parts_of_cables(topology, values)
    tiers = [plain_name(group.name) for group in cables.groups for _ in range(group.count)]
    lanes = [_lanes(group) for group in cables.groups for _ in range(group.count)]
    kinds = [plain_name(boundary.name) for boundary in cables.boundaries]
    width = len(str(len(cables)))
    columns = (
        cables.a, cables.a_port, hall.rack[cables.a], cables.b, cables.b_port, hall.rack[cables.b], cables.rate,
        cables.boundary, np.round(hall.length_m, 1), part_of,
    )  # fmt: skip
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for number, (a, p, a_rack, b, q, b_rack, rate, kind, length, part) in enumerate(rows, start=1):
        writer.writerow(
            (
                f"{number:0{width}d}", kinds[kind], tiers[a], racks[a_rack], names[a], p + 1, _cage(p, lanes[a]),
                tiers[b], racks[b_rack], names[b], q + 1, _cage(q, lanes[b]), f"{rate / 1e9:g}", f"{length:g}", parts[part],
            )
        )  # fmt: skip
        yield from _taken(text)
    yield from _taken(text)


def _lanes(group: NodeGroup) -> int:
    """Links per cage of a group's devices; 0 where cages are broken out differently."""
    cages = group.cages or group.ports
    return group.ports // cages if cages and group.ports % cages == 0 else 0


def _cage(port: int, lanes: int) -> str:
    """`17/2`, or `17` where a cage carries one link; empty where it is not known."""
    if lanes < 2:
        return str(port + 1) if lanes else ""
    return f"{port // lanes + 1}/{port % lanes + 1}"


def _taken(text: io.StringIO) -> list[str]:
    """What has been written, as lines; the buffer is emptied."""
    found = text.getvalue().splitlines()
    text.seek(0)
    text.truncate()
    return found
