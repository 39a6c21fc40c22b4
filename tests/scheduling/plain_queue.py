"""FIFO and EASY in plain Python, for rigid jobs on equal nodes, first fit: the rules as they are written in the literature, at
every event from scratch. Shares no code with the engine."""

from math import gcd, inf


def shape(accelerators: int, per_node: int) -> tuple[int, int]:
    """Accelerators per worker, and workers."""
    size = accelerators if accelerators <= per_node else gcd(accelerators, per_node)
    return size, accelerators // size


def first_fit(
    free: list[int], size: int, workers: int, groups: list[int] | None = None
) -> dict[int, int] | None:
    """Accelerators by node, None where it does not fit; with `groups` all on the first group that has room."""
    if groups is not None:
        for group in sorted(set(groups)):
            found = first_fit(
                [n if g == group else 0 for n, g in zip(free, groups, strict=True)], size, workers
            )
            if found is not None:
                return found
        return None
    found: dict[int, int] = {}
    for node, n in enumerate(free):
        take = min(n // size, workers - sum(found.values()) // size)
        if take > 0:
            found[node] = take * size
        if sum(found.values()) == size * workers:
            return found
    return None


class Plain:
    """`jobs`: (submit, duration, accelerators, estimate, leaf or not). `run` gives start and end of each, and its nodes."""

    def __init__(self, nodes: int, per_node: int, leaves: list[int], jobs: list[tuple], easy: bool) -> None:  # type: ignore[type-arg]
        self.per_node, self.leaves, self.jobs, self.easy = per_node, leaves, jobs, easy
        self.free = [per_node] * nodes
        self.running: dict[int, tuple[float, float, dict[int, int]]] = {}  # end, estimated end, places
        self.queue: list[int] = []
        self.result: dict[int, tuple[float, float, dict[int, int]]] = {}

    def run(self) -> dict[int, tuple[float, float, dict[int, int]]]:
        moments = {job[0] for job in self.jobs}
        now = -inf
        while True:
            later = [t for t in moments if t > now] + [end for end, _, _ in self.running.values()]
            if not later:
                return self.result
            now = min(later)
            for job in [j for j, (end, _, _) in self.running.items() if end == now]:
                for node, n in self.running.pop(job)[2].items():
                    self.free[node] += n
            self.queue += [j for j, job in enumerate(self.jobs) if job[0] == now]
            self.decide(now)

    def places(self, job: int, free: list[int]) -> dict[int, int] | None:
        size, workers = shape(self.jobs[job][2], self.per_node)
        return first_fit(free, size, workers, self.leaves if self.jobs[job][4] else None)

    def start(self, job: int, now: float, places: dict[int, int]) -> None:
        self.queue.remove(job)
        for node, n in places.items():
            self.free[node] -= n
        _, duration, _, estimate, _ = self.jobs[job]
        self.running[job] = (now + duration, now + estimate, places)
        self.result[job] = (now, now + duration, places)

    def decide(self, now: float) -> None:
        while self.queue and (found := self.places(self.queue[0], self.free)) is not None:
            self.start(self.queue[0], now, found)
        if not self.easy or not self.queue:
            return
        at, extra = self.promise(now)
        for job in self.queue[1:]:
            estimate = self.jobs[job][3]
            if now + estimate <= at:
                found = self.places(job, self.free)
            else:
                found = self.places(job, [min(a, b) for a, b in zip(self.free, extra, strict=True)])
            if found is None:
                # in time it may still go where the promise is; else not at all
                continue
            self.start(job, now, found)
            if now + estimate > at:
                for node, n in found.items():
                    extra[node] -= n

    def promise(self, now: float) -> tuple[float, list[int]]:
        """When the first could start by the estimates, and what is left beside it then."""
        for at in sorted({max(estimated, now) for _, estimated, _ in self.running.values()}):
            free = list(self.free)
            for _, estimated, places in self.running.values():
                if max(estimated, now) <= at:
                    for node, n in places.items():
                        free[node] += n
            found = self.places(self.queue[0], free)
            if found is not None:
                for node, n in found.items():
                    free[node] -= n
                return at, free
        raise AssertionError("a job that never fits")
