"""From an observed run back to a plan: failures for `argosy fit-failures`, step times for `argosy calibrate`, overrides."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from argosy.facts import FactError
from argosy.observe.goodput import Goodput
from argosy.observe.observed import Observed
from argosy.observe.records import TrainingLog
from argosy.observe.settings import number, value
from argosy.reliability.failure_log import FailureLog
from argosy.reliability.fit import LoggedFailure
from argosy.reliability.fitted import fit_log
from argosy.reliability.rates import categories

SETTLED = 0.2  # of a log's rows are left out at its beginning: caches, compilation, warm-up of the data
_DAY_S = 86400.0
NODE_GPUS = 8  # of a node whose accounting is not at hand: an assumption, told


def failures_csv(run: Goodput) -> str:
    """The run's failures as `argosy fit-failures` reads them: seconds since the run began, component, category, node, cause.

    Fit it with `--end "<elapsed> s"`, for the watch lasted as long as the run. Ends by people and limits are no failures.
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["start_s", "end_s", "component", "category", "node", "cause"])
    causes = [each.cause.name for each in run.interruptions if each.cause.failure]
    for each, cause in zip(_failures(run), causes, strict=True):
        component = categories()[each.category].component
        table.writerow([f"{each.at_s:.3f}", "", component, each.category, each.node, cause])
    return text.getvalue()


def _failures(run: Goodput) -> list[LoggedFailure]:
    return [
        LoggedFailure(
            min(max(each.at_s - run.begin_s, 0.0), run.elapsed_s),
            each.cause.category if each.cause.category in categories() else "any",
            each.cause.node or "",
        )
        for each in run.interruptions
        if each.cause.failure
    ]


def reliability(run: Goodput, source: str, nodes: int, preset: str = "llama3-table5") -> dict[str, Any]:
    """Rates of failures from the run: {overrides, scenario, before, after, tests, warnings}, as `argosy fit-failures` gives
    them, with the times of detection and restart measured here added to `scenario`.

    `overrides` is what a scenario names as `assumptions.overrides`, `scenario` what it can extend. FactError for a run
    without a failure: nothing can be fitted.
    """
    failures = _failures(run)
    if not failures:
        raise FactError(f"{source}: no failure in {run.elapsed_s / _DAY_S:.3g} days: no rate can be fitted")
    gpus = max((each.gpus for each in run.attempts), default=0.0)
    log = FailureLog(tuple(failures), (), run.elapsed_s, guessed=False)
    found = fit_log(log, source, {"node": float(nodes), "gpu": gpus}, preset=preset)
    found["scenario"]["reliability"] |= _times(run)
    return found


def _times(run: Goodput) -> dict[str, str]:
    """Median seconds of detection and restart, where the run has shown any."""
    failed = [run.attempts[each.attempt] for each in run.interruptions if each.cause.failure]
    places = [each.attempt + 1 for each in run.interruptions if each.cause.failure]
    after = [run.attempts[place] for place in places if place < len(run.attempts)]
    detected = [each.stop_s - each.last_s for each in failed if len(each.steps.count)]
    restarted = [each.first_s - each.begin_s for each in after if len(each.steps.count)]
    told = {}
    for name, seconds in (("detection", detected), ("restart", restarted)):
        if seconds and math.isfinite(median := float(np.median(seconds))) and median > 0:
            told[name] = f"{median:.6g} s"
    return told


def measurements_csv(logs: Iterable[TrainingLog]) -> tuple[str, list[str]]:
    """Measured steps as `argosy calibrate` reads them, one row a log, and what could not be used.

    The step time is the median of a log's rows without the first fifth. A log without layout or batch is left out.
    """
    text = io.StringIO()
    columns = (
        "step_time_s",
        "gpus",
        "tp",
        "pp",
        "cp",
        "micro_batch",
        "sequence_length",
        "global_batch_sequences",
    )
    table = csv.DictWriter(text, columns, lineterminator="\n")
    table.writeheader()
    told: list[str] = []
    for log in logs:
        known = log.step_time_s[int(len(log.step_time_s) * SETTLED) :]
        known = known[np.isfinite(known)]
        row = {name: number(log.settings, key) for name, key in _COLUMNS.items()}
        absent = [name for name in ("gpus", "sequence_length", "global_batch_sequences") if not row[name]]
        if not len(known) or absent:
            told.append(
                f"{log.path}: {'no step time' if not len(known) else f'{absent[0]} is not in the log'}: left out"
            )
            continue
        whole = {name: int(amount) for name, amount in row.items() if amount}
        table.writerow({"step_time_s": f"{float(np.median(known)):.6g}", **whole})
    return text.getvalue(), told


_COLUMNS = {"gpus": "world", "tp": "tensor", "pp": "pipeline", "cp": "context", "micro_batch": "micro_batch",
            "sequence_length": "sequence", "global_batch_sequences": "global_batch"}  # fmt: skip


def recomputes(log: TrainingLog) -> bool | None:
    """Whether the log says that activations are recomputed; None where it does not tell."""
    arguments = log.settings.get("arguments") or {}
    if "recompute_granularity" in arguments:
        return arguments["recompute_granularity"] is not None
    older = value(log.settings, "checkpoint_activations")
    return bool(older) if older is not None else None


def write(observed: Observed, folder: Path) -> tuple[list[Path], list[str]]:
    """Everything that goes back to a plan, as files in `folder` (made where absent): failures.csv, steps.csv, overrides.yaml
    and scenario.yaml, each where there is something to write; and what was left out or assumed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made: dict[str, str] = {}
    steps, told = measurements_csv(observed.logs)
    if steps.count("\n") > 1:
        made["steps.csv"] = steps
    run = observed.run
    if run is None:
        told.append("no run: neither training logs nor accounting with an attempt in them")
    else:
        made["failures.csv"] = failures_csv(run)
        nodes, assumed = _nodes(run)
        told += assumed
        try:
            fitted = reliability(run, f"argosy diagnose, {len(run.attempts)} attempts", nodes)
        except FactError as error:
            told += error.problems
        else:
            made |= {"overrides.yaml": _yaml(fitted["overrides"]), "scenario.yaml": _yaml(fitted["scenario"])}
            told += fitted["warnings"]
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in made], told


def _nodes(run: Goodput) -> tuple[int, list[str]]:
    """How many nodes ran: by accounting, else by accelerators, eight a node."""
    named = max((len(each.nodes) for each in run.attempts), default=0)
    if named:
        return named, []
    nodes = max(round(max(each.gpus for each in run.attempts) / NODE_GPUS), 1)
    return nodes, [f"no accounting tells of nodes: {nodes:,} of {NODE_GPUS} accelerators were assumed"]


def _yaml(content: dict[str, Any]) -> str:
    from ruamel.yaml import YAML

    text = io.StringIO()
    yaml = YAML(typ="safe")
    yaml.default_flow_style = False
    yaml.dump(content, text)
    return text.getvalue()
