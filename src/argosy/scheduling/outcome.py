"""What came of a simulation: every job's life, the log of all that happened, and where the accelerator-seconds went."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from argosy.ledger import Ledger
from argosy.scheduling.cluster import Cluster
from argosy.scheduling.jobs import Job
from argosy.scheduling.outages import Outages
from argosy.scheduling.policy import Policy

EVENTS = (
    "queue",  # the job may start from now on: submitted, requeued, or its back-off is over
    "start",  # it takes the places listed
    "grow",  # it takes the places listed besides
    "shrink",  # it gives back the places listed
    "leave",  # told to leave: it holds its places while it saves (or until its failure is known)
    "finish",  # this and the next four: it gives back all it holds
    "preempt",
    "fail",  # a node failed under it
    "crash",  # it failed by itself
    "give-up",  # it failed by itself once too often
    "reject",  # it can never run here: larger than the cluster, or of a type that is not there
    "back-off",  # it waited with some of its places for too long, and asks again later
    "node-down",
    "node-drain",
    "node-maintenance",
    "node-up",
)
CODE = {name: code for code, name in enumerate(EVENTS)}
STATUSES = ("finished", "running", "pending", "gave-up", "rejected", "not-submitted")
LEDGER = (
    "productive", "lost", "checkpoint", "restart", "held",
    "idle_free", "idle_fragmented", "down", "drained",
)  # fmt: skip
"""Where accelerator-seconds go. held: by workers that wait for the rest of their job; idle_fragmented: free, but not for
a job drawn from the mix (FGD); drained: out of use for maintenance, or on the way to it."""


@dataclass(frozen=True, slots=True, eq=False)
class Log:
    """All that happened, in order, arrays (n,): time, code of the event, job (an index, -1 for events of nodes), and from
    `first` on `size` entries of the places: node, accelerators (a fraction below 1), and which shared accelerator of the
    node a fraction is on (-1 for whole ones)."""

    time_s: np.ndarray
    event: np.ndarray
    job: np.ndarray
    first: np.ndarray
    size: np.ndarray
    node: np.ndarray
    amount: np.ndarray
    device: np.ndarray

    def __len__(self) -> int:
        return len(self.time_s)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Arrays (jobs,) in the order of `jobs`; times in s, NaN for what did not happen.

    wait_s: from submission to the first start; queued_s: all time in the queue, back-offs included; nodes: at the first start;
    the `_gpu_s` columns are the job's part of the ledger. `ledger` closes: its parts sum to accelerators × horizon.
    """

    cluster: Cluster
    jobs: tuple[Job, ...]
    policy: Policy
    failures: Outages
    horizon_s: float
    status: np.ndarray
    """Codes into STATUSES."""
    start_s: np.ndarray
    end_s: np.ndarray
    wait_s: np.ndarray
    queued_s: np.ndarray
    preemptions: np.ndarray
    restarts: np.ndarray
    """Stops by failures of nodes or of the program."""
    migrations: np.ndarray
    nodes: np.ndarray
    productive_gpu_s: np.ndarray
    lost_gpu_s: np.ndarray
    checkpoint_gpu_s: np.ndarray
    restart_gpu_s: np.ndarray
    held_gpu_s: np.ndarray
    ledger: Ledger
    log: Log
    totals: dict[str, Any] = field(default_factory=dict)
    """utilization (productive ÷ all), allocation (held by jobs ÷ all), fragmentation (of what was free, the share that a job of
    the mix could not use), wait_s {p50, p90, p99}, lost_gpu_s, goodput (productive ÷ held), preemptions, finished, ..."""
