"""What opensm's forwarding tables do with traffic: every flow walked from card to card, and the flows of every cable
counted. Knows nothing of how Argosy routes: it reads opensm's files only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from software import Failure

_SIDE = re.compile(
    rb"\{ (CA|CA-SM|SW|SW-SM) Ports:\w+ SystemGUID:\w+ NodeGUID:(\w+) PortGUID:(\w+) [^{]*\{([^}]*)\} LID:(\w+) PN:(\w+) \}"
)
_ROUTE = re.compile(rb"0x(\w+) : (\d+)")
NO_WAY = -1


@dataclass(frozen=True)
class Tables:
    """`port[switch, lid]` out of every switch; `switch` and `lid` (devices,) of every device by description, cards with
    the switch they are plugged into; `far[switch, port]`: the switch at its other end, or −2 − card.
    """

    cards: list[str]
    lid: np.ndarray
    leaf: np.ndarray
    port: np.ndarray
    far: np.ndarray

    def walk(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Flows on every switch's port towards another switch, (switches · ports,), of cards `source` to `target`.

        Failure for a flow that does not arrive within as many switches as any tree path has.
        """
        width = self.far.shape[1]
        load = np.zeros(self.far.size, dtype=np.int64)
        at, lid, goal = self.leaf[source], self.lid[target], target
        for _ in range(16):
            out = self.port[at, lid]
            if (out == NO_WAY).any():
                raise Failure(f"{int((out == NO_WAY).sum())} flows have no entry in a forwarding table")
            ahead = self.far[at, out]
            arrived = ahead == -2 - goal
            if (strayed := (ahead < 0) & ~arrived).any():
                raise Failure(f"{int(strayed.sum())} flows were forwarded to a wrong card")
            on = ~arrived
            load += np.bincount(at[on] * width + out[on], minlength=load.size)
            at, lid, goal = ahead[on], lid[on], goal[on]
            if not len(at):
                return load
        raise Failure(f"{len(at)} flows are still travelling after 16 switches: a loop")


def read_tables(folder: Path) -> Tables:
    """The forwarding tables and links that opensm wrote into `folder` (run with -D 0x43)."""
    switches: dict[bytes, int] = {}
    cards: dict[bytes, int] = {}
    names: list[str] = []
    links = []
    with (folder / "opensm-subnet.lst").open("rb") as file:
        for line in file:
            ends = _SIDE.findall(line)
            if len(ends) != 2:
                raise Failure(f"opensm-subnet.lst: not understood: {line[:200]!r}")
            ids = []
            for kind, node, port, name, _lid, _number in ends:
                known = switches if kind.startswith(b"SW") else cards
                key = node if known is switches else port
                if key not in known:
                    known[key] = len(known)
                    if known is cards:
                        names.append(name.decode())
                ids.append(known[key] if known is switches else -2 - known[key])
            links.append((ids[0], int(ends[0][5], 16), ids[1], int(ends[1][4], 16)))
    ports = 1 + max(number for near, number, _, _ in links if near >= 0)
    far = np.full((len(switches), ports), NO_WAY)
    lid, leaf = np.full(len(cards), NO_WAY), np.full(len(cards), NO_WAY)
    for near, number, other, other_lid in links:
        if near < 0:
            leaf[-2 - near] = other
            continue
        far[near, number] = other
        if other < 0:
            lid[-2 - other] = other_lid
    return Tables(names, lid, leaf, _forwarding(folder, switches), far)


def _forwarding(folder: Path, switches: dict[bytes, int]) -> np.ndarray:
    """`port[switch, lid]`, NO_WAY where there is none."""
    found: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    top = 0
    with (folder / "opensm.fdbs").open("rb") as file:
        switch, lines = None, bytearray()
        for line in [*file, b"dump_ucast_routes: Switch 0x0\n"]:
            if not line.startswith(b"dump_ucast_routes"):
                lines += line
                continue
            if switch is not None:
                pairs = _ROUTE.findall(bytes(lines))
                lids = np.array([int(lid, 16) for lid, _ in pairs], dtype=np.int64)
                found[switch] = lids, np.array([int(port) for _, port in pairs], dtype=np.int16)
                top = max(top, int(lids.max(initial=0)))
            switch, lines = switches.get(line.split(b"0x")[1].strip().zfill(16)), bytearray()
    table = np.full((len(switches), top + 1), NO_WAY, dtype=np.int16)
    for number, (lids, ports) in found.items():
        table[number, lids] = ports
    return table
