"""Power over time: energy is kept, and steps average to what the phases say."""

import numpy as np
import pytest

from argosy.facility import NodePower, PowerPhases, PowerTimeline, step_timeline
from argosy.facts import Values, load_catalog

NODE = NodePower(2000.0, 8000.0, 10_000.0, 10_000.0, 8)


def test_a_step_averages_to_its_phases() -> None:
    values = Values(load_catalog().facts)
    phases = PowerPhases(3.0, 0.5, 1.0, 0.5)
    line = step_timeline(values, NODE, 10, phases, steps=4)
    assert line.edges_s[-1] == pytest.approx(20.0)
    assert line.mean_w == pytest.approx(10 * NODE.at(phases.utilization(values)))
    # From dense kernels to waiting: all of the range but the fifth that waiting keeps.
    assert line.swing_w == pytest.approx(10 * 6000 * 0.8)


def test_sampling_keeps_energy() -> None:
    line = PowerTimeline(np.array([0.0, 1.0, 2.5, 4.0]), np.array([10.0, 40.0, 0.0]))
    assert line.energy_j == pytest.approx(10 + 60)
    sampled = line.sampled(1.0)
    assert sampled == pytest.approx([10.0, 40.0, 20.0, 0.0])
    uneven = line.sampled(1.5)
    assert uneven == pytest.approx([(10 + 20) / 1.5, 40 / 1.5, 0.0])


def test_edges_must_fit() -> None:
    with pytest.raises(ValueError, match="one edge more"):
        PowerTimeline(np.array([0.0, 1.0]), np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="order"):
        PowerTimeline(np.array([0.0, 2.0, 1.0]), np.array([1.0, 2.0]))


@pytest.mark.parametrize("parts", [11, 15, 22, 30, 43, 89])
def test_rounding_makes_no_interval_of_no_length(parts: int) -> None:
    """Whole periods of a third of a second and the like, whose sum misses the end by a bit."""
    for length in (0.1, 1.0 / 3.0, 0.7, 2.9333333333333336):
        line = PowerTimeline(np.array([0.0, length]), np.array([5.0]))
        sampled = line.sampled(length / parts)
        assert sampled.size == parts
        assert np.allclose(sampled, 5.0)
