"""A scenario's fleet as a cluster: nodes, NVLink domains, leaves and pods as the cables join them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argosy.planning.context import context
from argosy.scheduling.fleet import fleet_cluster
from argosy.spec import load, loads

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def cluster(text: str, others: tuple[tuple[str, int, int, float], ...] = ()):
    setting = context(loads(f"name: x\n{text}\nscheduling: {{}}\n"))
    return fleet_cluster(setting.fleet, setting.node_size, setting.scale_up_domain, (), others)


@pytest.mark.parametrize(
    ("name", "nodes", "per_domain", "per_leaf", "pods"),
    [
        ("deepseek-v3", 256, 1, 32, 1),
        ("llama3-405b", 2048, 1, 2, 6),
        ("llama3-70b-tpu-v5p", 1536, None, 1536, 1),
    ],
)
def test_examples(name: str, nodes: int, per_domain: int | None, per_leaf: int, pods: int) -> None:
    setting = context(load(EXAMPLES / f"{name}.yaml"))
    found = fleet_cluster(setting.fleet, setting.node_size, setting.scale_up_domain)
    assert found.nodes == nodes
    assert found.total == setting.fleet.count
    assert np.bincount(found.leaf).max() == per_leaf
    assert found.pod.max() + 1 == pods
    if per_domain:
        assert np.bincount(found.domain).max() == per_domain
    assert (np.diff(found.leaf) >= 0).all() and found.leaf[0] == 0
    for leaf in np.unique(found.leaf):  # a leaf is within a pod
        assert len(np.unique(found.pod[found.leaf == leaf])) == 1


def test_pods_of_the_fat_tree_are_what_reaches_without_the_top() -> None:
    small = cluster("fleet: {accelerator: H100-SXM, count: 1024, fabrics: [{topology: fat-tree, tiers: 2}]}")
    assert small.pod.max() == 0
    text = "fleet: {accelerator: H100-SXM, count: 16384, fabrics: [{topology: fat-tree, tiers: 3}]}"
    large = cluster(text)
    assert large.pod.max() > 0
    assert len(set(np.bincount(large.pod)[:-1])) == 1


def test_other_nodes_share_nothing_but_the_queue() -> None:
    found = cluster("fleet: {accelerator: H100-SXM, count: 64}", (("A100-SXM-80GB", 4, 4, 0.32),))
    assert (found.nodes, found.total) == (12, 80)
    assert found.types[1] == "A100-SXM-80GB"
    assert found.speeds["A100-SXM-80GB"] == 0.32
    assert not set(found.leaf[:8]) & set(found.leaf[8:])
    assert not set(found.pod[:8]) & set(found.pod[8:])
