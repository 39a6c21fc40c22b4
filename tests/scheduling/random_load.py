"""Random clusters, jobs, policies and outages: everything the scheduler takes, small enough to play thousands of."""

from dataclasses import replace
from math import inf

import numpy as np

from argosy.scheduling import PRESETS, Cluster, Job, Outages, Planned, Policy, Quota, Upgrade, joined, uniform

TENANTS = ("ada", "bob", "cyd")


def cluster(luck: np.random.Generator) -> Cluster:
    per_node = int(luck.choice([1, 2, 4, 8]))
    parts = [
        uniform(
            int(luck.integers(1, 9)),
            per_node,
            nodes_per_domain=int(luck.integers(1, 3)),
            nodes_per_leaf=int(luck.integers(1, 4)),
            leaves_per_pod=int(luck.integers(1, 3)),
            accelerator="A",
        )
    ]
    if luck.random() < 0.3:
        parts.append(uniform(int(luck.integers(1, 5)), int(luck.choice([2, 4, 8])), 1, 2, 2, accelerator="B"))
    quotas = ()
    if luck.random() < 0.5:
        quotas = tuple(
            Quota(
                tenant,
                int(luck.integers(0, 20)),
                cohort="all" if luck.random() < 0.8 else "",
                borrow=float(luck.choice([inf, inf, 4])),
                lend=None if luck.random() < 0.7 else int(luck.integers(0, 5)),
                weight=float(luck.choice([1.0, 2.0])),
            )
            for tenant in TENANTS[: int(luck.integers(1, 4))]
        )
    whole = replace(joined(tuple(parts)), quotas=quotas, speeds={"B": float(luck.choice([0.5, 2.0]))})
    if luck.random() < 0.2:
        cpus = luck.integers(4, 33, whole.nodes).astype(float)
        memory = luck.integers(16, 129, whole.nodes).astype(float)
        whole = replace(whole, cpus=cpus, memory_bytes=memory)
    return whole


def job(luck: np.random.Generator, number: int, submit: float) -> Job:
    duration = float(np.round(luck.exponential(100.0), 1)) + 0.1
    accelerators = int(luck.choice([1, 1, 2, 3, 4, 6, 8, 12, 16, 24]))
    given = {
        "tenant": str(luck.choice([*TENANTS, ""])),
        "priority": int(luck.integers(0, 3)),
        "walltime_s": None if luck.random() < 0.5 else duration * float(luck.uniform(0.7, 3.0)),
        "deadline_s": submit + duration * 3 if luck.random() < 0.3 else inf,
        "checkpoint_s": float(luck.choice([0.0, 0.0, 5.0, 40.0, inf])),
        "checkpoint_interval_s": float(luck.choice([inf, 10.0, 33.3])),
        "restart_s": float(luck.choice([0.0, 7.0])),
        "resize_s": float(luck.choice([0.0, 3.0])),
        "topology": str(
            luck.choice(["any", "any", "any", "node", "nvlink-domain", "leaf", "pod", "leaves:2"])
        ),
        "accelerator": str(luck.choice(["", "", "A", "B", "A|B"])),
        "cpus": float(luck.choice([0.0, 0.0, 3.0])),
        "memory_bytes": float(luck.choice([0.0, 0.0, 8.0])),
        "crash_after_s": duration / 2 if luck.random() < 0.05 else inf,
    }
    one = Job(f"job-{number}", submit, duration, accelerators, **given)
    kind = luck.choice(["rigid", "rigid", "rigid", "moldable", "elastic", "service", "fraction", "workers"])
    if kind == "workers":
        return replace(one, worker=int(luck.choice([d for d in (1, 2, 4) if accelerators % d == 0])))
    if kind == "fraction":
        return replace(
            one, accelerators=1, fraction=float(luck.choice([0.1, 0.25, 0.5, 0.7])), topology="any"
        )
    if kind == "moldable":
        return replace(one, kind="moldable", sizes=((accelerators, 1.0), (2 * accelerators, 1.7), (1, 0.2)))
    if kind in ("elastic", "service") and one.topology != "node":
        one = replace(one, kind=str(kind), worker=1)
        if kind == "elastic":
            return replace(
                one,
                elastic_min=max(1, accelerators // 2),
                elastic_max=accelerators + int(luck.integers(0, 4)),
            )
        return replace(one, floor=int(luck.integers(0, accelerators + 1)))
    return one


def jobs(luck: np.random.Generator, most: int = 30) -> list[Job]:
    count = int(luck.integers(1, most + 1))
    gaps = luck.exponential(float(luck.choice([2.0, 20.0, 60.0])), count)
    times = np.round(np.cumsum(gaps), 1 if luck.random() < 0.7 else 0)
    return [job(luck, number, float(time)) for number, time in enumerate(times)]


def policy(luck: np.random.Generator, name: str | None = None) -> Policy:
    chosen = PRESETS[name or str(luck.choice(list(PRESETS)))]
    changes: dict[str, object] = {"thresholds_gpu_s": (50.0, 500.0, 5000.0), "crash_limit": 3, "hold_s": 30.0}
    if luck.random() < 0.5:
        changes["placement"] = str(luck.choice(["first-fit", "pack", "spread", "fragmentation", "topology"]))
    if luck.random() < 0.3:
        changes["detection_s"] = 4.0
    if luck.random() < 0.3:
        changes["grace_s"] = float(luck.choice([0.0, 10.0]))
    if luck.random() < 0.2:
        changes["replace"] = not chosen.replace
    if luck.random() < 0.2 and chosen.preemption != "none":
        changes["least_run_s"] = 15.0
    if luck.random() < 0.3:
        changes["quota"] = str(luck.choice(["limit", "borrow"]))
    if luck.random() < 0.2 and chosen.backfill != "conservative":
        changes["defragment"] = True
    return replace(chosen, **changes)


def outages(luck: np.random.Generator, nodes: int, span: float) -> Outages:
    count = int(luck.poisson(luck.choice([0.0, 2.0, 8.0])))
    at = np.sort(np.round(luck.uniform(0.0, span, count), 1))
    planned = tuple(
        Planned(
            float(np.round(luck.uniform(0.0, span))),
            int(luck.integers(0, nodes)),
            50.0,
            float(luck.choice([inf, 0.0, 20.0])),
        )
        for _ in range(int(luck.choice([0, 0, 1, 3])))
    )
    upgrades = ()
    if luck.random() < 0.2:
        upgrades = (Upgrade(span / 4, 20.0, float(luck.choice([0.5, 0.9])), float(luck.choice([inf, 30.0]))),)
    return Outages(at, luck.integers(0, nodes, count), luck.exponential(60.0, count), planned, upgrades)
