"""The event engine: its book, its agreement with closed form and renewal, and the traps of fleet simulations."""

import numpy as np
import pytest

from argosy.facts import FactError
from argosy.reliability import (
    STATES,
    CategoryRate,
    CheckpointCost,
    FailureRates,
    Hazards,
    Maintenance,
    Recovery,
    Shock,
    Slowdown,
    event_lives,
    goodput,
    lives,
    timeline,
)

HOUR, DAY = 3600.0, 86400.0
SYNC = CheckpointCost(0.0, 60.0, 0.0, 0.0, 0.0)
ASYNC = CheckpointCost(0.0, 5.0, 120.0, 0.1, 0.0)
TIERED = CheckpointCost(0.0, 5.0, 200.0, 0.02, 0.0, "memory", 0.1)


def fleet(nodes: int, mttf_node_s: float, software_per_s: float = 0.0) -> FailureRates:
    rates = [CategoryRate("gpu", "gpu", "node", "node", float(nodes), 1.0 / mttf_node_s)]
    if software_per_s:
        rates.append(CategoryRate("software-bug", "software", "job", "job", 1.0, software_per_s))
    return FailureRates("test", tuple(rates))


def close(sample: np.ndarray, value: float, slack: float = 0.0) -> bool:
    """Within four standard errors, and `slack` (relative) for what the closed form leaves out."""
    return abs(sample.mean() - value) <= 4 * sample.std() / np.sqrt(len(sample)) + slack * abs(value)


@pytest.mark.parametrize(
    ("cost", "slack"), [(SYNC, 5e-4), (ASYNC, 5e-4), (TIERED, 3e-3)], ids=["sync", "async", "tiers"]
)
@pytest.mark.parametrize("policy", ["restart", "spare-swap"])
def test_three_engines_agree(cost: CheckpointCost, slack: float, policy: str) -> None:
    """Goodput: closed form and event engine within 0.05 % (two tiers: 0.3 %) beyond the noise, 40 days at M = 3 h."""
    rates = fleet(128, 128 * 4 * HOUR, 1.0 / (12 * HOUR))
    recovery = Recovery(120.0, 480.0, policy, 10, 5 * HOUR, queue_s=100.0)
    arguments = (rates, cost, recovery, Maintenance(1.0, 1800.0), 1500.0)
    event = event_lives(40 * DAY, 128, *arguments, draws=400)
    renewal = lives(40 * DAY, *arguments, draws=2000)
    form = goodput(*arguments)
    assert np.all(event.finished)
    assert close(event.ettr, float(form.ettr), slack)
    assert close(event.ettr, renewal.ettr.mean(), slack + 4e-4)
    assert close(sum(event.failures.values()), float(form.failures_expected(40 * DAY)), 1e-3)
    for state in ("detection", "restart", "queue", "spare_wait", "maintenance"):
        assert event.seconds[state].mean() == pytest.approx(renewal.seconds[state].mean(), rel=0.06, abs=200)


@pytest.mark.parametrize("policy", ["elastic", "replica"])
def test_tolerant_policies_agree(policy: str) -> None:
    rates = fleet(128, 128 * 8 * HOUR, 1.0 / (24 * HOUR))
    recovery = Recovery(120.0, 480.0, policy, 20, 2 * HOUR, replicas=16, pause_s=30.0)
    event = event_lives(40 * DAY, 128, rates, ASYNC, recovery, draws=400)
    assert close(event.ettr, float(event.closed_form.ettr), 1e-3)
    # Slow time that a later stop undid is booked as rework by the engine: a few per cent less stays degraded.
    degraded = float(event.closed_form.shares["degraded"]) * event.wall_s.mean()
    assert 0.88 * degraded < event.seconds["degraded"].mean() < 1.03 * degraded


EVERYTHING = Hazards(
    shapes={"gpu": 0.8},
    lemon_share=0.05,
    lemon_factor=10.0,
    evict_after=3,
    shocks=(Shock("rack", 8, 1.0 / (200 * DAY), 0.7),),
    burst_share=0.1,
    slowdowns=(Slowdown("fail-slow", 64 / (300 * DAY), HOUR, 0.1),),
    repair_random=True,
    crews=3,
)


