"""Money: lines that sum, nothing counted twice, and anchors worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from argosy.facility import Asset, Capital, SiteNumbers, Usage, capital, cost, owned, rented
from argosy.facility.capital import node_price, price_basis
from argosy.facility.cost import running_costs
from argosy.facts import FactError, Values, load_catalog
from argosy.spec import Period, Prices, Tariff

HOUR, DAY, YEAR, KWH = 3600.0, 86400.0, 365.25 * 86400.0, 3.6e6
SITE = SiteNumbers("somewhere", 15.0, 10.0, 5.0, 4.0, 0.0826 / KWH, 0.4 / KWH, "test")


@pytest.fixture(scope="module")
def values() -> Values:
    return Values(load_catalog().facts)


def usage(hours: Any, duration_s: Any, kwh: Any = 0.0, it_w: Any = 0.0, meter_w: Any = 0.0) -> Usage:
    return Usage("H100-SXM", hours, duration_s, kwh, it_w, meter_w)


def line(result: dict[str, Any], name: str) -> Any:
    return next(row["usd"] for row in result["lines"] if row["name"] == name)


def test_rent_includes_power(values: Values) -> None:
    prices = Prices(accelerator_hour=2.0 / HOUR)
    result = cost(values, prices, SITE, None, usage(30.84e6, 80 * DAY, 4e7, 2e7, 2.4e7))
    assert result["total_usd"] == pytest.approx(61.68e6)
    assert result["usd_per_gpu_hour"] == pytest.approx(2.0)
    assert [row["name"] for row in result["lines"]] == ["accelerator rental"]
    assert "power" in result["boundary"]
    with pytest.raises(FactError, match="accelerator_hour"):
        cost(values, Prices(), SITE, None, usage(1.0, DAY))


@pytest.mark.parametrize(
    ("path", "fact"), [("on-demand", "on_demand"), ("reserved-3y", "reserved_3y"), ("spot", "spot")]
)
def test_a_path_takes_the_catalogs_price(values: Values, path: Any, fact: str) -> None:
    result = rented(values, Prices(path=path), usage(1000.0, DAY))
    assert result["usd_per_gpu_hour"] == values.facts[f"prices.H100-SXM.{fact}"].value
    assert path in result["boundary"]


def test_a_path_without_a_price_names_those_there_are(values: Values) -> None:
    with pytest.raises(FactError, match="on-demand"):
        rented(values, Prices(path="spot"), Usage("B200-SXM", 1.0, DAY, 0.0, 0.0, 0.0))
    with pytest.raises(FactError, match=r"write prices\.accelerator_hour"):
        rented(values, Prices(path="spot"), Usage("Ascend-910C", 1.0, DAY, 0.0, 0.0, 0.0))


def test_owning_on_purpose_ignores_the_rent(values: Values) -> None:
    bought = Capital((Asset("accelerators", 48_000.0, 5 * YEAR),))
    prices = Prices(path="own", accelerator_hour=2.0 / HOUR)
    assert line(cost(values, prices, SITE, bought, usage(8766.0, YEAR)), "accelerators") > 0


@pytest.mark.parametrize(
    ("rate", "years", "per_hour"), [(0.0, 5, 1.095), (0.0, 3, 1.825), (0.08, 5, 1.371), (0.08, 3, 2.125)]
)
def test_an_owned_accelerator_of_48000(values: Values, rate: float, years: int, per_hour: float) -> None:
    """Worked by hand for every hour of the year; the catalog's availability is 95 %."""
    bought = Capital((Asset("accelerators", 48_000.0, years * YEAR),))
    result = owned(values, Prices(discount_rate=rate), SITE, bought, usage(8766.0, YEAR))
    assert line(result, "accelerators") / 8766.0 == pytest.approx(per_hour / 0.95, abs=6e-4)


