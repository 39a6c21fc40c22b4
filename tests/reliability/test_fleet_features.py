"""What only the event engine knows: several jobs, racks with spares inside, copies, wrong diagnoses; and its book, always."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from argosy.reliability import (
    STATES,
    CategoryRate,
    CheckpointCost,
    FailureRates,
    Gang,
    Hazards,
    Maintenance,
    Racks,
    Recovery,
    Shock,
    Slowdown,
    event_lives,
    goodput,
    shared_lives,
)
from argosy.reliability.engine_input import job_record, world
from argosy.reliability.events import run_keys
from argosy.reliability.recovery import POLICIES, RackStock

HOUR, DAY = 3600.0, 86400.0
SYNC = CheckpointCost(0.0, 60.0, 0.0, 0.0, 0.0)
ASYNC = CheckpointCost(0.0, 5.0, 120.0, 0.1, 0.0)
TIERED = CheckpointCost(0.0, 5.0, 200.0, 0.02, 0.0, "memory", 0.1)


def fleet(
    nodes: int, mttf_node_s: float, software_per_s: float = 0.0, silent_per_s: float = 0.0
) -> FailureRates:
    rates = [CategoryRate("gpu", "gpu", "node", "node", float(nodes), 1.0 / mttf_node_s)]
    if software_per_s:
        rates.append(CategoryRate("software-bug", "software", "job", "job", 1.0, software_per_s))
    if silent_per_s:
        rates.append(CategoryRate("silent-data-corruption", "gpu", "node", "node", 1.0, silent_per_s))
    return FailureRates("test", tuple(rates))


def mean_and_error(sample: np.ndarray) -> tuple[float, float]:
    return float(sample.mean()), float(sample.std(ddof=1) / np.sqrt(len(sample)))


HAZARDS = some.builds(
    Hazards,
    shapes=some.sampled_from([{}, {"gpu": 0.6}, {"gpu": 2.0}]),
    ages_s=some.sampled_from(["stationary", "new", 40 * DAY]),
    lemon_share=some.sampled_from([0.0, 0.1]),
    lemon_factor=some.sampled_from([0.2, 1.0, 8.0]),
    evict_after=some.sampled_from([0, 2]),
    shocks=some.sampled_from(
        [
            (),
            (Shock("rack", 8, 1 / (60 * DAY), 0.7),),
            (Shock("store", 60, 1 / (9 * DAY), 1.0, "stop"), Shock("leaf", 4, 1e-7)),
        ]
    ),
    burst_share=some.sampled_from([0.0, 0.2]),
    slowdowns=some.sampled_from(
        [(), (Slowdown("slow", 1e-5, 5000.0, 0.2), Slowdown("flap", 3e-5, 60.0, 1.0))]
    ),
    racks=some.sampled_from([None, None, Racks(9, 8), Racks(8, 8)]),
    silent_latency_s=some.sampled_from([0.0, 2 * HOUR]),
    kept=some.sampled_from([float("inf"), 3.0]),
    repair_random=some.booleans(),
    crews=some.sampled_from([0, 2]),
    give_up_after=some.sampled_from([0, 12]),
    misdiagnosed=some.sampled_from([0.0, 0.3]),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    hazards=HAZARDS,
    policies=some.lists(some.sampled_from(POLICIES), min_size=1, max_size=3),
    cost=some.sampled_from([SYNC, ASYNC, TIERED]),
    spares=some.integers(0, 12),
    one_storage=some.booleans(),
    seed=some.integers(0, 2**32),
)
def test_every_book_closes(hazards, policies, cost, spares, one_storage, seed) -> None:
    """Any hazards, any policies, one to three jobs: each job's states add up to its wall clock, to a part in 10⁹."""
    rates, work = fleet(24 * len(policies), 24 * 8 * HOUR, 1e-5, 1e-5), 3 * DAY
    records = []
    for policy in policies:
        recovery = Recovery(
            120.0, 300.0, policy, spares, 6 * HOUR, 60.0, 4, 30.0, 2 if policy == "redundancy" else 1
        )
        planned = Maintenance(0.5, 1200.0)
        form = goodput(rates, cost, recovery, planned)
        shared = one_storage and len(policies) > 1
        records.append(job_record(work, 24, cost, recovery, planned, form, hazards, shared))
    w = world(rates, hazards, np.concatenate(records), spares, 6 * HOUR)
    for key in np.random.SeedSequence(seed).generate_state(4, np.uint64):
        seconds, _, ends = run_keys(np.array([key]), w)
        wall = w["runs"]["wall"]
        assert seconds[0].sum(axis=1) == pytest.approx(wall, rel=1e-9)
        assert np.all(seconds >= -1e-6)
        productive = seconds[0][:, STATES.index("productive")]
        assert np.all(productive <= work * (1 + 1e-9))
        assert productive[ends[0] == 0] == pytest.approx(np.full((ends[0] == 0).sum(), work), rel=1e-9)


