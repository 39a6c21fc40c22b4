"""The methods of the two sites in one process, one site after the other: what their losses must be. torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from argosy.testbed.sites import plan
from argosy.testbed.sites.exchange import Outer
from argosy.testbed.sites.rank_main import Replica


def losses(
    cases: Sequence[Mapping[str, Any]], found: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, float]:
    """The loss of every data-parallel method on the samples for comparison. The late one is told after how many steps each
    site had what the other sent.
    """
    by_name = {case["name"]: case for case in cases if "name" in case}
    leaders = range(0, plan.RANKS, plan.RANKS // plan.SITES)
    return {
        "together": together(by_name["sites"]),
        "diloco": diloco(by_name["diloco"]),
        "late": late(by_name["late"], [found["late"][rank]["applied"] for rank in leaders]),
        "together, as many samples": together(by_name["diloco"]),
    }


def together(case: Mapping[str, Any]) -> float:
    """All samples of every step in one model."""
    one = Replica(case, 0, 1, pace=False)
    for step in range(case["steps"]):
        one.gradients(step)
        one.optimizer.step()
    return one.loss()


def _pair(case: Mapping[str, Any]) -> list[Replica]:
    return [Replica(case, site, plan.SITES, plan.SITES, pace=False) for site in range(plan.SITES)]


def _one_step(both: Sequence[Replica], step: int) -> None:
    for one in both:
        one.gradients(step)
        one.optimizer.step()


def diloco(case: Mapping[str, Any]) -> float:
    """Local steps of both, and outer ones."""
    both = _pair(case)
    outer = Outer(both[0].weights, plan.OUTER_RATE, plan.OUTER_MOMENTUM)
    for step in range(case["steps"]):
        _one_step(both, step)
        if (step + 1) % case["interval"] == 0:
            moved = sum((outer.start - one.weights) / len(both) for one in both)
            weights = outer.step(moved)
            for one in both:
                one.weights.copy_(weights)
    return both[0].loss()


def late(case: Mapping[str, Any], applied: Sequence[Sequence[Sequence[int]]]) -> float:
    """Weights that arrive steps after they were sent: `applied` per site, (steps when sent, steps when applied)."""
    both = _pair(case)
    due = [{(sent, at) for sent, at in one} for one in applied]
    kept: dict[int, list[Any]] = {}
    for step in range(1, case["steps"] + 1):
        _one_step(both, step - 1)
        for site, one in enumerate(both):
            for sent in sorted(sent for sent, at in due[site] if at == step and sent != step):
                one.weights.add_((kept[sent][1 - site] - kept[sent][site]) / 2)
        if step % case["interval"] == 0:
            kept[step] = [one.weights.clone() for one in both]
    for site, one in enumerate(both):  # sent after the last step
        for sent in sorted(sent for sent, at in due[site] if sent == at == case["steps"]):
            one.weights.add_((kept[sent][1 - site] - kept[sent][site]) / 2)
    both[0].weights.add_(both[1].weights).div_(2)
    return both[0].loss()
