"""Jobs of one shape ask for the same places, so that one answer holds for all of them: requests as rows, and their placing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

import numpy as np

from argosy.kernels import placement
from argosy.scheduling.cluster import Cluster
from argosy.scheduling.jobs import ELASTIC, FRACTION_STEPS, MOLDABLE, SERVICE, Job
from argosy.scheduling.machine import NOBODY, UP, Machine, Places
from argosy.scheduling.policy import PLACEMENTS, Policy

_LEVELS = {"any": placement.ANY, "node": placement.ANY, "nvlink-domain": placement.DOMAIN,
           "leaf": placement.LEAF, "pod": placement.POD}  # fmt: skip

KEPT_SETS = 4096
"""Sets of shapes whose rows are kept side by side."""
_NO_ROWS = np.zeros((0, placement.REQUEST), dtype=np.int64)


class Option(NamedTuple):
    """One way to run: a request (a row for the kernels), and the speed it then has with all of its workers."""

    request: np.ndarray
    speed: float
    fewest: int
    """Workers that suffice to start."""
    size: int
    """Accelerators per worker."""
    workers: int
    """All its workers."""

    def of(self, workers: int) -> np.ndarray:
        """The request for so many workers instead."""
        row = self.request.copy()
        row[placement.WORKERS] = workers
        return row


@dataclass(slots=True, eq=False)
class Shape:
    """What jobs of one shape may be placed as, best first; `rows`: the smallest requests, any of which lets one start."""

    number: int
    options: list[Option]
    rows: np.ndarray
    steps: int
    cpus: float
    memory: float
    tenant: str
    fewest: float
    """Accelerators that the smallest start takes: what a quota is asked for."""
    pending: list[tuple[tuple[float, ...], int]] = field(default_factory=list)
    """Waiting jobs of the shape, in order: key and index."""
    shortest: list[tuple[float, int]] = field(default_factory=list)
    """Heap of their estimates; entries of jobs that wait no more are dropped when they come up."""

    special: bool = False
    """Whether more than whole accelerators decides if it fits."""

    def __post_init__(self) -> None:
        self.special = bool(self.steps or self.cpus or self.memory)


def key_of(job: Job, by_tenant: bool, by_priority: bool) -> tuple[object, ...]:
    """Equal for jobs that fit in the same places under the same rights."""
    return (
        job.accelerators, job.worker, job.topology, job.accelerator, job.kind, job.elastic_min, job.floor, job.sizes,
        job.fraction, job.cpus, job.memory_bytes,
        job.tenant if by_tenant else "", job.priority if by_priority else 0,
    )  # fmt: skip


def shape_of(job: Job, cluster: Cluster, number: int, whole: bool) -> Shape:
    """The shape of a job; without options where no node of the cluster can be its. `whole`: all workers at once."""
    options = _options(job, cluster, whole)
    rows = [option.of(option.fewest) for option in options]
    fewest = min((option.fewest * option.size for option in options), default=job.accelerators)
    return Shape(
        number,
        options,
        np.array(rows, dtype=np.int64).reshape(len(rows), placement.REQUEST),
        round(job.fraction * FRACTION_STEPS),
        job.cpus if cluster.cpus is not None else 0.0,
        job.memory_bytes if cluster.memory_bytes is not None else 0.0,
        job.tenant,
        job.fraction or fewest,
    )


def types_of(job: Job, cluster: Cluster) -> list[int]:
    """Types that the job may run on, the fastest first."""
    wanted = job.accelerator.split("|") if job.accelerator else list(cluster.types)
    known = [at for at, name in enumerate(cluster.types) if name in wanted]
    return sorted(known, key=lambda at: -cluster.speeds.get(cluster.types[at], 1.0))


def _options(job: Job, cluster: Cluster, whole: bool) -> list[Option]:
    found = []
    sizes = sorted(job.sizes, key=lambda one: -one[1]) if job.kind == MOLDABLE else [(job.accelerators, 1.0)]
    level = placement.LEAVES if job.leaves else _LEVELS[job.topology]
    for accelerators, speed in sizes:
        for at in types_of(job, cluster):
            node = int(cluster.accelerators[cluster.type_index == at].max(initial=0))
            size = (
                job.worker_size(node) if job.kind != MOLDABLE else _moldable_worker(job, accelerators, node)
            )
            if size == 0:
                continue
            workers = accelerators // size
            row = np.array([size, workers, level, at, job.leaves], dtype=np.int64)
            fewest = workers
            if job.kind == ELASTIC:
                fewest = min(job.elastic_min or workers, workers)
            elif job.kind == SERVICE:
                fewest = min(max(job.floor, 1), workers)
            elif not whole and job.topology == "any":
                fewest = 1
            speed_there = speed * cluster.speeds.get(cluster.types[at], 1.0)
            found.append(Option(row, speed_there, fewest, size, workers))
    return found


def _moldable_worker(job: Job, accelerators: int, node: int) -> int:
    """The usual worker of a size: the stated one where it divides, else as for a job of this size."""
    if job.worker and accelerators % job.worker == 0:
        return job.worker if job.worker <= node else 0
    if job.topology == "node":
        return accelerators if accelerators <= node else 0
    return accelerators if accelerators <= node else int(np.gcd(accelerators, node))


class Chosen(NamedTuple):
    """Where a job would go, as which option, and whether a shared accelerator is fresh (-1) or which one it is."""

    places: Places
    option: Option


class Placer:
    """Finds places on a machine by a policy's rule."""

    def __init__(self, machine: Machine, rule: str) -> None:
        self.machine = machine
        self.mode = PLACEMENTS.index(rule)
        self._nodes = np.empty(len(machine.free), dtype=np.int64)
        self._workers = np.empty(len(machine.free), dtype=np.int64)
        self._rows: dict[tuple[int, ...], np.ndarray] = {}

    def fits(self, shapes: list[Shape], avail: np.ndarray) -> list[bool]:
        """Whether a job of each shape can start with `avail` (nodes,) accelerators."""
        machine = self.machine
        rows = self._requests(shapes)
        answers: list[bool] = []
        if len(rows):
            answers = placement.which_fit(
                avail, machine.types, machine.groups, rows, machine.largest
            ).tolist()
        at, found = 0, []
        for shape in shapes:
            if shape.special:
                found.append(self.choose(shape, avail) is not None)
            elif len(shape.rows) == 1:
                found.append(answers[at])
                at += 1
            else:
                found.append(any(answers[at : at + len(shape.rows)]))
                at += len(shape.rows)
        return found

    def _requests(self, shapes: list[Shape]) -> np.ndarray:
        """The rows of all shapes that whole accelerators alone decide on; a queue's walks ask for the same sets over and over."""
        if len(shapes) == 1:  # may be a shape made for one question, which has no number of its own
            return _NO_ROWS if shapes[0].special else shapes[0].rows
        key = tuple([shape.number for shape in shapes])
        rows = self._rows.get(key)
        if rows is None:
            if len(self._rows) >= KEPT_SETS:
                self._rows.clear()
            plain = [shape.rows for shape in shapes if not shape.special]
            rows = self._rows[key] = np.concatenate(plain) if plain else _NO_ROWS
        return rows

    def choose(
        self, shape: Shape, avail: np.ndarray, allowed: float = inf, shared: bool = True
    ) -> Chosen | None:
        """The best option that fits and its places; None where none does. `allowed`: accelerators that the tenant may have
        more; `shared`: fractions may join a shared accelerator."""
        for option in shape.options:
            chosen = self.choose_option(shape, option, avail, allowed, shared)
            if chosen is not None or shape.steps:
                return chosen
        return None

    def choose_option(
        self, shape: Shape, option: Option, avail: np.ndarray, allowed: float = inf, shared: bool = True
    ) -> Chosen | None:
        """Places of one option, with as many workers as there is room for; None where too few fit."""
        if shape.steps:
            return self._fraction(shape, avail, shared) if shape.fewest <= allowed + 1e-9 else None
        machine = self.machine
        limit = machine.limit(shape.cpus, shape.memory) if shape.special else NOBODY
        workers = option.workers
        if workers * option.size > allowed:
            workers = int(allowed // option.size)
        if option.fewest < option.workers:
            room = placement.most(avail, machine.types, machine.groups, limit, option.request)
            workers = min(workers, int(room))
        if workers < option.fewest:
            return None
        places = self.put(avail, option.request if workers == option.workers else option.of(workers), limit)
        return None if places is None else Chosen(places, option)

    def put(self, avail: np.ndarray, request: np.ndarray, limit: np.ndarray = NOBODY) -> Places | None:
        """Places for all workers of a request, None where they do not fit."""
        machine = self.machine
        count = placement.place(
            avail, machine.types, machine.groups, limit, request, self.mode,
            machine.waste[request[placement.TYPE]], self._nodes, self._workers,
        )  # fmt: skip
        if count < 0:
            return None
        workers = self._workers[:count]
        return Places(
            self._nodes[:count].copy(), workers * request[placement.WORKER], int(request[placement.WORKERS])
        )

    def _fraction(self, shape: Shape, avail: np.ndarray, shared: bool) -> Chosen | None:
        """A shared accelerator that is left with least, the lower node's at a tie; else a fresh one by the policy's rule."""
        machine, best = self.machine, (FRACTION_STEPS + 1, -1, -1)
        allowed = {int(option.request[placement.TYPE]): option for option in shape.options}
        limit = machine.limit(shape.cpus, shape.memory)
        for node, devices in machine.shared.items() if shared else ():
            if (
                machine.state[node] != UP
                or int(machine.types[node]) not in allowed
                or (len(limit) and limit[node] < 1)
            ):
                continue
            for device, holders in devices.items():
                left = FRACTION_STEPS - sum(steps for steps, _ in holders.values()) - shape.steps
                if left >= 0:
                    best = min(best, (left, node, device))
        if best[1] >= 0:
            places = Places(np.array([best[1]]), np.array([1]), 1, best[2], shape.steps)
            return Chosen(places, allowed[int(machine.types[best[1]])])
        for option in shape.options:
            fresh = self.put(avail, option.request, limit)
            if fresh is not None:
                fresh.steps = shape.steps
                return Chosen(fresh, option)
        return None


def waste_table(shapes: list[tuple[Shape, int]], cluster: Cluster) -> np.ndarray:
    """Accelerators of a node with so many free that a job drawn from the mix cannot use (types, free + 1), after FGD (Weng et
    al., USENIX ATC 2023): all of them where its worker does not fit, none where it does. `shapes`: with their numbers of jobs.
    """
    table = np.zeros((len(cluster.types), cluster.largest_node + 1))
    total = sum(count for _, count in shapes) or 1
    free = np.arange(cluster.largest_node + 1)
    for shape, count in shapes:
        smallest = np.full(len(cluster.types), cluster.largest_node + 1)
        for option in shape.options:
            at = int(option.request[placement.TYPE])
            smallest[at] = min(smallest[at], option.size)
        table += np.where(free[None, :] < smallest[:, None], free[None, :], 0) * (count / total)
    return table


def without_dead_ends(shape: Shape, empty: Placer, most: float) -> None:
    """Without gangs workers take places one by one: only options of which all workers fit on the empty cluster, and in what the
    tenant may have at most (`most` accelerators)."""
    limit = empty.machine.limit(shape.cpus, shape.memory)
    able = [
        at
        for at, one in enumerate(shape.options)
        if (shape.steps or one.workers * one.size <= most)
        and empty.put(empty.machine.free, one.request, limit)
    ]
    shape.options, shape.rows = [shape.options[at] for at in able], shape.rows[able]


def shapes_of(cluster: Cluster, jobs: Sequence[Job], policy: Policy) -> list[Shape]:
    """The shape of each job; without gangs only options that the empty cluster can hold whole."""
    # the tenant decides whether a quota, and its own or others' cohort, lets a job start
    by_tenant = policy.order == "fair-share" or (policy.quota != "none" and bool(cluster.quotas))
    by_priority = policy.preemption == "priority" and policy.order != "priority"
    known: dict[tuple[object, ...], Shape] = {}
    found = []
    for job in jobs:
        key = key_of(job, by_tenant, by_priority)
        shape = known.get(key)
        if shape is None:
            shape = known[key] = shape_of(job, cluster, len(known), policy.gang)
        found.append(shape)
    return found
