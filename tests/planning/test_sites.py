"""The same plan at many sites: what a site changes, and what it does not."""

from __future__ import annotations

import numpy as np
import pytest

import argosy
from argosy.facts import FactError, Values, load_catalog
from argosy.planning.sites import RANKS, compare_sites, known_sites, latencies

SCENARIO = """
name: small
fleet: {accelerator: H100-SXM, count: 256}
facility: {site: us-texas}
training: {name: pretrain, model: llama-3.1-8b, tokens: 1e11, sequence_length: 8192, global_batch: 2 Mtok}
"""


@pytest.fixture(scope="module")
def answer() -> dict:
    return compare_sites(argosy.loads(SCENARIO), ["norway", "us-texas", "singapore"], draws=200)


def rows(answer: dict) -> dict[str, dict]:
    return {row["site"]: row for row in answer["sites"]}


def test_the_own_site_is_the_plan(answer: dict) -> None:
    plan = argosy.plan(argosy.loads(SCENARIO), draws=200).to_dict()
    own = rows(answer)["us-texas"]
    assert own["total_usd"]["nominal"] == pytest.approx(plan["cost"]["total_usd"], rel=1e-12)
    assert own["carbon_kg"] == pytest.approx(plan["facility"]["carbon_kg"], rel=1e-12)
    assert own["pue"] == pytest.approx(plan["facility"]["pue"], rel=1e-12)
    assert own["share_of_draws_cheaper_than_own"] is None


def test_carbon_is_energy_times_the_grid(answer: dict) -> None:
    facts = load_catalog().facts
    for name, row in rows(answer).items():
        grid = facts[f"regions.{name}.carbon_intensity"].value
        assert row["carbon_kg"] == pytest.approx(row["energy_kwh"] * grid)
        assert row["electricity_usd"] == pytest.approx(row["energy_kwh"] * row["electricity_usd_per_kwh"])


def test_a_warmer_site_needs_more_cooling(answer: dict) -> None:
    site = rows(answer)
    assert site["norway"]["pue"] < site["us-texas"]["pue"] < site["singapore"]["pue"]
    assert (
        site["norway"]["share_of_draws_cheaper_than_own"]
        > 0.5
        > site["singapore"]["share_of_draws_cheaper_than_own"]
    )


@pytest.mark.parametrize("rank", RANKS)
def test_ranking_is_in_order(rank: str) -> None:
    ranked = compare_sites(argosy.loads(SCENARIO), ["iceland", "india", "us-iowa"], rank, draws=100)
    figures = [RANKS[rank](row) for row in ranked["sites"]]
    assert figures == sorted(figures)
    assert [row["rank"] for row in ranked["sites"]] == [1, 2, 3]


def test_a_rented_fleet_is_compared_as_if_bought() -> None:
    rented = argosy.loads(SCENARIO + "prices: {accelerator_hour: 2 USD/h, electricity: 0.05 USD/kWh}\n")
    compared = compare_sites(rented, ["norway", "singapore"], draws=100)
    assert len(compared["notes"]) == 2 and "price of electricity" in compared["notes"][1]
    assert len({row["total_usd"]["nominal"] for row in compared["sites"]}) == 2


def test_the_own_site_is_as_the_scenario_says_and_others_are_not() -> None:
    """A dear tariff, a fixed PUE and a flat grid of one's own do not travel."""
    own = (
        "{site: {name: us-texas, carbon_intensity: 0.9 kg/kWh}, pue: 1.9, "
        f"carbon: {{profile: {{months: {[[900] * 24] * 12}}}}}}}"
    )
    text = SCENARIO.replace("{site: us-texas}", own) + (
        "prices: {electricity: 0.3 USD/kWh, tariff: {periods: [{price: 0.5 USD/kWh, hours: [0, 12]}]}}\n"
    )
    plan = argosy.plan(argosy.loads(text), draws=200).to_dict()
    compared = compare_sites(argosy.loads(text), ["us-texas", "norway"], draws=200)
    site = rows(compared)
    assert site["us-texas"]["total_usd"]["nominal"] == pytest.approx(plan["cost"]["total_usd"], rel=1e-12)
    assert site["us-texas"]["carbon_kg_per_kwh"] == pytest.approx(0.9) and site["us-texas"]["pue"] == 1.9
    assert site["norway"]["pue"] < 1.3 and site["norway"]["carbon_kg_per_kwh"] < 0.05
    assert site["norway"]["electricity_usd"] == pytest.approx(site["norway"]["energy_kwh"] * 0.06)
    assert all(word in compared["notes"][0] for word in ("times of use", "fixed PUE", "carbon"))


def test_a_place_of_ones_own_is_compared_too() -> None:
    own = (
        "{site: {name: our-hall, temperature_c: 9, carbon_intensity: 0.1 kg/kWh, electricity: 0.04 USD/kWh}}"
    )
    compared = compare_sites(argosy.loads(SCENARIO.replace("{site: us-texas}", own)), draws=100)
    site = rows(compared)["our-hall"]
    assert compared["own_site"] == "our-hall" and site["electricity_usd_per_kwh"] == pytest.approx(0.04)
    assert len(compared["sites"]) == 1 + len(known_sites(Values(load_catalog().facts)))


def test_many_sites_are_known() -> None:
    names = known_sites(Values(load_catalog().facts))
    assert len(names) >= 15
    assert all(load_catalog().facts[f"regions.{name}.latitude"].unit == "ratio" for name in names)


def test_latency_is_distance_over_light() -> None:
    """Frankfurt to Singapore is about 10,270 km; light in fibre takes 4.9 µs a kilometre, the route is longer by half."""
    table = latencies(Values(load_catalog().facts), ["germany", "singapore", "USA"])
    assert table[0][1] == pytest.approx(10_270 * 4.9e-6 * 1.5, rel=0.01)
    assert table[0][0] == 0.0 and table[0][1] == table[1][0]
    assert table[0][2] is None  # a country without coordinates
    assert np.shape(table) == (3, 3)


def test_what_cannot_be_compared_is_said() -> None:
    scenario = argosy.loads(SCENARIO)
    with pytest.raises(FactError, match="singapore"):
        compare_sites(scenario, ["sigapore"], draws=100)
    with pytest.raises(FactError, match="no temperature"):
        compare_sites(scenario, ["Aruba"], draws=100)
    with pytest.raises(FactError, match="write one of usd"):
        compare_sites(scenario, ["norway"], "price", draws=100)
    undividable = argosy.loads(SCENARIO.replace("2 Mtok", "2 Mtok, layout: {tp: 64}"))
    with pytest.raises(FactError, match="does not run anywhere"):
        compare_sites(undividable, ["norway"], draws=100)
    tiny = argosy.loads(SCENARIO.replace("llama-3.1-8b", "llama-3.1-405b").replace("256", "8"))
    assert compare_sites(tiny, ["norway"], draws=100)["verdict"]["status"] == "infeasible"


def test_direct_intensities_are_compared_with_each_other() -> None:
    """Where carbon is counted at the chimney, sites without such a figure are left out, or refused by name."""
    direct = argosy.loads(SCENARIO.replace("{site: us-texas}", "{site: us-texas, carbon: {basis: direct}}"))
    compared = compare_sites(direct, draws=100)
    facts = load_catalog().facts
    assert all(f"regions.{row['site']}.carbon_intensity_direct" in facts for row in compared["sites"])
    with pytest.raises(FactError, match="carbon_intensity_direct"):
        compare_sites(direct, ["norway"], draws=100)
