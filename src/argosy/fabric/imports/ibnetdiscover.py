"""The output of ibnetdiscover (linux-rdma/rdma-core, infiniband-diags): an InfiniBand fabric as it was found.

One block per device: guids, a line `Switch 64 "S-…" # "description"` (Ca, Rt), then one line per cabled port,
`[1] "H-…"[1](port guid) # "description" lid 1 4xNDR`. Every cable is told twice, once from each end, so that a
file that breaks off is noticed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from argosy.fabric.imports.text import ReadError, numbered_lines
from argosy.fabric.imports.wires import SWITCH, Device, Wires, from_rows

# One lane, one way, bit/s of nominal rate, as links are sold: 4xEDR is 100 Gb/s (InfiniBand Trade Association roadmap;
# below FDR the nominal rate counts the 8b/10b code's overhead).
LANE_BPS = {
    "SDR": 2.5e9,
    "DDR": 5e9,
    "QDR": 10e9,
    "FDR10": 10e9,
    "FDR": 14e9,
    "EDR": 25e9,
    "HDR": 50e9,
    "NDR": 100e9,
    "XDR": 200e9,
}
AGGREGATOR = "Aggregation Node"  # in the description of what a switch holds for SHARP
_HEAD = re.compile(r'(Switch|Ca|Rt)\s+(\d{1,6})\s+"([^"]+)"(?:\s*#\s*"(.*?)"(?:\s.*)?)?\s*$')
_PORT = re.compile(
    r'\[(\d{1,6})\](?:\[[^\]]*\])?(?:\([0-9a-fA-F]+\))?\s+"([^"]+)"\[(\d{1,6})\](?:\[[^\]]*\])?(?:\([0-9a-fA-F]+\))?\s*(#.*)?$'
)
_SPEED = re.compile(r"\s(\d{1,3})x(\S+)\s*$")
_GUID = re.compile(r"(?:switch|ca|rt)guid=0x([0-9a-fA-F]+)")
_IGNORED = re.compile(r"\s*$|#|vendid=|devid=|sysimgguid=|Chassis\b|Non-Chassis|DDR|.*\bbad status\b")
_CARD = re.compile(r"(.*?\S)\s+(?:(HCA)-|[A-Za-z]+\d*_|[A-Za-z]+)(\d+)$")


@dataclass
class _Block:
    """One device as the file tells it; `ports`: port → (far id, far port, rate in bit/s, line)."""

    kind: str
    ports_in_all: int
    description: str
    guid: str
    line: int
    ports: dict[int, tuple[str, int, float, int]] = field(default_factory=dict)


def read_ibnetdiscover(path: Path | str, lenient: bool = False) -> Wires:
    """The fabric that ibnetdiscover found: its devices, cables and their rates (bit/s one way).

    ReadError with file and line for: a block or line that breaks off, a device or port told twice, a port beyond the
    device's count, ends that contradict each other, a device that is named but has no block (a truncated file), a link
    speed that is not known, and a fabric in several pieces. `lenient`: what is missing or unknown becomes a note.
    """
    path = Path(path)
    reader = _Reader(path, lenient)
    for number, line in numbered_lines(path):
        reader.take(number, line)
    return reader.wires()


class _Reader:
    def __init__(self, path: Path, lenient: bool) -> None:
        self.path, self.lenient = path, lenient
        self.blocks: dict[str, _Block] = {}
        self.block: _Block | None = None
        self.guid = ""
        self.last = 0
        self.notes: list[str] = []

    def fail(self, line: int, message: str) -> NoReturn:
        """The error, with its place."""
        raise ReadError(self.path, line, message)

    def doubt(self, line: int, message: str, remedy: str) -> None:
        """An error, or with `lenient` a note."""
        if not self.lenient:
            self.fail(line, f"{message}; {remedy}")
        self.notes.append(f"{self.path.name}:{line}: {message}")

    def take(self, number: int, line: str) -> None:
        """One line."""
        self.last = number
        if line.startswith(("Switch", "Ca", "Rt")):
            self._head(number, line)
        elif line.startswith("["):
            self._port(number, line)
        elif guid := _GUID.match(line):
            self.block, self.guid = None, guid[1].lower().zfill(16)
        elif not _IGNORED.match(line):
            what = "this line is not of ibnetdiscover's format"
            if self.blocks or self.guid:  # what stands before the first block may be messages of the tool
                self.doubt(number, f"{what}: {line[:60]!r}", "take it out, or read on with --lenient")
            else:
                self.notes.append(f"{self.path.name}:{number}: {what}, passed over: {line[:60]!r}")

    def _head(self, number: int, line: str) -> None:
        found = _HEAD.match(line)
        if not found:
            self.fail(number, f"a device's line breaks off: {line[:60]!r}; run ibnetdiscover again")
        kind, ports, key, description = found.groups()
        if key in self.blocks:
            self.fail(number, f'"{key}" has a block already at line {self.blocks[key].line}; keep one')
        self.block = _Block(kind, int(ports), (description or "").strip(), self.guid, number)
        self.blocks[key] = self.block
        self.guid = ""

    def _port(self, number: int, line: str) -> None:
        found = _PORT.match(line)
        if self.block is None or not found:
            self.fail(
                number,
                f"a port's line breaks off or belongs to no device: {line[:60]!r}; run ibnetdiscover again",
            )
        port = int(found[1])
        if not 1 <= port <= self.block.ports_in_all:
            self.fail(number, f"port {port} of a device with {self.block.ports_in_all} ports")
        if port in self.block.ports:
            self.fail(number, f"port {port} was told at line {self.block.ports[port][3]} already; keep one")
        self.block.ports[port] = (found[2], int(found[3]), self._rate(number, found[4] or ""), number)

    def _rate(self, number: int, comment: str) -> float:
        speed = _SPEED.search(comment)
        if speed and speed[2] in LANE_BPS:
            return int(speed[1]) * LANE_BPS[speed[2]]
        what = f"link speed {speed[0].strip()!r}" if speed else "no link speed"
        known = ", ".join(LANE_BPS)
        self.doubt(
            number, f"{what} is not known", f"write such as 4xNDR, of {known}, or read on with --lenient"
        )
        return float("nan")

    def wires(self) -> Wires:
        """All blocks as wires."""
        if not self.blocks:
            self.fail(self.last, "no Switch, Ca or Rt block: this is not the output of ibnetdiscover")
        devices, place = _devices(self._without_aggregators())
        rows = []
        for key, block in self.blocks.items():
            for port, (far, far_port, rate, line) in block.ports.items():
                back = self._other_end(key, port, far, far_port, line)
                # Each cable once: from the end that sorts first, or from the only end that is told.
                there = (key, port) in place and (far, far_port) in place
                if there and (back is None or (key, port) < (far, far_port)):
                    slower = rate if back is None else min(rate, back[2], key=lambda r: (r != r, r))
                    rows.append((place[key, port], port, place[far, far_port], far_port, slower, line))
        self._check_pieces(len(devices), rows, devices)
        self._note_circles(devices, rows)
        return from_rows(devices, rows, tuple(self.notes))

    def _without_aggregators(self) -> dict[str, _Block]:
        """The blocks without the adapters inside switches that reduce data (SHARP): no cable leads to them."""
        kept = {key: block for key, block in self.blocks.items() if AGGREGATOR not in block.description}
        if inside := len(self.blocks) - len(kept):
            self.notes.append(
                f"{inside} aggregation nodes inside switches (SHARP) are left out: no cable leads to them"
            )
        return kept

    def _other_end(
        self, key: str, port: int, far: str, far_port: int, line: int
    ) -> tuple[str, int, float, int] | None:
        """What the far end tells of the cable; None where it is silent."""
        remedy = "run ibnetdiscover again, or read what is there with --lenient"
        if far not in self.blocks:
            self.doubt(
                line,
                f'"{far}" is cabled here but has no block: the file breaks off at line {self.last}',
                remedy,
            )
            return None
        back = self.blocks[far].ports.get(far_port)
        if back is None:
            self.doubt(
                line,
                f'the block of "{far}" (line {self.blocks[far].line}) does not tell its port {far_port}',
                remedy,
            )
        elif back[:2] != (key, port):
            self.fail(
                line,
                f'this cable ends at port {far_port} of "{far}", which line {back[3]} says is cabled to '
                f'port {back[1]} of "{back[0]}"; run ibnetdiscover again',
            )
        return back

    def _check_pieces(
        self, count: int, rows: list[tuple[int, int, int, int, float, int]], devices: list[Device]
    ) -> None:
        """A fabric is one piece, but for planes that only their hosts' cards join."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        hosts: dict[str, int] = {}
        ends = [(row[0], row[2]) for row in rows]
        for index, device in enumerate(devices):
            if not device.is_switch:
                ends.append((index, hosts.setdefault(device.name, count + len(hosts))))
        size = count + len(hosts)
        low, high = zip(*ends, strict=True) if ends else ((), ())
        graph = coo_array(([True] * len(low), (low, high)), shape=(size, size))
        pieces, piece = connected_components(graph, directed=False)
        if pieces > 1:
            stray = next(i for i in range(count) if piece[i] != piece[0])
            self.doubt(
                devices[stray].line,
                f"the fabric is in {pieces} pieces: {devices[stray].label} has no path to {devices[0].label}",
                "run ibnetdiscover on each, or read on with --lenient",
            )

    def _note_circles(self, devices: list[Device], rows: list[tuple[int, int, int, int, float, int]]) -> None:
        """Cables that no tree has: from a switch to itself, or between two switches that both carry hosts."""
        carries = {
            switch
            for a, _, b, _, _, _ in rows
            for card, switch in ((a, b), (b, a))
            if not devices[card].is_switch and devices[switch].is_switch
        }
        for a, a_port, b, b_port, _, line in rows:
            where = f"{self.path.name}:{line}"
            if a == b:
                self.notes.append(
                    f"{where}: a loop: ports {a_port} and {b_port} of {devices[a].label} are joined"
                )
            elif a in carries and b in carries:
                self.notes.append(
                    f"{where}: {devices[a].label} and {devices[b].label} both carry hosts and are joined: a circle, which a "
                    "fat tree does not have, and over which its routing can lose paths"
                )


