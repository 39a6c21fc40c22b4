"""A fabric as it was found (ibnetdiscover), as a topology: measured, loaded and drawn like a planned one.

Switches get their tier from the cables: 1 where hosts are plugged in, then one more for every step away from them.
Hosts and switches keep their names and stand in the order of these.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from argosy.fabric.cables import Boundary, CableList, NodeGroup
from argosy.fabric.imports.wires import Device, Wires
from argosy.fabric.topologies.design import Design, DesignError, Topology, tier_name

AS_BUILT = "as-built"


def built_topology(wires: Wires) -> Topology:
    """The topology of a fabric that was found. DesignError where it has no hosts, no switches, or hosts cabled to each
    other.

    A cable whose rate is not known gets that of most others, which a note says. A loop (a switch joined to itself)
    carries nothing and is left out, which a note says too.
    """
    wires, notes_of_loops = _without_loops(wires)
    nodes, port_of = _nodes(wires)
    tier = _tiers(wires, nodes)
    order = sorted(range(len(tier)), key=lambda node: (tier[node], _natural(nodes[node])))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    node_of = np.array([port_of[index][0] for index in range(len(wires.devices))])
    a, b = place[node_of[wires.a]], place[node_of[wires.b]]
    a_port, b_port = (
        _ports(wires, wires.a, wires.a_port, port_of),
        _ports(wires, wires.b, wires.b_port, port_of),
    )
    swap = np.array(tier)[order][a] > np.array(tier)[order][b]  # hosts first, then what is lower
    a, b, a_port, b_port = (
        np.where(swap, b, a),
        np.where(swap, a, b),
        np.where(swap, b_port, a_port),
        np.where(swap, a_port, b_port),
    )
    rate, notes = _rates(wires)
    levels = np.array(tier)[order]
    groups = _groups(levels, a, a_port, b, b_port)
    names, boundary = np.unique(
        [f"{tier_name(int(levels[x]))}-{tier_name(int(levels[y]))}" for x, y in zip(a, b, strict=True)],
        return_inverse=True,
    )
    cables = CableList(
        groups,
        tuple(Boundary(str(name)) for name in names),
        a,
        a_port,
        b,
        b_port,
        rate,
        boundary.ravel(),
        np.full(len(a), -1),
        tuple(nodes[node] for node in order),
    )
    hosts, cards = groups[0].count, groups[0].ports
    design = Design(AS_BUILT, hosts, cards, groups[1].ports, float(np.median(rate[levels[a] == 0])))
    return Topology(design, cables, (), tuple(cables.problems()), (*wires.notes, *notes_of_loops, *notes))


def _without_loops(wires: Wires) -> tuple[Wires, list[str]]:
    """The cables between two devices, and a note on those left out."""
    kept = wires.a != wires.b
    if kept.all():
        return wires, []
    left = replace(
        wires,
        **{name: getattr(wires, name)[kept] for name in ("a", "a_port", "b", "b_port", "rate", "line")},
    )
    loops = int((~kept).sum())
    return left, [
        f"{loops} {'loop carries' if loops == 1 else 'loops carry'} no traffic: left out of all figures"
    ]


def _nodes(wires: Wires) -> tuple[list[str], dict[int, tuple[int, int]]]:
    """Names of hosts and switches, and the node of every device with its first port there: a host's cards in order."""
    nodes: list[str] = []
    known: dict[tuple[bool, str], int] = {}
    found: dict[int, tuple[int, int]] = {}
    most = np.zeros(len(wires.devices), dtype=np.int64)
    np.maximum.at(most, np.concatenate([wires.a, wires.b]), np.concatenate([wires.a_port, wires.b_port]))
    taken: dict[int, int] = {}
    for index in sorted(range(len(wires.devices)), key=lambda one: _sorted_by(wires.devices[one])):
        device = wires.devices[index]
        key = (device.is_switch, device.name)
        if key not in known:
            known[key] = len(nodes)
            nodes.append(device.name)
        node = known[key]
        found[index] = (node, 0 if device.is_switch else taken.get(node, 0))
        taken[node] = taken.get(node, 0) + int(most[index])
    return nodes, found


def _sorted_by(device: Device) -> tuple[object, ...]:
    return (device.is_switch, *_natural(device.name), device.card)


def _natural(name: str) -> tuple[tuple[int, object], ...]:
    """`host-10` after `host-9`."""
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", name) if part)


def _tiers(wires: Wires, nodes: list[str]) -> list[int]:
    """0 for hosts; for a switch the cables to the nearest host."""
    switches = {device.name for device in wires.devices if device.is_switch}
    hosts = {device.name for device in wires.devices if not device.is_switch}
    if not hosts or not switches:
        raise DesignError(f"a fabric needs hosts and switches: the file has {len(hosts)} and {len(switches)}")
    node_of = {name: index for index, name in enumerate(nodes)}
    ends = [(wires.devices[int(x)], wires.devices[int(y)]) for x, y in zip(wires.a, wires.b, strict=True)]
    near: dict[int, set[int]] = {}
    for one, other in ends:
        if not one.is_switch and not other.is_switch:
            raise DesignError(
                f"{one.label} and {other.label} are cabled to each other without a switch between them"
            )
        x, y = node_of[one.name], node_of[other.name]
        near.setdefault(x, set()).add(y)
        near.setdefault(y, set()).add(x)
    tier = [0 if name in hosts else -1 for name in nodes]
    front, level = [index for index, name in enumerate(nodes) if name in hosts], 0
    while front:
        level += 1
        front = [node for node in {n for one in front for n in near.get(one, ())} if tier[node] < 0]
        for node in front:
            tier[node] = level
    return [level if one < 0 else one for one in tier]  # a switch that no host reaches stands above all


def _ports(
    wires: Wires, device: np.ndarray, port: np.ndarray, port_of: dict[int, tuple[int, int]]
) -> np.ndarray:
    """Ports from 0: of a host, its cards' ports in a row."""
    first = np.array([port_of[index][1] for index in range(len(wires.devices))])
    found: np.ndarray = first[device] + port - 1
    return found


def _rates(wires: Wires) -> tuple[np.ndarray, list[str]]:
    unknown = np.isnan(wires.rate)
    if not unknown.any():
        return wires.rate, []
    if unknown.all():
        raise DesignError("no cable of the file has a link speed that is known")
    usual = float(np.median(wires.rate[~unknown]))
    note = (
        f"the rate of {int(unknown.sum())} cables is not known: taken as {usual / 1e9:g} Gb/s, as most others"
    )
    return np.where(unknown, usual, wires.rate), [note]


def _groups(
    levels: np.ndarray, a: np.ndarray, a_port: np.ndarray, b: np.ndarray, b_port: np.ndarray
) -> tuple[NodeGroup, ...]:
    """One group per tier, with as many ports as the highest that is cabled."""
    highest = np.zeros(len(levels), dtype=np.int64)
    np.maximum.at(highest, a, a_port + 1)
    np.maximum.at(highest, b, b_port + 1)
    groups, first = [], 0
    for level in range(int(levels.max()) + 1):
        count = int((levels == level).sum())
        if count:
            ports = int(highest[first : first + count].max())
            groups.append(NodeGroup(tier_name(level), first, count, max(ports, 1), level))
        first += count
    return tuple(groups)
