"""Devices and the cables between their ports: what a plan and a built fabric are both turned into to be compared."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from argosy.fabric.names import node_names
from argosy.fabric.topologies import Topology

SWITCH = -1  # in place of a card's number


@dataclass(frozen=True)
class Device:
    """A switch (`card` SWITCH), or one card of a host: `name` is the switch's or the host's. `guid`: 16 hexadecimal
    digits or empty. `line`: where a file names it, else 0.
    """

    name: str
    card: int = SWITCH
    guid: str = ""
    line: int = 0

    @property
    def is_switch(self) -> bool:
        """Whether it is a switch."""
        return self.card == SWITCH

    @property
    def label(self) -> str:
        """`leaf-07`, or `host-0001 card 3`."""
        return self.name if self.is_switch else f"{self.name} card {self.card}"


@dataclass(frozen=True)
class Wires:
    """Devices, and cables as columns of shape (cables,): port `a_port` of device `a` to port `b_port` of device `b`.

    Ports count from 1. `rate`: bit/s one way, nan where unknown. `line`: where a file names the cable, else 0.
    `notes`: one sentence per thing a reader should know about how it was read.
    """

    devices: tuple[Device, ...]
    a: np.ndarray
    a_port: np.ndarray
    b: np.ndarray
    b_port: np.ndarray
    rate: np.ndarray
    line: np.ndarray
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.a)

    def end(self, device: int, port: int) -> str:
        """`leaf-07[33]`, `host-0001 card 3`."""
        found = self.devices[device]
        return f"{found.label}[{port}]" if found.is_switch else found.label

    def cable(self, index: int) -> str:
        """`leaf-07[33] - spine-01[7]`."""
        a, b = (
            self.end(int(device[index]), int(port[index]))
            for device, port in ((self.a, self.a_port), (self.b, self.b_port))
        )
        return f"{a} - {b}"


def from_rows(
    devices: list[Device], rows: list[tuple[int, int, int, int, float, int]], notes: tuple[str, ...] = ()
) -> Wires:
    """Wires from rows of (a, a_port, b, b_port, rate in bit/s, line)."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * 6
    a, a_port, b, b_port, line = (np.array(columns[i], dtype=np.int64) for i in (0, 1, 2, 3, 5))
    return Wires(tuple(devices), a, a_port, b, b_port, np.array(columns[4], dtype=float), line, notes)


def planned_wires(topology: Topology) -> Wires:
    """A topology's cables, named as its exports name them; every cabled port of a host is a card of its own."""
    cables = topology.cables
    names = node_names(cables)
    is_host = cables.tier_of_nodes() == 0
    devices: list[Device] = []
    place: dict[tuple[int, int], int] = {}

    def device(node: int, port: int) -> int:
        key = (node, port if is_host[node] else SWITCH)
        if key not in place:
            place[key] = len(devices)
            devices.append(Device(names[node], key[1]))
        return place[key]

    rows = [
        (device(a, p), 1 if is_host[a] else p + 1, device(b, q), 1 if is_host[b] else q + 1, rate, 0)
        for a, p, b, q, rate in zip(
            *(column.tolist() for column in (cables.a, cables.a_port, cables.b, cables.b_port, cables.rate)),
            strict=True,
        )
    ]
    return from_rows(devices, rows)
