"""Distance against the speed of light; a pipeline over a slow link against its event simulation."""

import numpy as np
import pytest

from argosy.laws import wide_area


def test_fibre_is_two_thirds_of_light():
    assert wide_area.fibre_latency(1e6) == pytest.approx(4.9e-3, rel=0.01)
    assert 0.65 < 1e6 / wide_area.fibre_latency(1e6) / 299_792_458 < 0.70
    assert wide_area.fibre_distance(wide_area.fibre_latency(123.0)) == pytest.approx(123.0)


def test_great_circle_against_the_angle_between_two_vectors():
    """The haversine against the angle of position vectors, and quarters of the globe by hand."""

    def position(latitude, longitude):
        north, east = np.radians(latitude), np.radians(longitude)
        return np.array([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)])

    rng = np.random.default_rng(1)
    for a, b, c, d in zip(*rng.uniform(-85, 85, (2, 20)), *rng.uniform(-180, 180, (2, 20)), strict=True):
        x, y = position(a, c), position(b, d)
        angle = np.arctan2(np.linalg.norm(np.cross(x, y)), x @ y)
        assert wide_area.great_circle(a, c, b, d, 1.0) == pytest.approx(angle)
    quarter = 40_030e3 / 4
    assert wide_area.great_circle(0, 0, 0, 90) == pytest.approx(quarter, rel=1e-3)
    assert wide_area.great_circle(90, 0, 0, 55) == pytest.approx(quarter, rel=1e-3)
    assert wide_area.great_circle(10, 20, 10, 20) == 0.0
    assert wide_area.great_circle(0, 0, 0, 180) == pytest.approx(2 * quarter, rel=1e-3)


def ring_rounds(message: float, sites: int, bandwidth: float, latency: float) -> float:
    """A ring all-reduce played round by round."""
    seconds = 0.0
    for _ in range(sites - 1):  # reduce-scatter
        seconds += latency + message / sites / bandwidth
    for _ in range(sites - 1):  # all-gather
        seconds += latency + message / sites / bandwidth
    return seconds


@pytest.mark.parametrize("sites", [1, 2, 3, 8])
def test_exchange_between_sites_round_by_round(sites: int):
    law = wide_area.cross_site_all_reduce(14e9, sites, 1e9, 0.02)
    assert law == pytest.approx(ring_rounds(14e9, sites, 1e9, 0.02))


def test_forty_milliseconds_do_not_forbid_synchronous_training():
    synchronisation = wide_area.cross_site_all_reduce(14e9, 2, 50e9, 0.04)
    assert wide_area.synchronous_overhead(5.0, synchronisation) < 0.1
    assert wide_area.synchronous_overhead(5.0, synchronisation, overlap=1.0) == 0.0


@pytest.mark.parametrize("overhead", [0.01, 0.05, 0.5])
def test_local_steps_hold_the_overhead_and_no_fewer_do(overhead: float):
    steps = wide_area.local_steps(5.0, 30.0, overhead)
    assert 30.0 / (steps * 5.0 + 30.0) <= overhead + 1e-12
    if steps > 1:
        assert 30.0 / ((steps - 1) * 5.0 + 30.0) > overhead


def test_staleness_counts_whole_steps():
    assert wide_area.staleness_steps(1.0, 0.04, 0.0) == 1
    assert wide_area.staleness_steps(1.0, 0.5, 1.7) == 3
    assert wide_area.staleness_steps(0.1, 0.1, 0.2) == 3  # 0.1 + 0.2 is a little more than 0.3 in binary
    assert wide_area.staleness_steps(0.1, 0.1, 0.2001) == 4


def simulated_pipeline(
    transfer: float, latency: float, forward: float, backward: float, stages: int, micro: int, cut: int
) -> float:
    """All forward passes, then all backward passes, through stages and one link, event by event."""
    end = 0.0
    for duration, order in ((forward, range(stages)), (backward, reversed(range(stages)))):
        stage_free = [end] * stages
        link_free = end
        finished = [end] * micro
        places = list(order)
        crossing = cut if places[0] == 0 else cut - 1  # the stage after which the link lies
        last = end
        for number in range(micro):
            ready = end
            for place in places:
                start = max(ready, stage_free[place])
                ready = stage_free[place] = start + duration
                if place == (cut - 1 if places[0] == 0 else cut):
                    sent = max(ready, link_free) + transfer
                    link_free = sent
                    ready = sent + latency
            finished[number] = ready
            last = max(last, ready)
        assert crossing in places
        end = last
    return end


@pytest.mark.parametrize(
    ("activation", "latency", "forward", "backward", "stages", "micro"),
    [
        (1e6, 0.0, 0.1, 0.2, 4, 8),
        (1e8, 0.02, 0.1, 0.2, 4, 16),
        (3e8, 0.02, 0.1, 0.2, 8, 5),
        (1.5e8, 0.5, 0.1, 0.2, 2, 3),
    ],
)
def test_pipeline_cut_against_its_simulation(activation, latency, forward, backward, stages, micro):
    bandwidth = 1e9
    law = wide_area.pipeline_cut(activation, bandwidth, latency, forward, backward, stages, micro)
    simulated = simulated_pipeline(
        activation / bandwidth, latency, forward, backward, stages, micro, stages // 2
    )
    assert law["step"] == pytest.approx(simulated)


def test_without_a_link_the_bubble_is_the_textbooks():
    law = wide_area.pipeline_cut(0.0, 1e9, 0.0, 0.1, 0.2, 4, np.array([4, 12]))
    assert law["bubble"] == pytest.approx([3 / 7, 3 / 15])
    assert np.all(law["in_flight"] == 0)


@pytest.mark.parametrize(("loss", "per_acknowledgement"), [(0.001, 1), (0.001, 2), (0.01, 1), (0.01, 2)])
def test_a_lossy_connection_against_a_sawtooth_round_by_round(loss, per_acknowledgement):
    """A window that grows by 1/b a round and is halved when 1/p segments have gone: segments per round trip."""
    window, left, sent, rounds = 10.0, 1 / loss, 0.0, 0
    for round_ in range(200_000):
        if round_ >= 100_000:
            sent, rounds = sent + window, rounds + 1
        left -= window
        window += 1 / per_acknowledgement
        if left <= 0:
            window, left = window / 2, left + 1 / loss
    law = wide_area.lossy_bandwidth(1000.0, 0.5, loss, per_acknowledgement)
    assert law == pytest.approx(1000 * sent / rounds / 0.5, rel=0.05)


def test_without_loss_the_law_says_nothing():
    with pytest.raises(ValueError, match="loss"):
        wide_area.lossy_bandwidth(1000.0, 0.1, 0.0)
