"""Boards held by their power: whose clock follows from the limit, what attention keeps, and what no draw may beat."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training_fixtures import h100

from argosy.facts import Values, load_catalog
from argosy.training import (
    Device,
    Job,
    Layouts,
    Stack,
    bounded_residual,
    ceiling_seconds,
    device_facts,
    evaluate,
    kernels,
)

VALUES = Values({**load_catalog().facts, **device_facts()})


def at_power(watts: float) -> Device:
    """A Hopper of the reference board's silicon at another limit."""
    return Device.from_values(VALUES, "H100-SXM", power=watts)


def test_the_clock_solves_the_power_balance():
    """Static watts and dynamic ones at the clock's cube add up to the limit, relative to the reference board."""
    full = at_power(700.0).sustained_clock
    static = 0.25 * 700.0
    for watts in (300.0, 500.0, 650.0):
        clock = at_power(watts).sustained_clock / full
        assert static + (700.0 - static) * clock**3 == pytest.approx(watts, rel=1e-6)


def test_limits_of_the_power_law():
    board = replace(h100(), power_room=0.5)
    assert board.at(0.8, 1.0).sustained_clock == pytest.approx(0.4)  # voltage at its floor: linear
    assert board.at(0.8, 1e9).sustained_clock == pytest.approx(0.8)  # power free of the clock
    assert replace(h100(), power_room=40.0).at(0.8, 3.0).sustained_clock == 1.0


def test_boards_of_one_generation_are_ordered_by_their_watts():
    rates = [
        float(device.peak("bf16") * device.curves.gemm["bf16"].ceiling)
        for device in (Device.from_values(VALUES, name) for name in ("B200-SXM", "GB200", "GB300"))
    ]
    assert rates == sorted(rates)
    exponent = VALUES["training.power_exponent.blackwell"]
    assert rates[0] / rates[1] == pytest.approx(
        (700 / 900) ** (1 / exponent), rel=1e-6
    )  # 1,000 and 1,200 W, 300 static


def test_a_board_without_published_power_keeps_its_generations_clock():
    silent = {path: fact for path, fact in VALUES.facts.items() if path != "accelerators.B200-SXM.power_cap"}
    device = Device.from_values(Values(silent), "B200-SXM")
    assert device.sustained_clock == VALUES["training.sustained_clock.blackwell"]


@settings(deadline=None)
@given(busy=st.floats(0.05, 1.0), clock=st.floats(0.3, 1.0), exponent=st.floats(1.0, 4.0))
def test_less_busy_work_runs_no_slower_and_never_beyond_the_boost(busy, clock, exponent):
    device = h100(sustained_clock=clock, power_exponent=exponent)
    assert clock <= device.clock(busy) <= 1.0
    assert device.clock(1.0) == pytest.approx(clock)


def test_attention_is_slowed_less_than_products():
    slow, fast = (h100(sustained_clock=clock) for clock in (0.6, 0.9))
    products = [kernels.gemm_time(d, 8192, 8192, 8192) for d in (slow, fast)]
    attention = [kernels.attention_time(d, 1, 16384, 16384, 32, 8, 128, 128) for d in (slow, fast)]
    assert products[0] / products[1] > attention[0] / attention[1] > 1


def test_no_draw_beats_the_kernels(small, network):
    device, stack = h100(), Stack.preset("megatron-core")
    steps = evaluate(Job(small, 4096, 64), device, network, stack, Layouts.one(dp=64))
    floor = ceiling_seconds(device, steps)
    assert 0 < floor < steps.step_s
    factors = bounded_residual(np.array([0.01, 1.0, 3.0]), device, steps)
    assert factors[0] == pytest.approx(floor / steps.step_s) and factors[1:].tolist() == [1.0, 3.0]
    best = max(c.ceiling for c in device.curves.gemm.values())
    assert steps.mfu["parameters_only"] / factors[0] <= best
