"""The inside of one node, from `nvidia-smi topo -m` or from NCCL's topology XML (NCCL_TOPO_DUMP_FILE): which card is near
which accelerator, and over what.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat

from argosy.fabric.imports.text import LONGEST_LINE, ReadError, numbered_lines

# From near to far, as nvidia-smi says it: behind one PCIe switch, behind several, through the CPU's host bridge, across
# the bridges of one NUMA node, across sockets.
DISTANCES = ("PIX", "PXB", "PHB", "NODE", "SYS")
DIRECT = ("PIX", "PXB")  # GPUDirect RDMA does not pass the CPU
LARGEST_XML = 16 << 20  # bytes; a node's topology has tens of KiB
DEEPEST_XML = 64
MOST_DEVICES = 512
_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True)
class Machine:
    """Accelerators and cards of a node. `near[gpu][nic]`: one of DISTANCES; `nvlinks[a, b]`: NVLinks between two
    accelerators (absent: none; None: the file does not tell, as files without `<gpu>` elements); `names`: what the
    cards are called, where told; `gbps`: a card's rate, where told.
    """

    gpus: tuple[str, ...]
    nics: tuple[str, ...]
    near: dict[str, dict[str, str]]
    nvlinks: dict[tuple[str, str], int] | None
    names: dict[str, str]
    gbps: dict[str, float]

    def card_of(self) -> dict[str, str | None]:
        """The card that each accelerator should use: the nearest, each card taken once while there are enough."""
        free = list(self.nics)
        chosen: dict[str, str | None] = {}
        for rank in range(len(DISTANCES)):
            for gpu in self.gpus:
                if gpu in chosen:
                    continue
                for nic in free:
                    if self.near[gpu].get(nic) == DISTANCES[rank]:
                        chosen[gpu] = nic
                        free.remove(nic)
                        break
        return {gpu: chosen.get(gpu) for gpu in self.gpus}

    def problems(self) -> list[str]:
        """What will cost bandwidth: accelerators without a card behind their own PCIe switch, missing NVLinks."""
        found = []
        cards = self.card_of()
        if self.nics:
            for gpu, nic in cards.items():
                if nic is None:
                    found.append(
                        f"{gpu} has no card of its own: {len(self.nics)} cards for {len(self.gpus)} accelerators"
                    )
                elif self.near[gpu][nic] not in DIRECT:
                    found.append(
                        f"{gpu} reaches its nearest free card {self.names.get(nic, nic)} over {self.near[gpu][nic]}: "
                        "through the CPU, not GPUDirect behind one PCIe switch"
                    )
        return found + self._missing_nvlinks()

    def _missing_nvlinks(self) -> list[str]:
        if self.nvlinks is None or len(self.gpus) < 2:
            return []
        counts = [self.nvlinks.get((a, b), 0) for i, a in enumerate(self.gpus) for b in self.gpus[i + 1 :]]
        most, few = max(counts), sum(count < max(counts) for count in counts)
        if not most:
            return ["no NVLinks: accelerators talk over PCIe"]
        return [f"{few} of {len(counts)} pairs of accelerators have fewer than {most} NVLinks"] if few else []


def read_nvidia_smi(path: Path | str) -> Machine:
    """The matrix of `nvidia-smi topo -m`. ReadError with file and line where it is absent, or a row breaks off."""
    path = Path(path)
    header: list[str] = []
    rows: dict[str, dict[str, str]] = {}
    names: dict[str, str] = {}
    for number, raw in numbered_lines(path):
        line = _ESCAPE.sub("", raw)
        cells = [cell.strip() for cell in line.split("\t")] if "\t" in line else line.split()
        if not header:
            devices = [cell for cell in cells if re.fullmatch(r"GPU\d+|NIC\d+|mlx\d_\d+|\w+_bond_\d+", cell)]
            header = devices if "GPU0" in devices else []
        elif cells and cells[0] in header:
            own = cells[1 : len(header) + 1]
            if len(own) < len(header) or "" in own:
                raise ReadError(
                    path, number, f"{len(own)} of {len(header)} columns: the row of {cells[0]} breaks off"
                )
            rows[cells[0]] = dict(zip(header, own, strict=True))
        elif legend := re.match(r"\s*(NIC\d+):\s*(\S+)", line):
            names[legend[1]] = legend[2]
    if not header:
        raise ReadError(path, 1, "no header with GPU0: not the output of nvidia-smi topo -m")
    absent = [name for name in header if name.startswith("GPU") and name not in rows]
    if absent:
        raise ReadError(path, 1, f"no row of {', '.join(absent)}: the matrix breaks off")
    gpus = tuple(name for name in header if name.startswith("GPU"))
    nics = tuple(name for name in header if not name.startswith("GPU"))
    links = {
        (a, b): int(found[1]) for a in gpus for b in gpus if (found := re.fullmatch(r"NV(\d+)", rows[a][b]))
    }
    near = {gpu: {nic: rows[gpu][nic] for nic in nics} for gpu in gpus}
    strange = sorted({relation for own in near.values() for relation in own.values()} - set(DISTANCES))
    if strange:
        raise ReadError(
            path, 1, f"{strange[0]!r} between an accelerator and a card is not one of {', '.join(DISTANCES)}"
        )
    return Machine(gpus, nics, near, links, names, {})


@dataclass
class _Place:
    """Where an element stands in the XML: the CPU (`numa`) and the PCIe bridges above it."""

    tag: str
    numa: str
    bridges: tuple[str, ...]


def read_nccl_topology(path: Path | str) -> Machine:
    """NCCL's XML: a system of CPUs, PCIe bridges below them, accelerators and cards at the leaves.

    Nothing of XML beyond elements is taken: a document type, entities, or more than DEEPEST_XML levels are refused.
    ReadError with file and line for these and for a file that is not well-formed.
    """
    path = Path(path)
    if path.stat().st_size > LARGEST_XML:
        raise ReadError(path, 0, f"more than {LARGEST_XML >> 20} MiB: not the topology of a node")
    reader = _Xml(path)
    with path.open("rb") as file:
        reader.read(file.read())
    return reader.machine()


class _Xml:
    """Collects accelerators and cards with their places while the parser runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stack: list[_Place] = []
        self.gpus: dict[str, tuple[str, _Place]] = {}  # bus id → name, place
        self.nics: dict[str, tuple[str, _Place]] = {}
        self.gbps: dict[str, float] = {}
        self.nvlinks: dict[tuple[str, str], int] = {}
        self.dumped = False  # NCCL's own dump has <gpu> elements, and NVLinks inside them
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.StartDoctypeDeclHandler = self.refuse
        self.parser.EntityDeclHandler = self.refuse

    def read(self, text: bytes) -> None:
        """Parse; ReadError where that fails."""
        try:
            self.parser.Parse(text, True)
        except expat.ExpatError as error:
            raise ReadError(
                self.path, error.lineno, f"not well-formed: {expat.errors.messages[error.code]}"
            ) from None
        if not self.gpus:
            raise ReadError(self.path, 1, "no accelerator in it: not NCCL's topology (NCCL_TOPO_DUMP_FILE)")

    def refuse(self, *_: object) -> None:
        """A document type or an entity: NCCL writes neither."""
        line = self.parser.CurrentLineNumber
        raise ReadError(self.path, line, "a document type or entity, which NCCL never writes: refused")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        line = self.parser.CurrentLineNumber
        if len(self.stack) >= DEEPEST_XML or any(len(value) > LONGEST_LINE for value in attributes.values()):
            raise ReadError(
                self.path, line, f"more than {DEEPEST_XML} levels, or an attribute without an end: refused"
            )
        above = self.stack[-1] if self.stack else _Place("", "", ())
        numa = attributes.get("numaid", above.numa) if tag == "cpu" else above.numa
        bus = attributes.get("busid", "").lower()
        bridges = (*above.bridges, bus) if tag == "pci" else above.bridges
        place = _Place(tag, numa, bridges)
        if tag == "pci":
            self._device(bus, attributes.get("class", ""), place)
        elif tag == "gpu" and above.bridges:
            self.dumped = True
            self.gpus.setdefault(above.bridges[-1], (f"GPU{len(self.gpus)}", above))
        elif tag == "nvlink" and above.bridges:
            other, count = attributes.get("target", "").lower(), attributes.get("count", "1")
            self.nvlinks[above.bridges[-1], other] = int(count) if count.isdigit() else 0
        elif tag in ("nic", "net") and above.bridges:
            self._card(above, attributes)
        self.stack.append(place)

    def end(self, _tag: str) -> None:
        """An element ends."""
        self.stack.pop()

    def _device(self, bus: str, kind: str, place: _Place) -> None:
        """A PCI device by its class: display controllers are accelerators, network controllers cards."""
        if len(self.gpus) + len(self.nics) >= MOST_DEVICES:
            raise ReadError(
                self.path, self.parser.CurrentLineNumber, f"more than {MOST_DEVICES} devices: not one node"
            )
        if kind.startswith("0x03"):
            self.gpus[bus] = (f"GPU{len(self.gpus)}", place)
        elif kind.startswith("0x02"):
            self.nics[bus] = (f"NIC{len(self.nics)}", place)

    def _card(self, place: _Place, attributes: dict[str, str]) -> None:
        """What `<nic>` and `<net>` add to a card: its name, and its rate in Mb/s."""
        bus = place.bridges[-1]
        self.nics.setdefault(bus, (f"NIC{len(self.nics)}", place))
        if name := attributes.get("name"):
            self.nics[bus] = (name, self.nics[bus][1])
        speed = attributes.get("speed", "")
        if speed.isdigit():
            self.gbps[self.nics[bus][0]] = int(speed) / 1e3

    def machine(self) -> Machine:
        """What was collected."""
        near = {
            gpu: {nic: _distance(own, other) for nic, other in self.nics.values()}
            for gpu, own in self.gpus.values()
        }
        name = {bus: gpu for bus, (gpu, _) in self.gpus.items()}
        links = self._over_switches(name)
        links |= {(name[a], name[b]): n for (a, b), n in self.nvlinks.items() if a in name and b in name}
        return Machine(
            tuple(name.values()),
            tuple(nic for nic, _ in self.nics.values()),
            near,
            links if self.dumped else None,
            {},
            self.gbps,
        )

    def _over_switches(self, name: dict[str, str]) -> dict[tuple[str, str], int]:
        """NVLinks that end at NVSwitches: two accelerators share as many as the fewer of them has."""
        to_switches: dict[str, int] = {}
        for (gpu, other), count in self.nvlinks.items():
            if gpu in name and other not in name:
                to_switches[gpu] = to_switches.get(gpu, 0) + count
        return {
            (name[a], name[b]): min(to_switches[a], to_switches[b])
            for a in to_switches
            for b in to_switches
            if a != b
        }


def _distance(a: _Place, b: _Place) -> str:
    """How far two PCI devices are apart: by the bridges above both, then by the NUMA node."""
    shared = 0
    for one, other in zip(a.bridges[:-1], b.bridges[:-1], strict=False):
        if one != other:
            break
        shared += 1
    if shared:
        deepest = max(len(a.bridges), len(b.bridges)) - 1
        return "PIX" if shared == deepest else "PXB"
    return "NODE" if a.numa == b.numa else "SYS"
