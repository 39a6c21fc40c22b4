"""Owning beside the market, the token, the point of MFU, and what moves the bill."""

from __future__ import annotations

import numpy as np
import pytest

from argosy.facility import (
    Asset,
    Capital,
    SiteNumbers,
    Usage,
    Work,
    cost,
    market,
    spot_interruptions_per_s,
    tco_payload,
    tornado,
)
from argosy.facility.money import per_token, rent_or_buy
from argosy.facts import Values, load_catalog
from argosy.spec import Prices

HOUR, YEAR, KWH = 3600.0, 365.25 * 86400.0, 3.6e6
SITE = SiteNumbers("somewhere", 15.0, 10.0, 5.0, 4.0, 0.0826 / KWH, 0.4 / KWH, "test")
BOUGHT = Capital((Asset("accelerators", 30_000.0, 5 * YEAR), Asset("network", 10_000.0, 5 * YEAR)))
USED = Usage("H100-SXM", 8766.0, YEAR, 11_000.0, 1100.0, 1300.0)


@pytest.fixture(scope="module")
def values() -> Values:
    return Values(load_catalog().facts)


def test_the_bill_is_the_plans_own(values: Values) -> None:
    paid = cost(values, Prices(), SITE, BOUGHT, USED)
    tco = tco_payload(values, Prices(), SITE, BOUGHT, paid, USED)
    assert tco["lines"] == paid["lines"] and tco["usd_per_gpu_hour"] == paid["usd_per_gpu_hour"]
    assert tco["owned"]["total_usd"] == paid["total_usd"]
    assert tco["capital"]["network_share_of_hardware"] == pytest.approx(0.25)
    assert sum(asset["share"] for asset in tco["capital"]["assets"]) == pytest.approx(1.0)


def test_rent_is_paid_and_owning_stands_beside_it(values: Values) -> None:
    prices = Prices(accelerator_hour=2.0 / HOUR)
    paid = cost(values, prices, SITE, BOUGHT, USED)
    tco = tco_payload(values, prices, SITE, BOUGHT, paid, USED)
    assert tco["total_usd"] == pytest.approx(2.0 * 8766)
    assert tco["owned"]["total_usd"] != tco["total_usd"]
    assert tco_payload(values, prices, SITE, None, paid, USED)["owned"] is None


def test_market_prices_have_band_date_and_source(values: Values) -> None:
    rows = market(values, "H100-SXM")
    assert {row["path"] for row in rows} == {"on-demand", "contract", "reserved-1y", "reserved-3y", "spot"}
    assert all(row["low"] <= row["usd_per_gpu_hour"] <= row["high"] for row in rows)
    assert all(row["verified"] and row["source"] for row in rows)


def test_the_market_has_a_history(values: Values) -> None:
    rented = {row["path"]: row["history"] for row in market(values, "A100-80GB-SXM")}
    years = [row["year"] for row in rented["on-demand"]]
    assert years == sorted(years) and years[0] == 2022
    assert all(row["low"] <= row["usd"] <= row["high"] for rows in rented.values() for row in rows)
    assert market(values, "H200-SXM")[0]["history"][-1]["kind"]  # of how many listings


def test_from_which_use_on_owning_is_cheaper(values: Values) -> None:
    """1.90 an hour at 95 % use, 0.10 of it electricity: 1.71 an hour whether it is used or not. Rented at 2.95, owning
    pays from 1.71/2.85 = 60 % of the hours; checked by the price at that use, and at each rent."""
    own = {
        "usd_per_gpu_hour": 1.90,
        "lines": [{"name": "hosts", "usd": 1800.0}, {"name": "electricity", "usd": 100.0}],
    }
    rows = {
        row["path"]: row for row in rent_or_buy(values, own, Usage("H100-SXM", 1000.0, HOUR, 0.0, 0.0, 0.0))
    }
    assert rows["on-demand"]["break_even_use"] == pytest.approx(0.6)
    assert rows["spot"]["break_even_use"] > 1  # never
    for row in rows.values():
        assert 1.80 * 0.95 / row["break_even_use"] + 0.10 == pytest.approx(row["rent_usd_per_gpu_hour"])


