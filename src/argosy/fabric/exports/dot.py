"""A drawing for Graphviz: every device of a small fabric; of a larger one, one box per group and pod with its count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from argosy.fabric.exports.domains import nested_domains
from argosy.fabric.names import node_names
from argosy.fabric.topologies import Topology

MOST_BOXES = 160  # beyond, a drawing of single devices is a grey smear
MOST_PODS = 16


def lines(topology: Topology) -> Iterator[str]:
    """The graph, hosts at the bottom; edges are labelled with their cables and rate."""
    cables = topology.cables
    tier = cables.tier_of_nodes()
    box, label = _boxes(topology)
    yield f'graph "{topology.design.topology}" {{'
    yield "  rankdir=BT; ranksep=1.2; node [shape=box, fontname=Helvetica]; edge [color=gray40, fontsize=9];"
    boxes, first = np.unique(box, return_index=True)
    for number, node in zip(boxes.tolist(), first.tolist(), strict=True):
        shape = "box" if tier[node] == 0 else "box, style=filled, fillcolor=lightsteelblue"
        yield f'  n{number} [label="{label[number]}", shape={shape}];'
    for level in range(int(tier.max()) + 1):
        same = " ".join(
            f"n{number};" for number, node in zip(boxes, first, strict=True) if tier[node] == level
        )
        yield f"  {{ rank=same; {same} }}"
    ends = zip(box[cables.a].tolist(), box[cables.b].tolist(), cables.rate.tolist(), strict=True)
    for (a, b, rate), count in sorted(Counter(ends).items()):
        yield f'  n{a} -- n{b} [label="{count} × {rate / 1e9:g} Gb/s"];'
    yield "}"


def _boxes(topology: Topology) -> tuple[np.ndarray, dict[int, str]]:
    """The box of every node, shape (nodes,), and what stands in it."""
    cables = topology.cables
    if cables.nodes <= MOST_BOXES:
        return np.arange(cables.nodes), dict(enumerate(node_names(cables)))
    # Pods: the domains below the top, if they are few; else everything of one group is one box.
    levels = [level for level in nested_domains(cables) if 1 < level.count() <= MOST_PODS]
    domain = levels[-1].domain if levels else np.full(cables.nodes, -1)
    box = np.empty(cables.nodes, dtype=np.int64)
    label: dict[int, str] = {}
    for number, group in enumerate(cables.groups):
        pods = domain[group.ids]
        box[group.ids] = number * (MOST_PODS + 1) + pods + 1
        for pod, count in zip(*np.unique(pods, return_counts=True), strict=True):
            where = f"\\nin {levels[-1].name} domain {pod + 1}" if pod >= 0 else ""
            label[number * (MOST_PODS + 1) + int(pod) + 1] = f"{count:,} × {group.name}{where}"
    return box, label