def _devices(blocks: dict[str, _Block]) -> tuple[list[Device], dict[tuple[str, int], int]]:
    """The devices, and the place among them of (block id, port): every cabled port of a host is one."""
    counts: dict[str, int] = {}
    for block in blocks.values():
        counts[block.description] = counts.get(block.description, 0) + 1
    devices: list[Device] = []
    place: dict[tuple[str, int], int] = {}
    for key, block in blocks.items():
        if block.kind == "Switch":
            name = switch_name(block.description)
            own = name if name and counts[block.description] == 1 else key
            devices.append(Device(own, SWITCH, block.guid, block.line))
            place |= {(key, port): len(devices) - 1 for port in range(1, block.ports_in_all + 1)}
            continue
        host, card = host_and_card(block.description or key)
        cabled = len(block.ports)
        for order, port in enumerate(sorted(block.ports)):
            number = card if cabled == 1 else card * block.ports_in_all + order
            place[key, port] = len(devices)
            devices.append(Device(host, number, block.guid, block.line))
        if not cabled:
            devices.append(Device(host, card, block.guid, block.line))
    return devices, place


def host_and_card(description: str) -> tuple[str, int]:
    """`dgx-01 mlx5_3` as ("dgx-01", 3); `node1 HCA-1`, which counts from 1, as ("node1", 0); else (itself, 0)."""
    found = _CARD.match(description)
    if not found:
        return description, 0
    return found[1], int(found[3]) - (1 if found[2] else 0)


def switch_name(description: str) -> str:
    """The name within `MF0;name:MODEL/U1`, else the description itself."""
    named = re.match(r"MF0;([^:;]+):", description)
    return named[1] if named else description
