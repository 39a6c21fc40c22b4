"""The nodes at one moment: what is taken, what is open, and the running totals of idle accelerator-seconds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argosy.kernels import occupancy
from argosy.kernels.occupancy import AWAY, DOWN, DRAINED, DRAINING, FREE, LOST, UP, WASTED
from argosy.scheduling.cluster import Cluster
from argosy.scheduling.jobs import FRACTION_STEPS

__all__ = ["AWAY", "DOWN", "DRAINING", "UP", "Machine", "Places", "joined", "without"]

NOBODY = np.zeros(0, dtype=np.int64)


@dataclass(slots=True)
class Places:
    """What a job holds: accelerators by node, and the shared one where it holds a fraction (`device` of the only node)."""

    nodes: np.ndarray
    amounts: np.ndarray
    workers: int
    device: int = -1
    steps: int = 0
    _total: int = -1

    @property
    def accelerators(self) -> float:
        """How many it holds, a fraction counted as such."""
        if self.steps:
            return self.steps / FRACTION_STEPS
        if self._total < 0:
            self._total = int(self.amounts.sum())
        return self._total

    def by_node(self) -> dict[int, int]:
        """Accelerators by node."""
        return dict(zip(self.nodes.tolist(), self.amounts.tolist(), strict=True))


def joined(a: Places, b: Places) -> Places:
    """Both as one."""
    total = a.by_node()
    for node, amount in b.by_node().items():
        total[node] = total.get(node, 0) + amount
    return Places(
        np.array(list(total)), np.array(list(total.values())), a.workers + b.workers, a.device, a.steps
    )


def without(a: Places, b: Places) -> Places | None:
    """What is left of `a` after `b`; None where nothing is."""
    total = a.by_node()
    for node, amount in b.by_node().items():
        total[node] -= amount
    left = {node: amount for node, amount in total.items() if amount}
    if not left:
        return None
    return Places(np.array(list(left)), np.array(list(left.values())), a.workers - b.workers)


class Machine:
    """Nodes' states and counts. `waste` (types, free + 1): accelerators of a node that a job of the mix cannot use."""

    def __init__(self, cluster: Cluster, waste: np.ndarray, keep_times: bool) -> None:
        self.cluster = cluster
        self.types = np.ascontiguousarray(cluster.type_index, dtype=np.int64)
        self.groups = np.stack(
            [np.zeros(cluster.nodes, dtype=np.int64), cluster.domain, cluster.leaf, cluster.pod]
        ).astype(np.int64)
        self.largest = cluster.largest_node
        self.waste = waste
        self.idle = cluster.accelerators.astype(np.int64)
        self.free = self.idle.copy()
        self.state = np.zeros(cluster.nodes, dtype=np.int64)
        self.opened = np.ones(cluster.nodes, dtype=bool)
        """Whether nodes take new work (nodes,)."""
        self.totals = np.zeros(4)
        self.totals[FREE] = cluster.total
        self.totals[WASTED] = waste[self.types, self.idle].sum()
        slots = np.arange(self.largest)
        times = np.where(slots[None, :] < self.idle[:, None], -np.inf, np.inf)
        self.until = np.sort(times, axis=1) if keep_times else np.zeros((0, self.largest))
        self.cpus = None if cluster.cpus is None else cluster.cpus.astype(float)
        self.memory = None if cluster.memory_bytes is None else cluster.memory_bytes.astype(float)
        self.shared: dict[int, dict[int, dict[int, tuple[int, float]]]] = {}
        """By node and device: who holds how many thousandths of it, until when."""
        self.devices = 0
        self.now = 0.0
        self.idle_s = {"idle_free": 0.0, "idle_fragmented": 0.0, "down": 0.0, "drained": 0.0}
        self.released = 0
        """How often anything became free or open: who waits need not look again before it changes."""

    def advance(self, now: float) -> None:
        """Books what is idle until `now`."""
        passed = now - self.now
        if passed <= 0:
            return
        free, wasted, drained, lost = self.totals.tolist()
        book = self.idle_s
        if self.shared:
            self._book_leftovers(passed)
        wasted = min(max(wasted, 0.0), free)
        book["idle_fragmented"] += wasted * passed
        book["idle_free"] += (free - wasted) * passed
        book["drained"] += drained * passed
        book["down"] += lost * passed
        self.now = now

    def _book_leftovers(self, passed: float) -> None:
        """The rest of accelerators that fractions share: free for another fraction, or drained with their node."""
        for node, devices in self.shared.items():
            for holders in devices.values():
                left = 1.0 - sum(steps for steps, _ in holders.values()) / FRACTION_STEPS
                self.idle_s["idle_free" if self.state[node] == UP else "drained"] += left * passed

    def take(self, places: Places, end: float, cpus: float = 0.0, memory: float = 0.0) -> None:
        """Whole accelerators are taken until `end` (by estimate); `cpus` and `memory` per worker."""
        occupancy.take(
            self.idle, self.free, self.state, self.types, self.waste, self.totals, self.until,
            places.nodes, places.amounts, end,
        )  # fmt: skip
        if cpus or memory:
            self.others(places, cpus, memory, -1.0)

    def give(self, places: Places, end: float, cpus: float = 0.0, memory: float = 0.0) -> None:
        """Whole accelerators are given back, `end` as when they were taken."""
        occupancy.give(
            self.idle, self.free, self.state, self.types, self.waste, self.totals, self.until,
            places.nodes, places.amounts, end,
        )  # fmt: skip
        self.released += 1
        if cpus or memory:
            self.others(places, cpus, memory, 1.0)

    def others(self, places: Places, cpus: float, memory: float, sign: float) -> None:
        """Takes (sign -1) or gives back (1) the processors and memory of workers."""
        each = places.amounts * (places.workers / places.amounts.sum())
        if self.cpus is not None:
            self.cpus[places.nodes] += sign * cpus * each
        if self.memory is not None:
            self.memory[places.nodes] += sign * memory * each

    def limit(self, cpus: float, memory: float) -> np.ndarray:
        """Workers that processors and memory of each node leave room for (nodes,); empty where neither binds."""
        most = np.full(len(self.free), np.inf)
        if cpus and self.cpus is not None:
            most = np.minimum(most, np.floor(self.cpus / cpus + 1e-9))
        if memory and self.memory is not None:
            most = np.minimum(most, np.floor(self.memory / memory + 1e-9))
        if np.isinf(most).all():
            return NOBODY
        return np.asarray(np.minimum(most, self.largest), dtype=np.int64)

    def share(self, node: int, device: int, job: int, steps: int, end: float) -> int:
        """`job` takes so many thousandths of `device` on `node`, of a fresh one for -1; returns the device."""
        devices = self.shared.setdefault(node, {})
        one = Places(np.array([node]), np.array([1]), 1)
        if device < 0:
            device, self.devices = self.devices, self.devices + 1
            devices[device] = {}
        else:
            self.give(one, max(e for _, e in devices[device].values()))
        devices[device][job] = (steps, end)
        self.take(one, max(e for _, e in devices[device].values()))
        return device

    def unshare(self, node: int, device: int, job: int) -> None:
        """`job` gives its part of the device back, which is whole again when it was the last."""
        holders = self.shared[node][device]
        one = Places(np.array([node]), np.array([1]), 1)
        self.give(one, max(end for _, end in holders.values()))
        del holders[job]
        if holders:
            self.take(one, max(end for _, end in holders.values()))
            return
        del self.shared[node][device]
        if not self.shared[node]:
            del self.shared[node]

    def set_state(self, node: int, state: int) -> None:
        """Opens, drains or closes a node; what is idle on it counts accordingly."""
        old, idle = int(self.state[node]), int(self.idle[node])
        kind = {UP: FREE, DRAINING: DRAINED, AWAY: DRAINED, DOWN: LOST}
        self.totals[kind[old]] -= idle
        self.totals[kind[state]] += idle
        waste = self.waste[self.types[node], idle]
        self.totals[WASTED] += waste * ((state == UP) - (old == UP))
        self.state[node] = state
        self.opened[node] = state == UP
        self.free[node] = idle if state == UP else 0
        self.released += 1