def test_one_gang_is_one_job() -> None:
    recovery = Recovery(120.0, 300.0, "spare-swap", 4, 6 * HOUR)
    rates = fleet(32, 32 * 6 * HOUR, 1e-5)
    alone = event_lives(5 * DAY, 32, rates, ASYNC, recovery, draws=20)
    (gang,) = shared_lives([Gang(5 * DAY, 32, ASYNC, recovery)], rates, 4, 6 * HOUR, draws=20)
    assert np.array_equal(alone.wall_s, gang.wall_s)


def test_gangs_that_share_nothing_scarce_live_as_if_alone() -> None:
    recovery = Recovery(120.0, 300.0, "spare-swap", 64, HOUR)
    alone = event_lives(10 * DAY, 32, fleet(32, 32 * 6 * HOUR, 1e-5), ASYNC, recovery, draws=400)
    gangs = [Gang(10 * DAY, 32, ASYNC, recovery)] * 2
    rates = fleet(64, 32 * 6 * HOUR, 2e-5)
    for job in shared_lives(gangs, rates, 128, HOUR, one_storage=False, draws=400, seed=1):
        (mine, error), (other, noise) = mean_and_error(alone.ettr), mean_and_error(job.ettr)
        assert mine == pytest.approx(other, abs=4 * np.hypot(error, noise))


def test_one_storage_makes_copies_safe_later() -> None:
    """Two jobs that write at the same time get half the bandwidth: rework grows, but less than with half of it always."""
    recovery = Recovery(60.0, 120.0, "spare-swap", 64, HOUR)
    rates, slow = fleet(64, 32 * 4 * HOUR), CheckpointCost(0.0, 2.0, 900.0, 0.0, 0.0)
    gangs = [Gang(20 * DAY, 32, slow, recovery, interval_s=2000.0)] * 2
    lost = {}
    for one_storage in (False, True):
        lives = shared_lives(gangs, rates, 64, HOUR, one_storage=one_storage, draws=200)
        lost[one_storage] = [
            (life.seconds["rework"].sum() / life.failures["gpu"].sum(), life.seconds["rework"].std())
            for life in lives
        ]
    halved = event_lives(
        20 * DAY,
        32,
        fleet(32, 32 * 4 * HOUR),
        CheckpointCost(0.0, 2.0, 1800.0, 0.0, 0.0),
        recovery,
        interval_s=2000.0,
        draws=200,
    )
    most = halved.seconds["rework"].sum() / halved.failures["gpu"].sum()
    for (apart, _), (together, _) in zip(lost[False], lost[True], strict=True):
        # Alone in the mean 45 % of the time: a copy of one meets one of the other, and is later by a few minutes.
        assert apart + 100.0 < together < most - 100.0


def test_synchronous_writes_share_the_storage_too() -> None:
    """Two jobs that always save at the same moment need twice as long for it."""
    write = CheckpointCost(0.0, 110.0, 0.0, 0.0, 100.0)
    recovery, rates = Recovery(60.0, 60.0), FailureRates("none", fleet(8, 1e15).categories)
    gangs = [Gang(DAY, 4, write, recovery, interval_s=3600.0)] * 2
    together = shared_lives(gangs, rates, 0, HOUR, draws=1)
    apart = shared_lives(gangs, rates, 0, HOUR, one_storage=False, draws=1)
    for one, two in zip(apart, together, strict=True):
        assert one.seconds["checkpoint"][0] == pytest.approx(23 * 110.0, abs=1e-3)
        assert two.seconds["checkpoint"][0] == pytest.approx(23 * 210.0, abs=1e-3)


def test_gangs_compete_for_spares() -> None:
    """Two jobs with six spares between them wait more than with six each, and less than with three each."""
    recovery = Recovery(60.0, 300.0, "spare-swap", 3, 12 * HOUR)
    rates = fleet(64, 32 * 6 * HOUR)
    gangs = [Gang(15 * DAY, 32, SYNC, recovery)] * 2
    waits = {
        pool: np.mean(
            [
                life.seconds["spare_wait"].mean()
                for life in shared_lives(gangs, rates, pool, 12 * HOUR, draws=200)
            ]
        )
        for pool in (6, 12)
    }
    own = {
        spares: event_lives(
            15 * DAY,
            32,
            fleet(32, 32 * 6 * HOUR),
            SYNC,
            Recovery(60.0, 300.0, "spare-swap", spares, 12 * HOUR),
            draws=200,
        )
        .seconds["spare_wait"]
        .mean()
        for spares in (3, 6)
    }
    assert waits[12] < own[6] < waits[6] < own[3]


