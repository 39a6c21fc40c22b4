"""Reliability: failure rates, detection, restart, checkpoints, maintenance."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import model_validator

from argosy.spec.quantity import PerSecond, Seconds, Section, Word, setting


class RateOverride(Section):
    """Another failure rate for one category: a mean time to failure, or its inverse."""

    mttf: Seconds | None = setting(None, "mean time to failure of one component", "from the rate")
    rate: PerSecond | None = setting(
        None, "failures per second of one component (write 1e-5 /h)", "from the mean time"
    )
    source: str = setting("scenario", "where the number was read", "the scenario itself")

    @model_validator(mode="after")
    def _one_of_both(self) -> RateOverride:
        if (self.mttf is None) == (self.rate is None):
            raise ValueError("give either mttf or rate; write for example {mttf: 79000 h}")
        if self.mttf == 0:
            raise ValueError(
                "a mean time to failure of 0 means that nothing ever runs; write for example {mttf: 79000 h}"
            )
        return self

    @property
    def rate_per_s(self) -> float:
        """Failures per second of one component."""
        return self.rate if self.rate is not None else 1.0 / (self.mttf or float("inf"))


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


class Maintenance(Section):
    """Planned interruptions; a checkpoint is taken first, so that no work is lost."""

    per_day: float = setting(0.0, "planned interruptions per day", "assumption: none", ge=0)
    duration: Seconds = setting(1800.0, "length of one", "assumption: 30 min")


class Reliability(Section):
    """What fails, how often, and what happens then."""

    preset: str = setting(
        "llama3-table5", "named set of failure rates by category", "Llama 3 (arXiv:2407.21783, table 5)"
    )
    overrides: dict[str, RateOverride] = setting(dict, "other rates by category", "none changed")
    detection: Seconds = setting(120.0, "from a failure to knowing it", "assumption: 2 min")
    restart: Seconds = setting(
        480.0, "from knowing to training again, spare nodes at hand", "assumption: 8 min"
    )
    repair: Seconds = setting(86400.0, "from a node's failure to its return as a spare", "assumption: 1 day")
    policy: Literal["restart", "spare-swap", "elastic", "replica"] = setting(
        "spare-swap", "what the job does when a node fails", "assumption: failed nodes are replaced by spares"
    )
    checkpoint: Checkpoint = setting(Checkpoint, "how the job saves its state", "see its fields")
    maintenance: Maintenance = setting(Maintenance, "planned interruptions", "see its fields")
