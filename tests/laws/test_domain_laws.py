"""Algorithm choice, overlap, scale-up domains, control plane, sites, cost shares: each against counting."""

import itertools
import math

import numpy as np
import pytest

from argosy.laws import algorithm_choice, control_plane, cost_structure, overlap, scale_up, site

NETWORK = (50e9, 5e-6)  # byte/s, s


@pytest.mark.parametrize(
    ("message", "ranks", "winner"),
    [
        (1e3, 384, "pipelined tree"),  # 8 levels; folding 128 ranks costs halving-doubling two rounds more
        (5e6, 384, "double tree"),  # 2 M on the wire against 3 M and 4 M
        (1e13, 384, "ring"),  # 2 (N-1)/N M: the least, once its 766 rounds no longer count
        (1e3, 256, "halving-doubling"),  # a power of two: the least bytes in the fewest rounds
        (1e12, 256, "halving-doubling"),
    ],
)
def test_small_messages_take_trees_and_large_ones_rings(message, ranks, winner):
    assert algorithm_choice.fastest_all_reduce(message, ranks, *NETWORK) == winner


def test_the_choice_broadcasts_and_tells_one_tree_from_two():
    names = algorithm_choice.fastest_all_reduce(np.array([1e3, 5e6, 1e13]), 384, *NETWORK)
    assert names.tolist() == ["pipelined tree", "double tree", "ring"]
    crossing = algorithm_choice.crossover_bytes("pipelined tree", "double tree", 384, *NETWORK)
    # One tree saves two rounds and pays for one M more: equal at M = 2 α BW.
    assert crossing == pytest.approx(2 * 5e-6 * 50e9)
    times = algorithm_choice.all_reduce_times(4 * crossing, 384, *NETWORK)
    assert times["double tree"] < times["pipelined tree"]


def test_ring_latency_equals_its_bandwidth_time_at_64_megabytes():
    assert algorithm_choice.latency_share(64e6, 256, *NETWORK) == pytest.approx(0.5)
    assert algorithm_choice.latency_share(0.0, 256, *NETWORK) == 1.0


def test_crossover_against_a_search():
    low, high = 1.0, 1e12

    def ring_wins(message: float) -> bool:
        rounds, depth = 2 * 255, math.ceil(math.log2(256))
        ring = rounds * (5e-6 + message / 256 / 50e9)
        tree = 2 * depth * (5e-6 + message / 50e9)
        return ring < tree

    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if ring_wins(middle) else (middle, high)
    assert algorithm_choice.crossover_bytes("ring", "tree", 256, *NETWORK) == pytest.approx(low, rel=1e-9)
    assert algorithm_choice.crossover_bytes("ring", "ring", 256, *NETWORK) == math.inf


def played_backward_pass(layers: list[float], transfers: list[float]) -> float:
    """Exposed seconds of a backward pass whose buckets queue for one link."""
    now, link = 0.0, 0.0
    for layer, transfer in zip(layers, transfers, strict=True):
        now += layer
        link = max(now, link) + transfer
    return link - now


def test_exposed_communication_against_playing_it():
    rng = np.random.default_rng(4)
    layers, transfers = rng.exponential(1.0, (100, 12)), rng.exponential(0.9, (100, 12))
    played = [played_backward_pass(list(a), list(b)) for a, b in zip(layers, transfers, strict=True)]
    assert overlap.exposed_communication(layers, transfers) == pytest.approx(played)


def test_overlap_limits():
    assert overlap.exposed_communication([10.0], [3.0]) == 3.0
    assert overlap.exposed_communication([0.0, 0.0], [3.0, 4.0]) == 7.0
    assert overlap.hidden_share([5.0, 5.0], [1.0, 1.0]) == pytest.approx(0.5)
    fine, coarse = (
        overlap.exposed_communication([1.0] * 8, [0.5] * 8),
        overlap.exposed_communication([8.0], [4.0]),
    )
    assert fine < coarse