def test_a_million_tokens_carries_every_loss() -> None:
    """1,000 GPU-hours at 2 USD for a billion tokens: 2 USD per million, 1.80 if nothing failed (90 % goodput)."""
    paid = {"total_usd": 2000.0, "usd_per_gpu_hour": 2.0}
    used = Usage("H100-SXM", 1000.0, HOUR, 0.0, 0.0, 0.0)
    result = per_token(paid, used, Work(1e9, 0.9, 0.40))
    assert result["usd_per_million_tokens"] == pytest.approx(2.0)
    assert result["usd_per_million_tokens_if_nothing_failed"] == pytest.approx(1.8)
    # from 40 to 41 % of MFU the same work takes 40/41 of the hours
    assert result["usd_saved_by_one_point_of_mfu"] == pytest.approx(2000.0 / 41)


def test_amounts_in_another_currency_keep_its_rate_and_date(values: Values) -> None:
    given = {"CNY": {"usd": 0.14, "date": "2026-11-28", "source": "central bank"}}
    file = {"accelerator_hour": "14 CNY/h", "currencies": given, "show_in": "CNY"}
    prices = Prices.model_validate(file, context={"file": True, "rates": {"CNY": 0.14}})
    assert prices.accelerator_hour == pytest.approx(14 * 0.14 / HOUR)
    shown = tco_payload(values, prices, SITE, BOUGHT, cost(values, prices, SITE, BOUGHT, USED), USED)[
        "in_currency"
    ]
    assert shown["per_gpu_hour"] == pytest.approx(14.0)
    assert (shown["currency"], shown["date"], shown["source"]) == ("CNY", "2026-11-28", "central bank")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"accelerator_hour": "14 CNY/h"}, "no exchange rate"),
        ({"currencies": {"XYZ": {"usd": 1.0, "date": "2026-11-28"}}}, "write one of CNY"),
        ({"currencies": {"CNY": {"usd": 0.14}}}, "date"),
        (
            {"currencies": {"CNY": {"usd": 0.14, "date": "yesterday"}}},
            "is no day; write for example 2026-11-28",
        ),
        ({"show_in": "EUR"}, "has no rate"),
        ({"tariff": {"periods": [{"price": "0.2 USD/kWh", "hours": [5, 5]}]}}, "no part of a day"),
    ],
)
def test_what_is_wrong_with_prices_is_said(given: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Prices.model_validate(given, context={"file": True})


def test_spot_nodes_are_taken_back_and_others_are_not(values: Values) -> None:
    assert spot_interruptions_per_s(values, Prices()) == 0.0
    assert spot_interruptions_per_s(values, Prices(path="spot")) * 86400 == pytest.approx(0.05)
    assert spot_interruptions_per_s(values, Prices(path="spot", spot_interruptions=1e-6)) == 1e-6


def test_a_tornado_is_one_fact_at_a_time(values: Values) -> None:
    """Against each end evaluated by itself."""
    paths = ["facility.money.availability", "nodes.DGX-H100.price", "prices.capital.residual_3y"]

    def answer(numbers: Values) -> object:
        return numbers[paths[1]] / numbers[paths[0]] * np.sqrt(numbers[paths[2]])

    rows = tornado(values, answer)
    assert [row["fact"] for row in rows] != [] and {row["fact"] for row in rows} == set(paths)
    central = 310_000 / 0.95 * 0.3**0.5
    price = next(row for row in rows if row["fact"] == paths[1])
    assert (price["low"], price["high"]) == (250_000, 375_000)
    assert price["effect_low"] == pytest.approx(central * (250 / 310 - 1))
    assert price["effect_high"] == pytest.approx(central * (375 / 310 - 1))
    sizes = [max(abs(row["effect_low"]), abs(row["effect_high"])) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert tornado(values, lambda numbers: numbers["nodes.DGX-H100.power_nameplate"]) == []
