"""Published totals against the model, within the band that their sources allow."""

import numpy as np
import pytest

from argosy.facility import ItLoad, PowerPhases, SiteNumbers, building, node_power
from argosy.facts import Values, load_catalog
from argosy.laws import power_cap as law
from argosy.spec import Facility, PowerTree

KWH = 3.6e6
TEXAS = SiteNumbers("us-texas", 19.0, 11.0, 5.0, 4.0, 0.07 / KWH, 0.37 / KWH, "test", 0.65, "us-texas")


@pytest.fixture(scope="module")
def values() -> Values:
    return Values(load_catalog().facts)


def test_epochs_peak_of_a_cluster(values: Values) -> None:
    """Epoch: nameplate of the accelerators · 1.82 · PUE; here from nodes, racks and the tree."""
    node = node_power(values, "DGX-H100", "H100-SXM", 8)
    load = ItLoad(node, 12_500, storage_w=0.0)
    built = building(values, Facility(pue=1.2), TEXAS, load, 1e8)
    assert built.meter_peak_w == pytest.approx(700 * 100_000 * 1.82 * 1.2, rel=0.01)


def test_epochs_mean_of_a_cluster(values: Values) -> None:
    """Epoch: training draws 0.75 of the servers' nameplate; a step that computes for seven tenths of its time."""
    node = node_power(values, "DGX-H100", "H100-SXM", 8)
    step = PowerPhases(compute_s=0.7, memory_s=0.1, communication_s=0.1, idle_s=0.1)
    assert step.node_w(values, node) / node.nameplate_w == pytest.approx(0.75, abs=0.06)


def test_semianalysis_hundred_thousand_gpus(values: Values) -> None:
    """150 MW of IT for 100,000 H100: 1,275 W each and about a tenth for storage, network and management.

    The network here is that of a three-tier fabric with optics, about 96 W per accelerator by the product's own list.
    """
    node = node_power(values, "DGX-H100", "H100-SXM", 8)
    load = ItLoad(node, 12_500, network_w=96.0 * 100_000)
    assert load.peak_w(values) == pytest.approx(150e6, rel=0.08)
    built = building(values, Facility(), TEXAS, load, 0.8 * load.peak_w(values))
    # 1.59 TWh a year on a tariff of nameplate: 181 MW at the meter, between the mean and the peak of this model.
    assert built.mean.meter_w < 1.59e12 / 8760 < built.meter_peak_w


def test_llama_3_swings_by_tens_of_megawatts(values: Values) -> None:
    """24,000 H100 that stop or start together: "tens of megawatts" (The Llama 3 Herd of Models, section 3.3.4)."""
    node = node_power(values, "DGX-H100", "H100-SXM", 8)
    swing = 3000 * (node.measured_w - node.idle_w)
    assert 10e6 < swing < 30e6


def test_max_q_saves_within_the_band_of_the_clock_model() -> None:
    """NVIDIA: up to 15 % of the energy at 97 % of the speed or more, on boards that wait on memory half of the time."""
    drawn = Values(load_catalog().facts).sample(4000, seed=1)
    static, exponent = drawn["cap.model.static_share"], drawn["cap.model.exponent"]
    clock = 0.5 / (1 / 0.97 - 0.5)  # at which half of the step, slowed down, makes it 1/0.97 long
    assert law.speed_at_clock(clock, 0.5) == pytest.approx(0.97)
    energy = law.power_at_clock(clock, 1.0, static, exponent) / 0.97
    low, high = np.quantile(1 - energy, (0.05, 0.95))
    assert low < 0.15 < high
    assert np.median(1 - energy) > 0.05


def test_more_capped_devices_give_what_is_published() -> None:
    """NVIDIA: up to 13 % more throughput of a B200 hall at a cap; here of GB200 trays that compute half of the time."""
    drawn = Values(load_catalog().facts).sample(2000, seed=2)
    whole = node_power(drawn, "GB200-tray", "GB200", 4)
    best = np.zeros(2000)
    for share in np.linspace(0.6, 1.0, 21):
        capped = node_power(drawn, "GB200-tray", "GB200", 4, share * 1200.0)
        speed = law.speed_at_clock(np.minimum(capped.clock, 1.0), 0.5)
        best = np.maximum(best, law.capped_fleet_gain(speed, whole.capped_w, capped.capped_w))
    low, high = np.quantile(best, (0.05, 0.95))
    assert low < 0.13 < high


def test_a_published_hall_is_held_by_a_cap(values: Values) -> None:
    """NVIDIA's sample: 144 trays in 8 racks on 750 kW: four units of 450 kW, 1.6 MW of boards, oversold on purpose."""
    tree = PowerTree(
        utility={"rating": 750e3},
        switchboard={"rating": 1.6e6, "count": 1},
        pdu={"rating": 450e3, "count": 4},
    )
    node = node_power(values, "GB300-tray", "GB300", 4)
    load = ItLoad(node, 144, storage_w=0.0)
    built = building(values, Facility(power_tree=tree, cooling="direct-to-chip"), TEXAS, load, 5e5)
    # The units could carry it; the feed cannot, at the makers' maximum: that is what caps and oversubscription are for.
    assert built.trips_first == "utility"
    assert built.margins["utility"] < 0 < built.margins["pdu"]
    capped = ItLoad(node_power(values, "GB300-tray", "GB300", 4, 400.0), 144, storage_w=0.0)
    held = building(values, Facility(power_tree=tree, cooling="direct-to-chip"), TEXAS, capped, 5e5)
    assert held.margins["utility"] > 0
