"""The power tree: energy is kept, losses by hand, redundancy and oversubscription, and what trips."""

import numpy as np
import pytest

from argosy.facility import (
    Building,
    ItLoad,
    NodePower,
    SiteNumbers,
    building,
    drawing,
    level_table,
    node_power,
)
from argosy.facts import Values, load_catalog
from argosy.spec import Facility, PowerStage, PowerTree

KWH = 3.6e6


@pytest.fixture(scope="module")
def values() -> Values:
    return Values(load_catalog().facts)


def place(temperature_c: float = 15.0) -> SiteNumbers:
    return SiteNumbers("somewhere", temperature_c, 10.0, 5.0, 4.0, 0.07 / KWH, 0.4 / KWH, "test")


def h100(values: Values, nodes: int = 1024, cap: float | None = None) -> ItLoad:
    return ItLoad(node_power(values, "DGX-H100", "H100-SXM", 8, cap), nodes, 16, 1.2e6, switches=500.0)


def around(values: Values, load: ItLoad, tree: PowerTree | None = None, **settings: object) -> Building:
    given = Facility(power_tree=tree or PowerTree(), **settings)
    return building(values, given, place(), load, load.measured_w(values) * 0.8)


def parts(tree: dict) -> list[dict]:
    return [tree] + [part for child in tree["children"] for part in parts(child)]


@pytest.mark.parametrize(
    "settings", [{}, {"pue": 1.25}, {"cooling": "direct-to-chip"}, {"heat_rejection": "evaporative"}]
)
def test_what_enters_a_part_leaves_it(values: Values, settings: dict) -> None:
    load = h100(values)
    built = around(values, load, **settings)
    tree = drawing(values, built, load)
    for part in parts(tree):
        if part["children"]:
            below = sum(child["drawn_w"] for child in part["children"])
            assert part["load_w"] == pytest.approx(below, rel=1e-9), part["name"]
            assert part["load_w"] <= part["rating_w"], part["name"]
        else:
            assert part["loss_w"] == 0
    assert tree["drawn_w"] == pytest.approx(built.meter_peak_w, rel=1e-4)
    boards = next(part for part in parts(tree) if part["name"] == "accelerator boards")
    assert boards["load_w"] == pytest.approx(1040 * 8 * 700.0)


@pytest.mark.parametrize("settings", [{}, {"pue": 1.25}])
def test_the_meter_sees_the_sum_of_all_devices(values: Values, settings: dict) -> None:
    built = around(values, h100(values), **settings)
    for flow in (built.mean, built.measured, built.peak):
        devices = flow.it_w + flow.plant_w + sum(flow.loss_w.values())
        assert flow.meter_w == pytest.approx(devices, rel=1e-12)
        assert flow.hall_loss_w + flow.outdoor_loss_w == pytest.approx(sum(flow.loss_w.values()))
    assert built.mean.meter_w == pytest.approx(built.pue * built.mean.it_w, rel=2e-4)
    assert built.pue > 1


def test_losses_of_a_level_by_hand(values: Values) -> None:
    """Four supplies of 1 MW in 2N with 1.2 MW between them: each at 30 %, so a + 0.3 b + 0.09 c of 4 MW."""
    node = NodePower(1200.0, 1200.0, 1200.0, 1200.0, 1)
    tree = PowerTree(
        ups=PowerStage(rating=1e6, count=4, redundancy="2N"), pdu=PowerStage(rating=0.5e6, count=5)
    )
    built = around(values, ItLoad(node, 1000, storage_w=0.0), tree)
    rack = 0.002 * 0.8**2 * built.tree.levels["rack"].installed_w
    at_pdu = 1.2e6 + rack
    pdu = 2.5e6 * (0.001 + 0.008 * (at_pdu / 2.5e6) ** 2)
    at_ups = at_pdu + pdu
    share = at_ups / 4e6
    assert built.peak.loss_w["ups"] == pytest.approx(
        4e6 * (0.008 + 0.01 * share + 0.012 * share**2), rel=1e-3
    )
    assert built.tree.levels["ups"].usable_w == 2e6


def test_a_tree_that_is_sized_to_the_fleet_holds_the_peak(values: Values) -> None:
    built = around(values, h100(values))
    assert built.tree_problems == ()
    assert built.tree_limit is None
    for name, margin in built.margins.items():
        assert -1e-9 <= margin < 0.2, name
    assert built.trips_first in ("transformer", "switchboard", "ups", "pdu")
    # One unit out of N+1, or one path out of 2N, and the rest still carries everything.
    doubled = around(values, h100(values), PowerTree(pdu=PowerStage(redundancy="2N")))
    assert doubled.tree.levels["pdu"].units == 2 * built.tree.levels["pdu"].units
    assert built.tree.levels["ups"].redundancy == "N+1"


@pytest.mark.parametrize("nodes", [1, 2, 3, 7, 16, 33, 65, 131])
def test_a_unit_of_just_the_needed_size_carries_it_to_the_last_bit(values: Values, nodes: int) -> None:
    for supply in (5.0, 18.0, 24.0):
        hall = around(values, h100(values, nodes), supply_temperature_c=supply)
        for name, level in hall.tree.levels.items():
            assert hall.peak.load_w[name] <= level.usable_w


