"""A study run to its end: chunks over any executor, results kept as they come, interrupted and continued."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from argosy import __version__
from argosy.facts import FactError
from argosy.spec import ScenarioError, load
from argosy.study.axes import Axis, Study
from argosy.study.points import Chunk, quick
from argosy.study.store import Store, outcomes
from argosy.study.vectors import Vectors, is_number, run_chunk

SCHEMA = "argosy.sweep/1"
LARGE, SMALL = 4096, 16  # points of a chunk of numbers; of structure, a tenth of a second each
_TRIAL = 8  # points, by which a study's numbers are tried in one run
_IN_FLIGHT = 4  # chunks per worker that are handed out ahead: what an interruption may lose
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Summary:
    """`points` of the study, of which `computed` now and `reused` from before; `chunks` in all; where the rows are.

    `statuses`: how many points have each status; `reason`: the most frequent one of those that cannot run.
    """

    points: int
    computed: int
    reused: int
    chunks: int
    folder: Path
    statuses: dict[str, int]
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """As the JSON of `argosy sweep`."""
        return {
            "schema": SCHEMA,
            "version": __version__,
            "points": self.points,
            "computed": self.computed,
            "reused": self.reused,
            "chunks": self.chunks,
            "results": str(self.folder),
            "statuses": self.statuses,
            "reason": self.reason,
        }


def sweep(
    study: Study,
    folder: Path,
    executor: Executor | None = None,
    resume: bool = False,
    progress: Progress = lambda done, total: None,
    workers: int | None = None,
) -> Summary:
    """Plan every point of a study and keep the rows in `folder`, a chunk at a time.

    `executor`: any of concurrent.futures; None plans in this process. `resume`: continue a folder of the same study,
    finished chunks stay. `progress(done, total)`: told after every chunk, in points. `workers`: how many the executor
    has (default: this machine's cores). Workers read the scenario by its path. ScenarioError and FactError for faults
    of the study; whatever a worker raises ends the sweep, and what is finished stays.
    """
    base = load(study.scenario)
    if not base.training and not base.serving:
        raise FactError(
            f"{base.name} has neither training nor services to sweep over; add training: or serving:"
        )
    for axis in study.axes:
        check_field(study.scenario, axis)
    points = study.combinations()
    chunks = list(cut(study, points))
    about = {
        "key": study.key(base.hash),
        "version": __version__,
        "scenario": str(study.scenario),
        "scenario_hash": base.hash,
        "axes": {axis.path: axis.shown_unit for axis in study.axes},
        "outputs": list(study.outputs),
        "sampling": study.sampling,
        "points": len(points),
    }
    store = Store(folder, about, resume)
    missing = [chunk for chunk in chunks if not store.done(name_of(chunk))]
    computed = sum(len(chunk.points) for chunk in missing)
    done = len(points) - computed
    progress(done, len(points))
    for chunk, rows in in_flight(missing, run_chunk, executor, workers or os.cpu_count() or 1):
        store.write(name_of(chunk), columns(study, chunk, rows))
        done += len(chunk.points)
        progress(done, len(points))
    return Summary(len(points), computed, len(points) - computed, len(chunks), folder, *outcomes(folder))


def check_field(scenario: Path, axis: Axis) -> None:
    """ScenarioError where the axis is no field of a scenario; a value that does not suit the others is a row's fault."""
    try:
        load(scenario, changes={axis.path: axis.at(np.zeros(1))[0]})
    except ScenarioError as error:
        if any(
            "unknown key" in problem.message
            or "no field" in problem.message
            or "no member" in problem.message
            for problem in error.problems
        ):
            raise


def cut(study: Study, points: Sequence[tuple[Any, ...]]) -> Iterator[Chunk]:
    """The points in chunks: those that differ in numbers alone together, so that one run can take them all.

    Chunks are large where a trial of the first such group is one run; else small, so that an interruption loses little.
    """
    paths = tuple(axis.path for axis in study.axes)
    structure = [i for i, path in enumerate(paths) if not is_number(path)]
    plain = all(quick(path) for path in study.outputs) and not load(study.scenario).serving
    groups: dict[tuple[Any, ...], list[tuple[int, tuple[Any, ...]]]] = {}
    for number, values in enumerate(points):
        groups.setdefault(tuple(values[i] for i in structure), []).append((number, values))
    largest = max(groups.values(), key=len, default=[])
    size = (
        LARGE
        if plain and len(largest) > SMALL and _is_one_run(_chunk(study, paths, largest[:LARGE]))
        else SMALL
    )
    waiting: list[tuple[int, tuple[Any, ...]]] = []
    for members in groups.values():
        if len(members) >= SMALL:
            for start in range(0, len(members), size):
                yield _chunk(study, paths, members[start : start + size])
            continue
        waiting += members
        while len(waiting) >= SMALL:
            yield _chunk(study, paths, waiting[:SMALL])
            waiting = waiting[SMALL:]
    if waiting:
        yield _chunk(study, paths, waiting)


def _is_one_run(chunk: Chunk) -> bool:
    """Whether a few of the chunk's points, spread over it, are planned in one vectorised run."""
    spread = np.unique(np.linspace(0, len(chunk.points) - 1, _TRIAL).astype(int))
    vectors = Vectors.of(replace(chunk, points=tuple(chunk.points[i] for i in spread)))
    return vectors is not None and vectors.rows() is not None


def _chunk(study: Study, paths: tuple[str, ...], members: Sequence[tuple[int, tuple[Any, ...]]]) -> Chunk:
    return Chunk(str(study.scenario), paths, study.outputs, study.draws, tuple(members))


def name_of(chunk: Chunk) -> str:
    """A name that says which points a chunk holds: the first one's number, and a hash of all."""
    content = json.dumps([chunk.axes, chunk.outputs, chunk.draws, chunk.points], default=str).encode()
    return f"{chunk.points[0][0]:08d}-{hashlib.sha256(content).hexdigest()[:12]}"


def columns(study: Study, chunk: Chunk, rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """The rows of a chunk as columns: the point's number, its axes, its outputs, its status and reason."""
    found: dict[str, list[Any]] = {"point": [row["point"] for row in rows]}
    for i, axis in enumerate(study.axes):
        found[axis.path] = [axis.number(values[i]) for _, values in chunk.points]
    for path in (*chunk.outputs, "status", "reason"):
        found[path] = [row[path] for row in rows]
    return found


def in_flight(
    todo: Iterable[Any], do: Callable[[Any], Any], executor: Executor | None, workers: int
) -> Iterator[tuple[Any, Any]]:
    """Pieces of work with their results as they finish; only a few per worker are handed out ahead.

    `do` must be a module's function; None as `executor` works in this process.
    """
    if executor is None:
        for work in todo:
            yield work, do(work)
        return
    queue = iter(todo)
    running: dict[Future[Any], Any] = {}

    def fill() -> None:
        while len(running) < _IN_FLIGHT * workers and (work := next(queue, None)) is not None:
            running[executor.submit(do, work)] = work

    fill()
    try:
        while running:
            ready, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ready:
                yield running.pop(future), future.result()
            fill()
    finally:
        for future in running:
            future.cancel()
