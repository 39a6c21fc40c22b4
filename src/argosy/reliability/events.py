"""Lives of a job, node by node and event by event: what closed forms and renewal arguments leave out."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from argosy.reliability.checkpoints import CheckpointCost
from argosy.reliability.engine_input import category_names, job_record, world
from argosy.reliability.goodput import Goodput, goodput
from argosy.reliability.hazards import Hazards
from argosy.reliability.rates import CategoryRate, FailureRates
from argosy.reliability.recovery import Maintenance, Recovery
from argosy.reliability.states import STATES, FailureEvent

ENDS = ("finished", "cut", "gave up")


@dataclass(frozen=True, slots=True)
class EventLives:
    """Lives of one job: seconds by state, arrays (n,); failures by category, arrays (n,); how each life ended.

    `rates` are those of the closed form: shared domains are categories in it (`Hazards.joint_rates`).
    """

    seconds: dict[str, np.ndarray]
    failures: dict[str, np.ndarray]
    ends: np.ndarray
    closed_form: Goodput
    rates: FailureRates

    @property
    def wall_s(self) -> np.ndarray:
        """Wall-clock seconds of each life (n,), those that were cut included as far as they went."""
        return np.asarray(np.sum(list(self.seconds.values()), axis=0))

    @property
    def ettr(self) -> np.ndarray:
        """Productive ÷ wall-clock time of each life (n,)."""
        wall = self.wall_s
        return np.asarray(np.divide(self.seconds["productive"], wall, out=np.ones_like(wall), where=wall > 0))

    @property
    def finished(self) -> np.ndarray:
        """Whether each life got its work done (n,)."""
        return np.asarray(self.ends == 0)


def event_lives(
    work_s: float,
    nodes: int,
    rates: FailureRates,
    cost: CheckpointCost,
    recovery: Recovery,
    maintenance: Maintenance | None = None,
    interval_s: float | None = None,
    hazards: Hazards | None = None,
    draws: int = 1000,
    seed: int = 0,
    executor: Executor | None = None,
) -> EventLives:
    """`draws` lives of a job of `work_s` productive seconds on `nodes` nodes; all arguments are scalars.

    The sequence after a failure: fall back to the last copy that counts, detection, replacement from the spares (or
    the wait for a repair), queue, restart; failures strike during detection and restart too. Spares do not age, and
    nothing fails while the job waits or is maintained. Life i of a seed has the same luck whatever the other arguments:
    compare systems with equal seeds. `executor` (threads will do: the engine holds no lock) shares the lives out.
    Range: time grows with failures; lives longer than 20 times their work are cut (`ends`). Raises FactError for a
    Weibull shape of an unknown category.
    """
    hazards = hazards or Hazards()
    joint = hazards.joint_rates(rates, nodes + recovery.spare_nodes)
    form = goodput(joint, cost, recovery, maintenance, interval_s)
    job = job_record(work_s, nodes, cost, recovery, maintenance or Maintenance(), form, hazards)
    rates = in_copies(rates, recovery)
    done = _lives(rates, hazards, job, recovery.spare_nodes, float(recovery.repair_s), draws, seed, executor)
    return _book_of(done, 0, category_names(rates, hazards), form, joint)


@dataclass(frozen=True, slots=True)
class Gang:
    """One of several jobs on a fleet, as `shared_lives` takes them: its nodes, its work, its way of saving and recovering."""

    work_s: float
    nodes: int
    cost: CheckpointCost
    recovery: Recovery
    maintenance: Maintenance | None = None
    interval_s: float | None = None


def shared_lives(
    gangs: Sequence[Gang],
    rates: FailureRates,
    spare_nodes: int,
    repair_s: float,
    hazards: Hazards | None = None,
    one_storage: bool = True,
    draws: int = 200,
    seed: int = 0,
    executor: Executor | None = None,
) -> list[EventLives]:
    """Lives of several jobs at once, which take from one pool of spares and, with `one_storage`, write to one storage.

    `rates`, `hazards`: of the nodes of all jobs together, which each job has its share of; `spare_nodes`, `repair_s`: the
    pool's and the shop's (those of the gangs' `recovery` are for the closed form alone). Who needs a spare first gets the
    next; jobs that write at the same time share the bandwidth equally, so that their copies are safe later. Every job's
    book closes by itself. Each job's own active clock decides what strikes it: shocks strike jobs independently.
    """
    hazards, total = hazards or Hazards(), sum(gang.nodes for gang in gangs)
    joint = hazards.joint_rates(rates, total + spare_nodes)
    parts = [_part(joint, gang.nodes / total) for gang in gangs]
    forms, jobs = [], []
    for gang, own in zip(gangs, parts, strict=True):
        form = goodput(own, gang.cost, gang.recovery, gang.maintenance, gang.interval_s)
        planned = gang.maintenance or Maintenance()
        shared = one_storage and len(gangs) > 1
        forms.append(form)
        jobs.append(
            job_record(gang.work_s, gang.nodes, gang.cost, gang.recovery, planned, form, hazards, shared)
        )
    working = sum(int(job["nodes"][0]) for job in jobs)  # copies of redundant jobs fail too
    rates = replace(rates, categories=tuple(_of_nodes(c, working / total) for c in rates.categories))
    done = _lives(rates, hazards, np.concatenate(jobs), spare_nodes, repair_s, draws, seed, executor)
    names = category_names(rates, hazards)
    return [
        _book_of(done, number, names, form, own)
        for number, (form, own) in enumerate(zip(forms, parts, strict=True))
    ]


def _part(rates: FailureRates, share: float) -> FailureRates:
    """The failures of a share of the fleet."""
    return replace(rates, categories=tuple(replace(c, count=c.count * share) for c in rates.categories))


def in_copies(rates: FailureRates, recovery: Recovery) -> FailureRates:
    """The failures of all copies of a redundant job; those that stop it on its nodes happen once."""
    if recovery.policy != "redundancy":
        return rates
    return replace(rates, categories=tuple(_of_nodes(c, recovery.copies) for c in rates.categories))


def _of_nodes(category: CategoryRate, times: float) -> CategoryRate:
    """A category on so many times the nodes; one of the whole job stays as it is."""
    return replace(category, count=category.count * times) if category.scope == "node" else category


def _lives(
    rates: FailureRates,
    hazards: Hazards,
    jobs: np.ndarray,
    spares: int,
    repair_s: float,
    draws: int,
    seed: int,
    executor: Executor | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Seconds (n, J, 9), counts (n, J, categories), ends (n, J)."""
    keys = np.random.SeedSequence([seed, 77]).generate_state(draws, np.uint64)
    parts = [keys] if executor is None else np.array_split(keys, min(draws, 8))

    def batch(part: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return run_keys(part, world(rates, hazards, jobs.copy(), spares, repair_s))

    done = list((map if executor is None else executor.map)(batch, parts))
    return tuple(np.concatenate(pieces) for pieces in zip(*done, strict=True))  # type: ignore[return-value]


def run_keys(keys: np.ndarray, w: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The lives of these keys in a world: seconds (n, J, 9), counts (n, J, categories), ends (n, J)."""
    from argosy.kernels.lives import live
    from argosy.kernels.memory import addresses

    jobs, categories = w["counts"].shape
    seconds = np.zeros((len(keys), jobs, len(STATES)))
    counts = np.zeros((len(keys), jobs, categories), dtype=np.int64)
    ends = np.zeros((len(keys), jobs), dtype=np.int64)
    live(keys, addresses(w), seconds, counts, ends)
    return seconds, counts, ends


def _book_of(
    done: tuple[np.ndarray, np.ndarray, np.ndarray],
    job: int,
    names: Sequence[str],
    form: Goodput,
    rates: FailureRates,
) -> EventLives:
    seconds, counts, ends = (each[:, job] for each in done)
    return EventLives(
        dict(zip(STATES, seconds.T, strict=True)), dict(zip(names, counts.T, strict=True)), ends, form, rates
    )


COMPILING = "compiling the engine of failures, once on this machine (up to a minute)"


def compiled_before() -> bool:
    """Whether the engine was compiled on this machine: where not, the first lives take some thirty seconds longer."""
    from argosy.kernels.lives import live

    return any(Path(str(live.stats.cache_path)).glob("lives.live-*.nbi"))


@dataclass(frozen=True, slots=True)
class Timeline:
    """One life in order: stretches of (start, end, state) in seconds, and its failures."""

    stretches: tuple[tuple[float, float, str], ...]
    failures: tuple[FailureEvent, ...]


def timeline(
    work_s: float,
    nodes: int,
    rates: FailureRates,
    cost: CheckpointCost,
    recovery: Recovery,
    maintenance: Maintenance | None = None,
    interval_s: float | None = None,
    hazards: Hazards | None = None,
    seed: int = 0,
    rows: int = 50_000,
) -> Timeline:
    """One life as it went: the first of `event_lives` with the same arguments; the first `rows` entries of it.

    Running time is `productive`, or `rework` where a failure undid it; checkpoints within it are not told apart.
    """
    from argosy.kernels.records import EVENT, PRODUCTIVE, REWORK

    hazards = hazards or Hazards()
    joint = hazards.joint_rates(rates, nodes + recovery.spare_nodes)
    form = goodput(joint, cost, recovery, maintenance, interval_s)
    job = job_record(work_s, nodes, cost, recovery, maintenance or Maintenance(), form, hazards)
    rates = in_copies(rates, recovery)
    w = world(rates, hazards, job, recovery.spare_nodes, float(recovery.repair_s), rows)
    seconds, _, _ = run_keys(np.random.SeedSequence([seed, 77]).generate_state(1, np.uint64), w)
    names = category_names(rates, hazards)
    known = w["rows"][: int(w["pool"]["rows"][0])]
    full = len(known) >= rows
    end = float(known[-1, 0]) if full else float(seconds.sum())
    states = [row for row in known if row[2] < EVENT and row[2] != REWORK]
    lost = [(float(row[0] - row[1]), float(row[0])) for row in known if row[2] == REWORK]
    ends = [float(row[0]) for row in states[1:]] + [end]
    stretches: list[tuple[float, float, str]] = []
    for row, until in zip(states, ends, strict=True):
        start, state = float(row[0]), STATES[int(row[2])]
        if until <= start:
            continue
        undone = [max(start, a) for a, b in lost if a < until and b > start] if row[2] == PRODUCTIVE else []
        cut = min(undone, default=until)
        stretches += [(a, b, s) for a, b, s in ((start, cut, state), (cut, until, "rework")) if b > a]
    return Timeline(_merged(stretches), _failures(known, names, rates, recovery))


def _merged(stretches: list[tuple[float, float, str]]) -> tuple[tuple[float, float, str], ...]:
    """Neighbours of the same state as one."""
    merged: list[tuple[float, float, str]] = []
    for start, end, state in stretches:
        if merged and merged[-1][2] == state and abs(merged[-1][1] - start) < 1e-6:
            merged[-1] = (merged[-1][0], end, state)
        else:
            merged.append((start, end, state))
    return tuple(merged)


def _failures(
    known: np.ndarray, names: Sequence[str], rates: FailureRates, recovery: Recovery
) -> tuple[FailureEvent, ...]:
    """The failures of a timeline; a node is away for its repair, a job-wide failure for detection and restart."""
    from argosy.kernels.records import EVENT

    components = {c.name: (c.component, c.scope) for c in rates.categories}
    events = []
    for start, node, code in known[known[:, 2] >= EVENT]:
        name = names[int(code) - EVENT]
        component, scope = components.get(name, (name, "node"))
        away = recovery.repair_s if scope == "node" else recovery.detection_s + recovery.restart_s
        events.append(
            FailureEvent(float(start), float(start + away), component, name, int(node) if node >= 0 else None)
        )
    return tuple(events)