@pytest.mark.parametrize("policy", ["restart", "spare-swap", "elastic", "replica"])
@pytest.mark.parametrize("cost", [SYNC, ASYNC, TIERED], ids=["sync", "async", "tiers"])
def test_the_book_closes(policy: str, cost: CheckpointCost) -> None:
    """Every wall-clock second is in one state: the timeline's end is the sum of the book, to a part in 10⁹."""
    arguments = (64, fleet(64, 64 * 6 * HOUR, 1e-5), cost)
    recovery = Recovery(120.0, 300.0, policy, 4, 8 * HOUR, 60.0, replicas=8, pause_s=30.0)
    rest = (Maintenance(0.5, 1200.0), None, EVERYTHING)
    life = event_lives(10 * DAY, *arguments, recovery, *rest, draws=20)
    assert set(life.seconds) == set(STATES)
    assert all(np.all(seconds >= -1e-6) for seconds in life.seconds.values())
    assert life.seconds["productive"] == pytest.approx(np.full(20, 10 * DAY), rel=1e-9)
    assert np.all((life.ettr > 0) & (life.ettr < 1))
    one = timeline(10 * DAY, *arguments, recovery, *rest)
    edges = np.array([(start, end) for start, end, _ in one.stretches])
    assert edges[0, 0] == 0.0
    assert edges[1:, 0] == pytest.approx(edges[:-1, 1], abs=1e-6)
    assert edges[-1, 1] == pytest.approx(life.wall_s[0], rel=1e-9)
    for state in ("detection", "restart", "spare_wait", "queue", "maintenance"):
        spent = sum(end - start for start, end, name in one.stretches if name == state)
        assert spent == pytest.approx(life.seconds[state][0], rel=1e-9, abs=1e-6)
    assert len(one.failures) == sum(count[0] for count in life.failures.values())


def test_same_seed_same_lives_whoever_runs_them() -> None:
    from concurrent.futures import ThreadPoolExecutor

    arguments = (5 * DAY, 64, fleet(64, 64 * 6 * HOUR), ASYNC, Recovery(120.0, 300.0, spare_nodes=4))
    alone = event_lives(*arguments, draws=30, seed=5)
    with ThreadPoolExecutor(2) as pool:
        shared = event_lives(*arguments, draws=30, seed=5, executor=pool)
    assert np.array_equal(alone.wall_s, shared.wall_s)
    assert not np.array_equal(alone.wall_s, event_lives(*arguments, draws=30, seed=6).wall_s)


def test_no_failures_no_loss() -> None:
    quiet = FailureRates("none", (CategoryRate("gpu", "gpu", "node", "node", 64.0, 0.0),))
    life = event_lives(DAY, 64, quiet, SYNC, Recovery(60.0, 60.0), interval_s=3600.0, draws=3)
    assert life.wall_s == pytest.approx(np.full(3, DAY + 23 * 60.0), rel=1e-9)
    assert sum(count.sum() for count in life.failures.values()) == 0


def test_failures_faster_than_checkpoints_never_finish() -> None:
    life = event_lives(DAY, 64, fleet(64, 64 * 8.0), SYNC, Recovery(60.0, 60.0, spare_nodes=64), draws=3)
    assert not life.finished.any()
    assert np.all((life.ettr >= 0) & (life.ettr < 0.01))
    assert any("never finish" in note for note in life.closed_form.notes)


def test_a_crash_loop_is_given_up() -> None:
    hazards = Hazards(give_up_after=20)
    life = event_lives(
        DAY, 64, fleet(64, 64 * 30.0), SYNC, Recovery(60.0, 60.0, spare_nodes=64), hazards=hazards, draws=3
    )
    assert np.all(life.ends == 2)
    assert np.all(life.wall_s < 0.3 * DAY)


