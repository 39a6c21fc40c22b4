"""Cable lists against the published designs, and what they say of designs that do not close."""

from __future__ import annotations

import numpy as np
import pytest

from argosy.fabric import Design, DesignError, build
from argosy.fabric.analysis import cables_by_kind, injection_bps, oversubscription, tiers

RATE = 400e9


def switches(topology) -> dict[str, int]:
    return {tier.name: tier.switches for tier in tiers(topology.cables)}


# NVIDIA DGX SuperPOD reference architecture, B200 (64-port NDR, units of 32 nodes) and B300 (144-port XDR, 72
# nodes).
SUPERPOD = [
    (64, 64, {"leaf": 16, "spine": 8}),
    (128, 64, {"leaf": 32, "spine": 16}),
    (512, 64, {"leaf": 128, "spine": 128, "core": 64}),
    (72, 144, {"leaf": 8, "spine": 4}),
    (144, 144, {"leaf": 16, "spine": 8}),
    (288, 144, {"leaf": 32, "spine": 18}),
]


@pytest.mark.parametrize(("nodes", "radix", "expected"), SUPERPOD)
def test_superpod_tables(nodes, radix, expected):
    topology = build(Design("rail-optimized", nodes, 8, radix, RATE))
    assert switches(topology) == expected
    assert set(cables_by_kind(topology.cables).values()) == {nodes * 8}
    assert len(cables_by_kind(topology.cables)) == len(expected)
    assert not topology.problems


def test_sixteen_thousand_endpoints_in_three_tiers_or_eight_rails():
    wide = build(Design("fat-tree", 16384, 1, 128, RATE))
    assert switches(wide) == {"leaf": 256, "spine": 256, "core": 128}
    narrow = build(Design("fat-tree", 16384, 1, 64, RATE))
    assert (sum(switches(narrow).values()), len(narrow.cables)) == (1280, 49152)
    rails = build(Design("rail-only", 2048, 8, 64, RATE))
    assert (sum(switches(rails).values()), len(rails.cables)) == (768, 32768)
    assert injection_bps(rails.cables) == injection_bps(narrow.cables) == pytest.approx(6553.6e12)


def test_llama3_pods_are_built_whole():
    over = (("pod-uplink", 7.0),)
    topology = build(Design("multi-pod", 3072, 8, 64, RATE, oversubscription=over, pods=8, upper_radix=576))
    assert not topology.problems
    assert switches(topology)["leaf"] == 8 * 192
    assert cables_by_kind(topology.cables)["host-leaf"] == 24576
    found = oversubscription(topology.cables)
    assert found["leaf"] == 1 and 6.5 < found["spine"] <= 7
    assert [(domain.name, domain.hosts) for domain in topology.domains] == [("leaf", 2), ("pod", 384)]


def test_a_pod_that_does_not_close_says_why():
    topology = build(Design("multi-pod", 3072, 8, 64, RATE, oversubscription=(("pod-uplink", 7.0),), pods=8))
    assert any("192 leaves under 64-port spine switches" in problem for problem in topology.problems)
    assert any("need 220 ports, but have 64" in problem for problem in topology.problems)


def test_two_tiers_cannot_mesh_128_leaves_over_64_ports():
    topology = build(Design("rail-optimized", 512, 8, 64, RATE, tiers=2))
    assert any("128 leaves under 64-port spine switches cannot" in problem for problem in topology.problems)


def test_a_partly_filled_unit_is_a_note_not_a_problem():
    topology = build(Design("rail-optimized", 33, 8, 64, RATE))
    assert not topology.problems
    assert any("room for 31 more" in note for note in topology.notes)


