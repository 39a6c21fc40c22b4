"""N + k by failure domain: against enumeration of all states, the binomial limits, and the simulation's own failures."""

from itertools import product

import numpy as np
import pytest
from affine_engine import Affine

from argosy.serving.failures import Failures, Shared, planned_events
from argosy.serving.fleet import Pool
from argosy.serving.redundancy import Standing, replicas_for, up_distribution, up_share


def enumerated(count, own, racks, power):
    """Every state of replicas, racks of `racks[0]` and power domains of `power[0]`, one by one."""
    found = np.zeros(count + 1)
    many = -(-count // racks[0]), -(-count // power[0])
    shares = [own] * count + [racks[1]] * many[0] + [power[1]] * many[1]
    for state in product((0, 1), repeat=len(shares)):
        chance = np.prod([share if up else 1 - share for share, up in zip(shares, state, strict=True)])
        alone, rack, feed = state[:count], state[count : count + many[0]], state[count + many[0] :]
        up = sum(alone[r] and rack[r // racks[0]] and feed[r // power[0]] for r in range(count))
        found[up] += chance
    return found


@pytest.mark.parametrize("count", [1, 4, 5, 7])
def test_shared_domains_by_enumeration(count):
    mine = up_distribution(count, 0.9, (Standing(2, 0.95), Standing(4, 0.97)))
    assert mine == pytest.approx(enumerated(count, 0.9, (2, 0.95), (4, 0.97)), abs=1e-12)


def test_binomial_limits():
    """Domains that never fail change nothing; replicas that fail only with their domain are a binomial of domains."""
    from scipy.stats import binom

    assert up_distribution(9, 0.8, (Standing(3, 1.0),)) == pytest.approx(binom.pmf(range(10), 9, 0.8))
    together = up_distribution(12, 1.0, (Standing(4, 0.9),))
    assert together[[0, 4, 8, 12]] == pytest.approx(binom.pmf(range(4), 3, 0.9))
    assert together.sum() == pytest.approx(1.0)
    large = up_distribution(3000, 0.99, (Standing(4, 0.999), Standing(64, 0.9999)))
    mean = 3000 * 0.99 * 0.999 * 0.9999
    assert large @ np.arange(3001) == pytest.approx(mean, rel=1e-9)


@pytest.mark.parametrize("needed", [1, 3, 8, 40])
def test_no_fewer_would_do(needed):
    domains = (Standing(4, 0.998), Standing(16, 0.9995))
    found = replicas_for(needed, 0.99, 0.999, domains)
    assert found.reached >= 0.999
    assert found.replicas == needed or up_share(needed, found.replicas - 1, 0.99, domains) < 0.999
    assert found.replicas >= replicas_for(needed, 0.99, 0.999).replicas


def test_a_domain_that_fails_asks_for_its_replicas_again():
    """Racks of four that fail too often: one more rack; spread over many racks: one more replica. In one rack: out of reach."""
    often = 0.9995
    assert replicas_for(4, 1.0, 0.9999, (Standing(4, often),)).replicas == 8
    assert replicas_for(4, 1.0, 0.9999, (Standing(4, often, places=100),)).replicas == 5
    single = replicas_for(4, 1.0, 0.9999, (Standing(400, often, places=1),))
    assert single.replicas == 4 and single.reached == pytest.approx(often)


@pytest.mark.parametrize("places", [0, 3])
def test_the_failures_of_runs_agree(places):
    """Time with too few replicas up, counted from the events that a run is given, against the distribution."""
    failures = Failures(1 / 4000.0, 60.0, (Shared("rack", 4, 1 / 6000.0, 90.0, places),))
    count, needed, until = 10, 8, 2e6
    events = planned_events(failures, [Pool(Affine(), count)], until, seed=3)
    down_until = np.zeros(count)
    marks = []
    for event in events:  # a replica that is down already is not taken a second time, as in a run
        for replica in range(event["first"], event["last"] + 1):
            if event["at"] >= down_until[replica]:
                down_until[replica] = event["at"] + event["lasts_s"]
                marks += [(event["at"], -1), (down_until[replica], 1)]
    up, before, short = count, 0.0, 0.0
    for at, change in sorted(marks):
        short += (at - before) * (up < needed)
        up, before = up + change, at
    expected = 1.0 - up_share(needed, count, failures.own_availability(1), failures.standing(1))
    assert short / until == pytest.approx(expected, rel=0.1)
