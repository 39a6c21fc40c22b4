"""A user's few measured steps become an overrides file of the few facts that they tell about."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from argosy import __version__
from argosy.facts import Fact, FactError
from argosy.planning.context import context
from argosy.spec import Scenario, Training
from argosy.study.fit import Fit, fit, mode
from argosy.study.measurements import Measurement, read
from argosy.study.predict import Predictor
from argosy.training.uncertainty import NOISE_FLOOR

SCHEMA = "argosy.calibrate/1"
_HALF_BAND = 1.6448536269514722  # a band is the central 90 % of a normal
_MEDIAN_OF_ABSOLUTE = 0.6744897501960817  # of a standard normal
# Median difference of two runs with equal settings → standard deviation of one.
STEP_NOISE = NOISE_FLOOR.value / (np.sqrt(2) * _MEDIAN_OF_ABSOLUTE)
MEMORY_NOISE = Fact(0.02, "", kind="relative", source="assumption: memory repeats better than time")
_PAIR = 1.959963984540054 * np.sqrt(2)  # 95 % of differences of two equal runs, in standard deviations of one
_UNEXPLAINED = 3.0  # standard deviations
_MOST_FOLDS = 20


def calibrate(
    measurements: Path, scenario: Scenario, job: str | None = None, noise: float | None = None
) -> dict[str, Any]:
    """The contract's JSON of `argosy calibrate`.

    `measurements`: a CSV of measured steps (columns: `study.measurements`); `job`: which of the scenario's
    training jobs ran (default: the first); `noise`: relative standard deviation of repeated runs (default:
    what published runs with equal settings differ by). FactError for a table that cannot be used.
    """
    training = _job(scenario, job)
    setting = context(scenario)
    runs, ignored = read(measurements, training, setting.fleet.count)
    predict = Predictor(setting, training, runs)
    step_noise = STEP_NOISE if noise is None else noise
    peaks = len(predict.measured) - len(runs)
    sigma = np.array([step_noise] * len(runs) + [MEMORY_NOISE.value] * peaks)
    found = fit(predict, predict.measured, sigma, predict.candidates(), len({run.setting for run in runs}))
    before, after = predict({}), predict(found.z)
    source = f"argosy calibrate, {len(runs)} measured steps of {measurements.name}"
    facts = {path: _posterior(predict, found, path, source) for path in found.z}
    warnings = [*(f"column {name!r} means nothing here and was passed over" for name in ignored)]
    warnings += contradictions(runs, step_noise)
    warnings += _beyond_bands(predict, found) + _confounded(found) + _unexplained(runs, predict, after, sigma)
    return {
        "schema": SCHEMA,
        "version": __version__,
        "facts_date": setting.catalog.facts_date,
        "scenario": {"name": scenario.name, "hash": scenario.hash},
        "measurements": str(measurements),
        "noise": step_noise,
        "overrides": {**_earlier(scenario), **facts},
        "facts": [_change(predict, found, path) for path in found.z],
        "evidence_gain": found.gain,
        "before": _errors(predict, before),
        "after": _errors(predict, after),
        "left_out": _left_out(predict, found, sigma),
        "rows": [_row(run, before[i], after[i]) for i, run in enumerate(runs)],
        "warnings": warnings,
    }


def _job(scenario: Scenario, name: str | None) -> Training:
    jobs = {each.name: each for each in scenario.training}
    if not jobs:
        raise FactError(f"{scenario.name} has no training job whose steps could be measured: add training:")
    if name is not None and name not in jobs:
        raise FactError(f"no training job {name!r}; write one of {', '.join(jobs)}")
    return next(iter(jobs.values())) if name is None else jobs[name]


def _earlier(scenario: Scenario) -> dict[str, Any]:
    """What the scenario already overrides: kept, so that the new file can take the old one's place."""
    return dict(scenario.assumptions.overrides)


def _posterior(predict: Predictor, found: Fit, path: str, source: str) -> dict[str, Any]:
    """A fact after the measurements, as an overrides file writes it: value, central 90 %, unit where it has one."""
    middle, half = found.z[path], _HALF_BAND * found.sigma[path]
    value, low, high = (predict.moved(path, middle + z).value for z in (0.0, -half, half))
    unit = predict.setting.values.facts[path].unit
    stated = {"unit": unit} if unit not in ("", "ratio") else {}
    return {"value": value, "low": min(low, value), "high": max(high, value), **stated, "source": source}


