"""Growth, links, rails, memory states and the communication ratio: limits and independent oracles."""

import itertools

import numpy as np
import pytest

from argosy.laws import communication_ratio, growth, links, memory_states, rails


def test_doubling_time_of_an_exact_doubling():
    assert growth.doubling_time(2.0, 3.0) == pytest.approx(3.0)
    assert growth.doubling_time(8.0, 3.0) == pytest.approx(1.0)
    assert (1 + growth.annual_growth(8.0, 3.0)) ** 3 == pytest.approx(8.0)
    assert growth.projection(5.0, 4.0, 2.0) == 20.0
    with pytest.raises(ValueError, match="did not grow"):
        growth.doubling_time(1.0, 3.0)


def test_fit_of_an_exact_series():
    years = np.array([2016, 2018, 2020, 2022])
    assert growth.fitted_doubling_time(years, 3.0 * 2 ** ((years - 2016) / 2.5)) == pytest.approx(2.5)
    with pytest.raises(ValueError, match="does not grow"):
        growth.fitted_doubling_time(years, [4, 3, 2, 1])


def test_links():
    assert links.port_rate(4, 100e9) == 400e9
    assert links.pcie_bandwidth(32e9, 16) == pytest.approx(64e9 * 128 / 130)
    assert links.per_direction(1200.0, "two-way") == 600.0
    assert links.bandwidth_gap(450e9, "one-way", 50e9, "one-way") == pytest.approx(9)
    with pytest.raises(links.DirectionError, match="convert"):
        links.bandwidth_gap(900e9, "two-way", 50e9, "one-way")
    with pytest.raises(links.DirectionError, match="not known"):
        links.bandwidth_gap(900e9, "both", 50e9, "both")
    assert "tensor parallelism inside" in links.placement_advice(9.0)
    assert "compute both" in links.placement_advice(2.0)


def counted_share(tp: int, pp: int, dp: int, node: int) -> float:
    """Every edge of every pipeline and data-parallel ring, rank by rank."""
    same = edges = 0
    for t, p, d in itertools.product(range(tp), range(pp), range(dp)):
        rank = t + tp * (p + pp * d)
        partners = [t + tp * ((p + 1) % pp + pp * d)] * (pp > 1) + [t + tp * (p + pp * ((d + 1) % dp))] * (
            dp > 1
        )
        for partner in partners:
            edges += 1
            same += rank % node == partner % node
    return same / edges


@pytest.mark.parametrize(
    ("tp", "pp", "dp", "node"),
    [(8, 4, 6, 8), (4, 4, 6, 8), (2, 2, 8, 8), (1, 1, 16, 8), (8, 1, 2, 8), (3, 5, 2, 8)],
)
def test_rail_share_against_counting_every_edge(tp, pp, dp, node):
    assert rails.same_rail_share(tp, pp, dp, node) == pytest.approx(counted_share(tp, pp, dp, node))


@pytest.mark.parametrize(
    ("size", "stride", "node"), [(16, 1, 8), (64, 1, 8), (8, 8, 8), (16, 2, 8), (6, 3, 4)]
)
def test_all_to_all_on_rails_against_counting_pairs(size, stride, node):
    ranks = [stride * place for place in range(size)]
    pairs = [a % node == b % node for a, b in itertools.permutations(ranks, 2)]
    law = rails.all_to_all_same_rail_share(size, stride, node)
    assert law == pytest.approx(sum(pairs) / len(pairs))


def test_rail_weights_and_limits():
    assert rails.same_rail_share(4, 4, 16, 8, pipeline_bytes=0.0) == 1.0
    with pytest.raises(ValueError, match="neither"):
        rails.same_rail_share(8, 1, 1, 8)


def test_memory_of_the_zero_paper():
    """Figure 1 of arXiv 1910.02054: 7.5B parameters on 64 devices, in GB."""
    stages = memory_states.state_bytes_per_device(7.5e9, 64, np.array([0, 1, 2, 3])) / 1e9
    assert stages == pytest.approx([120, 31.4, 16.6, 1.9], abs=0.06)


def test_bytes_per_parameter():
    assert memory_states.checkpoint_bytes_per_parameter() == 14
    assert memory_states.live_bytes_per_parameter() == 16
    assert memory_states.live_bytes_per_parameter(gradient_bytes=4) == 18
    halved = memory_states.state_bytes_per_device(1e9, 8, 1, tensor_parallel=2)
    assert halved == pytest.approx(memory_states.state_bytes_per_device(1e9, 8, 1) / 2)


def test_ratio_and_exposed_time():
    assert communication_ratio.ratio(0.5, 5.0) == 0.1
    assert communication_ratio.exposed_time(0.5, 5.0) == 0.0
    assert communication_ratio.exposed_time(0.5, 5.0, 0.0) == 0.5
    assert communication_ratio.exposed_time(np.array([3.0, 8.0]), 5.0) == pytest.approx([0.0, 3.0])
    assert communication_ratio.regime(0.99) == "computation-bound"
    assert communication_ratio.regime(1.0) == "communication-bound"


def test_advice_is_ranked_by_what_it_does():
    """A cost that does not depend on the devices: fewer help only through their longer computation."""
    advice = communication_ratio.ranked_advice(lambda size, devices: size / 1e9, 30e6, 256, 0.010)
    by_name = {each.change: each for each in advice}
    assert by_name["as it is"].rho == pytest.approx(3.0)
    assert by_name["as it is"].throughput == pytest.approx(1.0)
    fewer = by_name["half the devices, same global batch"]
    assert fewer.rho == pytest.approx(1.5)
    assert fewer.step_s == pytest.approx(0.020 + 0.030)
    assert fewer.throughput == pytest.approx(0.040 / 0.050)
    assert fewer.per_device == pytest.approx(2 * 0.040 / 0.050)
    hidden = by_name["communication fully overlapped"]
    assert hidden.step_s == pytest.approx(0.030)
    yields = [each.per_device for each in advice]
    assert yields == sorted(yields, reverse=True)
    assert advice[-1].change == "as it is"