@pytest.mark.parametrize(("group", "domain"), [(64, 8), (64, 72), (144, 72), (384, 384), (16, 4)])
def test_all_to_all_leaving_a_domain_against_counting_pairs(group, domain):
    pairs = [a // domain != b // domain for a, b in itertools.permutations(range(group), 2)]
    assert scale_up.all_to_all_leaving_share(group, domain) == pytest.approx(sum(pairs) / len(pairs))


def test_all_reduce_leaving_a_domain():
    """Eight nodes of eight: each device owns an eighth of the message and rings it round the nodes."""
    assert scale_up.all_reduce_leaving_bytes(800.0, 64, 8) == pytest.approx(2 * 7 / 8 * 100)
    assert scale_up.all_reduce_leaving_bytes(800.0, 8, 72) == 0.0


def test_a_larger_domain_makes_expert_exchange_faster():
    times = scale_up.expert_exchange_time(1e9, 64, np.array([8, 72]), 450e9, 50e9)
    assert times[0] == pytest.approx(1e9 * 56 / 64 / 50e9)
    assert times[1] == pytest.approx(1e9 * 63 / 64 / 450e9)


def test_largest_model_in_a_domain():
    assert scale_up.largest_model(8, 80e9, 16, usable=1.0) == pytest.approx(40e9)


def test_commands_reach_everybody_in_logarithmic_time():
    assert control_plane.command_delay(1, 2, 50e-6) == 0.0
    assert control_plane.command_delay(1024, 2, 50e-6) == pytest.approx(10 * 50e-6)
    assert control_plane.command_delay(1000, 10, 1.0) == 3.0


def test_detection_and_false_alarms_against_a_simulation():
    rng = np.random.default_rng(6)
    deaths = rng.uniform(0, 10.0, 20_000)  # within one interval of 10 s
    alarms = 10.0 * 3  # the third beat after the last good one, counted from that
    assert (alarms - deaths).mean() == pytest.approx(control_plane.detection_time(10.0, 3), rel=0.01)
    lost = rng.random(2_000_000) < 0.1
    run = alarm = 0
    for beat in lost:
        run = run + 1 if beat else 0
        if run == 3:
            alarm, run = alarm + 1, 0
    assert alarm / lost.size == pytest.approx(control_plane.false_alarm_rate(1.0, 3, 0.1), rel=0.1)


def test_planes_that_share_nothing_multiply():
    assert control_plane.both_planes_available(0.99, 0.98) == pytest.approx(0.9702)
    assert control_plane.both_planes_available(1.0, 1.0, 0.9) == 0.9


def test_a_hall_for_twelve_kilowatts_does_not_take_seventy():
    hall = {"footprint_m2": 0.72, "cooling_w": 30e3, "circuit_w": 17e3, "floor_kg_per_m2": 1200}
    assert site.retrofit_verdict(12e3, 800, **hall) == (True, "floor 0.926x")
    fits, reason = site.retrofit_verdict(70e3, 800, **hall)
    assert not fits
    assert reason == "power 4.12x"
    most = site.devices_within_limits(1275.0, 16.0, **hall)
    assert most == 13
    assert site.retrofit_verdict(most * 1275, most * 16, **hall)[0]
    assert not site.retrofit_verdict((most + 1) * 1275, (most + 1) * 16, **hall)[0]


def test_households_by_their_yearly_use():
    assert site.households(10_700 * 3.6e6 / (365 * 86400), 10_700) == pytest.approx(1.0)
    assert site.households(24e6, 10_700) == pytest.approx(19_648.6, rel=1e-5)


def test_cost_shares():
    lines = {"accelerators": 60.0, "network": 15.0, "facility": 25.0}
    assert cost_structure.shares(lines) == {"accelerators": 0.6, "network": 0.15, "facility": 0.25}
    changed = cost_structure.total_after(lines, {"accelerators": -0.1})
    assert changed / 100 - 1 == pytest.approx(-0.1 * cost_structure.elasticity(lines, "accelerators"))
    with pytest.raises(KeyError, match="storage"):
        cost_structure.total_after(lines, {"storage": 0.1})
