"""What a job under failures is: its steps and samples, its times, its policy; no torch, so plans and tests read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from argosy.testbed.training.shape import Shape

RESTART, SWAP, ELASTIC = "restart", "spare-swap", "elastic"
POLICIES = (RESTART, SWAP, ELASTIC)


@dataclass(frozen=True)
class Settings:
    """A job of `steps` steps of `micro_batches` samples each on `ranks` hosts (a rank each), and its policy.

    `micro_batch_s`: seconds that the accelerator takes for one sample, forward and backward: a wait. `interval`: steps between
    checkpoints, whose writing takes `storage_s` more (a wait too). `queue_s`: of a scheduler's queue, for `restart`.
    `repair_s`: from a failure until the host's processes may start again. `epoch_steps`: steps in which every sample is seen
    once. `mtbf_s`: mean seconds of active time between failures of the whole job; 0: none. `anywhere`: all time is active,
    failures strike while the job regroups or waits, too.
    """

    policy: str = RESTART
    steps: int = 100
    ranks: int = 4
    spares: int = 1
    micro_batches: int = 12
    micro_batch_s: float = 0.03
    epoch_steps: int = 50
    interval: int = 8
    storage_s: float = 0.05
    queue_s: float = 0.5
    repair_s: float = 2.0
    mtbf_s: float = 0.0
    anywhere: bool = False
    seed: int = 0
    shape: Shape = field(
        default_factory=lambda: Shape(layers=2, hidden=16, heads=2, dtype="float64", context=16)
    )

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise ValueError(f"no policy {self.policy!r}; write one of {', '.join(POLICIES)}")

    @property
    def hosts(self) -> int:
        """The job's hosts and the spares."""
        return self.ranks + self.spares

    def to_dict(self) -> dict[str, Any]:
        """As JSON; `Settings.of` reads it."""
        return asdict(self)

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Settings:
        """From `to_dict`."""
        return cls(**{**value, "shape": Shape(**value["shape"])})


class Order:
    """The order of samples: every epoch is all of them once, shuffled anew by (seed, epoch)."""

    def __init__(self, epoch_steps: int, per_step: int, seed: int = 0) -> None:
        self.epoch_steps, self.per_step, self.seed = epoch_steps, per_step, seed
        self._epoch, self._shuffled = -1, np.empty(0, dtype=np.int64)

    @property
    def samples(self) -> int:
        """How many there are."""
        return self.epoch_steps * self.per_step

    def numbers(self, step: int) -> list[int]:
        """The samples (per_step,) of a step, from 0."""
        epoch, place = divmod(step, self.epoch_steps)
        if epoch != self._epoch:
            draw = np.random.Generator(np.random.Philox(key=[self.seed, epoch]))
            self._epoch, self._shuffled = epoch, draw.permutation(self.samples)
        return [int(one) for one in self._shuffled[place * self.per_step : (place + 1) * self.per_step]]