def test_rails_meet_their_own_leaf():
    topology = build(Design("rail-optimized", 64, 8, 64, RATE))
    cables, leaves = topology.cables, topology.cables.group("leaf")
    cards = cables.boundary == 0
    for host in (0, 31, 32, 63):
        mine = cards & (cables.a == host)
        leaf = cables.b[mine] - leaves.first
        assert (leaf // 2 == cables.a_port[mine]).all()  # two units: the leaves of a rail are neighbours
        assert (leaf % 2 == host // 32).all()


def test_rail_only_planes_never_meet():
    cables = build(Design("rail-only", 40, 4, 16, RATE)).cables
    plane = np.concatenate([np.full(g.count, int(g.name[6]) if g.tier else -1) for g in cables.groups])
    inner = plane[cables.a] >= 0
    assert (plane[cables.a[inner]] == plane[cables.b[inner]]).all()
    assert (plane[cables.b[~inner]] == cables.a_port[~inner]).all()


def test_a_split_card_halves_its_rate():
    topology = build(Design("multi-plane", 32, 8, 64, RATE, planes=16))
    assert set(topology.cables.rate) == {RATE / 2}
    assert injection_bps(topology.cables) == 32 * 8 * RATE


def test_tpu_v4_torus_and_its_optical_switches():
    topology = build(Design("torus", 4096, 1, 0, RATE, shape=(16, 16, 16)))
    assert cables_by_kind(topology.cables) == {"chip-chip": 9216, "chip-ocs": 6144}
    assert switches(topology) == {"ocs": 48}
    ports = np.bincount(topology.cables.a, minlength=4096)[:4096]
    ports += np.bincount(topology.cables.b, minlength=4096)[:4096]
    assert (ports == 6).all()


def test_the_largest_v5p_job():
    topology = build(Design("torus", 6144, 1, 0, RATE, shape=(16, 16, 24)))
    assert not topology.problems and topology.cables.hosts == 6144
    with pytest.raises(DesignError, match="has 6144 places, not 6000"):
        build(Design("torus", 6000, 1, 0, RATE, shape=(16, 16, 24)))


def test_cloudmatrix_and_nvl72():
    matrix = build(Design("supernode", 384, 1, 0, 448e9))
    assert switches(matrix) == {"l1": 336, "l2": 112}
    assert cables_by_kind(matrix.cables)["l1-l2"] == 7 * 16 * 48 == 336 * 16
    assert injection_bps(matrix.cables) / 384 / 8 == pytest.approx(392e9)
    assert oversubscription(matrix.cables) == {"l1": 1.0}
    rack = build(Design("supernode", 72, 1, 0, RATE))
    assert (switches(rack), len(rack.cables)) == ({"nvswitch": 18}, 72 * 18)


@pytest.mark.parametrize(
    "design",
    [
        Design("fat-tree", 700, 1, 16, RATE),
        Design("clos", 1000, 2, 32, RATE, oversubscription=(("leaf-uplink", 3.0),)),
        Design("rail-optimized", 100, 4, 32, RATE),
        Design("multi-plane", 60, 8, 32, RATE, planes=4),
        Design("fat-tree", 3000, 1, 16, RATE, tiers=4),
    ],
)
def test_every_port_carries_at_most_one_cable(design):
    topology = build(design)
    assert not topology.problems
    cables = topology.cables
    ends = list(zip(cables.a, cables.a_port, strict=True)) + list(zip(cables.b, cables.b_port, strict=True))
    assert len(set(ends)) == len(ends)
    limits = np.concatenate([np.full(group.count, group.ports) for group in cables.groups])
    assert all(port < limits[node] for node, port in ends)
    assert (
        cables_by_kind(cables)[cables.boundaries[0].name.rpartition("/")[2]]
        == design.hosts * design.nics_per_host
    )


def test_oversubscription_found_from_the_cables():
    topology = build(Design("clos", 960, 1, 64, RATE, oversubscription=(("leaf-uplink", 3.0),)))
    assert oversubscription(topology.cables) == {"leaf": 3.0}


@pytest.mark.parametrize(
    ("design", "words"),
    [
        (Design("dragonfly", 64, 1, 64, RATE), "not built yet; there are clos"),
        (Design("fat-tree", 0, 1, 64, RATE), "at least one host"),
        (Design("fat-tree", 8, 1, 2, RATE), "2 ports cannot build a tree"),
        (Design("fat-tree", 8, 1, 64, 0.0), "rate above zero"),
        (Design("multi-pod", 8, 8, 64, RATE), "write pods: 8"),
        (Design("multi-plane", 8, 8, 64, RATE, planes=3), "one must divide the other"),
        (Design("supernode", 100, 1, 0, RATE), "100 accelerators is not built yet"),
    ],
)
def test_requests_that_cannot_be_drawn(design, words):
    with pytest.raises(DesignError, match=words):
        build(design)


def test_one_tier_too_many_hosts():
    assert any(
        "cannot take 100 cards" in p for p in build(Design("fat-tree", 100, 1, 64, RATE, tiers=1)).problems
    )
