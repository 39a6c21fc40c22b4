"""Storage and management fabrics: their sizes by hand, what they carry by networkx."""

from __future__ import annotations

import networkx as nx
import pytest

from argosy.fabric.analysis import links
from argosy.fabric.fleet import fleet_topology
from argosy.fabric.storage import StorageLoad, carried_bytes_per_s, reads_problem, storage_account
from argosy.planning.context import context
from argosy.planning.storage_load import storage_load
from argosy.spec import Fleet
from argosy.spec import load as load_scenario


def fleet(**storage) -> Fleet:
    fabrics = [
        {"topology": "rail-optimized"},
        {"role": "storage", "oversubscription": {"leaf-uplink": 2}},
        {"role": "management"},
    ]
    data = {"accelerator": "H100-SXM", "count": 1024, "fabrics": fabrics, "spares": {"nodes": 0}}
    return Fleet.model_validate(data | {"storage": storage})


def test_servers_carry_the_storage_and_stand_on_every_leaf():
    asked = fleet(bandwidth="400 GB/s")
    topology = fleet_topology(asked, asked.fabrics[1])
    cables, design = topology.cables, topology.design
    assert not topology.problems
    assert design.servers == 8  # of 400 Gb/s each
    assert (cables.group("host").count, cables.group("storage").count) == (128, 8)
    ids = cables.group("storage").ids
    under = [cables.b[cables.a == server][0] for server in ids]
    assert len(set(under)) == cables.group("leaf").count == 4
    half = fleet(bandwidth="400 GB/s", server_bandwidth="25 GB/s")
    assert fleet_topology(half, half.fabrics[1]).design.servers == 16


def test_what_is_carried_is_the_maximum_flow():
    asked = fleet(bandwidth="2 TB/s")
    topology = fleet_topology(asked, asked.fabrics[1])
    graph = nx.DiGraph()
    for a, b, rate in zip(*links(topology.cables), strict=True):
        for near, far in ((int(a), int(b)), (int(b), int(a))):
            before = graph[near][far]["capacity"] if graph.has_edge(near, far) else 0.0
            graph.add_edge(near, far, capacity=before + rate)
    servers = set(topology.cables.group("storage").ids.tolist())
    for host in range(topology.cables.hosts):
        graph.add_edge(*((host, "sink") if host in servers else ("source", host)))
    flow = nx.maximum_flow_value(graph, "source", "sink")
    assert carried_bytes_per_s(topology) == pytest.approx(flow / 8)


def test_a_storage_faster_than_its_fabric_is_a_problem_with_a_way_out():
    asked = fleet(bandwidth="10 TB/s")
    (problem,) = fleet_topology(asked, asked.fabrics[1]).problems
    assert "less than the storage's 10,000 GB/s" in problem and "nics_per_node" in problem


def test_a_port_for_every_node_and_every_switch():
    asked = fleet(bandwidth="400 GB/s")
    compute, storage, management = (fleet_topology(asked, fabric) for fabric in asked.fabrics)
    switches = [
        sum(group.count for group in topology.cables.groups if group.tier) for topology in (compute, storage)
    ]
    assert management.cables.group("switch-port").count == sum(switches)
    assert management.design.hosts == 128 + sum(switches)
    assert management.cables.group("leaf").count == -(-management.design.hosts // 48)
    assert set(management.cables.rate) == {1e9, 100e9} and not management.problems


def test_bursts_and_reads_of_a_scenario(tmp_path):
    written = tmp_path / "scenario.yaml"
    written.write_text(
        "name: s\n"
        "fleet: {accelerator: H100-SXM, count: 1024, spares: {nodes: 0}}\n"
        "training: {model: llama-3.1-405b, tokens: 1e12, sequence_length: 8192, global_batch: 512 sequences}\n"
    )
    scenario = load_scenario(written)
    load = storage_load(context(scenario))
    assert load.checkpoint_bytes == pytest.approx(405.85e9 * 14, rel=0.01)
    assert load.reads_bytes_per_s == pytest.approx(1024 * 989.4e12 / (6 * 405.85e9) * 4, rel=0.01)
    asked = fleet(bandwidth="400 GB/s")
    account = storage_account(fleet_topology(asked, asked.fabrics[1]), 400e9, load)
    assert account["checkpoint_burst_s"] == pytest.approx(load.checkpoint_bytes / 400e9)
    slow = storage_account(fleet_topology(asked, asked.fabrics[1]), 4e12, StorageLoad(0.0, 1e12))
    assert slow["checkpoint_burst_s"] == pytest.approx(1e12 / slow["carried_bytes_per_s"])
    assert slow["carried_bytes_per_s"] < 4e12


def test_reads_beyond_the_storage_are_a_problem():
    asked = fleet(bandwidth="400 GB/s")
    topology = fleet_topology(asked, asked.fabrics[1])
    assert reads_problem(storage_account(topology, 400e9, StorageLoad(399e9, 1.0))) is None
    told = reads_problem(storage_account(topology, 400e9, StorageLoad(800e9, 1.0)))
    assert "2.0 times" in told and "storage.bandwidth of 800 GB/s" in told