def test_a_level_that_is_too_small_trips_and_says_so(values: Values) -> None:
    load = h100(values)
    built = around(values, load, PowerTree(ups=PowerStage(rating=1e6, count=9)))
    assert built.trips_first == "ups"
    assert built.tree_limit is not None
    level, margin = built.tree_limit["level"], built.tree_limit["margin"]
    # Nine units in N+1: eight carry.
    assert level == "ups"
    assert margin == pytest.approx(1 - built.peak.load_w["ups"] / 8e6)
    assert margin < 0
    assert built.tree_problems[0].startswith("ups: the peak of")
    enough = around(values, load, PowerTree(ups=PowerStage(rating=1e6, count=20)))
    assert enough.tree_problems == ()
    row = next(row for row in level_table(enough, load) if row["name"] == "ups")
    assert (row["origin"], row["units"], row["redundancy"]) == ("scenario", 20.0, "N+1")
    # 19 MW of supplies carry so many of the 8,320 as the peak leaves room for.
    assert row["carries"] == np.floor(8320 * 19e6 / enough.peak.load_w["ups"])


def test_breakers_are_derated_for_hours_and_transformers_are_not(values: Values) -> None:
    levels = around(values, h100(values)).tree.levels
    assert levels["pdu"].usable_w == pytest.approx(0.8 * levels["pdu"].installed_w)
    assert levels["transformer"].usable_w == pytest.approx(levels["transformer"].installed_w)


def test_oversubscription_trusts_measured_power(values: Values) -> None:
    load = h100(values)
    plain = around(values, load)
    mild = around(values, load, PowerTree(oversubscription=1.1))
    assert mild.tree.levels["pdu"].units < plain.tree.levels["pdu"].units
    assert mild.tree_problems == ()
    assert "would trip" in mild.tree_cautions[0]
    assert plain.tree_cautions == ()
    # Measured power is 83 % of nameplate here: half as much again is too much.
    wild = around(values, load, PowerTree(oversubscription=1.5))
    assert any("measured peak" in problem for problem in wild.tree_problems)


def test_a_deliberately_oversubscribed_hall_as_published(values: Values) -> None:
    """NVIDIA's sample hall: four floor units of 450 kW on a feed of 750 kW; breakers are not what limits it, the feed is."""
    node = NodePower(1000.0, 5000.0, 5000.0, 5000.0, 4)
    tree = PowerTree(
        utility=PowerStage(rating=750e3),
        switchboard=PowerStage(rating=1.6e6, count=1),
        pdu=PowerStage(rating=450e3, count=4),
    )
    built = around(values, ItLoad(node, 144, storage_w=0.0), tree, pue=1.0 + 1e-9)
    assert built.trips_first == "utility"
    assert built.margins["pdu"] > 0.3


def test_an_envelope_is_the_feed_and_a_cap_makes_room(values: Values) -> None:
    tight = around(values, h100(values), envelope=13e6)
    assert tight.tree.levels["utility"].rating_w == 13e6
    capped = around(values, h100(values, cap=500.0), envelope=13e6)
    assert capped.margins["utility"] > tight.margins["utility"]


def test_draws_go_through_the_tree() -> None:
    drawn = Values(load_catalog().facts).sample(40, seed=5)
    built = around(drawn, h100(drawn))
    assert np.shape(built.peak.meter_w) == (40,)
    assert np.shape(built.pue_by_month) == (40, 12)
    assert np.all(built.pue > 1)
    devices = built.peak.it_w + built.peak.plant_w + sum(built.peak.loss_w.values())
    assert built.peak.meter_w == pytest.approx(devices)


def test_many_loads_at_once_are_what_they_are_one_by_one(values: Values) -> None:
    """Layouts of a search: the plant between loads at which it was computed."""
    load = h100(values)
    random = np.random.default_rng(4)
    means = random.uniform(0.4, 0.98, 500) * load.peak_w(values)
    settings = Facility(cooling="direct-to-chip", heat_rejection="evaporative")
    together = building(values, settings, place(22.0), load, means)
    assert together.pue_by_month.shape == (500, 12)
    for index in (0, 17, 499):
        alone = building(values, settings, place(22.0), load, means[index])
        assert together.pue[index] == pytest.approx(alone.pue, rel=2e-5)
        assert together.pue_by_month[index] == pytest.approx(alone.pue_by_month, rel=5e-5)
        assert together.mean.meter_w[index] == pytest.approx(alone.mean.meter_w, rel=2e-5)


def test_too_few_rack_circuits_are_told(values: Values) -> None:
    load = h100(values)
    few = around(values, load, PowerTree(rack=PowerStage(rating=30e3, count=400)))
    assert few.tree.levels["rack"].usable_w == pytest.approx(400 * 30e3 * 0.8)
    assert any(problem.startswith("rack: the peak") for problem in few.tree_problems)
    many = around(values, load, PowerTree(rack=PowerStage(rating=30e3, count=700)))
    assert many.tree_problems == ()


def test_a_feed_far_too_small_does_not_blow_up_the_losses(values: Values) -> None:
    built = around(values, h100(values), envelope=1e3)
    assert built.pue == pytest.approx(around(values, h100(values)).pue, rel=2e-3)
    assert built.margins["utility"] < -1000


def test_a_given_pue_below_the_losses_is_told(values: Values) -> None:
    assert "less than conversion losses" in around(values, h100(values), pue=1.0).tree_cautions[0]
    assert around(values, h100(values), pue=1.2).tree_cautions == ()
