"""From "what happens if" to "what should we do": the best few plans within limits, what binds, and what more would buy.

Every combination of the free fields is planned (layouts searched anew for each), judged by its central figures, and the
best that stay within all limits are planned once more with their draws. The figures of a recommendation are those of
`argosy plan`; nothing is interpolated.

Shadow prices are differences between planned neighbours: the best plan within the limits, and the best plan when one
limit is a little wider. Fleets come in whole nodes that the batch divides among, so that the step is as wide as the next
fleet needs, and is told per unit of the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from argosy import __version__
from argosy.facts import FactError
from argosy.laws.batch import loss
from argosy.planning import plan
from argosy.spec import load
from argosy.spec.assertions import check_assertions
from argosy.study.axes import Axis, Study
from argosy.study.points import Chunk
from argosy.study.question import COUNT, GOALS, LIMITS, Limit, Question, rungs
from argosy.study.sweep import check_field, in_flight
from argosy.study.vectors import run_chunk
from argosy.workload import count

SCHEMA = "argosy.recommend/1"
MOST_POINTS = 5_000
OPTIONS = 3
_CHUNK = 4
_FINER = 9  # fleet sizes between the neighbours of the best
_FIGURES = {
    "days": "training.{job}.schedule.days.nominal",
    "usd": "cost.total_usd",
    "facility_peak_w": "facility.facility_peak_w",
    "carbon_kg": "facility.carbon_kg",
    "energy_kwh": "facility.energy_kwh",
    "mfu": "training.{job}.mfu.parameters_only",
    "usd_per_million_tokens": "training.{job}.usd_per_million_tokens",
}
_TOKENS = "training.{job}.schedule.tokens"
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Candidate:
    """One combination of the free fields: its values by path, its central figures (None where it cannot run), the reason.

    A reason beside figures is a limit of the scenario itself that the plan breaks.
    """

    free: dict[str, Any]
    figures: dict[str, float] | None
    reason: str = ""

    def broken(self, limits: Sequence[Limit]) -> list[Limit]:
        """The limits that it exceeds."""
        return [limit for limit in limits if self.figures is not None and limit.excess(self.figures) > 0]


def recommend(
    question: Question,
    executor: Executor | None = None,
    workers: int = 1,
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """The JSON of `argosy recommend`.

    `options`: the best few within the limits, each with its free fields, figures, and the whole plan; where none is, the
    nearest misses under `nearest`, with the least by which each limit alone would have to give way. `binding`: limits that
    keep a better plan out, with their shadow price. `rejected`: the best of the others, and why they lost. FactError for
    too many combinations and for scenarios without a training job; ScenarioError for free fields that no scenario has.
    """
    figure = GOALS[question.goal]
    candidates = _planned(question, executor, workers, progress)
    if finer := _finer(question, candidates, figure):
        candidates += _planned(finer, executor, workers, progress)
    able = [each for each in candidates if each.figures is not None]
    sound = [each for each in able if not each.reason]
    within = sorted(
        (each for each in able if not each.reason and not each.broken(question.limits)),
        key=lambda each: _value(each, figure),
    )
    best = within[:OPTIONS]
    answer: dict[str, Any] = {
        "schema": SCHEMA,
        "version": __version__,
        "goal": question.goal,
        "figure": figure,
        "limits": {limit.name: limit.most for limit in question.limits},
        "free": {axis.path: axis.grid() for axis in question.free},
        "planned": len(candidates),
        "runnable": len(able),
        "within": len(within),
        "options": [_option(question, each, rank) for rank, each in enumerate(best, 1)],
        "binding": _binding(question, sound, within, figure) if within else [],
        "rejected": _rejected(question, candidates, within, figure),
        "relax": [] if within else _relaxations(question, sound),
    }
    answer["facts_date"] = answer["options"][0]["plan"]["facts_date"] if best else None
    return answer


def _finer(question: Question, candidates: list[Candidate], figure: str) -> Question | None:
    """The question asked again between the fleet sizes next to the best one, its other fields as they are there."""
    axis = next((axis for axis in question.free if axis.path == COUNT and len(axis.values) > 2), None)
    able = [
        each for each in candidates
        if each.figures is not None and not each.reason and not each.broken(question.limits)
    ]  # fmt: skip
    if axis is None or not able:
        return None
    best = min(able, key=lambda each: _value(each, figure))
    sizes = sorted(axis.values)
    place = sizes.index(best.free[COUNT])
    low, high = sizes[max(place - 1, 0)], sizes[min(place + 1, len(sizes) - 1)]
    between = tuple(each for each in rungs(low, high, _FINER) if each not in sizes)
    if not between:
        return None
    free = (Axis(each.path, between if each is axis else (best.free[each.path],)) for each in question.free)
    return Question(question.scenario, question.goal, question.limits, tuple(free))


def _planned(
    question: Question, executor: Executor | None, workers: int, progress: Progress
) -> list[Candidate]:
    """Every combination of the free fields with its figures."""
    scenario = load(question.scenario)
    if not scenario.training:
        raise FactError(
            f"{scenario.name} has no training job to recommend a fleet for; add training:. For services "
            "argosy serving finds the smallest fleet (--pareto compares layouts), and argosy sweep compares machines"
        )
    study = Study(question.scenario, question.free, "grid", 0, 0, (), 0)
    combinations = study.combinations()
    if len(combinations) > MOST_POINTS:
        raise FactError(
            f"{len(combinations):,} combinations are more than {MOST_POINTS:,}; free fewer fields, or list fewer values"
        )
    for axis in question.free:
        check_field(question.scenario, axis)
    paths = tuple(axis.path for axis in question.free)
    jobs = [job.name for job in scenario.training]
    outputs = tuple(
        path.format(job=job)
        for path in (*_FIGURES.values(), _TOKENS)
        for job in (jobs if "{job}" in path else jobs[:1])
    )
    numbered = list(enumerate(combinations))
    chunks = [
        Chunk(str(question.scenario), paths, outputs, 0, tuple(numbered[start : start + _CHUNK]))
        for start in range(0, len(numbered), _CHUNK)
    ]
    found: list[Candidate] = []
    for chunk, rows in in_flight(chunks, run_chunk, executor, workers):
        for (_, values), row in zip(chunk.points, rows, strict=True):
            free = dict(zip(paths, values, strict=True))
            if row["status"] in ("infeasible", "invalid"):
                found.append(Candidate(free, None, row["reason"]))
            else:
                found.append(Candidate(free, _figures(question, free, row, jobs), row["reason"]))
        progress(len(found), len(combinations))
    order = {values: number for number, values in numbered}
    return sorted(found, key=lambda each: order[tuple(each.free.values())])


def _figures(
    question: Question, free: dict[str, Any], row: dict[str, Any], jobs: list[str]
) -> dict[str, float]:
    figures = {}
    for name, path in _FIGURES.items():
        each = [float(row[path.format(job=job)]) for job in (jobs if "{job}" in path else jobs[:1])]
        figures[name] = sum(each) if name == "days" else each[0]
    if question.goal == "lowest-loss":
        job = load(question.scenario, changes=free).training[0]
        figures["loss"] = float(loss(count(job.model).active, job.tokens))
    # one price of tokens for all jobs together, and the MFU of the one that trains most
    tokens = [float(row[_TOKENS.format(job=job)]) for job in jobs]
    figures["usd_per_million_tokens"] = figures["usd"] / sum(tokens) * 1e6
    figures["mfu"] = float(row[_FIGURES["mfu"].format(job=jobs[tokens.index(max(tokens))])])
    return figures


def _value(candidate: Candidate, figure: str) -> tuple[float, float, float]:
    """What is minimised; between equals the cheaper comes first, then the one with less carbon."""
    assert candidate.figures is not None
    return candidate.figures[figure], candidate.figures["usd"], candidate.figures["carbon_kg"]


def _option(question: Question, candidate: Candidate, rank: int) -> dict[str, Any]:
    scenario = load(question.scenario, changes=candidate.free)
    payload = plan(scenario).to_dict()
    missed = [result.message for result in check_assertions(scenario, payload) if not result.holds]
    cautions = [*missed]
    for limit in question.limits:
        late = _late(limit, payload)
        if late:
            cautions.append(late)
    return {
        "rank": rank,
        "free": candidate.free,
        "figures": candidate.figures,
        "cautions": cautions,
        "plan": payload,
    }


def _late(limit: Limit, payload: dict[str, Any]) -> str:
    """That a limit holds at the centre, but not at P90."""
    keys = {
        "days": "days",
        "usd": "total_usd",
        "facility_peak_w": "facility_peak_w",
        "carbon_kg": "carbon_kg",
    }
    row = next((row for row in payload["headline"] if row["key"] == keys[limit.figure]), None)
    if row is None or row["p90"] is None or row["p90"] <= limit.most:
        return ""
    return f"{limit.name}: one run in ten exceeds it by {row['p90'] / limit.most - 1:.1%} or more (P90)"


def _binding(
    question: Question, able: list[Candidate], within: list[Candidate], figure: str
) -> list[dict[str, Any]]:
    """For each limit that keeps a better plan out: what the next better plan needs more of it, and what that buys."""
    best = within[0]
    assert best.figures is not None
    found = []
    for limit in question.limits:
        others = [each for each in question.limits if each is not limit]
        better = [
            each for each in able
            if each.broken([limit]) and not each.broken(others) and _value(each, figure) < _value(best, figure)
        ]  # fmt: skip
        if not better:
            continue
        # The smallest widening that lets a better plan in.
        next_one = min(better, key=lambda each: each.figures[limit.figure])  # type: ignore[index]
        assert next_one.figures is not None
        unit, scale = LIMITS[limit.name][3], 1.0 if limit.figure == "days" else LIMITS[limit.name][2]
        more = (next_one.figures[limit.figure] - limit.most) / scale
        used = (next_one.figures[limit.figure] - best.figures[limit.figure]) / scale
        found.append(
            {
                "constraint": limit.name,
                "slack": -limit.excess(best.figures),
                "needs": more,
                "next": next_one.free,
                "shadow": {
                    "unit": unit,
                    "gpus": _difference(next_one, best, COUNT, used),
                    "days": (next_one.figures["days"] - best.figures["days"]) / used,
                    "usd": (next_one.figures["usd"] - best.figures["usd"]) / used,
                    figure: (next_one.figures[figure] - best.figures[figure]) / used,
                },
            }
        )
    return sorted(found, key=lambda each: each["slack"])


def _difference(a: Candidate, b: Candidate, path: str, per: float) -> float | None:
    if path not in a.free:
        return None
    return float(a.free[path] - b.free[path]) / per


def _rejected(
    question: Question, candidates: list[Candidate], within: list[Candidate], figure: str, most: int = 5
) -> list[dict[str, Any]]:
    """The leading plan of every other choice of the listed fields, and why it lost; then what could not run, by reason."""
    named = [axis.path for axis in question.free if axis.path != COUNT]
    rows: list[dict[str, Any]] = []
    if within and named:
        able = sorted(
            (each for each in candidates if each.figures is not None and not each.reason),
            key=lambda each: _value(each, figure),
        )
        groups: dict[tuple[Any, ...], list[Candidate]] = {}
        for each in able:
            groups.setdefault(tuple(each.free[path] for path in named), []).append(each)
        for each in within[:OPTIONS]:
            groups.pop(tuple(each.free[path] for path in named), None)
        rows = [_runner_up(question, members, within[0], figure) for members in list(groups.values())[:most]]
    idle: dict[str, int] = {}
    for each in candidates:
        if each.reason:
            told = (
                f"cannot run: {each.reason}"
                if each.figures is None
                else f"break the scenario's own limit: {each.reason}"
            )
            idle[told] = idle.get(told, 0) + 1
    ranked = sorted(idle.items(), key=lambda item: -item[1])[:most]
    return rows + [{"free": None, "figures": None, "why": f"{number} {reason}"} for reason, number in ranked]


def _runner_up(question: Question, members: list[Candidate], best: Candidate, figure: str) -> dict[str, Any]:
    """The best of one choice of the listed fields that keeps the limits, else the best of all; and why it lost."""
    keeping = [each for each in members if not each.broken(question.limits)]
    chosen = (keeping or members)[0]
    assert chosen.figures is not None and best.figures is not None
    why = [
        f"exceeds {limit.name} by {limit.excess(chosen.figures):.1%}"
        for limit in chosen.broken(question.limits)
    ]
    if not why:
        ratio = chosen.figures[figure] / best.figures[figure] if best.figures[figure] else 1.0
        why = [f"{ratio - 1:+.1%} in {figure} against the best"]
    return {"free": chosen.free, "figures": chosen.figures, "why": "; ".join(why)}


def _relaxations(question: Question, able: list[Candidate]) -> list[dict[str, Any]]:
    """For each limit, the plan that keeps all others and exceeds it least: by how much it would have to give way."""
    rows: list[dict[str, Any]] = []
    for limit in question.limits:
        others = [each for each in question.limits if each is not limit]
        keeping = [each for each in able if not each.broken(others)]
        if not keeping:
            rows.append(
                {
                    "constraint": limit.name,
                    "to": None,
                    "free": None,
                    "figures": None,
                    "why": "no plan keeps the other limits",
                }
            )
            continue
        nearest = min(keeping, key=lambda each: limit.excess(each.figures or {}))
        assert nearest.figures is not None
        rows.append(
            {
                "constraint": limit.name,
                "to": nearest.figures[limit.figure],
                "by": limit.excess(nearest.figures),
                "free": nearest.free,
                "figures": nearest.figures,
                "why": "",
            }
        )
    return sorted(rows, key=lambda row: row.get("by", float("inf")))