def test_a_checkpoint_counts_only_when_persisted() -> None:
    """Same blocking time, but slower to be safe: more rework, by failures × the persist time."""
    rates, recovery = fleet(64, 64 * 4 * HOUR), Recovery(60.0, 300.0, spare_nodes=64, repair_s=HOUR)
    rework = []
    for persist in (0.0, 1000.0):
        cost = CheckpointCost(0.0, 5.0, persist, 0.0, 0.0)
        life = event_lives(20 * DAY, 64, rates, cost, recovery, interval_s=1500.0, draws=300, seed=1)
        rework.append(life.seconds["rework"].mean() / life.failures["gpu"].mean())
    # Every failure that had a checkpoint to fall back to loses the persist time more, in the mean.
    had_one = np.exp(-(360.0 + 1505.0) / (4 * HOUR))
    assert rework[1] - rework[0] == pytest.approx(1000.0 * had_one, rel=0.06)


def test_interval_is_never_shorter_than_persisting() -> None:
    cost = CheckpointCost(0.0, 5.0, 900.0, 0.0, 0.0)
    life = event_lives(5 * DAY, 64, fleet(64, 64 * DAY), cost, Recovery(60.0, 60.0), interval_s=60.0, draws=2)
    assert life.closed_form.interval_s == 900.0


def test_new_fleets_fail_more_than_aged_ones_where_the_hazard_falls() -> None:
    arguments = (20 * DAY, 256, fleet(256, 400 * DAY), SYNC, Recovery(60.0, 60.0, spare_nodes=40))
    failures = {
        ages: event_lives(*arguments, hazards=Hazards({"gpu": 0.7}, ages), draws=200).failures["gpu"]
        for ages in ("new", "stationary")
    }
    wall = event_lives(*arguments, draws=2).wall_s.mean()
    assert close(failures["stationary"], 256 * wall / (400 * DAY), 0.02)
    # Renewals of a new part: at least the chance to fail once, n·(1 − exp(−(t/scale)^k))
    from math import gamma

    once = 256 * -np.expm1(-((wall / (400 * DAY / gamma(1 + 1 / 0.7))) ** 0.7))
    assert failures["new"].mean() > max(once * 0.97, 1.8 * failures["stationary"].mean())
    worn = [
        event_lives(*arguments, hazards=Hazards({"gpu": 2.5}, ages), draws=100).failures["gpu"].mean()
        for ages in ("new", "stationary")
    ]
    assert worn[0] < 0.3 * worn[1]


def test_too_few_spares_starve_the_job() -> None:
    rates = fleet(2048, 2048 * DAY / 7.9)
    waits = [
        event_lives(
            54 * DAY, 2048, rates, SYNC, Recovery(60.0, 600.0, spare_nodes=n, repair_s=7 * DAY), draws=20
        )
        for n in (8, 79)
    ]
    shares = [(life.seconds["spare_wait"] / life.wall_s).mean() for life in waits]
    assert shares[0] > 0.5
    assert shares[1] < 0.01


def test_few_repair_crews_starve_it_too() -> None:
    rates, recovery = fleet(64, 64 * 4 * HOUR), Recovery(60.0, 300.0, spare_nodes=6, repair_s=6 * HOUR)
    waits = [
        event_lives(10 * DAY, 64, rates, SYNC, recovery, hazards=Hazards(crews=crews), draws=30)
        .seconds["spare_wait"]
        .mean()
        for crews in (0, 1)
    ]
    assert waits[1] > 3 * waits[0] + DAY


def test_lemons_and_their_eviction() -> None:
    """The mean rate stays; what lemons do to it is undone by exchanging them."""
    arguments = (
        60 * DAY,
        128,
        fleet(128, 128 * 4 * HOUR),
        SYNC,
        Recovery(60.0, 300.0, spare_nodes=2, repair_s=900.0),
    )
    plain, lemons, evicted = (
        event_lives(*arguments, hazards=hazards, draws=60)
        for hazards in (
            Hazards(),
            Hazards(lemon_share=0.05, lemon_factor=20.0),
            Hazards(lemon_share=0.05, lemon_factor=20.0, evict_after=2),
        )
    )
    assert evicted.failures["gpu"].mean() < 0.8 * lemons.failures["gpu"].mean()
    assert lemons.failures["gpu"].mean() == pytest.approx(plain.failures["gpu"].mean(), rel=0.15)


