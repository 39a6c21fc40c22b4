"""Exports: what other tools would read, read here by parsers of the tests' own and held against the cables."""

from __future__ import annotations

import csv
import itertools
import re
import shutil
import subprocess
from collections import Counter

import networkx as nx
import numpy as np
import pytest

from argosy.fabric import Design, DesignError, build
from argosy.fabric.exports import KINDS, write
from argosy.fabric.exports.hostlist import compress, expand
from argosy.fabric.exports.ibsim import port_options, sizes

TREE = Design("fat-tree", 24, 1, 8, 40e9)
RAILS = Design("rail-optimized", 12, 4, 8, 40e9)


@pytest.fixture
def written(tmp_path):
    def of(design: Design, kind: str) -> tuple[str, tuple[str, ...]]:
        path = tmp_path / kind
        notes = write(build(design), kind, path)
        return path.read_text(encoding="utf-8"), notes

    return of


def netfile(text: str) -> tuple[nx.MultiGraph, dict[str, int]]:
    """ibsim's netfile as a graph; every cable must be told from both ends alike."""
    graph, ports, told = nx.MultiGraph(), {}, Counter()
    device = ""
    for line in text.splitlines():
        if found := re.match(r'(Switch|Ca) (\d+) "([^"]+)"', line):
            device = found[3]
            ports[device] = int(found[2])
        elif found := re.match(r'\[(\d+)\] "([^"]+)"\[(\d+)\] w=(\d) s=(\d)$', line):
            port, far, far_port = int(found[1]), found[2], int(found[3])
            assert 1 <= port <= ports[device]
            told[frozenset([(device, port), (far, far_port)])] += 1
    assert set(told.values()) == {2}
    for (a, _), (b, _) in (sorted(ends) for ends in told):
        graph.add_edge(a, b)
    return graph, ports


@pytest.mark.parametrize("design", [TREE, RAILS, Design("rail-only", 6, 4, 8, 40e9)])
def test_ibsim_has_every_cable_from_both_ends(written, design):
    text, notes = written(design, "ibsim")
    graph, ports = netfile(text)
    cables = build(design).cables
    assert graph.number_of_edges() == len(cables) and notes == ()
    cards = [name for name in ports if name.startswith("host")]
    assert len(cards) == design.hosts * design.nics_per_host and all(ports[name] == 1 for name in cards)
    degrees = Counter(degree for name, degree in graph.degree() if name not in cards)
    used = cables.ports_used()[cables.tier_of_nodes() > 0]
    assert degrees == Counter(used.tolist())


def test_ibsim_tree_is_a_folded_clos(written):
    graph, _ = netfile(written(TREE, "ibsim")[0])
    own = nx.MultiGraph()
    for host in range(24):
        own.add_edge(f"h{host}", f"l{host // 4}")
    for leaf, uplink in itertools.product(range(6), range(4)):
        own.add_edge(f"l{leaf}", f"s{uplink}")  # 4 uplinks a leaf, 4 spines of 6 leaves each
    assert nx.is_isomorphic(nx.Graph(graph), nx.Graph(own))


def test_ibsim_is_started_large_enough():
    needed = sizes(build(RAILS))
    cables = build(RAILS).cables
    switches = [group for group in cables.groups if group.tier]
    assert needed["switches"] >= sum(group.count for group in switches)
    assert needed["nodes"] >= sum(group.count for group in switches) + 48
    assert needed["ports"] >= sum(group.count * (group.ports + 1) for group in switches) + 48


def test_ibsim_rates():
    assert port_options(40e9) == " w=2 s=4" and port_options(10e9) == " w=2 s=1"
    assert port_options(120e9) == " w=8 s=4" and port_options(2.5e9) == " w=1 s=1"


def test_ibsim_says_what_it_cannot_emulate(written):
    _, notes = written(Design("fat-tree", 24, 1, 8, 400e9), "ibsim")
    assert "400 Gb/s" in notes[0] and "4xQDR" in notes[0]
    with pytest.raises(DesignError, match="host-to-host"):
        written(Design("torus", 27, 1, 0, 1e9, shape=(3, 3, 3)), "ibsim")
    with pytest.raises(DesignError, match="254 ports"):
        written(Design("fat-tree", 24, 1, 576, 40e9), "ibsim")


def slurm_tree(text: str) -> dict[str, tuple[list[str], list[str]]]:
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, key, value = re.match(r"SwitchName=(\S+) (Nodes|Switches)=(\S+)$", line).groups()
            names = brackets(value)
            found[name] = (names, []) if key == "Nodes" else ([], names)
    return found


