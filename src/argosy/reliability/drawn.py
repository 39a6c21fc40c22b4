"""One life per draw by the event engine: every draw has its own rates, costs, recovery and work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from argosy.reliability.checkpoints import CheckpointCost
from argosy.reliability.engine_input import LONGEST, job_record, world
from argosy.reliability.events import in_copies, run_keys
from argosy.reliability.goodput import Goodput, goodput
from argosy.reliability.hazards import Hazards
from argosy.reliability.rates import FailureRates
from argosy.reliability.recovery import Maintenance, Recovery
from argosy.reliability.renewal import Lives
from argosy.reliability.states import STATES

Array = Any  # float or numpy array (n,): one entry per draw
MOST_EVENTS = 3e6  # failures and slow episodes of all lives of a plan: some ten seconds of one core
FEWEST = 200


def drawn_lives(
    work_s: Array,
    nodes: int,
    rates: FailureRates,
    cost: CheckpointCost,
    recovery: Recovery,
    maintenance: Maintenance | None = None,
    interval_s: Array | None = None,
    hazards: Hazards | None = None,
    draws: int = 1000,
    seed: int = 0,
) -> Lives:
    """`draws` lives of a job of `work_s` productive seconds on `nodes` nodes, node by node; see `event_lives`.

    As `lives`, every number may be an array (draws,): life i is that of the i-th entries. The checkpoint interval is that of
    the closed form with the shocks counted (`Hazards.joint_rates`). A life that was cut or given up never ends: ∞.
    Where lives are long (`lives_within`), each stands for several draws, stretched to their work.
    """
    hazards, maintenance = hazards or Hazards(), maintenance or Maintenance()
    joint = hazards.joint_rates(rates, nodes + recovery.spare_nodes)
    form = goodput(joint, cost, recovery, maintenance, interval_s)
    work = np.broadcast_to(np.asarray(work_s, dtype=float), (draws,))
    keys = np.random.SeedSequence([seed, 77]).generate_state(draws, np.uint64)
    many = lives_within(form, work, hazards, draws)
    seconds, failures = np.zeros((many, len(STATES))), np.zeros(many)
    parts = [_entry(each, draws) for each in (rates, cost, recovery, maintenance, form, hazards)]
    for i in range(many):
        own_rates, own_cost, own_recovery, own_maintenance, own_form, own_hazards = (
            part(i) for part in parts
        )
        job = job_record(work[i], nodes, own_cost, own_recovery, own_maintenance, own_form, own_hazards)
        own_rates = in_copies(own_rates, own_recovery)
        w = world(own_rates, own_hazards, job, own_recovery.spare_nodes, float(own_recovery.repair_s))
        booked, counts, ends = run_keys(keys[i : i + 1], w)
        seconds[i], failures[i] = booked[0, 0], counts.sum()
        if ends[0, 0] != 0:
            seconds[i, 0] = np.inf
    lived = np.arange(draws) % many
    stretch = np.divide(work, work[lived], out=np.ones(draws), where=work[lived] > 0)
    seconds, failures = seconds[lived] * stretch[:, None], failures[lived] * stretch
    return Lives(dict(zip(STATES, seconds.T, strict=True)), failures, form)


def lives_within(form: Goodput, work_s: np.ndarray, hazards: Hazards, draws: int) -> int:
    """How many of `draws` lives are played through: all, unless they would hold more than `MOST_EVENTS` in all.

    Events of a life: its failures and slow episodes, at the median of the draws. At least `FEWEST`, whose P10 and P90 are
    known to a tenth of their distance.
    """
    wall = np.minimum(form.wall_s(work_s), LONGEST * work_s)
    slow = sum(np.median(each.rate_per_s) for each in hazards.slowdowns)
    events = float(np.median(form.failures_per_s * wall) + slow * np.median(wall))
    return draws if events * draws <= MOST_EVENTS else min(draws, max(FEWEST, int(MOST_EVENTS / events)))


def _entry(value: Any, draws: int) -> Callable[[int], Any]:
    """i ↦ `value` with the i-th entry in place of every array over draws, in dataclasses, tuples and mappings too.

    What holds no such array is handed on as it is.
    """
    varying = _varying(value, draws)
    return varying if varying is not None else lambda i: value


def _varying(value: Any, draws: int) -> Callable[[int], Any] | None:
    """As `_entry`, None where nothing varies."""
    if isinstance(value, np.ndarray):
        return value.__getitem__ if value.shape == (draws,) else None
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: inner for f in fields(value) if (inner := _varying(getattr(value, f.name), draws))}
        return (
            (lambda i: replace(value, **{name: each(i) for name, each in parts.items()})) if parts else None
        )
    if isinstance(value, dict):
        own = {key: inner for key, each in value.items() if (inner := _varying(each, draws))}
        return (lambda i: value | {key: each(i) for key, each in own.items()}) if own else None
    if isinstance(value, tuple):
        members = [_varying(each, draws) for each in value]
        if not any(members):
            return None
        return lambda i: tuple(
            each if inner is None else inner(i) for each, inner in zip(value, members, strict=True)
        )
    return None
