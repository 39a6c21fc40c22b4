"""Cooling laws against figures worked by hand and an energy balance."""

import numpy as np
import pytest

from argosy.laws import cooling as law


def test_pue_and_what_a_better_one_saves() -> None:
    assert law.power_usage_effectiveness(10e6, 5.8e6) == pytest.approx(1.58)
    assert law.power_usage_effectiveness(1.0, 0.0) == 1.0
    # 15.8 MW against 10.6 MW for the same 10 MW of IT.
    assert law.pue_saving(1.58, 1.06) == pytest.approx(1 - 10.6 / 15.8)


def test_airflow_for_thirty_kilowatts() -> None:
    flow = law.airflow_m3_per_s(30e3, 15.0)
    assert flow == pytest.approx(1.658374792703151)
    # The air so moved, warmed by 15 K, carries the heat away again.
    assert flow * 1.2 * 1005.0 * 15.0 == pytest.approx(30e3)


def test_liquid_flow() -> None:
    # A litre a second of water warmed by 10 K carries 41.86 kW.
    assert law.liquid_flow_kg_per_s(41.86e3, 10.0) == pytest.approx(1.0)


def test_chiller_against_the_carnot_cycle() -> None:
    # A reversible machine: heat in over work, with entropies equal: Qc/Tc = (Qc + W)/Th.
    cold, hot = 290.15, 310.15
    work = 1.0 * hot / cold - 1.0
    assert law.carnot_fraction_cop(17.0, 37.0, 1.0) == pytest.approx(1 / work)
    assert law.carnot_fraction_cop(17.0, 37.0, 0.5) == pytest.approx(0.5 / work)


def test_water_is_counted_on_the_it_base() -> None:
    # 0.27 litres per IT kWh; the facility's PUE must not enter on site, and must at the source.
    assert law.water_litres(1e6, 0.27) == pytest.approx(270e3)
    assert law.water_at_source_litres(1e6, np.array([1.0, 1.2]), 2.0) == pytest.approx([2.0e6, 2.4e6])
