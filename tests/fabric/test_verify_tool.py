"""The checker of `make verify-fabric` is checked: it must fail where opensm, ibdmchk or the tables are wrong."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "verify_fabric"


@pytest.fixture
def tool(monkeypatch):
    """The tool's modules by name."""
    monkeypatch.syspath_prepend(str(TOOL))
    return lambda name: importlib.import_module(name)


# Two leaves (guid 1, 2; cards on ports 1 and 2, a spine on port 3) and a spine (guid 3; port = leaf). LIDs: cards 11, 12
# on leaf 1; 21, 22 on leaf 2.
CARDS = {11: (1, 1), 12: (1, 2), 21: (2, 1), 22: (2, 2)}
ROUTES = {
    1: {11: 1, 12: 2, 21: 3, 22: 3},
    2: {11: 3, 12: 3, 21: 1, 22: 2},
    3: {11: 1, 12: 1, 21: 2, 22: 2},
}


def side(kind: str, guid: int, name: str, lid: int, port: int) -> str:
    ids = f"SystemGUID:{guid:016x} NodeGUID:{guid:016x} PortGUID:{guid:016x}"
    return f"{{ {kind} Ports:03 {ids} VenID:0 DevID:0 Rev:0 {{{name}}} LID:{lid:04X} PN:{port:02X} }}"


@pytest.fixture
def folder(tmp_path):
    """opensm's two files of the little fabric, with other routes where asked."""

    def of(routes: dict[int, dict[int, int]]) -> Path:
        links = []
        for lid, (leaf, port) in CARDS.items():
            card, switch = (
                side("CA", 100 + lid, f"card {lid}", lid, 1),
                side("SW", leaf, f"leaf {leaf}", leaf, port),
            )
            links += [f"{card} {switch} PHY=4x LOG=ACT SPD=10", f"{switch} {card} PHY=4x LOG=ACT SPD=10"]
        for leaf in (1, 2):
            low, high = side("SW", leaf, f"leaf {leaf}", leaf, 3), side("SW", 3, "spine", 3, leaf)
            links += [f"{low} {high} PHY=4x LOG=ACT SPD=10", f"{high} {low} PHY=4x LOG=ACT SPD=10"]
        (tmp_path / "opensm-subnet.lst").write_text("\n".join(links) + "\n")
        lines = []
        for switch, table in routes.items():
            lines.append(f"dump_ucast_routes: Switch 0x{switch:016x}")
            lines.append("LID    : Port : Hops : Optimal")
            lines += [f"0x{lid:04X} : {port:03d}  : 02   : yes" for lid, port in sorted(table.items())]
            lines.append("0x0001 : UNREACHABLE")
        (tmp_path / "opensm.fdbs").write_text("\n".join(lines) + "\n")
        return tmp_path

    return of


def test_tables_are_walked(tool, folder):
    tables = tool("forwarding").read_tables(folder(ROUTES))
    assert tables.cards == ["card 11", "card 12", "card 21", "card 22"] and tables.lid.tolist() == [
        11,
        12,
        21,
        22,
    ]
    across = tables.walk(np.array([0, 1]), np.array([2, 3]))
    assert across.max() == 2 and across.sum() == 4  # two flows up and two down the one spine
    assert tables.walk(np.array([0]), np.array([1])).max() == 0  # within the leaf: between no switches


@pytest.mark.parametrize(
    ("switch", "lid", "port", "message"),
    [(1, 21, None, "no entry"), (3, 21, 1, "a loop"), (2, 21, 2, "a wrong card")],
)
def test_a_wrong_table_is_found(tool, folder, switch, lid, port, message):
    routes = {number: dict(table) for number, table in ROUTES.items()}
    if port is None:
        del routes[switch][lid]
    else:
        routes[switch][lid] = port
    tables = tool("forwarding").read_tables(folder(routes))
    with pytest.raises(tool("software").Failure, match=message):
        tables.walk(np.array([0]), np.array([2]))


