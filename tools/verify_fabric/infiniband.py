"""One case: exported, booted, routed by opensm, every path walked by ibdmchk, loads compared, read back."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from cases import Case
from forwarding import Tables, read_tables
from software import Fabric

from argosy.fabric import Topology, exports, imports
from argosy.fabric.exports.ibsim import sizes
from argosy.fabric.linkgraph import link_graph
from argosy.fabric.names import node_names
from argosy.fabric.routing import link_loads

SHIFTS = (1, 2, 3, 5, 8, 16, 31, 32, 33, 64, 128, 255, 256, 512)
RANDOM = 5  # permutations
LEFT_BEHIND = Path("/var/cache/ibutils/ibdmchk.sw_out_port_num_dlids")  # ibdmchk writes it wherever it runs
_ENGINE = re.compile(r"osm_ucast_mgr_process: (\w+) tables configured on all switches")
_SCANNED = re.compile(r"-I- Scanned:(\d+)\s+CA to CA paths")
_ABSENT = re.compile(r"Found (\d+) missing paths")
_HOPS = re.compile(r"LFT ROUTE HOP HISTOGRAM.*?NUM-CA-CA-PAIRS\n(.*?)\n-", re.S)


@dataclass
class Report:
    """What a case showed: `facts` for people, `failures` that make the run fail, `seconds` per step."""

    name: str
    facts: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def expect(self, holds: bool, what: str) -> None:
        """Note a failure unless it holds."""
        if not holds:
            self.failures.append(what)


class Clock:
    """Seconds since the last question."""

    def __init__(self) -> None:
        self.start = time.monotonic()

    def lap(self) -> float:
        """Seconds, starting again."""
        now = time.monotonic()
        took, self.start = now - self.start, now
        return took


def check(case: Case, folder: Path) -> Report:
    """Run a case in `folder`."""
    report, clock = Report(case.name), Clock()
    netfile = folder / "fabric.net"
    exports.write(case.built, "ibsim", netfile)
    report.seconds["export"] = clock.lap()
    with Fabric(folder, netfile, sizes(case.built), case.seconds) as fabric:
        report.seconds["boot"] = clock.lap()
        fabric.run("opensm", "-R", "ftree", "-o", "-D", "0x43", "-f", str(folder / "opensm.log"))
        report.seconds["route"] = clock.lap()
        fabric.run("ibnetdiscover", output="ibnetdiscover.txt")
        report.seconds["discover"] = clock.lap()
        check_engine(case, folder, report)
        if case.paths:
            before = LEFT_BEHIND.exists()
            fabric.run("ibdmchk", "-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs")
            if not before:
                LEFT_BEHIND.unlink(missing_ok=True)
            check_paths(case, folder, report)
            report.seconds["paths"] = clock.lap()
    tables = read_tables(folder)
    check_loads(case, tables, report)
    report.seconds["loads"] = clock.lap()
    check_difference(case, folder, report)
    report.seconds["compare"] = clock.lap()
    return report


def check_engine(case: Case, folder: Path, report: Report) -> None:
    """The engine that opensm used in the end: its exit status is 0 whatever it fell back to."""
    log = (folder / "opensm.log").read_text(encoding="utf-8", errors="replace")
    engines = _ENGINE.findall(log)
    report.expect("SUBNET UP" in log, "opensm did not bring the subnet up")
    report.expect(bool(engines), "opensm configured no forwarding tables")
    used = engines[-1] if engines else "nothing"
    report.facts.append(f"routed by {used}")
    report.expect(used == case.engine, f"opensm routed with {used}, not {case.engine}")


def check_paths(case: Case, folder: Path, report: Report) -> None:
    """ibdmchk's report of every path between cards; it may crash after printing it, so only the text counts."""
    text = (folder / "ibdmchk.out").read_text(encoding="utf-8", errors="replace")
    cards = int((case.built.cables.tier_of_nodes()[case.built.cables.a] == 0).sum())
    scanned = _SCANNED.search(text)
    if not scanned:
        absent = _ABSENT.search(text)
        report.expect(absent is not None, "ibdmchk printed no count of paths")
        if absent:
            report.facts.append(f"ibdmchk: {absent[1]} paths of {cards * (cards - 1)} missing")
        report.expect(not case.all_paths, f"ibdmchk found {absent[1] if absent else 'unknown'} paths missing")
        return
    report.facts.append(f"ibdmchk: {int(scanned[1]):,} paths")
    report.expect(
        int(scanned[1]) == cards * (cards - 1), f"ibdmchk walked {scanned[1]} of {cards * (cards - 1)} paths"
    )
    errors = sorted({line for line in text.splitlines() if line.startswith("-E-")})
    report.expect(
        case.all_paths == (not errors), f"ibdmchk: {errors[:3] or 'no error, where one was planted'}"
    )
    report.expect("no credit loops found" in text or not case.all_paths, "ibdmchk found credit loops")
    if hops := _HOPS.search(text):
        report.facts.append(
            "hops " + ", ".join(": ".join(line.split()) for line in hops[1].splitlines() if line.strip())
        )


