"""Jobs drawn from a scenario's mix: rates, moments, shapes, the same jobs for the same seed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import lognorm

from argosy.scheduling.jobs import faults
from argosy.scheduling.load import arrivals, drawn_load, mean_duration, mean_work
from argosy.spec import JobClass, ScenarioError, Scheduling, loads
from argosy.spec.scheduling import Durations

MIX = {
    "small": {"share": 3, "tenants": {"a": 1, "b": 3}},
    "gang": {"kind": "elastic", "sizes": {16: 1, 64: 1}, "minimum": 0.25, "crashing": 0.5, "deadline": 3},
    "bend": {"kind": "moldable", "sizes": {24: 1}, "minimum": 0.2, "topology": "leaf"},
    "serve": {"kind": "service", "sizes": {32: 1}},
    "bit": {"sizes": {1: 1}, "fraction": 0.25},
}


def scheduling(**changes: object) -> Scheduling:
    short = Durations(median=1500, mean=2500)  # lighter tails than the default's, so that means are near
    mix = tuple(JobClass(name=name, duration=short, **fields) for name, fields in MIX.items())
    return Scheduling(**{"mix": mix, **changes})


def test_the_load_asked_for_is_the_load_drawn() -> None:
    offered = [drawn_load(scheduling(load=0.7), 1024, 8, seed).jobs for seed in range(4)]
    for jobs in offered:
        assert not [fault for job in jobs for fault in faults(job)]
        assert [job.submit_s for job in jobs] == sorted(job.submit_s for job in jobs)
    asked = [sum(j.duration_s * j.accelerators * (j.fraction or 1) for j in jobs) for jobs in offered]
    assert np.mean(asked) / (1024 * 7 * 86400) == pytest.approx(0.7, rel=0.05)
    assert drawn_load(scheduling(load=0.7), 1024, 8, 1).jobs == offered[1]
    assert drawn_load(scheduling(load=0.7), 1024, 8, 1).offered == pytest.approx(0.7)


def test_a_rate_is_a_rate() -> None:
    found = drawn_load(scheduling(rate=0.02), 4096, 8, 3)
    assert len(found.jobs) == pytest.approx(0.02 * 7 * 86400, rel=0.05)


def test_shapes_of_the_kinds() -> None:
    jobs = drawn_load(scheduling(load=0.7), 1024, 8, 0).jobs
    by = {name: [job for job in jobs if job.job.startswith(name)] for name in MIX}
    gang = next(job for job in by["gang"] if job.accelerators == 64)
    assert (gang.elastic_min, gang.worker_size(8)) == (2, 8)
    assert gang.deadline_s == pytest.approx(gang.submit_s + 3 * gang.duration_s)
    assert [n for n, _ in by["bend"][0].sizes] == [6, 12, 24]
    assert dict(by["bend"][0].sizes)[12] == pytest.approx(0.5**0.9)
    assert by["serve"][0].floor == 2
    assert by["bit"][0].fraction == 0.25
    owners = [job.tenant for job in by["small"]]
    assert owners.count("b") / len(owners) == pytest.approx(0.75, abs=0.05)
    crashing = [job.crash_after_s <= job.duration_s for job in by["gang"]]
    assert np.mean(crashing) == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("median", [1.0, 234.0, 1e5])
@pytest.mark.parametrize("ratio", [1.0, 1.01, 22.0])
@pytest.mark.parametrize(("least", "most"), [(0.0, 1e9), (0.0, 0.5), (300.0, 3e4), (5e-324, 1e3)])
def test_mean_of_clipped_durations_is_that_of_the_integral(
    median: float, ratio: float, least: float, most: float
) -> None:
    between = Durations(median=median, mean=median * ratio, least=least, most=most)
    found = mean_duration(JobClass(name="x", duration=between))
    if ratio == 1.0:
        assert found == min(max(median, least), most)
        return
    law = lognorm(np.sqrt(2 * np.log(ratio)), scale=median)
    cuts = np.geomspace(max(least, 1e-6), most, 12)
    tail = sum(quad(law.sf, a, b)[0] for a, b in pairwise(cuts))  # E min(max(X, l), m) = l + ∫ P(X > x)
    assert found == pytest.approx(least + tail, rel=1e-3, abs=1e-5)


def test_work_is_size_times_time() -> None:
    one = JobClass(name="x", sizes={1: 1, 3: 1}, duration=Durations(median=10, mean=10))
    assert mean_work(one) == 20.0
    assert (
        mean_work(JobClass(name="x", sizes={1: 1}, fraction=0.5, duration=Durations(median=10, mean=10)))
        == 5.0
    )


@pytest.mark.parametrize("cv", [0.3, 1.0, 4.0])
def test_gaps_have_their_spread(cv: float) -> None:
    times = arrivals(1.0, 40_000.0, cv, (), np.random.default_rng(1))
    gaps = np.diff(times)
    assert gaps.mean() == pytest.approx(1.0, rel=0.06)
    assert gaps.std() / gaps.mean() == pytest.approx(cv, rel=0.06)


def test_a_day_has_its_shape() -> None:
    factors = tuple(0.0 if hour < 12 else 1.0 for hour in range(24))
    times = arrivals(0.1, 10 * 86400.0, 1.0, factors, np.random.default_rng(1))
    assert len(times) == pytest.approx(0.1 * 10 * 86400, rel=0.05)
    hours = (times % 86400) // 3600
    assert (hours < 12).mean() < 1e-3
    assert np.bincount(hours.astype(int), minlength=24)[12:] == pytest.approx(len(times) / 12, rel=0.05)


def test_what_a_scenario_may_not_say() -> None:
    head = "name: x\nfleet: {accelerator: H100-SXM, count: 64}\n"
    for section, told in (
        ("{rate: 40 /h, load: 0.5}", "rate and load say the same twice"),
        ("{mix: [{name: a}, {name: a}]}", "two classes of the mix have one name"),
        ("{mix: {name: a, topology: rack}}", "'rack' is no topology need; write any, node"),
        ("{mix: {name: a, duration: {median: 1 h, mean: 1 min}}}", "at least its median"),
        ("{mix: {name: a, fraction: 0.3}}", "rigid jobs of size 1"),
        ("{mix: {name: a, sizes: {1: 1}, fraction: 0.00001}}", "thousandths"),
        ("{diurnal: [1, 2]}", "write 24"),
        ("{polcy: fifo}", "write policy"),
    ):
        with pytest.raises(ScenarioError) as caught:
            loads(f"{head}scheduling: {section}\n")
        assert told in str(caught.value)
        assert "<text>:3:" in str(caught.value)