def _change(predict: Predictor, found: Fit, path: str) -> dict[str, Any]:
    fact = predict.setting.values.facts[path]
    return {
        "path": path,
        "before": {"value": fact.value, "low": fact.low, "high": fact.high, "source": fact.source},
        "after": {key: _posterior(predict, found, path, "")[key] for key in ("value", "low", "high")},
        "moved_by_bands": found.z[path] / _HALF_BAND,
        "narrowed_to": found.sigma[path],
        "instead": list(found.instead.get(path, ())),
    }


def contradictions(runs: Sequence[Measurement], noise: float) -> list[str]:
    """Runs with equal settings whose steps differ by more than 95 % of repetitions would.

    `noise`: relative standard deviation of one run.
    """
    limit = float(np.exp(_PAIR * noise) - 1)
    told = []
    ordered = sorted(runs, key=lambda run: run.setting)
    for _, group in groupby(ordered, key=lambda run: run.setting):
        equal = sorted(group, key=lambda run: run.step_s)
        first, last = equal[0], equal[-1]
        if last.step_s / first.step_s - 1 > limit:
            told.append(
                f"lines {first.line} and {last.line} contradict each other: equal settings, {first.step_s:.4g} s "
                f"and {last.step_s:.4g} s, {last.step_s / first.step_s - 1:.0%} apart (repetitions stay within "
                f"{limit:.0%}); something that is not in the table differed"
            )
    return told


def _beyond_bands(predict: Predictor, found: Fit) -> list[str]:
    told = []
    for path, z in found.z.items():
        if abs(z) > _HALF_BAND:
            fact, side = predict.setting.values.facts[path], "below" if z < 0 else "above"
            told.append(
                f"{path} leaves its band: {predict.moved(path, z).value:.4g} is {side} {fact.low:.4g}–{fact.high:.4g}; "
                "a setting in the scenario may be wrong (stack, overlap, precision, fabric) rather than this fact"
            )
    return told


def _confounded(found: Fit) -> list[str]:
    return [
        f"these measurements cannot tell {path} from {', '.join(others)}: measure a run in which they differ"
        for path, others in found.instead.items()
    ]


def _unexplained(
    runs: Sequence[Measurement], predict: Predictor, after: np.ndarray, sigma: np.ndarray
) -> list[str]:
    off = (after - predict.measured)[: len(runs)]
    return [
        f"line {run.line} stays {np.expm1(error):+.0%} off after the fit: no fact within its band explains it"
        for run, error, noise in zip(runs, off, sigma, strict=False)
        if abs(error) > _UNEXPLAINED * noise
    ]


def _errors(predict: Predictor, logs: np.ndarray) -> dict[str, Any]:
    """Errors of the step times, and of memory where it was measured: mean absolute, mean, 90th percentile."""
    errors = np.expm1(logs - predict.measured)
    steps, peaks = errors[: predict.runs], errors[predict.runs :]
    memory = summary(peaks) if len(peaks) else None
    return {**summary(steps), "memory": memory}


def summary(errors: np.ndarray) -> dict[str, Any]:
    """Of relative errors (predicted ÷ measured − 1, (n,)): count, mean absolute, mean, 90th percentile of absolute."""
    return {
        "n": len(errors),
        "mape": float(np.mean(np.abs(errors))),
        "bias": float(np.mean(errors)),
        "p90_abs": float(np.quantile(np.abs(errors), 0.9)),
    }


def _left_out(predict: Predictor, found: Fit, sigma: np.ndarray) -> dict[str, Any] | None:
    """Errors on each setting when the same facts are fitted to the others; None for fewer than three settings."""
    settings = [run.setting for run in predict.measurements]
    distinct = list(dict.fromkeys(settings))
    if len(distinct) < 3 or not found.z:
        return None
    with_peak = [i for i, run in enumerate(predict.measurements) if run.peak_bytes is not None]
    owners = np.array([*range(len(settings)), *with_peak])
    fold_of = {setting: i % _MOST_FOLDS for i, setting in enumerate(distinct)}
    folds = np.array([fold_of[settings[i]] for i in owners])
    held = np.empty(len(owners))
    for fold in range(min(len(distinct), _MOST_FOLDS)):
        kept = folds != fold
        others = predict.only(kept)
        z, _ = mode(others, predict.measured[kept], sigma[kept], list(found.z), found.z)
        held[~kept] = predict(z)[~kept]
    return _errors(predict, held)


def _row(run: Measurement, before: float, after: float) -> dict[str, Any]:
    step = run.step_s
    return {
        "line": run.line,
        "layout": run.layout.to_dict(0),
        "sequence_length": run.sequence_length,
        "measured_step_time_s": step,
        "before_step_time_s": float(np.exp(before)),
        "after_step_time_s": float(np.exp(after)),
        "error_before": float(np.exp(before) / step - 1),
        "error_after": float(np.exp(after) / step - 1),
    }
