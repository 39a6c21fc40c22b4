"""The year at a site: the table's shape, the facts' mean, humidity that dries out in the afternoon."""

import numpy as np
import pytest

from argosy.facility import SiteNumbers, overhead, site_numbers
from argosy.facility.climate import MONTHS, PER_MONTH, shape_of, shapes
from argosy.facts import Values, load_catalog
from argosy.spec import Facility, Prices

KWH = 3.6e6


@pytest.fixture(scope="module")
def values() -> Values:
    return Values(load_catalog().facts)


def months(site: SiteNumbers) -> np.ndarray:
    return site.outside_c().reshape(MONTHS, PER_MONTH).mean(axis=1)


def test_every_site_of_the_catalog_with_a_climate_has_its_months(values: Values) -> None:
    known = {entry.name for entry in load_catalog().section("regions") if "seasonal_amplitude" in entry.facts}
    assert known == set(shapes())
    for name in known:
        site = site_numbers(values, Facility(site=name), Prices())
        by_month = months(site)
        assert by_month.mean() == pytest.approx(site.temperature_c, abs=1e-9)
        assert np.ptp(by_month) == pytest.approx(2 * site.seasonal_c, abs=1e-9)
        assert (site.humidity + site.shape.humidity).min() >= 0.05
        assert (site.humidity + site.shape.humidity).max() <= 1.0


def test_summer_is_in_july_in_texas_and_the_table_agrees_with_the_facts(values: Values) -> None:
    """The printed months of Dallas, which the table holds, against the facts of the region."""
    texas = site_numbers(values, Facility(site="us-texas"), Prices())
    assert int(np.argmax(months(texas))) in (6, 7)
    assert months(texas) == pytest.approx([8, 10, 14, 19, 23, 28, 30, 30, 26, 20, 14, 9], abs=0.6)
    assert shape_of("nowhere").temperature.argmax() == 6


def test_the_scenario_moves_the_year_and_keeps_its_shape(values: Values) -> None:
    given = Facility(site={"name": "us-texas", "temperature_c": 9.0, "humidity": 0.4})
    cold = site_numbers(values, given, Prices())
    texas = site_numbers(values, Facility(site="us-texas"), Prices())
    assert months(texas) - months(cold) == pytest.approx(np.full(12, texas.temperature_c - 9.0))
    assert cold.humidity == 0.4


def test_wet_bulbs_lie_between_dew_point_and_air(values: Values) -> None:
    singapore = site_numbers(values, Facility(site="singapore"), Prices())
    arizona = site_numbers(values, Facility(site="us-arizona"), Prices())
    for site in (singapore, arizona):
        assert np.all(site.wet_bulb_c() <= site.outside_c() + 1e-9)
    # Deserts gain from evaporation, the tropics hardly.
    gain = [float((site.outside_c() - site.wet_bulb_c()).mean()) for site in (singapore, arizona)]
    assert gain[1] > 2.5 * gain[0]
    assert singapore.wet_bulb_c().mean() == pytest.approx(25.0, abs=1.0)


@pytest.mark.parametrize("cooling", ["air", "rear-door", "direct-to-chip", "immersion"])
def test_evaporation_saves_power_and_costs_water(values: Values, cooling: str) -> None:
    site = site_numbers(values, Facility(site="us-arizona"), Prices())
    dry = overhead(values, cooling, site, 0.05)
    wet = overhead(values, cooling, site, 0.05, heat_rejection="evaporative")
    assert wet.pue < dry.pue
    assert dry.litres_per_it_kwh == 0
    # Never more than a tower that evaporates all heat all year, never less than nothing.
    assert 0 < wet.litres_per_it_kwh < 3.6e6 / 2.43e6 * 4 / 3 * wet.pue


def test_part_load_slows_the_fans(values: Values) -> None:
    site = site_numbers(values, Facility(site="norway"), Prices())
    full, half, little = (overhead(values, "air", site, 0.05, share) for share in (1.0, 0.5, 0.1))
    # Half the heat at half the speed takes an eighth of the power: a quarter per watt of IT.
    assert half.fans / full.fans == pytest.approx(0.25)
    # Below the floor the fans turn at 40 % whatever the load: per watt of IT that grows again.
    assert little.fans / full.fans == pytest.approx(0.4**3 / 0.1)
    assert half.pue < full.pue


def test_warmer_supply_needs_less_chilling(values: Values) -> None:
    site = site_numbers(values, Facility(site="us-texas"), Prices())
    pues = [overhead(values, "direct-to-chip", site, 0.05, supply_c=c).chiller for c in (25.0, 32.0, 40.0)]
    assert pues == sorted(pues, reverse=True)
    months_hot = overhead(values, "air", site, 0.05)
    assert int(np.argmax(months_hot.pue_by_month)) in (6, 7)
    assert months_hot.hottest >= months_hot.plant_by_month.max()
    assert 0 <= months_hot.free_cooling_share + months_hot.partial_share <= 1


def test_evaporative_cooling_by_hand(values: Values) -> None:
    """Hour by hour in Singapore: the wet bulb plus 6 K where the air plus 8 K is too warm, and the water of what leaves."""
    site = site_numbers(values, Facility(site="singapore"), Prices())
    plant = overhead(values, "air", site, 0.05, heat_rejection="evaporative")
    heat, work, litres = 1.05 * 1.04, [], []
    for dry, wet in zip(site.outside_c(), site.wet_bulb_c(), strict=True):
        evaporates = dry + 8.0 > 24.0
        over = (wet + 6.0 if evaporates else dry + 8.0) - 24.0
        work.append(min(max(over / 10.0, 0.0), 1.0) * max(over, 10.0) / (0.5 * 297.15))
        litres.append((1 + work[-1]) * 3.6e6 / 2.43e6 * 4 / 3 if evaporates else 0.0)
    assert plant.chiller == pytest.approx(heat * np.mean(work), rel=1e-9)
    assert plant.litres_per_it_kwh == pytest.approx(heat * np.mean(litres), rel=1e-9)
