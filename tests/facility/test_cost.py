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


def test_lifetime_dominates(values: Values) -> None:
    bought = capital(values, "GB200-tray", "GB200", 18 * 420, 4, it_peak_w=1e9 / 18)
    per_year = {}
    for years in (3, 5, 7):
        prices = Prices(lifetime=years * YEAR)
        result = owned(values, prices, SITE, bought, 1.0, YEAR, 1e9 / 18 * 8.766, 1e9 / 18)
        per_year[years] = result["total_usd"]
    # One gigawatt of GB200: 12, 8.5 and 7 billion a year were published; the ratios are what lifetime does.
    assert per_year[3] / per_year[5] == pytest.approx(12 / 8.5, rel=0.1)
    assert per_year[7] / per_year[5] == pytest.approx(7 / 8.5, rel=0.1)


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