def test_what_is_left_at_the_end_lowers_the_price(values: Values) -> None:
    """8 % over 3 years with 30 % left: 48,000 − 14,400/1.08³ = 36,568.8 is recovered."""
    bought = Capital((Asset("accelerators", 48_000.0, 3 * YEAR, 0.3),))
    result = owned(values, Prices(discount_rate=0.08), SITE, bought, usage(8766.0, YEAR))
    assert line(result, "accelerators") == pytest.approx(36_568.82 * 0.38803351 / 0.95, rel=1e-6)


def test_lines_sum_and_electricity_is_energy_times_price(values: Values) -> None:
    bought = capital(values, Prices(), "DGX-H100", "H100-SXM", 2080, 8, it_peak_w=23e6)
    used = usage(16_640 * 80 * 24.0, 80 * DAY, 3.7e7, 23e6, 28e6)
    result = cost(values, Prices(), SITE, bought, used)
    assert sum(row["usd"] for row in result["lines"]) == pytest.approx(result["total_usd"], rel=1e-12)
    assert line(result, "electricity") == pytest.approx(3.7e7 * 0.0826)
    names = [row["name"] for row in result["lines"]]
    assert len(set(names)) == len(names)
    assert all(row["usd"] > 0 for row in result["lines"] if row["name"] != "spare nodes")


def test_the_exercise_of_ten_thousand_cards(values: Values) -> None:
    """120.45 GWh at 0.6 CNY/kWh cost 72.27 million CNY; at 0.14 USD to the CNY that is 10.1178 million USD."""
    prices = Prices.model_validate({"electricity": "0.6 CNY/kWh"}, context={"rates": {"CNY": 0.14}})
    site = SiteNumbers("somewhere", 15.0, 10.0, 5.0, 4.0, prices.electricity, 0.4 / KWH, "test")
    result = owned(values, prices, site, Capital(()), usage(1.0, 365 * DAY, 120.45e6))
    assert line(result, "electricity") / 0.14 == pytest.approx(72.27e6, rel=1e-12)


def test_capital_uses_given_bills_and_shares_otherwise(values: Values) -> None:
    shares = capital(values, Prices(), "DGX-H100", "H100-SXM", 100, 8, it_peak_w=1e6)
    servers = shares.usd(("accelerators", "hosts"))
    assert servers == pytest.approx(100 * values.facts["nodes.DGX-H100.price"].value)
    assert shares.usd(("accelerators",)) == pytest.approx(servers / 1.64)
    assert shares.network_share() == pytest.approx(0.09)
    assert shares.usd(("power plant", "cooling plant", "building")) == pytest.approx(12e6)
    assert sum(shares.shares().values()) == pytest.approx(1.0)
    given = capital(
        values, Prices(), "DGX-H100", "H100-SXM", 100, 8, 1e6, network_usd=3e6, storage_bytes=1e16
    )
    assert (given.usd(("network",)), given.usd(("storage",))) == (3e6, pytest.approx(1e6))
    spared = capital(values, Prices(), "DGX-H100", "H100-SXM", 100, 8, 1e6, 3e6, 1e16, spare_nodes=2)
    assert (
        spared.usd() - given.usd()
        == pytest.approx(spared.usd(("spare nodes",)))
        == pytest.approx(2 * 310_000)
    )
    with pytest.raises(FactError, match="no price"):
        capital(values, Prices(), None, "no-such-chip", 1, 8, 1.0)


def test_a_chip_that_is_sold_bare_gets_its_server(values: Values) -> None:
    """A node without a price of its own: H100s are priced in a server, a TPU's estimate is of the chip alone."""
    served = node_price(values, "no-such-node", "H100-SXM", 8)
    assert served == pytest.approx(8 * values.facts["prices.H100-SXM.capital"].value)
    bare = node_price(values, None, "TPU-v5p", 4)
    assert bare == pytest.approx(4 * values.facts["prices.TPU-v5p.capital"].value * 1.64)
    assert "server to chips" in price_basis(values, None, "TPU-v5p")
    assert price_basis(values, "DGX-H100", "H100-SXM").startswith("nodes.DGX-H100.price: per node")


