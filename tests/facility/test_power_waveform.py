"""The waveform: energy of the schedule is kept, a square wave has its lines, remedies do what they say and cost it."""

import numpy as np
import pytest

from argosy.facility import (
    ItLoad,
    NodePower,
    PowerPhases,
    StageActivity,
    Stretch,
    decimated,
    drawn_waveform,
    life_power,
    mitigations,
    spectrum,
    step_power,
    waveform,
)
from argosy.facility.mitigation import table
from argosy.facts import Values, load_catalog

NODE = NodePower(2000.0, 8000.0, 10_000.0, 10_000.0, 8)
COMPUTE, COMMUNICATE, IDLE = (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)


@pytest.fixture(scope="module")
def values() -> Values:
    return Values(load_catalog().facts)


def load(nodes: int = 3000) -> ItLoad:
    return ItLoad(NODE, nodes, spare_nodes=10, network_w=1e6, storage_w=0.5e6)


def together(compute_s: float = 1.5, communicate_s: float = 0.5) -> list[StageActivity]:
    edges = np.array([0.0, compute_s, compute_s + communicate_s])
    return [StageActivity(1.0, edges, np.array([COMPUTE, COMMUNICATE]))]


def test_a_step_of_two_stages_by_hand(values: Values) -> None:
    """Half the nodes compute from 0 to 2 s, the other half from 1 to 3 s; else they wait."""
    first = StageActivity(0.5, np.array([0.0, 2.0, 3.0]), np.array([COMPUTE, IDLE]))
    second = StageActivity(0.5, np.array([0.0, 1.0, 3.0]), np.array([IDLE, COMPUTE]))
    line = step_power(values, load(1000), [first, second])
    steady = 10 * 2000 + 1.5e6
    waiting = 2000 + 6000 * 0.2
    want = [500 * 8000 + 500 * waiting, 1000 * 8000, 500 * waiting + 500 * 8000]
    sampled = line.sampled(1.0)
    assert sampled == pytest.approx(steady + np.array(want))


def test_energy_is_that_of_the_phases(values: Values) -> None:
    wave = waveform(values, load(), together())
    phases = PowerPhases(compute_s=1.5, communication_s=0.5)
    assert wave.mean_w == pytest.approx(load().mean_w(values, phases, 1.0), rel=1e-9)
    assert wave.dt_s <= 0.01
    assert wave.dt_s * wave.watts.size == pytest.approx(2.0)
    # Compute to communication: 55 % of the range of every node (less what the lag takes).
    assert wave.swing_w == pytest.approx(3000 * 6000 * 0.55, rel=0.01)


def test_lines_are_those_of_the_square_wave(values: Values) -> None:
    wave = waveform(values, load(), together())
    lines = spectrum(values, wave)
    height, duty, lag = 3000 * 6000 * 0.55, 0.75, 0.02
    for k in (1, 2, 3):
        expected = (
            2 * height / (np.pi * k) * abs(np.sin(np.pi * k * duty)) / np.hypot(1, 2 * np.pi * k * 0.5 * lag)
        )
        assert lines.hz[k - 1] == pytest.approx(k * 0.5)
        assert lines.amplitude_w[k - 1] == pytest.approx(expected, rel=0.01)
    assert lines.dominant_hz == pytest.approx(0.5)
    assert lines.in_band > 0.99
    flat = spectrum(
        values, waveform(values, load(), [StageActivity(1.0, np.array([0.0, 1.0]), np.array([COMPUTE]))])
    )
    assert flat.dominant_hz is None or flat.amplitude_w.max() < 1.0


def test_pipelines_smooth_what_one_stage_does_at_once(values: Values) -> None:
    shifted = [
        StageActivity(0.25, np.array([0.0, 0.5 * k, 0.5 * k + 0.5, 2.0]), np.array([IDLE, COMPUTE, IDLE]))
        for k in range(4)
    ]
    assert waveform(values, load(), shifted).swing_w < 0.02 * waveform(values, load(), together()).swing_w


def test_life_has_its_checkpoint_failure_and_restart(values: Values) -> None:
    wave = waveform(values, load(), together())
    stretches = [
        Stretch("steps", 10.0),
        Stretch("checkpoint", 2.0),
        Stretch("failure", 5.0),
        Stretch("restart", 20.0),
        Stretch("steps", 10.0),
    ]
    watts, marks = life_power(values, load(), wave, stretches)
    assert watts.size == pytest.approx(47.0 / wave.dt_s, abs=3)
    middle = {mark["kind"]: round((mark["start_s"] + mark["end_s"]) / 2 / wave.dt_s) for mark in marks[1:4]}
    steady = 10 * 2000 + 1.5e6
    assert watts[middle["checkpoint"]] == pytest.approx(steady + 3000 * (2000 + 6000 * 0.2), rel=1e-3)
    assert watts[middle["failure"]] == pytest.approx(steady + 3000 * 3200, rel=1e-3)
    assert watts[middle["restart"]] == pytest.approx(steady + 3000 * 2000, rel=1e-3)
    shown = decimated(watts, wave.dt_s, 500)
    assert shown["mean_w"].size <= 500
    assert shown["lowest_w"].min() == watts.min()
    assert shown["highest_w"].max() == watts.max()