def brackets(text: str) -> list[str]:
    """A reader of lists of its own: one bracket a name."""
    names = []
    for stem, inside, alone in re.findall(r"([^,\[]+)\[([^\]]+)\],?|([^,\[\]]+),?", text):
        if alone:
            names.append(alone)
            continue
        for piece in inside.split(","):
            low, _, high = piece.partition("-")
            names += [f"{stem}{n:0{len(low)}d}" for n in range(int(low), int(high or low) + 1)]
    return names


@pytest.mark.parametrize(
    ("design", "leaves"),
    [
        (TREE, 6),
        (RAILS, 3),
        (Design("rail-only", 6, 4, 8, 40e9), 1),
        (Design("fat-tree", 60, 1, 8, 40e9), 15),
    ],
)
def test_slurm_tree_holds_every_node_once_below_one_root(written, design, leaves):
    tree = slurm_tree(written(design, "slurm-tree")[0])
    nodes = [node for own, _ in tree.values() for node in own]
    assert len(nodes) == len(set(nodes)) == design.hosts
    children = [child for _, below in tree.values() for child in below]
    assert len(children) == len(set(children)) == len(tree) - 1 and set(children) < set(tree)
    assert sum(bool(own) for own, _ in tree.values()) == leaves


def test_groups_of_a_dragonfly_are_kept(written):
    """Leaves below their group's spines, groups below what joins them."""
    design = Design("dragonfly+", 128, 1, 16, 400e9)
    tree = slurm_tree(written(design, "slurm-tree")[0])
    (root,) = set(tree) - {child for _, below in tree.values() for child in below}
    groups = tree[root][1]
    assert len(groups) > 1 and all(tree[group][1] for group in groups)
    cables = build(design).cables
    home = {f"host-{host + 1:03d}": cables.b[cables.a == host][0] for host in range(128)}
    leaf_of = {leaf: {home[node] for node in own} for leaf, (own, _) in tree.items() if own}
    assert all(len(switches) == 1 for switches in leaf_of.values())


def test_slurm_leaves_share_switches(written):
    cables = build(RAILS).cables
    switches = {}
    for host in range(12):
        own = cables.b[cables.a == host]
        switches.setdefault(frozenset(own.tolist()), []).append(f"host-{host + 1:02d}")
    leaves = {frozenset(own) for own, _ in slurm_tree(written(RAILS, "slurm-tree")[0]).values() if own}
    assert leaves == {frozenset(names) for names in switches.values()}


def test_slurm_blocks_and_their_sizes(written):
    text, notes = written(Design("fat-tree", 22, 1, 8, 40e9), "slurm-block")
    blocks = re.findall(r"^BlockName=\S+ Nodes=(\S+)$", text, re.M)
    assert [len(brackets(nodes)) for nodes in blocks] == [4] * 5
    assert "BlockSizes=4" in text and "# short: BlockName=leaf-6 Nodes=host-[21-22]" in text
    assert "2 of 4 nodes" in notes[0]
    assert "BlockSizes=4,16" in written(Design("fat-tree", 64, 1, 8, 40e9, tiers=3), "slurm-block")[0]


def test_blocks_are_scale_up_domains_where_those_join_nodes(tmp_path):
    design = Design("rail-optimized", 40, 4, 64, 400e9)
    notes = write(build(design), "slurm-block", tmp_path / "blocks", nodes_per_domain=18)
    text = (tmp_path / "blocks").read_text(encoding="utf-8")
    assert re.findall(r"^BlockName=\S+ Nodes=(\S+)$", text, re.M) == ["host-[01-18]", "host-[19-36]"]
    assert "BlockSizes=18" in text and "4 of 18 nodes" in notes[0]


@pytest.mark.parametrize("kind", ["slurm-tree", "slurm-block"])
def test_slurm_refuses_what_is_no_tree_of_nodes(written, kind):
    with pytest.raises(DesignError, match="torus"):
        written(Design("torus", 27, 1, 0, 1e9, shape=(3, 3, 3)), kind)
    with pytest.raises(DesignError, match="supernode"):
        written(Design("supernode", 72, 1, 0, 400e9), kind)


@pytest.mark.parametrize(
    "names", [["a1", "a2", "a3", "a7"], ["n-009", "n-010", "x"], ["b01", "b1", "b2"], ["solo"]]
)
def test_lists_of_names_come_back(names):
    assert sorted(expand(compress(names))) == sorted(names)
    assert sorted(brackets(compress(names))) == sorted(names)


@pytest.mark.parametrize("text", ["n[1-", "n[3-1]", "n[a-b]", "n[1-999999999]", "n]1["])
def test_lists_that_are_none(text):
    with pytest.raises(ValueError, match=r"brackets|range|number"):
        expand(text)


