"""Carbon and water of a run: bases, traps, bands, and a published model card."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from argosy.facility import (
    Made,
    SiteNumbers,
    carbon_payload,
    embodied,
    equivalents,
    site_numbers,
    water_payload,
)
from argosy.facility.carbon import intensity, total
from argosy.facts import Values, load_catalog
from argosy.laws import carbon as law
from argosy.spec import CarbonAccount, Facility, Prices, Profile, Site

DAY, YEAR, KWH = 86400.0, 365.25 * 86400.0, 3.6e6
SITE = SiteNumbers("somewhere", 15.0, 10.0, 5.0, 4.0, 0.0826 / KWH, 0.4 / KWH, "test")
NOTHING = Made(0.0, 0.0)

# The Llama 3.1 model card (meta-llama/llama-models@1b28708, models/llama3_1/MODEL_CARD.md): GPU-hours at 700 W, and
# the location-based tonnes of CO2e that it prints.
MODEL_CARD = {"8B": (1.46e6, 420.0), "70B": (7.0e6, 2040.0), "405B": (30.84e6, 8930.0)}


@pytest.fixture(scope="module")
def values() -> Values:
    return Values(load_catalog().facts)


def test_the_model_card_has_one_grid_factor() -> None:
    """Fitted on 405B, the factor of boards at their TDP (no host, no PUE: what the card says it counts) predicts the
    other two within one per cent."""
    hours, tonnes = MODEL_CARD["405B"]
    factor = tonnes * 1e3 / (hours * 0.7)
    assert factor == pytest.approx(0.4136, abs=1e-4)
    for name, (hours, tonnes) in MODEL_CARD.items():
        predicted = law.location_based_kg(hours * 0.7, 1.0, factor) / 1e3
        assert predicted == pytest.approx(tonnes, rel=0.01), name


def test_the_model_card_at_the_wall_means_a_cleaner_grid() -> None:
    """With a whole 10.2 kW node at 76 % and a PUE of 1.08 the same tonnes ask for 275 g/kWh: the boundary is 1.5×."""
    hours, tonnes = MODEL_CARD["405B"]
    at_the_meter = hours * 10.2 / 8 * 0.76 * 1.08
    assert tonnes * 1e3 / at_the_meter == pytest.approx(0.2767, abs=1e-3)


def test_whole_runs_of_the_reference_table(shared_directory: Path) -> None:
    """Rows that state watts, hours and tonnes give the factor that their own source states, or ours."""
    with (shared_directory / "data" / "whole_run_gpu_hours.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["tco2"] and row["power_w_assumed"]]
    assert len(rows) >= 5
    for row in rows:
        kwh = float(row["gpu_hours"]) * float(row["power_w_assumed"]) / 1e3
        factor = float(row["tco2"]) * 1e3 / kwh
        stated = 1.1 * 0.385 if "PUE 1.1, 0.385" in row["notes"] else 0.4136
        assert factor == pytest.approx(stated, rel=0.02), row["model"]


def test_litres_do_not_depend_on_pue_on_site_and_do_at_the_source(values: Values) -> None:
    """WUE is per IT kilowatt-hour: tools that multiply it by PUE overstate by exactly that factor."""
    low, high = (water_payload(values, 0.27, 1e6, pue) for pue in (1.1, 1.5))
    assert low["on_site_litres"] == high["on_site_litres"] == pytest.approx(270_000.0)
    assert 1.5 * low["on_site_litres"] == pytest.approx(405_000.0)  # what the trap would say
    assert high["at_source_litres"] / low["at_source_litres"] == pytest.approx(1.5 / 1.1)
    assert low["at_source_litres"] == pytest.approx(3.14 * 1.1e6)
    assert water_payload(values, 0.27, 1e6, 1.1, tokens=1e9)["litres_per_million_tokens"] == pytest.approx(
        (270_000.0 + 3.454e6) / 1e3
    )


def test_market_based_stands_beside_location_based(values: Values) -> None:
    account = CarbonAccount(matched=0.75, residual=0.5 / KWH)
    result = carbon_payload(values, account, SITE, NOTHING, 1000.0, 1.2, YEAR)
    assert result["location_based"]["kg"] == pytest.approx(480.0)
    assert result["market_based"]["kg"] == pytest.approx(150.0)
    assert result["total_kg"]["central"] == pytest.approx(480.0)
    uncovered = carbon_payload(values, CarbonAccount(), SITE, NOTHING, 1000.0, 1.2, YEAR)
    assert uncovered["market_based"]["kg"] == uncovered["location_based"]["kg"]


def test_an_hourly_profile_of_a_flat_year_is_the_yearly_mean() -> None:
    flat = CarbonAccount(profile=Profile(months=((400.0,) * 24,) * 12))
    assert intensity(flat, SITE, YEAR) == pytest.approx(0.4)
    hours = CarbonAccount(profile=Profile(hours=(0.4,) * 8760, unit="kg/kWh"))
    assert intensity(hours, SITE, 3 * DAY) == pytest.approx(0.4)


def test_a_run_in_summer_meets_the_summers_intensity() -> None:
    """600 g in July, 200 g in all other months; a run of 62 days from July on is half in each."""
    months = tuple((600.0 if month == 7 else 200.0,) * 24 for month in range(1, 13))
    profile = Profile(months=months)
    july, account = replace(SITE, start_month=7), CarbonAccount(profile=profile)
    assert intensity(account, july, 31 * DAY) == pytest.approx(0.6)
    assert intensity(account, july, np.array([31.0, 62.0]) * DAY) == pytest.approx([0.6, 0.4])
    # over a whole year, and from December into the next January
    assert intensity(account, SITE, DAY) == pytest.approx((31 * 0.6 + 334 * 0.2) / 365)
    assert intensity(account, replace(SITE, start_month=12), 62 * DAY) == pytest.approx(0.2)


def test_hours_of_the_day_count_once_each() -> None:
    """A solar day: 100 g from 9 to 17 h, 500 g else, so 8 and 16 hours."""
    day = tuple(100.0 if 9 <= hour < 17 else 500.0 for hour in range(24))
    account = CarbonAccount(profile=Profile(months=(day,) * 12))
    assert intensity(account, SITE, DAY) == pytest.approx((8 * 0.1 + 16 * 0.5) / 24)


def test_a_catalogs_grid_is_uncertain_and_a_given_one_is_not() -> None:
    """0.8 to 1.2 times the catalog's mean hold nine draws of ten; the central answer is the mean itself."""
    catalog = load_catalog().facts
    drawn = Values(catalog).sample(4000, seed=3)
    texas = catalog["regions.us-texas.carbon_intensity"].value / KWH
    intensities = site_numbers(drawn, Facility(site="us-texas"), Prices()).kg_per_j
    assert np.quantile(intensities, [0.05, 0.5, 0.95]) == pytest.approx(
        np.array([0.8, 1.0, 1.2]) * texas, rel=0.02
    )
    assert site_numbers(Values(catalog), Facility(site="us-texas"), Prices()).kg_per_j == pytest.approx(texas)
    own = Facility(site=Site(name="us-texas", carbon_intensity=0.1 / KWH))
    assert site_numbers(drawn, own, Prices()).kg_per_j == 0.1 / KWH