def test_remedies_leave_less_swing_and_cost_what_they_take(values: Values) -> None:
    wave = waveform(values, load(), together())
    found = {each.name: each for each in mitigations(values, load(), wave)}
    for name, each in found.items():
        if name != "none":
            if (
                name != "staggering"
            ):  # its waits are deeper than communication: it flattens ramps, not the swing
                assert each.wave.swing_w <= wave.swing_w * (1 + 1e-9), name
            assert each.wave.ramp_w_per_s < wave.ramp_w_per_s, name
    # A floor at 80 %: for a quarter of the time from 45 % of the range + idle up to it.
    top, low = 3000 * 8000.0, 3000 * (2000 + 6000 * 0.45)
    assert found["power floor"].extra_w == pytest.approx(0.25 * (0.8 * top - low), rel=0.02)
    assert found["power floor"].wave.swing_w == pytest.approx(0.2 * top, rel=0.02)
    assert found["dummy load"].slowdown == pytest.approx(0.05)
    # A store gives back what it took, less its losses.
    stored = found["storage"]
    assert stored.wave.mean_w - stored.extra_w == pytest.approx(wave.mean_w, rel=1e-9)
    assert stored.capital_usd == pytest.approx(3000 * 8 * 65 * 0.05)
    # A quarter of the period is 55 % of the range below the top: the mean lies a quarter of that below it, and holds
    # three quarters of it for half a second.
    flat = found["storage that flattens"]
    assert flat.wave.swing_w < 1.0
    assert flat.capital_usd == pytest.approx(0.75 * 3000 * 6000 * 0.55 * 0.5 / 0.94 * 0.05, rel=0.06)
    assert found["staggering"].slowdown == pytest.approx(0.05 / 1.05, rel=0.02)


def test_costs_of_remedies_by_hand(values: Values) -> None:
    wave = waveform(values, load(), together())
    rows = table(values, mitigations(values, load(), wave), 1e6, 1.2, 2e-8, 5e6, ramp_limit_w_per_s=5e6)
    by_name = {row["name"]: row for row in rows}
    assert by_name["none"]["usd"] == 0
    assert by_name["none"]["within_limit"] is False
    floor = by_name["power floor"]
    extra = floor["mean_w"] - by_name["none"]["mean_w"]
    assert floor["extra_kwh"] == pytest.approx(extra * 1.2 * 1e6 / 3.6e6)
    assert floor["usd"] == pytest.approx(extra * 1.2 * 1e6 * 2e-8)
    dummy = by_name["dummy load"]
    assert dummy["usd_parts"]["time"] == pytest.approx(5e6 * (1 / 0.95 - 1))
    assert dummy["extra_kwh"] == pytest.approx(
        (dummy["mean_w"] / 0.95 - by_name["none"]["mean_w"]) * 1.2 * 1e6 / 3.6e6
    )
    assert dummy["within_limit"] is True


def test_activity_must_fit_its_edges() -> None:
    with pytest.raises(ValueError, match="one edge more"):
        StageActivity(1.0, np.array([0.0, 1.0]), np.array([COMPUTE, IDLE]))


def test_draws_are_the_waveforms_of_each_draw(values: Values) -> None:
    """The linear short cut against the waveform computed anew at every draw's own numbers."""
    drawn = Values(load_catalog().facts).sample(6, 3)
    spread = np.linspace(0.8, 1.2, 6)
    many = ItLoad(NodePower(2000.0 * spread, 8000.0 * spread, 10_000.0, 10_000.0, 8), 3000, 10, 1e6, 0.5e6)
    first = StageActivity(0.5, np.array([0.0, 2.0, 3.0]), np.array([COMPUTE, IDLE]))
    second = StageActivity(0.5, np.array([0.0, 1.0, 2.2, 3.0]), np.array([IDLE, COMPUTE, COMMUNICATE]))
    stages = [first, second]
    got = drawn_waveform(drawn, many, stages, waveform(values, load(), stages))
    names = [f"facility.activity.{name}" for name in ("compute", "memory", "communication", "idle")]
    catalog = load_catalog()
    for i, factor in enumerate(spread):
        own = {name: {"value": float(np.ravel(drawn[name])[i % np.size(drawn[name])])} for name in names}
        one = ItLoad(NodePower(2000.0 * factor, 8000.0 * factor, 10_000.0, 10_000.0, 8), 3000, 10, 1e6, 0.5e6)
        want = waveform(Values(catalog.with_overrides(own).facts), one, stages)
        assert got.mean_w[i] == pytest.approx(want.mean_w, rel=1e-9)
        assert got.swing_w[i] == pytest.approx(want.swing_w, rel=1e-9)
        assert got.ramp_1s_w_per_s[i] == pytest.approx(want.ramp_1s_w_per_s, rel=1e-9)
    assert np.ptp(got.swing_w) > 0
