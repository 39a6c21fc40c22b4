"""Money: lines that sum, nothing counted twice, and anchors worked by hand."""

import numpy as np
import pytest

from argosy.facility import Capital, SiteNumbers, capital, cost, owned, rented
from argosy.facts import FactError, Values, load_catalog
from argosy.spec import Prices

HOUR, DAY, YEAR, KWH = 3600.0, 86400.0, 365.25 * 86400.0, 3.6e6
SITE = SiteNumbers("somewhere", 15.0, 10.0, 5.0, 4.0, 0.0826 / KWH, 0.4 / KWH, "test")


@pytest.fixture(scope="module")
def values() -> Values:
    return Values(load_catalog().facts)


def line(result: dict, name: str) -> float:
    return next(row["usd"] for row in result["lines"] if row["name"] == name)


def test_rent_includes_power(values: Values) -> None:
    prices = Prices(accelerator_hour=2.0 / HOUR)
    result = cost(values, prices, SITE, None, 30.84e6, 80 * DAY, 4e7, 2e7)
    assert result["total_usd"] == pytest.approx(61.68e6)
    assert result["usd_per_gpu_hour"] == pytest.approx(2.0)
    assert [row["name"] for row in result["lines"]] == ["accelerator rental"]
    assert "power" in result["boundary"]
    with pytest.raises(FactError, match="accelerator_hour"):
        rented(1.0, Prices())
    with pytest.raises(FactError, match="accelerator_hour"):
        cost(values, Prices(), SITE, None, 1.0, DAY, 1.0, 1.0)


def test_an_owned_accelerator_of_48000(values: Values) -> None:
    # 8 % over 5 years: 1.371 an hour at full availability, by the annuity; the catalog's availability is 95
    # %.
    bought = Capital(48_000.0, 0.0, 0.0, 0.0)
    result = owned(
        values, Prices(discount_rate=0.08, lifetime=5 * YEAR), SITE, bought, 8766.0, YEAR, 0.0, 0.0
    )
    assert result["usd_per_gpu_hour"] == pytest.approx(1.3714 / 0.95, rel=1e-4)
    assert result["total_usd"] == line(result, "accelerators and hosts")


def test_lines_sum_and_electricity_is_energy_times_price(values: Values) -> None:
    bought = capital(values, "DGX-H100", "H100-SXM", 2080, 8, it_peak_w=23e6)
    result = cost(values, Prices(), SITE, bought, 16_640 * 80 * 24.0, 80 * DAY, 3.7e7, 23e6)
    assert sum(row["usd"] for row in result["lines"]) == pytest.approx(result["total_usd"], rel=1e-12)
    assert line(result, "electricity") == pytest.approx(3.7e7 * 0.0826)
    names = [row["name"] for row in result["lines"]]
    assert len(set(names)) == len(names)
    assert all(row["usd"] > 0 for row in result["lines"])


def test_capital_uses_given_bills_and_shares_otherwise(values: Values) -> None:
    shares = capital(values, "DGX-H100", "H100-SXM", 100, 8, it_peak_w=1e6)
    assert shares.servers_usd == pytest.approx(100 * values.facts["nodes.DGX-H100.price"].value)
    cluster = shares.servers_usd + shares.network_usd + shares.storage_usd
    assert shares.network_usd / cluster == pytest.approx(0.09)
    assert shares.storage_usd / cluster == pytest.approx(0.015)
    given = capital(values, "DGX-H100", "H100-SXM", 100, 8, 1e6, network_usd=3e6, storage_usd=1e6)
    assert (given.network_usd, given.storage_usd) == (3e6, 1e6)
    with pytest.raises(FactError, match="no price"):
        capital(values, None, "no-such-chip", 1, 8, 1.0)


@pytest.mark.parametrize(("years", "published"), [(3, 12e9), (5, 8.5e9), (7, 7e9)])
def test_a_gigawatt_of_gb200(values: Values, years: int, published: float) -> None:
    """Epoch's yearly cost of 1 GW of IT by lifetime, written off in a straight line (its hall and operations
    are ours too; rack prices and power are from other sources)."""
    racks = 1e9 / 132e3
    bought = capital(values, "GB200-tray", "GB200", 18 * racks, 4, it_peak_w=1e9)
    upfront = bought.servers_usd + bought.network_usd + bought.storage_usd + bought.site_usd
    assert upfront == pytest.approx(38e9, rel=0.1)
    prices = Prices(lifetime=years * YEAR, discount_rate=0.0)
    used_kwh = 1e6 * 0.75 * 1.13 * 8766
    result = owned(values, prices, SITE, bought, 72 * racks * 8766, YEAR, used_kwh, 1e9)
    assert result["total_usd"] == pytest.approx(published, rel=0.08)


def test_draws_go_through() -> None:
    drawn = Values(load_catalog().facts).sample(40, seed=4)
    bought = capital(drawn, "DGX-H100", "H100-SXM", 128, 8, it_peak_w=np.full(40, 1.4e6))
    duration = np.linspace(10, 20, 40) * DAY
    result = cost(
        drawn, Prices(), SITE, bought, 1024 * duration / HOUR, duration, duration * 0.33, np.full(40, 1.4e6)
    )
    assert np.shape(result["total_usd"]) == (40,)
    assert sum(row["usd"] for row in result["lines"]) == pytest.approx(result["total_usd"])
    assert np.all((result["usd_per_gpu_hour"] > 1.0) & (result["usd_per_gpu_hour"] < 4.0))