WALKED = "-I- Scanned:240 CA to CA paths \n-I- no credit loops found\n"


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        (WALKED, None),
        (WALKED.replace("240", "210"), "walked 210 of 240"),
        (WALKED + "-E- Unassigned LFT for lid:8\n", "Unassigned"),
        (WALKED.replace("no credit loops found", "credit loop found"), "credit loops"),
        ("-E- Found 30 missing paths out of:240 paths\n", "30 paths missing"),
        ("Segmentation fault\n", "no count of paths"),
    ],
)
def test_reports_of_ibdmchk(tool, tmp_path, text, failure):
    case = tool("cases").usual()[-1]
    case = type(case)(case.name, case.planned, case.planned)  # 16 hosts, all paths wanted
    (tmp_path / "ibdmchk.out").write_text(text)
    report = tool("infiniband").Report(case.name)
    tool("infiniband").check_paths(case, tmp_path, report)
    assert (not report.failures) if failure is None else any(failure in found for found in report.failures)


@pytest.mark.parametrize(
    ("log", "failure"),
    [
        ("osm_ucast_mgr_process: ftree tables configured on all switches\nSUBNET UP\n", None),
        (
            "osm_ucast_mgr_process: minhop tables configured on all switches\nSUBNET UP\n",
            "routed with minhop, not ftree",
        ),
        ("SUBNET UP\n", "configured no forwarding tables"),
        ("osm_ucast_mgr_process: ftree tables configured on all switches\n", "did not bring the subnet up"),
    ],
)
def test_the_engine_is_read_from_the_log(tool, tmp_path, log, failure):
    (tmp_path / "opensm.log").write_text(log)
    report = tool("infiniband").Report("x")
    tool("infiniband").check_engine(tool("cases").usual()[0], tmp_path, report)
    assert (not report.failures) if failure is None else any(failure in found for found in report.failures)


def test_planted_faults_are_what_they_claim(tool):
    tree, tall, rails, hole, swap, between = tool("cases").usual()
    assert tree.built is tree.planned and tall.built is tall.planned and rails.built is rails.planned
    assert len(hole.planned.cables) - len(hole.built.cables) == 8
    moved = swap.planned.cables.b != swap.built.cables.b
    assert moved.sum() == 2 and swap.built.problems == () and (swap.built.cables.rate < 40e9).sum() == 1
    assert len(between.built.cables) - len(between.planned.cables) == 1
    tier = between.built.cables.tier_of_nodes()
    assert tier[between.built.cables.a[-1]] == tier[between.built.cables.b[-1]] == 1
    assert between.built.cables.problems() == []


def test_what_is_missing_is_said_to_who_is_not_root(tool, monkeypatch):
    software = tool("software")
    monkeypatch.setattr(
        software, "find", lambda program: "/usr/bin/apt-get" if program == "apt-get" else None
    )
    monkeypatch.setattr(software.os, "geteuid", lambda: 1000)
    with pytest.raises(
        software.Failure, match=r"missing: .*opensm.*only root can install them: sudo apt-get install"
    ):
        software.install()
    monkeypatch.setattr(software, "find", lambda program: None)
    with pytest.raises(software.Failure, match="no Debian or Ubuntu"):
        software.install()


def test_a_program_that_hangs_is_ended(tool, tmp_path):
    software = tool("software")
    with pytest.raises(software.Failure, match="took more than"):
        software.run("sleep", "60", folder=tmp_path, seconds=0.2)


def test_slurm_is_read_back(tool):
    text = (
        "SwitchName=leaf-1 Level=0 LinkSpeed=1 Nodes=n-[1-2] \n"
        "SwitchName=top Level=1 LinkSpeed=1 Nodes=n-[1-4] Switches=leaf-[1-2] \n"
    )
    found = tool("scheduler").read_back(text)
    assert found == {"leaf-1": ["n-1", "n-2"], "top": ["n-1", "n-2", "n-3", "n-4"]}
    wanted = tool("scheduler").switches_of("SwitchName=a Nodes=n[1-2]\nSwitchName=b Switches=a\n")
    assert tool("scheduler").reached(wanted, "b") == ["n1", "n2"]