def test_bursts_keep_the_rate_and_cluster() -> None:
    arguments = (60 * DAY, 64, fleet(64, 64 * 8 * HOUR), SYNC, Recovery(0.0, 0.0, spare_nodes=64))
    plain = event_lives(*arguments, draws=200)
    burst = event_lives(*arguments, hazards=Hazards(burst_share=0.3, burst_delay_s=60.0), draws=200)
    assert close(burst.failures["gpu"], plain.failures["gpu"].mean(), 0.03)
    # Galton-Watson clusters: variance over mean = 1/(1 − m)² for Poisson offspring; (1 + m)/(1 − m) for at most one
    assert burst.failures["gpu"].var() / burst.failures["gpu"].mean() == pytest.approx(1.3 / 0.7, rel=0.4)
    assert burst.ettr.mean() > plain.ettr.mean()


def test_shocks_take_whole_domains() -> None:
    quiet = FailureRates("none", (CategoryRate("gpu", "gpu", "node", "node", 64.0, 0.0),))
    hazards = Hazards(shocks=(Shock("rack", 8, 1.0 / (20 * DAY)),))
    few, many = (
        event_lives(
            20 * DAY, 64, quiet, SYNC, Recovery(60.0, 60.0, spare_nodes=n), hazards=hazards, draws=100
        )
        for n in (8, 64)
    )
    domains = {8: 9, 64: 16}
    active = many.wall_s - many.seconds["spare_wait"]
    assert many.failures["rack"].mean() == pytest.approx(
        domains[64] * active.mean() / (20 * DAY) / 2, rel=0.35
    )
    assert few.seconds["spare_wait"].mean() > many.seconds["spare_wait"].mean() == 0.0


def test_slow_episodes_cost_their_share() -> None:
    quiet = FailureRates("none", (CategoryRate("gpu", "gpu", "node", "node", 64.0, 0.0),))
    hazards = Hazards(slowdowns=(Slowdown("fail-slow", 0.2 / (5 * HOUR), 5 * HOUR, 0.1),))
    life = event_lives(100 * DAY, 64, quiet, SYNC, Recovery(60.0, 60.0), hazards=hazards, draws=100)
    slow_share = 1 - np.exp(-0.2)  # M/G/∞: some episode is under way
    lost = life.seconds["degraded"] / (life.wall_s - life.seconds["checkpoint"])
    assert lost.mean() == pytest.approx(0.1 * slow_share, rel=0.05)


def test_silent_corruption_costs_its_latency() -> None:
    rates = FailureRates(
        "silent", (CategoryRate("silent-data-corruption", "gpu", "node", "node", 64.0, 1.0 / (64 * 5 * DAY)),)
    )
    arguments = (
        50 * DAY,
        64,
        rates,
        CheckpointCost(0.0, 1.0, 0.0, 0.0, 0.0),
        Recovery(60.0, 60.0, spare_nodes=9),
    )
    prompt, late = (
        event_lives(*arguments, interval_s=1200.0, hazards=Hazards(silent_latency_s=s), draws=100)
        for s in (0.0, 4 * HOUR)
    )
    found = late.failures["silent-data-corruption"]
    per_failure = late.seconds["rework"].mean() / found.mean()
    assert per_failure == pytest.approx(4 * HOUR + 600.0, rel=0.06)
    assert prompt.seconds["rework"].mean() < 0.1 * late.seconds["rework"].mean()
    forgotten = event_lives(
        *arguments, interval_s=1200.0, hazards=Hazards(silent_latency_s=4 * HOUR, kept=2), draws=30
    )
    assert forgotten.seconds["rework"].mean() > 10 * late.seconds["rework"].mean()


def test_mistakes_are_told() -> None:
    with pytest.raises(FactError, match="no category of nodes"):
        event_lives(DAY, 4, fleet(4, DAY), SYNC, Recovery(1.0, 1.0), hazards=Hazards({"disk": 2.0}), draws=1)
    with pytest.raises(ValueError, match="share below one"):
        Hazards(burst_share=1.0)
    with pytest.raises(ValueError, match="stationary"):
        event_lives(
            DAY, 4, fleet(4, DAY), SYNC, Recovery(1.0, 1.0), hazards=Hazards({"gpu": 2.0}, "old"), draws=1
        )
