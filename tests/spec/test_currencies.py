"""Amounts in other currencies: converted by the scenario's own dated rates wherever they stand, refused without one."""

from __future__ import annotations

import pytest

from argosy.spec import ScenarioError, loads

SCENARIO = """
name: small
fleet: {accelerator: H100-SXM, count: 256}
training: {name: pretrain, model: llama-3.1-8b, tokens: 1e11, sequence_length: 8192, global_batch: 2 Mtok}
facility: {site: {name: us-texas, electricity: 0.6 CNY/kWh}}
prices:
  accelerator_hour: 14 RMB/h
  tariff: {demand_charge: 40 CNY/kW, periods: [{price: 0.9 CNY/kWh, hours: [8, 22]}]}
  currencies: {CNY: {usd: 0.14, date: 2026-11-28}, EUR: {usd: 1.16, date: 2026-11-28}}
capacity: {start: 2027-Q1, demand: {accelerators: 100}, rent: {hour: 2 €/h}}
"""


def test_every_section_reads_them() -> None:
    scenario = loads(SCENARIO)
    assert scenario.facility.site.electricity * 3.6e6 == pytest.approx(0.6 * 0.14)
    assert scenario.prices.accelerator_hour * 3600 == pytest.approx(14 * 0.14)
    assert scenario.prices.tariff.demand_charge * 1e3 == pytest.approx(40 * 0.14)
    assert scenario.prices.tariff.periods[0].price * 3.6e6 == pytest.approx(0.9 * 0.14)
    assert scenario.capacity.rent.hour * 3600 == pytest.approx(2 * 1.16)


def test_one_spelled_in_dollars_is_the_same_scenario() -> None:
    dollars = SCENARIO.replace("14 RMB/h", "1.96 USD/h").replace("2 €/h", "2.32 USD/h")
    assert loads(dollars).hash == loads(SCENARIO).hash


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "14 RMB/h",
            "14 GBP/h",
            "prices.accelerator_hour: '14 GBP/h' is in GBP, .*prices: {currencies: {GBP: {usd: …",
        ),
        ("0.6 CNY/kWh", "80 JPY/kWh", "facility.site.electricity: .*JPY: {usd: …, date: …}"),
        ("usd: 0.14", "usd: free", "currencies.CNY.usd"),
        (
            "{CNY: {usd: 0.14, date: 2026-11-28}, EUR: {usd: 1.16, date: 2026-11-28}}",
            "[CNY, EUR]",
            "prices.currencies",
        ),
    ],
)
def test_what_is_missing_is_said_where_it_is_missed(old: str, new: str, says: str) -> None:
    with pytest.raises(ScenarioError, match=says):
        loads(SCENARIO.replace(old, new))
