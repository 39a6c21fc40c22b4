"""The facility's answer: anchors, energy balance, limits, and broadcasting."""

import numpy as np
import pytest

from argosy.facility import (
    CLASSES,
    ItLoad,
    NodePower,
    PowerPhases,
    SiteNumbers,
    facility,
    needed_class,
    node_power,
    overhead,
    pack,
    site_numbers,
)
from argosy.facts import FactError, Values, load_catalog
from argosy.spec import Facility, Prices, Site

DAY, KWH = 86400.0, 3.6e6


@pytest.fixture(scope="module")
def values() -> Values:
    return Values(load_catalog().facts)


def place(temperature_c: float = 15.0) -> SiteNumbers:
    return SiteNumbers("somewhere", temperature_c, 10.0, 5.0, 4.0, 0.07 / KWH, 0.4 / KWH, "test")


FLAT = NodePower(1100.0, 1100.0, 1100.0, 1100.0, 1)  # a card of 1.1 kW, whatever it does


def answer(values: Values, load: ItLoad, **settings: object) -> dict:
    return facility(
        values, Facility(**settings), place(), load, PowerPhases(1.0), duration_s=365 * DAY, busy_share=1.0
    )


def test_twenty_thousand_gpus_at_a_kilowatt(values: Values) -> None:
    node = NodePower(1000.0, 1000.0, 1000.0, 1000.0, 1)
    result = answer(values, ItLoad(node, 20_000, storage_w=0.0), pue=1.2)
    assert result["facility_mean_w"] == pytest.approx(24e6)
    assert result["facility_peak_w"] == pytest.approx(24e6)
    assert result["pue_by_month"] == pytest.approx(np.full(12, 1.2))


def test_ten_thousand_cards_for_a_year(values: Values) -> None:
    result = answer(values, ItLoad(FLAT, 10_000, storage_w=0.0), pue=1.25)
    assert result["facility_mean_w"] == pytest.approx(13.75e6)
    assert result["energy_kwh"] == pytest.approx(120.45e6)
    assert result["carbon_kg"] == pytest.approx(120.45e6 * 0.4)
    # Water is counted per IT kilowatt-hour.
    assert result["water_kg"] == pytest.approx(120.45e6 / 1.25 * 0.27)


def test_published_power_of_an_eight_gpu_node(values: Values) -> None:
    node = node_power(values, "DGX-H100", "H100-SXM", 8)
    assert node.nameplate_w == 10_200
    assert node.measured_w == pytest.approx(8400, rel=0.011)
    # A heavy step averages 76 % of nameplate: four fifths in dense kernels, the rest waiting on memory and
    # network.
    heavy = PowerPhases(compute_s=7.8, memory_s=0.7, communication_s=1.0, idle_s=0.5)
    assert node.at(heavy.utilization(values)) / node.nameplate_w == pytest.approx(0.76, abs=0.02)


def test_levels_are_ordered_for_every_node_of_the_catalog(values: Values) -> None:
    for entry in load_catalog().section("nodes"):
        accelerator = entry.text.get("accelerator", "")
        if (
            "power_nameplate" not in entry.facts
            or f"accelerators.{accelerator}.power_nameplate" not in values
        ):
            continue
        count = int(entry.facts["accelerators"].value)
        node = node_power(values, entry.name, accelerator, count)
        assert 0 < node.idle_w < node.measured_w <= node.capped_w <= node.nameplate_w, entry.name


def test_a_node_that_the_catalog_lacks_is_built_from_its_boards(values: Values) -> None:
    node = node_power(values, None, "H100-SXM", 8)
    assert node.nameplate_w == pytest.approx(8 * 700 * 1.82)
    assert node.nameplate_w == pytest.approx(10_200, rel=2e-3)
    with pytest.raises(FactError, match="power_nameplate"):
        node_power(values, None, "no-such-chip", 8)


def test_a_cap_lowers_peak_and_clock(values: Values) -> None:
    whole = node_power(values, "DGX-H100", "H100-SXM", 8)
    same = node_power(values, "DGX-H100", "H100-SXM", 8, cap_w=700.0)
    hard = node_power(values, "DGX-H100", "H100-SXM", 8, cap_w=400.0)
    assert (same.capped_w, same.measured_w, same.clock) == (whole.capped_w, whole.measured_w, 1.0)
    assert answer(values, ItLoad(same, 10))["cautions"] == []
    # Boards of 700 W in dense work, a quarter of it static, the rest with the cube of the clock.
    assert hard.capped_w == pytest.approx(10_200 - 8 * 300)
    assert hard.measured_w == pytest.approx(8480 - 8 * 300)
    assert 175 + 525 * hard.clock**3 == pytest.approx(400.0)
    assert hard.cap_binds
    assert "clock" in answer(values, ItLoad(hard, 10))["cautions"][0]
    # What draws less than the cap anyway is not touched by it.
    assert hard.at(0.2) == whole.at(0.2)
    assert hard.at(1.0) == hard.measured_w


