"""The cluster's queue: jobs, policies, gang placement, preemption, life of nodes; `simulate` plays a trace exactly."""

from argosy.scheduling.blockers import Blocker, blockers
from argosy.scheduling.cluster import Cluster, Quota, joined, uniform
from argosy.scheduling.jobs import Job
from argosy.scheduling.outages import Outages, Planned, Random, Upgrade, no_outages, outages, random_outages
from argosy.scheduling.outcome import CODE, EVENTS, LEDGER, STATUSES, Log, Outcome
from argosy.scheduling.policy import PRESETS, Policy, preset
from argosy.scheduling.simulate import simulate

__all__ = [
    "CODE",
    "EVENTS",
    "LEDGER",
    "PRESETS",
    "STATUSES",
    "Blocker",
    "Cluster",
    "Job",
    "Log",
    "Outages",
    "Outcome",
    "Planned",
    "Policy",
    "Quota",
    "Random",
    "Upgrade",
    "blockers",
    "joined",
    "no_outages",
    "outages",
    "preset",
    "random_outages",
    "simulate",
    "uniform",
]