def check_loads(case: Case, tables: Tables, report: Report) -> None:
    """The flows on the busiest cable between switches, by opensm's tables and by Argosy's own routing (d-mod-k).

    Shifts run over the cards in the order of their leaves. On whole fabrics both must agree, shift by shift.
    """
    if not case.own_routing:
        return
    topology = case.built
    graph = link_graph(topology.cables)
    card = cards_of_endpoints(topology, tables)
    between = graph.between_switches
    order = np.lexsort((graph.endpoints.order, graph.endpoints.plane))

    def busiest(target: np.ndarray) -> tuple[int, int]:
        own = link_loads(topology, order, target, "static")[between]
        return int(tables.walk(card[order], card[target]).max()), int(own.max())

    shifts = [busiest(np.roll(order, -shift)) for shift in SHIFTS]
    theirs, ours = zip(*shifts, strict=True)
    report.facts.append(
        f"flows on the busiest cable of {len(SHIFTS)} shifts: opensm {counts(theirs)}, argosy {counts(ours)}"
    )
    whole = topology is case.planned
    report.expect(not whole or theirs == ours, f"shifts {SHIFTS}: opensm {theirs}, argosy {ours}")
    # With a hole the two number the hosts behind it differently: they must agree on the worst shift, not on each.
    report.expect(
        whole or max(theirs) == max(ours) > 1, f"shifts with a hole: opensm {theirs}, argosy {ours}"
    )
    draw = np.random.default_rng(0)
    theirs, ours = zip(*(busiest(draw.permutation(order)) for _ in range(RANDOM)), strict=True)
    report.facts.append(f"of {RANDOM} random permutations: opensm {counts(theirs)}, argosy {counts(ours)}")


def cards_of_endpoints(topology: Topology, tables: Tables) -> np.ndarray:
    """For every endpoint of the link graph the card of opensm's tables, by the description that was exported."""
    cables, ends = topology.cables, link_graph(topology.cables).endpoints
    cable = ends.up // 2
    port = np.where(cables.a[cable] == ends.host, cables.a_port[cable], cables.b_port[cable])
    names = node_names(cables)
    place = {name: number for number, name in enumerate(tables.cards)}
    return np.array([place[f"{names[host]} mlx5_{own}"] for host, own in zip(ends.host, port, strict=True)])


def check_difference(case: Case, folder: Path, report: Report) -> None:
    """What ibnetdiscover found of the booted fabric, against the plan: the planted differences and no others."""
    found = imports.diff(case.planned, imports.read_ibnetdiscover(folder / "ibnetdiscover.txt"))
    wanted = dict(case.differences)
    for kind in ("miswired", "missing", "extra", "degraded"):
        count = len(found[kind])
        report.expect(
            count == wanted.get(kind, 0),
            f"diff: {count} {kind}, planted {wanted.get(kind, 0)}: {found[kind][:3]}",
        )
        report.facts += [f"{kind}: {one.get('built') or one.get('cable')}" for one in found[kind][:2]]
    report.facts.append(f"diff: {found['compared']:,} cables compared")


def counts(loads: tuple[int, ...]) -> str:
    """`1 (14 times)`, `1 (10), 2 (4)`."""
    return ", ".join(f"{load} ({loads.count(load)})" for load in sorted(set(loads)))
