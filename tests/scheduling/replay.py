"""An independent judge: replays the log of an outcome in plain Python and names every broken rule. Shares no code with the engine
(types and the names of events apart)."""

from collections import defaultdict
from math import gcd, inf

from argosy.scheduling import EVENTS, Outcome

PLACES_BACK = ("finish", "preempt", "fail", "crash", "give-up")
SIZE_FREE = ("elastic", "service")


class Replay:
    """Walks the log, batch by batch of equal times. `problems` is empty for a sound outcome."""

    def __init__(self, outcome: Outcome) -> None:
        self.o, self.cluster, self.policy = outcome, outcome.cluster, outcome.policy
        self.gpus = [int(n) for n in self.cluster.accelerators]
        self.state = ["up"] * len(self.gpus)
        self.held: dict[int, dict[tuple[int, int], float]] = defaultdict(
            dict
        )  # job → (node, device) → amount
        self.pending: dict[int, float] = {}
        self.running: set[int] = set()
        self.leaving: set[int] = set()
        self.moving: set[int] = set()
        self.problems: list[str] = []
        self.area = defaultdict(float)

    def problem(self, time: float, text: str) -> None:
        self.problems.append(f"{time}: {text}")

    # What is free --------------------------------------------------------------------------------------------------

    def used(self, node: int) -> float:
        """Whole accelerators of a node that are taken, shared ones counted whole."""
        shared, whole = set(), 0.0
        for places in self.held.values():
            for (where, device), amount in places.items():
                if where == node:
                    if device >= 0:
                        shared.add(device)
                    else:
                        whole += amount
        return whole + len(shared)

    def free(self) -> list[int]:
        """Per node, for new work."""
        used = [0.0] * len(self.gpus)
        devices = set()
        for places in self.held.values():
            for (node, device), amount in places.items():
                if device < 0:
                    used[node] += amount
                elif (node, device) not in devices:
                    devices.add((node, device))
                    used[node] += 1
        return [int(n - u) if s == "up" else 0 for n, u, s in zip(self.gpus, used, self.state, strict=True)]

    def others_left(self, node: int) -> tuple[float, float]:
        """Processors and memory that are left on a node."""
        cpus = inf if self.cluster.cpus is None else float(self.cluster.cpus[node])
        memory = inf if self.cluster.memory_bytes is None else float(self.cluster.memory_bytes[node])
        for index, places in self.held.items():
            job = self.o.jobs[index]
            for (where, _), amount in places.items():
                if where == node:
                    workers = 1 if job.fraction else amount / self.worker(index, node, places)
                    cpus -= workers * job.cpus
                    memory -= workers * job.memory_bytes
        return cpus, memory

    def node_size(self, type_index: int) -> int:
        return max(n for n, t in zip(self.gpus, self.cluster.type_index, strict=True) if t == type_index)

    def worker_of(self, job, accelerators: int, node: int) -> int:  # type: ignore[no-untyped-def]
        """Accelerators per worker, 0 where it cannot be."""
        if job.topology == "node":
            return accelerators if accelerators <= node else 0
        if job.worker and accelerators % job.worker == 0:
            return job.worker if job.worker <= node else 0
        return accelerators if accelerators <= node else gcd(accelerators, node)

    def sizes(self, index: int) -> list[int]:
        job = self.o.jobs[index]
        return [n for n, _ in job.sizes] if job.kind == "moldable" else [job.accelerators]

    def worker(self, index: int, node: int, places: dict[tuple[int, int], float]) -> int:
        """The worker of a job as it stands."""
        job, node_size = self.o.jobs[index], self.node_size(int(self.cluster.type_index[node]))
        if job.kind != "moldable":
            return self.worker_of(job, job.accelerators, node_size) or 1
        total = int(sum(places.values()))
        if total in self.sizes(index):
            return self.worker_of(job, total, node_size) or 1
        return (
            self.worker_of(job, min((n for n in self.sizes(index) if n >= total), default=1), node_size) or 1
        )

    def fits(self, index: int, free: list[int], partial: bool = False) -> bool:
        """Whether a job could start on what is free per node; `partial`: whether one of its workers could."""
        job = self.o.jobs[index]
        wanted = job.accelerator.split("|") if job.accelerator else list(self.cluster.types)
        standing = self.held.get(index)
        for type_index, name in enumerate(self.cluster.types):
            if name not in wanted or (standing and self._type(index) != type_index):
                continue
            nodes = [n for n, t in enumerate(self.cluster.type_index) if t == type_index]
            for accelerators in self.sizes(index):
                if self._fits_as(job, accelerators, nodes, free, partial):
                    return True
        return False

    def _type(self, index: int) -> int:
        return int(self.cluster.type_index[next(iter(self.held[index]))[0]])

    def _fits_as(self, job, accelerators, nodes, free, partial) -> bool:  # type: ignore[no-untyped-def]
        size = self.worker_of(job, accelerators, max(self.gpus[n] for n in nodes))
        if size == 0:
            return False
        need = accelerators // size
        if job.kind == "elastic":
            need = min(job.elastic_min or need, need)
        elif job.kind == "service":
            need = min(max(job.floor, 1), need)
        elif partial and job.topology == "any":
            need = 1
        room = {}
        for node in nodes:
            room[node] = free[node] // size
            if (job.cpus and self.cluster.cpus is not None) or (
                job.memory_bytes and self.cluster.memory_bytes is not None
            ):
                cpus, memory = self.others_left(node)
                if job.cpus:
                    room[node] = min(room[node], int((cpus + 1e-6) // job.cpus)) if cpus < inf else room[node]
                if job.memory_bytes:
                    room[node] = (
                        min(room[node], int((memory + 1e-6) // job.memory_bytes))
                        if memory < inf
                        else room[node]
                    )
            if job.fraction and self.state[node] == "up" and room[node] == 0 and self._shares(node, job):
                room[node] = 1
        if job.topology in ("any", "node"):
            return sum(room.values()) >= need
        if job.leaves:
            return sum(sorted(self._sums(room, self.cluster.leaf).values())[-job.leaves :]) >= need
        group = {"nvlink-domain": self.cluster.domain, "leaf": self.cluster.leaf, "pod": self.cluster.pod}[
            job.topology
        ]
        return max(self._sums(room, group).values(), default=0) >= need

    def _sums(self, room, group) -> dict[int, int]:  # type: ignore[no-untyped-def]
        sums: dict[int, int] = defaultdict(int)
        for node, count in room.items():
            sums[int(group[node])] += count
        return sums

    def _shares(self, node: int, job) -> bool:  # type: ignore[no-untyped-def]
        """Whether a shared accelerator of the node has room for a fraction."""
        cpus, memory = self.others_left(node)
        if cpus + 1e-6 < job.cpus or memory + 1e-6 < job.memory_bytes:
            return False
        used: dict[int, float] = defaultdict(float)
        for places in self.held.values():
            for (where, device), amount in places.items():
                if where == node and device >= 0:
                    used[device] += amount
        return any(amount + job.fraction <= 1 + 1e-9 for amount in used.values())

    # Quotas --------------------------------------------------------------------------------------------------------

    def uses(self, tenant: str) -> float:
        return sum(
            sum(places.values()) for index, places in self.held.items() if self.o.jobs[index].tenant == tenant
        )

    def quota_left(self, tenant: str) -> float:
        known = {quota.tenant: quota for quota in self.cluster.quotas}
        if self.policy.quota == "none" or tenant not in known:
            return inf
        own = known[tenant]
        if self.policy.quota == "limit" or not own.cohort:
            return own.accelerators - self.uses(tenant)
        left = -self.uses(tenant)
        for quota in known.values():
            if quota.cohort == own.cohort:
                left += quota.accelerators
                if quota is not own:
                    kept = 0 if quota.lend is None else max(0, quota.accelerators - quota.lend)
                    left -= max(self.uses(quota.tenant), kept)
        return min(left, own.accelerators + own.borrow - self.uses(tenant))

    # Walking -------------------------------------------------------------------------------------------------------

    def run(self) -> list[str]:
        log, last, at = self.o.log, 0.0, 0
        while at < len(log):
            time = float(log.time_s[at])
            if time < last:
                self.problem(time, "time runs backwards")
            self._pass(time - last)
            last = time
            while at < len(log) and log.time_s[at] == time:
                self._event(time, at)
                at += 1
            self._after(time)
        self._pass(self.o.horizon_s - last)
        self._ledger()
        return self.problems

    def _pass(self, seconds: float) -> None:
        if seconds <= 0:
            return
        held = sum(sum(places.values()) for places in self.held.values())
        self.area["held"] += seconds * held
        for node, gpus in enumerate(self.gpus):
            whole = sum(
                amount
                for places in self.held.values()
                for (where, _), amount in places.items()
                if where == node
            )
            kind = {"up": "idle", "down": "down"}.get(self.state[node], "drained")
            self.area[kind] += seconds * (gpus - whole)

    def _event(self, time: float, at: int) -> None:
        log, name = self.o.log, EVENTS[int(self.o.log.event[at])]
        job, first, size = int(log.job[at]), int(log.first[at]), int(log.size[at])
        places = [
            ((int(log.node[i]), int(log.device[i])), float(log.amount[i])) for i in range(first, first + size)
        ]
        if name.startswith("node-"):
            self._node(time, name, places[0][0][0])
        elif name == "queue":
            self.pending[job] = time
        elif name in ("start", "grow"):
            self._take(time, job, name, places)
        elif name == "shrink":
            self._give(time, job, places)
            self.moving.discard(job)
        elif name == "back-off":
            self.pending.pop(job, None)
        elif name == "leave":
            self.leaving.add(job)
        elif name in PLACES_BACK:
            self._give(time, job, places)
            if self.held.pop(job, None):
                self.problem(time, f"job {job} keeps places after {name}")
            self.running.discard(job)
            self.leaving.discard(job)
            self.moving.discard(job)

    def _node(self, time: float, name: str, node: int) -> None:
        self.state[node] = {
            "node-down": "down",
            "node-drain": "draining",
            "node-maintenance": "away",
            "node-up": "up",
        }[name]

    def _take(self, time, job, name, places) -> None:  # type: ignore[no-untyped-def]
        amount = sum(a for _, a in places)
        if name == "start":
            if job not in self.pending:
                self.problem(time, f"job {job} starts without waiting")
            self.pending.pop(job, None)
            self.running.add(job)
            if time < self.o.jobs[job].submit_s:
                self.problem(time, f"job {job} starts before it was submitted")
        elif job in self.running and self.o.jobs[job].kind not in SIZE_FREE:
            have = sum(self.held[job].values())
            if have in self.sizes(job) or have + amount > max(self.sizes(job)) + 1e-9:
                self.moving.add(job)  # whole already: it takes new places before it leaves the old ones
        if (
            job not in self.moving
            and amount > self.quota_left(self.o.jobs[job].tenant) + 1e-6
            and name == "start"
        ):
            self.problem(time, f"job {job} starts beyond the quota of its tenant")
        for (node, device), a in places:
            if self.state[node] != "up":
                self.problem(time, f"job {job} is put on node {node}, which is {self.state[node]}")
            self.held[job][node, device] = self.held[job].get((node, device), 0.0) + a
            if self.used(node) > self.gpus[node] + 1e-9:
                self.problem(time, f"node {node} holds more than it has")
            if device >= 0:
                on_device = sum(held.get((node, device), 0.0) for held in self.held.values())
                if on_device > 1 + 1e-9:
                    self.problem(time, f"device {device} of node {node} holds {on_device}")
        for (node, _), _ in places:  # now that all of its workers stand
            cpus, memory = self.others_left(node)
            if cpus < -1e-6 or memory < -1e-6:
                self.problem(time, f"node {node} has too little beside accelerators")

    def _give(self, time, job, places) -> None:  # type: ignore[no-untyped-def]
        for where, amount in places:
            left = self.held[job].get(where, 0.0) - amount
            if left < -1e-9:
                self.problem(time, f"job {job} gives back what it does not have")
            if left > 1e-9:
                self.held[job][where] = left
            else:
                self.held[job].pop(where, None)
        if not self.held[job]:
            del self.held[job]

    def _after(self, time: float) -> None:
        for index, places in self.held.items():
            if any(self.state[node] in ("down", "away") for node, _ in places):
                self.problem(time, f"job {index} holds places on a node that is away")
            self._whole(time, index, places)
        if self.policy.gang:
            for index in self.pending:
                if self.held.get(index):
                    self.problem(time, f"job {index} waits and holds places")
        if not self.leaving and not self.moving:
            self._nobody_left_waiting(time)

    def _whole(self, time, index, places) -> None:  # type: ignore[no-untyped-def]
        """That a running job is whole and where its topology lets it be."""
        job, total = self.o.jobs[index], sum(places.values())
        if index in self.leaving or index in self.moving or index in self.pending:
            return
        size = self.worker(index, next(iter(places))[0], places) if not job.fraction else 1
        if job.fraction:
            if abs(total - job.fraction) > 1e-9:
                self.problem(time, f"job {index} holds {total} for {job.fraction}")
            return
        if job.kind in SIZE_FREE:
            least = (job.elastic_min or job.accelerators // size) if job.kind == "elastic" else 1
            most = (
                max(job.elastic_max, job.accelerators // size)
                if job.kind == "elastic"
                else job.accelerators // size
            )
            if not min(least, job.accelerators // size) <= total / size <= most:
                self.problem(time, f"job {index} holds {total / size} workers, not {least} to {most}")
        elif total not in self.sizes(index):
            self.problem(time, f"job {index} is a part of a gang: {total} of {self.sizes(index)}")
        if any(amount % size for amount in places.values()):
            self.problem(time, f"job {index} has torn workers: {places}")
        nodes = [node for node, _ in places]
        if len({int(self.cluster.type_index[n]) for n in nodes}) > 1:
            self.problem(time, f"job {index} stands on several types")
        leaves = {int(self.cluster.leaf[n]) for n in nodes}
        spread = {
            "any": 1,
            "node": len(nodes),
            "nvlink-domain": len({int(self.cluster.domain[n]) for n in nodes}),
            "leaf": len(leaves),
            "pod": len({int(self.cluster.pod[n]) for n in nodes}),
        }.get(job.topology, 1)
        if spread > 1 or (job.leaves and len(leaves) > job.leaves):
            self.problem(time, f"job {index} breaks its topology {job.topology}")

    # Who should run -------------------------------------------------------------------------------------------------

    def _nobody_left_waiting(self, time: float) -> None:
        free = self.free()
        could = [index for index in self.pending if self._could(index, free)]
        if self.policy.backfill == "skip":
            for index in could:
                self.problem(time, f"job {index} could start and waits")
        elif could:
            head = self._head()
            if head in could:
                self.problem(time, f"job {head} is first, could start, and waits")
        if self.policy.preemption == "priority" and self.policy.least_run_s == 0 and self.policy.gang:
            self._nobody_outranked(time)

    def _need(self, index: int) -> float:
        job = self.o.jobs[index]
        if job.fraction:
            return job.fraction
        smallest = inf
        for t in set(self.cluster.type_index.tolist()):
            for accelerators in self.sizes(index):
                size = self.worker_of(job, accelerators, self.node_size(t))
                if not size:
                    continue
                workers = accelerators // size
                if job.kind == "elastic":
                    workers = min(job.elastic_min or workers, workers)
                elif job.kind == "service":
                    workers = min(max(job.floor, 1), workers)
                smallest = min(smallest, workers * size)
        return smallest

    def _could(self, index: int, free: list[int]) -> bool:
        if not self.policy.gang:
            left = self.quota_left(self.o.jobs[index].tenant)
            return left >= self._need(index) and index not in self.held and self.fits(index, free)
        return self.quota_left(self.o.jobs[index].tenant) >= self._need(index) - 1e-9 and self.fits(
            index, free
        )

    def _head(self) -> int | None:
        order, jobs = self.policy.order, self.o.jobs
        keys = {
            "fifo": lambda i: (jobs[i].submit_s, i),
            "priority": lambda i: (-jobs[i].priority, jobs[i].submit_s, i),
            "deadline": lambda i: (jobs[i].deadline_s, jobs[i].submit_s, i),
        }
        able = list(self.pending)
        if self.policy.backfill == "none":  # who is over quota is passed over; reservations promise no quota
            able = [i for i in able if self.quota_left(jobs[i].tenant) >= self._need(i) - 1e-9]
        return min(able, key=keys[order], default=None) if order in keys else None

    def _nobody_outranked(self, time: float) -> None:
        """Nobody waits while evicting jobs of lower priority would let it start."""
        if self.policy.quota != "none" or self.cluster.cpus is not None:
            return
        waiting = list(self.pending) if self.policy.backfill == "skip" else [self._head()]
        for index in waiting:
            if index is None:
                continue
            free = self.free()
            for other, places in self.held.items():
                lesser = self.o.jobs[other].priority < self.o.jobs[index].priority
                if lesser and self.o.jobs[other].kind != "service" and not self.o.jobs[other].fraction:
                    for (node, _), amount in places.items():
                        free[node] += int(amount) if self.state[node] == "up" else 0
            if self.fits(index, free):
                self.problem(time, f"job {index} could evict jobs of lower priority, and waits")

    # Sums -----------------------------------------------------------------------------------------------------------

    def _ledger(self) -> None:
        o = self.o
        parts = {part.name: part.amount for part in o.ledger.children}
        if not parts:
            return
        counted = {
            "held": sum(parts[k] for k in ("productive", "lost", "checkpoint", "restart", "held")),
            "idle": parts["idle_free"] + parts["idle_fragmented"],
            "down": parts["down"],
            "drained": parts["drained"],
        }
        for kind, amount in counted.items():
            if abs(amount - self.area[kind]) > 1e-6 * max(o.ledger.amount, 1.0):
                self.problem(o.horizon_s, f"ledger says {amount} {kind}, the log {self.area[kind]}")
        if any(amount < -1e-6 for amount in parts.values()):
            self.problem(o.horizon_s, f"negative parts {parts}")