def test_a_cap_that_no_clock_holds_is_a_problem(values: Values) -> None:
    starved = node_power(values, "DGX-H100", "H100-SXM", 8, cap_w=150.0)
    assert not starved.cap_held
    lowest = 175 + 525 * 0.3**3
    assert starved.capped_w == pytest.approx(10_200 - 8 * (700 - lowest))
    assert "not held" in answer(values, ItLoad(starved, 10), power_cap=150.0)["problems"][0]


def test_rack_scale_machines_carry_their_switch_trays(values: Values) -> None:
    tray = node_power(values, "GB200-tray", "GB200", 4)
    assert tray.per_rack == 18
    assert tray.nameplate_w * 18 == pytest.approx(132e3)
    packed = pack(values, "direct-to-chip", 36, tray.capped_w, tray.per_rack)
    assert (packed.count, packed.fits) == (2, True)
    assert not pack(values, "air", 36, tray.capped_w, tray.per_rack).fits


def test_mean_power_is_the_sum_of_its_parts(values: Values) -> None:
    node = NodePower(2000.0, 8000.0, 10_000.0, 10_000.0, 8)
    load = ItLoad(node, 100, spare_nodes=4, network_w=50e3, storage_w=20e3)
    phases = PowerPhases(6.0, 1.0, 2.0, 1.0)
    # By hand, in joules of one busy and one waiting second.
    share = 0.6 * 1.0 + 0.1 * 0.75 + 0.2 * 0.45 + 0.1 * 0.2
    busy, waiting = 2000 + 6000 * share, 2000 + 6000 * 0.2
    by_hand = 100 * (0.9 * busy + 0.1 * waiting) + 4 * 2000 + 70e3
    assert load.mean_w(values, phases, 0.9) == pytest.approx(by_hand)
    assert load.peak_w(values) == pytest.approx(104 * 10_000 + 70e3)


@pytest.mark.parametrize("cooling", CLASSES)
def test_pue_is_above_one_and_rises_with_the_weather(values: Values, cooling: str) -> None:
    climates = [overhead(values, cooling, place(t), 0.05) for t in (-5.0, 5.0, 15.0, 25.0, 35.0)]
    pues = [plant.pue for plant in climates]
    assert pues[0] > 1.05
    assert pues == sorted(pues)
    assert pues[-1] < 1.56  # the industry's mean, old halls included
    free = [plant.free_cooling_share for plant in climates]
    assert free == sorted(free, reverse=True)
    assert 0 <= free[-1] <= free[0] <= 1


def test_warm_water_needs_less_chilling_than_air(values: Values) -> None:
    for temperature in (10.0, 20.0, 28.0):
        air, liquid = (overhead(values, c, place(temperature), 0.05).pue for c in ("air", "direct-to-chip"))
        assert liquid < air


def test_pue_against_what_operators_report(values: Values) -> None:
    # Newest liquid-cooled halls in mild places: between Meta's 1.08 and Microsoft's 1.17.
    assert 1.08 <= overhead(values, "direct-to-chip", place(12.0), 0.05, 0.75).pue <= 1.17


def test_heat_out_is_power_in(values: Values) -> None:
    """Every watt that the meter sees leaves as heat: removed heat = IT + losses + fans + pumps."""
    plant = overhead(values, "air", place(40.0), 0.05)
    supply, approach, lift_floor, rise = 24.0, 8.0, 10.0, 10.0
    removed = 1.0 + plant.electrical + plant.fans + plant.pumps
    work, fan = [], []
    # The second law hour by hour, by hand: the chiller takes the loop's last degrees, then all of it.
    for t in place(40.0).outside_c():
        over = t + approach - supply
        taken = min(max(over / rise, 0.0), 1.0)
        work.append(taken * max(over, lift_floor) / (0.5 * (supply + 273.15)))
        speed = max(min(approach / max(supply - t, approach), 1.0), 0.4)
        fan.append(0.02 * (1.0 + work[-1]) * speed**3)
    assert plant.chiller == pytest.approx(removed * np.mean(work), rel=1e-9)
    assert plant.rejection == pytest.approx(removed * np.mean(fan), rel=1e-9)
    assert plant.pue == pytest.approx(np.mean(plant.pue_by_month), rel=1e-12)