@pytest.mark.parametrize("spare_racks", [0, 1])
def test_spares_inside_racks(spare_racks: int) -> None:
    """64 of 72: the share of waiting is that of two loss systems, one in each rack and one of whole racks."""
    racks, stock = Racks(18, 16), RackStock(8.0, 18, 16)
    rates = fleet(128, 128 * (12 if spare_racks == 0 else 6) * HOUR)
    recovery = Recovery(60.0, 300.0, "spare-swap", 18 * spare_racks, 30 * HOUR, racks=stock)
    hazards = Hazards(racks=racks, repair_random=True)
    life = event_lives(60 * DAY, 128, rates, SYNC, recovery, hazards=hazards, draws=600)
    waited = life.seconds["spare_wait"] / life.wall_s
    expected = float(life.closed_form.shares["spare_wait"])
    assert waited.mean() == pytest.approx(expected, rel=0.12)
    none = event_lives(
        60 * DAY, 128, rates, SYNC, Recovery(60.0, 300.0, "spare-swap", 0, 30 * HOUR), draws=20
    )
    assert waited.mean() < 0.5 * (none.seconds["spare_wait"] / none.wall_s).mean()


def test_copies_fail_over() -> None:
    """Redundancy: only all copies of a group at once stop the job, as often as the closed form says."""
    rates = fleet(64, 64 * HOUR, 1e-6)
    recovery = Recovery(60.0, 1500.0, "redundancy", 64, HOUR, replicas=64, pause_s=10.0, copies=2)
    life = event_lives(60 * DAY, 64, rates, ASYNC, recovery, draws=100)
    mean, error = mean_and_error(life.ettr)
    assert mean == pytest.approx(float(life.closed_form.ettr), abs=4 * error + 1e-3)
    single = event_lives(60 * DAY, 64, rates, ASYNC, Recovery(60.0, 1500.0, "spare-swap", 64, HOUR), draws=20)
    assert mean > single.ettr.mean() + 0.2


def test_wrong_diagnoses_cost_another_detection_and_restart() -> None:
    arguments = (
        60 * DAY,
        64,
        fleet(64, 64 * 20 * HOUR),
        SYNC,
        Recovery(600.0, 600.0, spare_nodes=32, repair_s=HOUR),
    )
    right, wrong = (event_lives(*arguments, hazards=Hazards(misdiagnosed=p), draws=150) for p in (0.0, 0.4))
    per_failure = [life.seconds["detection"].sum() / life.failures["gpu"].sum() for life in (right, wrong)]
    assert per_failure[1] / per_failure[0] == pytest.approx(1.4, rel=0.03)


def test_of_slow_episodes_at_once_the_slowest_counts() -> None:
    """M/G/∞ for each kind: the mean speed is that of independent presences."""
    quiet = FailureRates("none", fleet(8, 1e15).categories)
    kinds = (
        Slowdown("slow", 0.5 / (4 * HOUR), 4 * HOUR, 0.2),
        Slowdown("slower", 0.3 / (6 * HOUR), 6 * HOUR, 0.5),
    )
    life = event_lives(
        100 * DAY, 8, quiet, SYNC, Recovery(60.0, 60.0), hazards=Hazards(slowdowns=kinds), draws=60
    )
    mild, severe = -np.expm1(-0.5), -np.expm1(-0.3)
    lost = 0.5 * severe + 0.2 * mild * (1.0 - severe)
    running = life.wall_s - life.seconds["checkpoint"]
    assert (life.seconds["degraded"] / running).mean() == pytest.approx(lost, rel=0.03)


def test_a_shock_s_nodes_are_back_after_its_own_repair() -> None:
    """A rack whose breaker tripped is back sooner than a broken node: the wait is the shock's repair time."""
    quiet = FailureRates("none", fleet(32, 1e15).categories)
    waits = []
    for repair in (None, HOUR):
        hazards = Hazards(shocks=(Shock("rack", 8, 1 / (40 * DAY), repair_s=repair),))
        life = event_lives(
            30 * DAY, 32, quiet, SYNC, Recovery(0.0, 60.0, repair_s=DAY), hazards=hazards, draws=60
        )
        waits.append(life.seconds["spare_wait"].sum() / life.failures["rack"].sum())
    assert waits == pytest.approx([DAY, HOUR], rel=1e-6)


