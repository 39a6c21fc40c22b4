"""A scenario's words about failures as the engines' numbers: rates by category, and hazards beyond them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from argosy.facts import FactError, Values
from argosy.reliability.domains import SECTION, Domain
from argosy.reliability.hazards import Hazards, Racks, Shock, Slowdown
from argosy.reliability.rates import CategoryRate, FailureRates
from argosy.spec import Reliability

Array = Any  # float or numpy array (n,): one entry per draw
FINEST_S = 600.0  # mean seconds between slow episodes of one kind that lives tell apart; more frequent ones are merged


def hazards(
    values: Values,
    given: Reliability,
    tree: Mapping[str, Domain],
    rates: FailureRates,
    nodes: int,
    spare_nodes: int,
    node_size: int,
) -> tuple[FailureRates, Hazards, list[str]]:
    """(rates, hazards, notes): the rates less what shared domains now cause, and everything beyond constant rates.

    A published category counts failures whatever their reach. Where the scenario gives a domain its own rate, as many
    failures as its domains cause are taken from the category that counted them (never below zero), so that a fleet with
    `domains: typical` fails as often as before, but several nodes at once. Raises FactError for a shape of a category that
    the preset does not have.
    """
    shocks, slowdowns, notes = _domains(values, given, tree)
    for shock in shocks:
        events = shock.rate_per_s * shock.count(nodes + spare_nodes)
        rates = _less(rates, tree[shock.name].counted_in, events)
    slow = given.fail_slow
    if slow.mttf is not None or slow.rate is not None:
        slowdowns.append(
            Slowdown("fail-slow", slow.rate_per_s * nodes, slow.lasts, slow.slows_by, slow.exchange)
        )
    shapes, ages = _ages(given, rates)
    latency = given.silent_corruption.latency
    if latency > 0 and not any(c.name == "silent-data-corruption" for c in rates.categories):
        notes.append(
            f"the rates {rates.preset} have no silent-data-corruption: its latency has nothing to act on; give it a rate "
            "under reliability.overrides"
        )
    return (
        rates,
        Hazards(
            shapes=shapes,
            ages_s=ages,
            lemon_share=given.lemons.share,
            lemon_factor=given.lemons.factor,
            evict_after=given.lemons.evict_after,
            shocks=tuple(shocks),
            burst_share=given.bursts.share,
            burst_delay_s=given.bursts.delay,
            slowdowns=tuple(slowdowns),
            racks=racks(given, node_size),
            silent_latency_s=latency,
            kept=float("inf") if given.checkpoint.keep is None else float(given.checkpoint.keep),
            misdiagnosed=given.misdiagnosed,
            repair_random=given.repair.spread == "exponential",
            crews=given.repair.crews,
            give_up_after=given.give_up_after,
        ),
        notes,
    )


def racks(given: Reliability, node_size: int) -> Racks | None:
    """Racks with spares inside, in nodes; FactError where they are not whole nodes."""
    rack = given.rack_spares
    if rack is None:
        return None
    if rack.of % node_size or rack.needed % node_size:
        raise FactError(
            f"reliability.rack_spares: racks of {rack.of} with {rack.needed} needed are not whole nodes of {node_size}; "
            f"write multiples of {node_size}"
        )
    return Racks(rack.of // node_size, rack.needed // node_size)


def _domains(
    values: Values, given: Reliability, tree: Mapping[str, Domain]
) -> tuple[list[Shock], list[Slowdown], list[str]]:
    """Shocks and slow episodes of the shared domains that the scenario names."""
    shocks, slowdowns, notes, nodes = [], [], [], tree["host"].count
    for name, asked in given.domains.items():
        known = tree.get(name)
        if known is None:
            if asked.model_fields_set:  # `typical` takes what there is
                notes.append(f"this fleet has no {name}: its failures are left out")
            continue

        def number(field: str, own: Any, name: str = name, otherwise: float = 1.0) -> Any:
            return own if own is not None else values.get(f"{SECTION}.{name}.{field}", otherwise)

        rate = (
            asked.given_rate_per_s if asked.given_rate_per_s is not None else values[f"{SECTION}.{name}.rate"]
        )
        if known.effect == "slow":
            by = number("slows_by", asked.slows_by if asked.slows_by is not None else known.slows_by)
            slowdowns.append(_coarse(Slowdown(name, rate * known.count, number("lasts", asked.lasts), by)))
            continue
        held = min(asked.nodes or known.nodes, nodes)
        domains = known.count if asked.nodes is None else -(-nodes // held)
        blocks = -(
            -nodes // held
        )  # several leaves may serve the same nodes, one per rail: each strikes them all
        repair = number("repair", asked.repair, otherwise=given.repair.time)
        lost = float(np.mean(number("share_lost", asked.share_lost)))
        shocks.append(Shock(name, held, rate * domains / blocks, lost, known.effect, repair))
    return shocks, slowdowns, notes


def _coarse(slow: Slowdown) -> Slowdown:
    """The same share of time slowed, in episodes at least ten minutes apart: that share depends on rate × length alone."""
    fewer = np.minimum(slow.rate_per_s, 1.0 / FINEST_S)
    return replace(slow, rate_per_s=fewer, lasts_s=slow.lasts_s * slow.rate_per_s / np.maximum(fewer, 1e-300))


def _less(rates: FailureRates, names: tuple[str, ...], events_per_s: Array) -> FailureRates:
    """The rates with `events_per_s` fewer failures in the first category of `names` that they have."""
    counted = next((name for name in names if any(c.name == name for c in rates.categories)), None)
    if counted is None:
        return rates

    def lowered(category: CategoryRate) -> CategoryRate:
        if category.name != counted:
            return category
        return replace(
            category, rate_per_s=np.maximum(category.rate_per_s - events_per_s / category.count, 0.0)
        )

    return FailureRates(rates.preset, tuple(map(lowered, rates.categories)))


def _ages(given: Reliability, rates: FailureRates) -> tuple[dict[str, float], dict[str, Any]]:
    """Weibull shapes by category, and ages at the start (seconds or `stationary`); components mean all their categories."""
    shapes = _by_category(given.ages.shapes, rates, "shapes")
    start = dict(given.ages.start)
    usual = start.pop("all", None)
    ages = dict.fromkeys(shapes, usual) | {
        name: age for name, age in _by_category(start, rates, "start").items() if name in shapes
    }
    return shapes, {name: "stationary" if age is None else age for name, age in ages.items()}


def _by_category(stated: Mapping[str, Any], rates: FailureRates, field: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in stated.items():
        own = [c.name for c in rates.categories if c.scope == "node" and name in (c.name, c.component)]
        if not own:
            known = ", ".join(c.name for c in rates.categories if c.scope == "node")
            raise FactError(
                f"reliability.ages.{field}: the rates {rates.preset} have no category of nodes {name!r}; it has {known}"
            )
        exact = name in own
        found |= {category: value for category in own if exact or category not in stated}
    return found