def test_climate_has_the_mean_and_the_spread_that_it_was_given() -> None:
    year = SiteNumbers("x", 12.0, 8.0, 4.0, 3.0, 0.0, 0.0, "").outside_c()
    assert year.mean() == pytest.approx(12.0)
    # A sine of amplitude a has variance a²/2.
    assert year.var() == pytest.approx(8**2 / 2 + 4**2 / 2 + 3**2, rel=1e-9)


def test_racks_under_the_limits_of_air(values: Values) -> None:
    packed = pack(values, "air", 100, 10_200.0)
    assert (packed.nodes_per_rack, packed.count, packed.limited_by) == (2, 50, "heat")
    assert packed.rack_w <= 30e3
    roomy = pack(values, "direct-to-chip", 101, 10_200.0)
    assert (roomy.nodes_per_rack, roomy.count, roomy.limited_by) == (4, 26, "space")
    hot = pack(values, "air", 10, 132e3)
    assert not hot.fits
    assert "direct-to-chip" in hot.problems[0]
    assert needed_class(values, 20e3) == "air"
    assert needed_class(values, 1e6) == ""


def test_envelope_and_its_margin(values: Values) -> None:
    load = ItLoad(FLAT, 10_000, storage_w=0.0)
    inside = answer(values, load, pue=1.25, envelope=27.5e6)
    assert inside["envelope_margin"] == pytest.approx(0.5)
    assert inside["problems"] == []
    outside = answer(values, load, pue=1.25, envelope=11e6)
    assert outside["envelope_margin"] == pytest.approx(-0.25)
    assert answer(values, load)["envelope_margin"] is None


def test_scenario_wins_over_catalog_and_catalog_over_nothing(values: Values) -> None:
    given = Facility(site=Site(name="mine", temperature_c=8.0, carbon_intensity=1e-8, electricity=2e-8))
    mine = site_numbers(values, given, Prices())
    assert (mine.temperature_c, mine.kg_per_j, mine.usd_per_j) == (8.0, 1e-8, 2e-8)
    texas = site_numbers(values, Facility(site="us-texas"), Prices(electricity=0.05 / KWH))
    assert texas.usd_per_j * KWH == pytest.approx(0.05)
    assert texas.kg_per_j * KWH == pytest.approx(0.369473)
    assert "us-texas" in texas.carbon_basis
    assert site_numbers(values, Facility(site="texas"), Prices()).temperature_c == texas.temperature_c
    # A country has carbon and no climate: enough with a PUE of one's own.
    country = site_numbers(values, Facility(site="AFG", pue=1.2), Prices(electricity=0.05 / KWH))
    assert country.temperature_c is None
    with pytest.raises(FactError, match="us-texas"):
        site_numbers(values, Facility(site=Site(name="us-texsa")), Prices())
    with pytest.raises(FactError, match="temperature_c"):
        site_numbers(values, Facility(site=Site(name="nowhere")), Prices())


def test_embodied_carbon_keeps_its_band(values: Values) -> None:
    result = facility(
        values, Facility(), place(), ItLoad(FLAT, 100), PowerPhases(1.0), duration_s=0.95 * 5 * 365.25 * DAY
    )
    # The whole used life of 100 cards, each in a host of its own, and 5 of the building's 14 years.
    building = 100 * 1.1 * 1.03 * 5 / 14  # kW of IT, storage and management included
    assert result["embodied_carbon_kg"] == pytest.approx(
        {
            "low": 1465.0 + 100_000.0 + 250 * building,
            "central": 16_400.0 + 250_000.0 + 500 * building,
            "high": 57_500.0 + 450_000.0 + 1200 * building,
        }
    )


def test_everything_broadcasts_over_draws() -> None:
    drawn = Values(load_catalog().facts).sample(50, seed=2)
    node = node_power(drawn, "DGX-H100", "H100-SXM", 8)
    load = ItLoad(node, 2048, 32, 1e6)
    settings = Facility(site="us-texas", cooling="direct-to-chip", envelope=40e6)
    site = site_numbers(drawn, settings, Prices())
    phases = PowerPhases(np.linspace(5, 8, 50), 0.5, 1.0, 0.5)
    result = facility(drawn, settings, site, load, phases, np.linspace(70, 90, 50) * DAY, np.full(50, 0.95))
    for key in (
        "it_mean_w",
        "facility_mean_w",
        "facility_peak_w",
        "pue",
        "energy_kwh",
        "water_kg",
        "carbon_kg",
    ):
        assert np.shape(result[key]) == (50,), key
        assert np.all(np.isfinite(result[key]) & (result[key] >= 0)), key
    assert np.all(result["pue"] > 1)
    assert np.all(result["facility_peak_w"] > result["facility_mean_w"])
    alone = result["it_mean_w"] * np.linspace(70, 90, 50) * 24 / 1000 * result["pue"]
    assert result["energy_kwh"] == pytest.approx(alone)
