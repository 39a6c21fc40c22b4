"""Reliability: failure rates, domains, detection, restart, repair, policies, checkpoints, maintenance."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from argosy import units
from argosy.spec.hazards import (
    OFF,
    Ages,
    Bursts,
    Domains,
    FailSlow,
    Lemons,
    Observed,
    RackSpares,
    RateOverride,
    SilentCorruption,
)
from argosy.spec.quantity import Fraction, Seconds, Section, Shorthand, Word, setting


class Checkpoint(Section):
    """How the job saves its state."""

    interval: Annotated[Seconds | None, Word("auto")] = setting(
        None, "time between checkpoints", "Daly's optimum (doi:10.1016/j.future.2004.11.016)"
    )
    mode: Literal["sync", "async"] = setting(
        "async",
        "whether training waits until the state is stored",
        "assumption: current frameworks save asynchronously",
    )
    tiers: tuple[Literal["memory", "local", "storage"], ...] = setting(
        lambda: ("storage",),
        "where copies are kept, nearest first",
        "assumption: shared storage only",
        min_length=1,
    )
    storage_every: Annotated[int | None, Word("auto")] = setting(
        None,
        "with a nearer tier: every how many copies go to storage",
        "the best multiple, in closed form",
        ge=1,
    )
    keep: Annotated[int | None, Word("all")] = setting(
        None, "copies kept in storage: what silent corruption can fall back to", "all", ge=1
    )


class Maintenance(Section):
    """Planned interruptions; a checkpoint is taken first, so that no work is lost."""

    per_day: float = setting(0.0, "planned interruptions per day", "assumption: none", ge=0)
    duration: Seconds = setting(1800.0, "length of one", "assumption: 30 min")
    nodes: Annotated[int | None, Word("all")] = setting(
        None,
        "nodes worked on at once: where spares stand in for them, the job only saves and restarts (rolling upgrade)",
        "all: the job stands still",
        ge=1,
    )


GROUP_START_UP = ("tcp-store", "redis", "optimised")
"""Published ways to start collective groups; each is a fact of the catalog's `reliability.group-start-up`."""


def _group_start_up(given: Any) -> Any:
    """A method's name, or seconds."""
    if given in GROUP_START_UP:
        return given
    if not isinstance(given, str):
        if isinstance(given, float) and given >= 0:
            return given
        raise ValueError(f"{given!r} has no unit; write {', '.join(GROUP_START_UP)}, or a time such as 30 s")
    try:
        return units.parse(given, "s")
    except ValueError:
        raise ValueError(
            f"{given!r} is neither a method nor a time; write {', '.join(GROUP_START_UP)}, or a time such as 30 s"
        ) from None


def _whole_restart(given: Any) -> Any:
    """`8 min` as a whole; `computed` and mappings as parts."""
    if given == "computed":
        return {"total": None}
    if isinstance(given, dict):
        return {"total": None, **given}
    return given if isinstance(given, Restart) else {"total": given}


class Restart(Section):
    """From knowing of a failure to training again, nodes at hand: one time, or the sum of its parts."""

    total: Seconds | None = setting(480.0, "the whole of it; else its parts add up", "assumption: 8 min")
    scheduling: Seconds | None = setting(
        None,
        "scheduler, and containers where they have no time of their own",
        "the catalog's reliability.recovery.scheduling",
    )
    container: Seconds = setting(0.0, "pulling images and starting processes", "within scheduling")
    collectives: Annotated[
        Any, Shorthand(_group_start_up, {"type": "string", "examples": [*GROUP_START_UP, "30 s"]})
    ] = setting(
        "optimised",
        "start-up of the collective groups: a published method, growing with the ranks, or a time",
        "MegaScale (arXiv:2402.15627): 1,047 s, 361 s and under 5 s at 2,048 ranks",
    )
    load: Annotated[Seconds | None, Word("computed")] = setting(
        None, "reading the last checkpoint", "its bytes ÷ the bandwidth of storage or of the nodes' links"
    )


def _whole_repair(given: Any) -> Any:
    return given if isinstance(given, dict | Repair) else {"time": given}


class Repair(Section):
    """From a node's failure to its return as a spare."""

    time: Seconds = setting(86400.0, "mean time of a repair", "assumption: 1 day")
    spread: Literal["fixed", "exponential"] = setting(
        "fixed",
        "whether repairs take equal times",
        "equal: the mean alone decides how long jobs wait for spares (Sevastyanov 1957)",
    )
    crews: int = setting(0, "repairs at the same time (0: no limit)", OFF, ge=0)


class Reliability(Section):
    """What fails, how often, and what happens then."""

    preset: str = setting(
        "llama3-table5", "named set of failure rates by category", "Llama 3 (arXiv:2407.21783, table 5)"
    )
    overrides: dict[str, RateOverride] = setting(dict, "other rates by category", "none changed")
    observed: Observed | None = setting(
        None, "on what the rates were counted: plans for other fleets are told so", "the preset's own fleet"
    )
    domains: Domains = setting(
        dict,
        "failure domains that nodes share (rack, leaf-switch, power-domain…): typical, or a mapping by name",
        "none: failures are independent, as the preset counts them",
    )
    rack_spares: RackSpares | None = setting(
        None, "spares inside scale-up racks, beyond fleet.count: {of: 72, needed: 64}", "none"
    )
    ages: Ages = setting(Ages, "failure rates that change with age", "see its fields")
    lemons: Lemons = setting(Lemons, "nodes that fail more often", "see its fields")
    bursts: Bursts = setting(Bursts, "failures that follow failures", "see its fields")
    fail_slow: FailSlow = setting(FailSlow, "nodes that slow the job: rate per node", "see its fields")
    silent_corruption: SilentCorruption = setting(SilentCorruption, "latent corruption", "see its fields")
    detection: Seconds = setting(120.0, "from a failure to knowing it", "assumption: 2 min")
    diagnosis: Seconds = setting(
        0.0, "from knowing of a failure to knowing which node", "within detection: published times hold both"
    )
    misdiagnosed: Fraction = setting(
        0.0, "share of failures for which a healthy node is exchanged first", OFF, lt=1
    )
    restart: Annotated[
        Restart, Shorthand(_whole_restart, {"type": "string", "examples": ["8 min", "computed"]})
    ] = setting(Restart, "from knowing to training again, spare nodes at hand", "assumption: 8 min")
    repair: Annotated[Repair, Shorthand(_whole_repair, {"type": "string", "examples": ["1 day"]})] = setting(
        Repair, "from a node's failure to its return as a spare", "assumption: 1 day"
    )
    policy: Literal["restart", "spare-swap", "elastic", "replica", "redundancy"] = setting(
        "spare-swap", "what the job does when a node fails", "assumption: failed nodes are replaced by spares"
    )
    copies: int = setting(
        2,
        "with policy redundancy: copies of every node, those beyond the first on top of count",
        "pairs",
        ge=2,
    )
    queue: Seconds | None = setting(
        None,
        "with policy restart: wait in the scheduler's queue after every stop",
        "the catalog's reliability.recovery.queue",
    )
    give_up_after: int = setting(
        0,
        "recoveries without a new checkpoint after which the job gives up (0: never)",
        OFF,
        ge=0,
    )
    checkpoint: Checkpoint = setting(Checkpoint, "how the job saves its state", "see its fields")
    maintenance: Maintenance = setting(Maintenance, "planned interruptions", "see its fields")