def test_memory_tier_reproduces_published_efficiencies() -> None:
    """0.962, 0.952 and 0.864 when none, a tenth and all of the failures destroy copies in memory, by both engines.

    The source does not state its settings; these are round ones that give all three: 16,384 parts of 50,000 h, copies to
    memory each two minutes at two seconds, to storage each forty minutes, three minutes of recovery.
    """
    rates = fleet(64, 64 * 50_000 * HOUR / 16384)
    recovery = Recovery(60.0, 120.0, spare_nodes=64, repair_s=HOUR)
    for share, published in ((0.0, 0.962), (0.1, 0.952), (1.0, 0.864)):
        cost = CheckpointCost(0.0, 2.0, 0.0, 0.0, 0.0, "memory", share, storage_every=20.0)
        life = event_lives(60 * DAY, 64, rates, cost, recovery, interval_s=120.0, draws=200)
        assert float(life.closed_form.ettr) == pytest.approx(published, abs=5e-4)
        assert life.ettr.mean() == pytest.approx(published, abs=1.5e-3)


def test_stationary_wear_is_a_constant_rate_whatever_the_shape() -> None:
    """Cohorts, fuses and ages together: a fleet in service for long fails at the inverse of its mean life."""
    recovery = Recovery(
        0.0, 0.0, spare_nodes=1, repair_s=HOUR
    )  # a lemon on the shelf fails nobody: few of them
    for shape in (0.6, 1.0, 3.0):
        for lemons in (Hazards({"gpu": shape}), Hazards({"gpu": shape}, lemon_share=0.2, lemon_factor=4.0)):
            life = event_lives(60 * DAY, 64, fleet(64, 40 * DAY), SYNC, recovery, hazards=lemons, draws=150)
            count, error = mean_and_error(life.failures["gpu"].astype(float))
            assert count == pytest.approx(64 * life.wall_s.mean() / (40 * DAY), abs=4 * error, rel=0.02)


def test_ages_of_single_nodes_are_those_of_a_fleet_of_one_age() -> None:
    """The heap of nodes with their own ages and the cohort of equal ages are two ways to one distribution."""
    arguments = (20 * DAY, 64, fleet(64, 60 * DAY), SYNC, Recovery(60.0, 60.0, spare_nodes=16, repair_s=HOUR))
    for shape in (0.6, 2.5):
        one, many = (
            event_lives(*arguments, hazards=Hazards({"gpu": shape}, ages), draws=300)
            for ages in (30 * DAY, np.full(80, 30 * DAY))
        )
        (a, e), (b, f) = (mean_and_error(life.failures["gpu"].astype(float)) for life in (one, many))
        assert a == pytest.approx(b, abs=4 * np.hypot(e, f))


def test_a_synchronous_system_is_right_about_itself_at_another_luck() -> None:
    """Common random numbers: a change that cannot matter changes nothing, life by life."""
    arguments = (10 * DAY, 64, fleet(64, 64 * 6 * HOUR), SYNC)
    lives = [
        event_lives(*arguments, Recovery(60.0, 300.0, spare_nodes=spares, repair_s=HOUR), draws=30)
        for spares in (40, 60)
    ]
    assert np.array_equal(lives[0].wall_s, lives[1].wall_s)


def test_exchanging_a_slow_node_costs_a_save_and_a_restart() -> None:
    """Planned: no rework. Each found episode books the save, then the restart; the spare is there."""
    quiet = FailureRates("none", fleet(8, 1e15).categories)
    slow = (Slowdown("slow", 1 / (20 * HOUR), HOUR, 0.2, exchange=True),)
    recovery = Recovery(60.0, 300.0, spare_nodes=8, repair_s=HOUR)
    life = event_lives(
        60 * DAY, 8, quiet, SYNC, recovery, interval_s=1e9, hazards=Hazards(slowdowns=slow), draws=60
    )
    stops = life.seconds["restart"] / 300.0
    assert stops == pytest.approx(np.round(stops), abs=1e-6)
    assert life.seconds["checkpoint"] == pytest.approx(60.0 * stops, abs=1e-3)
    assert np.all(life.seconds["rework"] == 0.0)
    # Episodes that overlap are found together: one stop for each busy period of an M/D/∞ system, of mean (e^ρ − 1)/λ.
    load = 1.0 / 20.0
    active = 60 * DAY / (1 - 0.2 * -np.expm1(-load))
    assert stops.mean() == pytest.approx(active / (20 * HOUR) * np.exp(-load), rel=0.05)
    assert life.seconds["degraded"].mean() == pytest.approx(
        0.2 * HOUR * stops.mean() * np.expm1(load) / load, rel=0.05
    )
