"""One job's life: work done and saved, what it holds, and the accelerator-seconds it spent by kind."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor, inf, nan

from argosy.scheduling.jobs import SERVICE, Job
from argosy.scheduling.machine import Places
from argosy.scheduling.shapes import Option, Shape

FUTURE, PENDING, RUNNING, LEAVING, DELAYED, FINISHED, GAVE_UP, REJECTED = range(8)
"""Not yet submitted; in the queue; holding places and working; holding them while it saves; out for a back-off; done."""


@dataclass(slots=True, eq=False)
class Life:
    """Times in s; work in seconds at the size asked for."""

    index: int
    job: Job
    shape: Shape
    key: tuple[float, ...] = ()
    state: int = FUTURE
    version: int = 0
    """Events of older versions are void."""
    places: Places | None = None
    option: Option | None = None
    rate: float = 0.0
    """Work per second."""
    last: float = 0.0
    """Booked until then."""
    phases: list[tuple[float, str]] = field(default_factory=list)
    """What it does before it works again: (until, kind), in order."""
    end: float = inf
    """Estimated end, as the machine keeps it for what the job holds."""
    began: float = nan
    """Of the present stretch of running."""
    done: float = 0.0
    saved: float = 0.0
    unsaved: float = 0.0
    """Accelerator-seconds of the work that is done and not saved."""
    attained: float = 0.0
    """Accelerator-seconds of working, lost ones included."""
    level: int = 0
    """Of the service attained: as of its start, or of the moment at which it reached the next one."""
    started: float = nan
    ended: float = nan
    asked: float = nan
    """In the queue since."""
    queued: float = 0.0
    nodes: int = 0
    preemptions: int = 0
    restarts: int = 0
    migrations: int = 0
    crashes: int = 0
    timeouts: int = 0
    reason: str = ""
    """Why it is leaving."""
    old: Places | None = None
    """Of a migrating job: what it still holds at its old place."""
    productive: float = 0.0
    lost: float = 0.0
    checkpoint: float = 0.0
    restart: float = 0.0
    held: float = 0.0

    @property
    def workers(self) -> int:
        """Workers that stand now."""
        return self.places.workers if self.places else 0

    @property
    def until_end(self) -> float:
        """Work that is left until the job ends, or fails by itself."""
        return max(min(self.job.duration_s, self.job.crash_after_s) - self.done, 0.0)

    @property
    def estimate_left(self) -> float:
        """Work that is left as far as the scheduler knows."""
        left = self.job.estimate_s - self.done
        return left if left > 0.0 else 0.0

    @property
    def accelerators(self) -> float:
        """What it holds, the old places of a migration included."""
        held = self.places.accelerators if self.places else 0
        return held + (self.old.accelerators if self.old else 0)

    def settle(self, now: float) -> None:
        """Books everything until `now`."""
        at, self.last = self.last, now
        if self.places is None or now <= at:
            return
        held = self.accelerators
        while self.phases and at < now:
            until, kind = self.phases[0]
            upto = min(until, now)
            setattr(self, kind, getattr(self, kind) + held * max(upto - at, 0.0))
            at = max(at, upto)
            if until <= now:
                self.phases.pop(0)
        if at < now:
            self._work(now - at, held)

    def _work(self, seconds: float, held: float) -> None:
        self.productive += held * seconds
        self.attained += held * seconds
        if self.rate == 0.0:
            return
        self.done += self.rate * seconds
        interval = self.job.checkpoint_interval_s
        if self.job.kind == SERVICE or interval == inf:
            self.unsaved += held * seconds
            return
        whole = floor((self.done - self.saved) / interval * (1.0 + 1e-12))
        if whole:
            self.saved = min(self.saved + whole * interval, self.done)
            self.unsaved = (self.done - self.saved) * held / self.rate
        else:
            self.unsaved += held * seconds

    def save(self) -> None:
        """Everything done is safe."""
        self.saved, self.unsaved = self.done, 0.0

    def left_at(self, now: float) -> float:
        """`estimate_left` at `now`, without booking."""
        working = now - max(self.last, self.phases[-1][0] if self.phases else self.last)
        return max(self.estimate_left - self.rate * max(working, 0.0), 0.0)

    def fall_back(self) -> None:
        """What is not saved is lost. A service loses nothing: its replicas keep no work."""
        if self.job.kind != SERVICE:
            self.lost += self.unsaved
            self.productive -= self.unsaved
            self.done = self.saved
        self.unsaved = 0.0

    def pause(self, now: float, seconds: float, kind: str) -> None:
        """Spends `seconds` at something else before it works (again), after what it does already."""
        begins = self.phases[-1][0] if self.phases else now
        if seconds > 0:
            self.phases.append((begins + seconds, kind))

    def works_from(self, now: float) -> float:
        """When it works (again)."""
        return max(now, self.phases[-1][0]) if self.phases else now

    def ends_at(self, now: float) -> float:
        """When it ends if nothing happens; a service so long after its first start."""
        if self.job.kind == SERVICE:
            return self.started + self.job.duration_s
        return self.works_from(now) + self.until_end / self.rate if self.rate else inf

    def estimated_end(self, now: float) -> float:
        """When the scheduler believes it to end."""
        if self.job.kind == SERVICE:
            return self.started + self.job.estimate_s
        return self.works_from(now) + self.estimate_left / self.rate if self.rate else inf
