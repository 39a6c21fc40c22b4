"""Racks under heat, circuit, space, floor and positions; an existing hall says why it does not fit."""

import numpy as np
import pytest

from argosy.facility import Racks, pack
from argosy.facility.packing import airflow_m3_per_s
from argosy.facts import Values, load_catalog
from argosy.spec import Hall


@pytest.fixture(scope="module")
def values() -> Values:
    return Values(load_catalog().facts)


def hall_pack(
    values: Values, cooling: str = "direct-to-chip", per_rack: int | None = None, **limits: object
) -> Racks:
    circuit = limits.pop("circuit", None)
    return pack(values, cooling, 100, 10_200.0, per_rack, circuit, Hall(**limits))


def test_the_tightest_limit_decides(values: Values) -> None:
    assert hall_pack(values).limited_by == "space"
    by_heat = hall_pack(values, rack_cooling=25e3)
    assert (by_heat.limited_by, by_heat.nodes_per_rack, by_heat.count) == ("heat", 2, 50)
    by_circuit = hall_pack(values, circuit=31e3)
    assert (by_circuit.limited_by, by_circuit.nodes_per_rack) == ("circuit", 3)
    # 600 kg/m2 on 0.72 m2 are 432 kg: a frame of 180 and one server of 130 (two would be 440).
    by_floor = hall_pack(values, floor_load_kg_per_m2=600.0)
    assert (by_floor.limited_by, by_floor.nodes_per_rack) == ("floor", 1)
    assert by_floor.mass_kg == pytest.approx(310.0)
    assert all(each.fits for each in (by_heat, by_circuit, by_floor))


def test_a_hall_that_is_too_weak_says_which_limit_and_by_how_much(values: Values) -> None:
    heat = hall_pack(values, rack_cooling=8e3)
    assert not heat.fits
    assert "10 kW is above the 8 kW that a position of the hall can shed" in heat.problems[0]
    circuit = hall_pack(values, circuit=9e3)
    assert "circuit" in circuit.problems[0]
    floor = hall_pack(values, floor_load_kg_per_m2=400.0)
    assert "kg/m2 on a floor of 400" in floor.problems[0]
    positions = hall_pack(values, racks=20)
    assert positions.problems == ("25 racks are needed, the hall has 20 positions",)


def test_a_rack_scale_machine_is_never_split(values: Values) -> None:
    """1.36 t on 0.72 m2 is 1,889 kg/m2: more than the usual raised floor."""
    machine = pack(values, "direct-to-chip", 36, 7_333.0, 18, 100e3, Hall(racks=10))
    assert machine.count == 2
    words = " ".join(machine.problems)
    assert "132 kW is above the 100 kW that its circuit carries" in words
    assert "1,889 kg/m2" in words


def test_airflow_of_the_air_limit(values: Values) -> None:
    """30 kW at 15 K: 1.66 m³/s, 3,500 cubic feet a minute through one door."""
    flow = airflow_m3_per_s(values, 30e3)
    assert flow * 2118.88 == pytest.approx(3514, rel=0.01)
    assert airflow_m3_per_s(values, 132e3, 0.85) == pytest.approx(132e3 * 0.15 / (1.2 * 1005 * 15))


def test_every_hall_of_random_limits_is_kept(values: Values) -> None:
    """A packing without problems breaks no limit, whatever the limits are."""
    random = np.random.default_rng(7)
    for _ in range(200):
        cooling, circuit, floor = (
            random.uniform(5e3, 60e3),
            random.uniform(5e3, 60e3),
            random.uniform(300, 1500),
        )
        packed = pack(
            values,
            "air",
            64,
            10_200.0,
            None,
            circuit,
            Hall(rack_cooling=cooling, floor_load_kg_per_m2=floor, racks=40),
        )
        if packed.fits:
            assert packed.rack_w <= min(cooling, circuit) * (1 + 1e-9)
            assert packed.mass_kg <= floor * 0.72 * (1 + 1e-9)
            assert packed.count <= 40
        else:
            assert packed.problems