def test_cable_csv_is_the_cable_list(written):
    rows = list(csv.DictReader(written(RAILS, "cables-csv")[0].splitlines()))
    cables = build(RAILS).cables
    assert len(rows) == len(cables)
    ends = Counter((row[f"{end}_device"], row[f"{end}_port"]) for row in rows for end in "ab")
    assert set(ends.values()) == {1}  # no port twice
    assert Counter(row["a_device"] for row in rows if row["a_tier"] == "host") == {
        f"host-{n:02d}": 4 for n in range(1, 13)
    }
    assert all(float(row["length_m"]) > 0 and row["type"] and row["a_rack"] and row["b_rack"] for row in rows)
    same = [row for row in rows if row["a_rack"] == row["b_rack"]]
    apart = [row for row in rows if row["a_rack"] != row["b_rack"]]
    assert max((float(row["length_m"]) for row in same), default=0) < min(
        float(row["length_m"]) for row in apart
    )


def test_broken_out_ports_have_their_cages(written):
    """64 cages of 800 Gb/s carry 128 links of 400: link 35 is the first of cage 18."""
    design = Design("rail-optimized", 64, 8, 64, 400e9, port_rate=800e9)
    rows = list(csv.DictReader(written(design, "cables-csv")[0].splitlines()))
    cages = {int(row["b_port"]): row["b_cage"] for row in rows if row["b_device"] == "leaf-1"}
    assert cages[1] == "1/1" and cages[2] == "1/2" and cages[35] == "18/1" and len(cages) == 64
    plain = csv.DictReader(written(RAILS, "cables-csv")[0].splitlines())
    assert all(row["b_cage"] == row["b_port"] and row["a_cage"] == row["a_port"] for row in plain)


def test_astra_sim_counts_in_binary_gigabytes(written):
    text, notes = written(Design("rail-optimized", 64, 8, 64, 400e9), "astra-sim")
    found = {
        key: value.strip("[ ]").split(", ") for key, value in re.findall(r"^(\w+): (\[.*?\])", text, re.M)
    }
    assert [int(count) for count in found["npus_count"]] == [8, 32, 2]
    assert found["topology"] == ["Switch"] * 3 and "H100-SXM" in notes[0]
    assert float(found["bandwidth"][0]) == pytest.approx(450e9 / 2**30, rel=1e-5)
    assert float(found["bandwidth"][1]) == pytest.approx(50e9 / 2**30, rel=1e-5)
    assert all(10 < float(ns) < 1e5 for ns in found["latency"])


def test_astra_sim_torus_and_uneven_domains(written):
    text, _ = written(Design("torus", 64, 1, 0, 800e9, shape=(4, 4, 4)), "astra-sim")
    assert "Ring, Ring, Ring" in text and "[ 4, 4, 4 ]" in text
    uneven, _ = written(Design("rail-optimized", 50, 8, 64, 400e9), "astra-sim")
    counts = re.search(r"npus_count: \[ (.*) \]", uneven)[1]
    assert np.prod([int(count) for count in counts.split(", ")]) == 400


def test_astra_sim_keeps_the_scale_up_domain(tmp_path):
    """Racks of 72 do not divide leaf domains of 128: it is the leaf that gives way."""
    from types import SimpleNamespace

    from argosy.fabric.exports import astra_sim
    from argosy.fabric.network import TieredNetwork

    hop = (SimpleNamespace(ring_s=2e-6),)
    levels = [
        SimpleNamespace(name=name, size=size, bandwidth=1e9, ring=hop)
        for name, size in (("scale-up", 72), ("leaf", 128), ("all", np.inf))
    ]
    network = TieredNetwork(levels, 4608, (), (), (), ())
    assert "npus_count: [ 72, 64 ]" in list(astra_sim.lines(network, "x"))
    network = TieredNetwork(levels, 100, (), (), (), ())
    assert "npus_count: [ 100 ]" in list(astra_sim.lines(network, "x"))


@pytest.mark.parametrize("design", [TREE, Design("fat-tree", 4096, 1, 32, 400e9)])
def test_drawing_is_small_and_counts_every_cable(written, tmp_path, design):
    text, _ = written(design, "dot")
    cables = [int(count) for count in re.findall(r'n\d+ -- n\d+ \[label="(\d+) ×', text)]
    assert sum(cables) == len(build(design).cables)
    assert len(re.findall(r"n\d+ \[label", text)) <= 160
    if dot := shutil.which("dot"):
        done = subprocess.run([dot, "-Tplain"], input=text, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and done.stderr == ""


def test_unknown_kind(written):
    assert set(KINDS) == {"slurm-tree", "slurm-block", "ibsim", "dot", "astra-sim", "cables-csv"}
    with pytest.raises(DesignError, match="write one of slurm-tree"):
        written(TREE, "yaml")