def test_embodied_is_charged_by_a_share_of_a_used_life(values: Values) -> None:
    """A whole used life (5 years at 95 %) of 8 cards in one node is charged in full, with the published band."""
    lines = {line["name"]: line for line in embodied(values, Made(8.0, 1.0), 0.95 * 5 * YEAR)}
    assert lines["accelerators"]["low"] == pytest.approx(8 * 14.65)
    assert lines["accelerators"]["central"] == pytest.approx(8 * 164)
    assert lines["accelerators"]["high"] == pytest.approx(8 * 575)
    assert lines["hosts"]["central"] == pytest.approx(2500)
    assert lines["network"]["central"] == lines["storage"]["central"] == 0.0
    everything = Made(8.0, 1.0, switches=2.0, storage_bytes=1e15, building_w=10e3)
    summed = total(embodied(values, everything, 0.95 * 5 * YEAR))
    assert summed["central"] == pytest.approx(8 * 164 + 2500 + 2 * 600 + 1000 * 30 + 10 * 500 * 5 / 14)
    assert summed["low"] < summed["central"] < summed["high"]


def test_households_are_counted_with_their_definition(values: Values) -> None:
    """24 MW for a year are 210 GWh: 19,600 households of 10,700 kWh, a town of 49,000 people."""
    result = equivalents(values, "us", 24e3 * 8760.0, 365 * DAY)
    assert result["households"] == pytest.approx(24e3 * 8760 / 10_700, rel=1e-3)
    assert result["towns"] == pytest.approx(result["households"] * 2.5 / 10_000)
    assert "10,700 kWh" in result["household"] and "2.5" in result["town"]
    assert (
        equivalents(values, "cn", 24e6, DAY)["households"]
        > equivalents(values, "us", 24e6, DAY)["households"]
    )


def test_everything_broadcasts(values: Values) -> None:
    drawn = Values(load_catalog().facts).sample(20, seed=1)
    kwh, pue, seconds = np.full(20, 1e6), np.linspace(1.1, 1.3, 20), np.linspace(70, 90, 20) * DAY
    carbon = carbon_payload(drawn, CarbonAccount(), SITE, Made(64.0, 8.0, 4.0), kwh, pue, seconds, tokens=1e9)
    assert np.shape(carbon["total_kg"]["high"]) == (20,)
    assert np.shape(water_payload(drawn, np.full(20, 0.2), kwh, pue)["total_litres"]) == (20,)