def test_each_class_has_its_own_life(values: Values) -> None:
    prices = Prices(
        lifetime=4 * YEAR, network_lifetime=6 * YEAR, plant_lifetime=20 * YEAR, building_lifetime=30 * YEAR
    )
    assets = {a.name: a for a in capital(values, prices, "DGX-H100", "H100-SXM", 10, 8, it_peak_w=1e5).assets}
    years = {name: asset.life_s / YEAR for name, asset in assets.items()}
    assert (years["accelerators"], years["network"], years["power plant"], years["building"]) == (
        4,
        6,
        20,
        30,
    )
    usual = {
        a.name: a for a in capital(values, Prices(), "DGX-H100", "H100-SXM", 10, 8, it_peak_w=1e5).assets
    }
    assert usual["building"].life_s / YEAR == pytest.approx(14)
    assert usual["network"].life_s == usual["hosts"].life_s == 5 * YEAR


def gigawatt(values: Values, years: int) -> tuple[Capital, dict[str, Any]]:
    """1 GW of GB200 racks for a year, written off in a straight line, at three quarters of its power."""
    racks = 1e9 / 132e3
    prices = Prices(lifetime=years * YEAR, discount_rate=0.0)
    bought = capital(values, prices, "GB200-tray", "GB200", 18 * racks, 4, it_peak_w=1e9)
    used = usage(72 * racks * 8766, YEAR, 1e6 * 0.75 * 1.13 * 8766, 1e9, 1.13e9)
    return bought, owned(values, prices, SITE, bought, used)


@pytest.mark.parametrize(("years", "published"), [(3, 12e9), (5, 8.5e9), (7, 7e9)])
def test_a_gigawatt_of_gb200(values: Values, years: int, published: float) -> None:
    """Epoch's yearly cost of 1 GW of IT by lifetime (its hall is ours too; rack prices, power and running costs are
    from other sources)."""
    bought, result = gigawatt(values, years)
    assert bought.usd() == pytest.approx(38e9, rel=0.1)
    assert result["total_usd"] == pytest.approx(published, rel=0.05)


def test_running_costs_of_a_gigawatt_are_what_epoch_counts(values: Values) -> None:
    """0.9 billion USD a year per GW (Epoch); ours are built from staff, maintenance and parts."""
    bought, _ = gigawatt(values, 5)
    assert sum(usd for _, usd in running_costs(values, bought, 1e9)) == pytest.approx(0.9e9, rel=0.25)


def test_demand_charge_and_times_of_use(values: Values) -> None:
    """12 USD per kW and month of 10 MW for a year of held time; a dear evening of five hours on weekdays."""
    evening = Period(price=0.2 / KWH, hours=(16, 21), days="weekdays")
    prices = Prices(tariff=Tariff(periods=(evening,), demand_charge=12.0 / 1e3))
    used = usage(1e6, YEAR, 1e6, 8e6, 10e6)
    result = owned(values, prices, SITE, Capital(()), used)
    assert line(result, "demand charge") == pytest.approx(12 * 10_000 * 12 / 0.95)
    share = 5 / 24 * 5 / 7
    assert line(result, "electricity") == pytest.approx(1e6 * (0.2 * share + 0.0826 * (1 - share)))


def test_draws_go_through() -> None:
    drawn = Values(load_catalog().facts).sample(40, seed=4)
    peak, duration = np.full(40, 1.4e6), np.linspace(10, 20, 40) * DAY
    bought = capital(drawn, Prices(), "DGX-H100", "H100-SXM", 128, 8, it_peak_w=peak)
    used = usage(1024 * duration / HOUR, duration, duration * 0.33, peak, peak)
    result = cost(drawn, Prices(), SITE, bought, used)
    assert np.shape(result["total_usd"]) == (40,)
    assert sum(row["usd"] for row in result["lines"]) == pytest.approx(result["total_usd"])
    assert np.all((result["usd_per_gpu_hour"] > 1.0) & (result["usd_per_gpu_hour"] < 4.0))
