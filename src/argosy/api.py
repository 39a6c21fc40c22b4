"""The Python interface: the commands as functions, whose answers show themselves in a notebook.

Every answer is the contract's JSON of the command of the same name, as a dictionary; a plan also has its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from argosy.planning import Plan as _Plan
from argosy.planning import plan as _plan
from argosy.spec import Scenario


class Plan(_Plan):
    """A plan that shows itself in a notebook: `verdict`, `nominal`, `drawn`, and `payload`, the JSON of `argosy plan`."""

    def __repr__(self) -> str:
        return f"<plan of {self.scenario.name}: {self.verdict.status}; .payload is the JSON of argosy plan>"

    def _repr_html_(self) -> str:
        from argosy.report.notebook import fragment

        return fragment(self.payload)


class Answer(dict[str, Any]):
    """The JSON of a command, which shows itself in a notebook."""

    def __repr__(self) -> str:
        return f"<{self.get('schema', 'answer')}: {', '.join(self)}>"

    def _repr_html_(self) -> str:
        from argosy.report.notebook import fragment

        return fragment(self)


def plan(scenario: Scenario, draws: int = 2000, seed: int = 0) -> Plan:
    """Plan a scenario, as `argosy plan`; see `argosy.planning.plan`."""
    found = _plan(scenario, draws, seed)
    return Plan(**{name: getattr(found, name) for name in found.__dataclass_fields__})


def simulate(scenario: Scenario, replications: int = 1000, seed: int = 0, **options: Any) -> Answer:
    """Simulated lives of a job, as `argosy simulate`; see `argosy.planning.simulation.simulate`."""
    from argosy.planning.simulation import simulate as run

    return Answer(run(scenario, replications, seed, **options))


def serve(scenario: Scenario, service: str | None = None, seeds: int = 5, **options: Any) -> Answer:
    """The fleet of a service, as `argosy serving`; see `argosy.planning.serving.serving_payload`."""
    from argosy.planning.serving import serving_payload as run

    return Answer(run(scenario, service, seeds, **options))


def schedule(
    source: Scenario | str | Path,
    policy: str | None = None,
    against: Iterable[str] = (),
    seeds: int = 1,
    seed: int = 0,
    until: str | None = None,
    **machine: Any,
) -> Answer:
    """A cluster's queue, as `argosy schedule`: of a scenario, or of the trace in a file.

    `against`: policies to compare with it over `seeds` seeds; `until`: a time (`7 days`) at which the clock stops;
    `machine`: of a trace, the fields of `argosy.planning.queue.Machine` (nodes=128, per_node=8, quotas={"research": 512}).
    A trace that a scenario names is looked for from the working directory.
    See `argosy.planning.schedule.schedule`; FactError where a trace has no machine.
    """
    from argosy.planning.queue import Machine, queue_of, scenario_queue, seconds_of
    from argosy.planning.schedule import schedule as run

    until_s = seconds_of(until, "until")
    if isinstance(source, Scenario):
        queue = scenario_queue(source, Path(), until_s)
    else:
        queue = queue_of(Path(source), Machine(**machine), until_s)
    return Answer(run(queue, policy, list(against), seeds, seed))


def compare(a: Plan | Mapping[str, Any], b: Plan | Mapping[str, Any]) -> Answer:
    """What differs between two plans, as `argosy diff`; see `argosy.study.compare`."""
    from argosy.study.compare import compare as run

    return Answer(run(*(each.payload if isinstance(each, _Plan) else each for each in (a, b))))


def sensitivity(scenario: Scenario, output: str | None = None, **options: Any) -> Answer:
    """Which uncertain fact moves the answer most, as `argosy sensitivity`; see `argosy.study.sensitivity`.

    `output` None: days, or for services alone the price of a million output tokens; `service`: which one.
    """
    from argosy.study.sensitivity import sensitivity_of as run

    return Answer(run(scenario, output, **options))


def recommend(question: str | Path, goal: str | None = None, within: tuple[str, ...] = ()) -> Answer:
    """The best plans within limits, as `argosy recommend`; `question` is a file. See `argosy.study.recommend`."""
    from argosy.study.question import read_question
    from argosy.study.recommend import recommend as run

    return Answer(run(read_question(Path(question), goal, within)))


def calibrate(measurements: str | Path, scenario: Scenario, **options: Any) -> Answer:
    """Measured steps as overrides of facts, as `argosy calibrate`; see `argosy.study.calibrate`."""
    from argosy.study.calibrate import calibrate as run

    return Answer(run(Path(measurements), scenario, **options))


def diagnose(
    paths: str | Path | Iterable[str | Path],
    against: Scenario | None = None,
    executor: Executor | None = None,
) -> Answer:
    """Where a running job's time went by its own files, and who is to blame, as `argosy diagnose`.

    `paths`: files, folders or the address of a Prometheus server; `against`: the scenario that was planned; `executor`: where
    files are read. See `argosy.observe.diagnosis.diagnose`; NothingReadableError where nothing can be used.
    """
    from argosy.observe.diagnosis import diagnose as run

    every = [paths] if isinstance(paths, str | Path) else paths
    return Answer(run(every, against, executor).to_dict())
