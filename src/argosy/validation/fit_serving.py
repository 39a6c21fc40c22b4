"""Fits the serving engines' numbers to published serving measurements.

    python -m argosy.validation.fit_serving PATH/published_serving.csv [TABLE.json]

reads the measurements, fits the parameters of `serving_parameters` to the rows outside the groups that
`serving_groups` sets aside (least squares of ln(predicted ÷ measured), soft_l1, with a prior per parameter), and writes
the table that `serving.engine` reads: values with standard errors, errors of the fitted and of the set-aside rows, and
residuals by grade for error bands.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from argosy.serving import Roofline
from argosy.serving.engine import Engine
from argosy.serving.steady import Steady, finite_run, steady_state
from argosy.validation.models import Skipped
from argosy.validation.rows import Row, read_table
from argosy.validation.serving_cases import ServingCase, serving_case
from argosy.validation.serving_flags import flag
from argosy.validation.serving_groups import held_out
from argosy.validation.serving_parameters import PARAMETERS, Parameter

TABLE = Path(__file__).parents[1] / "serving" / "data" / "engines.json"
KEYS = ("tpot_ms", "output_tok_s_per_gpu", "ttft_ms")
TTFT_WEIGHT = 0.4  # a mean time to first token carries scheduling that the model does not know
TTFT_CLIENTS = 16  # up to here the queue in front of the prompts is short and known
LOG_STEP = 2e-3  # of a parameter's logarithm in forward differences
SOFT = 0.2  # ln error from which a row counts as an outlier
PROMPTS_PER_CLIENT = 10  # assumption: the benchmark's clients send ten requests each, all starting at once


@dataclass(frozen=True)
class Batch:
    """Cases of one provider, predicted together. `hidden`: whether each is set aside."""

    provider: Roofline
    cases: tuple[ServingCase, ...]

    def numbers(self, name: str) -> np.ndarray:
        """A field of every case, (n,)."""
        return np.array([getattr(case, name) for case in self.cases], float)

    def measured(self, key: str) -> np.ndarray:
        """A measured value of every case, NaN where the row has none, (n,)."""
        return np.array([case.measured.get(key, math.nan) for case in self.cases])


def batches(rows: Iterable[Row], hidden: bool | None) -> list[Batch]:
    """Usable cases by provider: those set aside, those not, or all (None). Rows that repeat another are left out, and
    rows that a flag makes unusable.
    """
    found: dict[int, tuple[Roofline, dict[Any, ServingCase]]] = {}
    for row in rows:
        try:
            case = serving_case(row)
        except Skipped:
            continue
        if flag(case) or (hidden is not None and held_out(row, case) != hidden):
            continue
        same = (case.input, case.output, case.concurrency, tuple(case.measured.items()))
        found.setdefault(id(case.provider), (case.provider, {}))[1].setdefault(same, case)
    return [Batch(provider, tuple(cases.values())) for provider, cases in found.values()]


def with_numbers(engine: Engine, numbers: dict[str, Any]) -> Engine:
    """The engine with the fitted numbers that concern it, by path."""
    changes: dict[str, Any] = {}
    for owner in ("any", engine.name):
        changes |= {p.field: numbers[p.path] for p in PARAMETERS if p.owner == owner and p.path in numbers}
    return replace(engine, **changes)


def log_errors(batch: Batch, numbers: dict[str, Any]) -> dict[str, np.ndarray]:
    """ln(predicted ÷ measured) of every case by key, NaN where nothing was measured, (n,) each ((S, n) for
    numbers of shape (S, 1)).

    For throughput ln(measured ÷ predicted), so that a positive error is time over-estimated everywhere.
    """
    provider = replace(batch.provider, engine=with_numbers(batch.provider.engine, numbers))
    engine = replace(provider.engine, max_tokens=batch.numbers("max_tokens"))
    steady = running(
        provider, engine, *(batch.numbers(name) for name in ("input", "output", "concurrency", "requests"))
    )
    first = np.asarray(steady.ttft_s) + burst_s(steady, batch.numbers("concurrency"))
    predicted = {
        "tpot_ms": np.asarray(steady.tpot_s) * 1e3,
        "ttft_ms": first * 1e3,
        "output_tok_s_per_gpu": np.asarray(steady.output_tokens_per_s) / provider.gpus,
    }
    errors = {key: np.log(value / batch.measured(key)) for key, value in predicted.items()}
    errors["output_tok_s_per_gpu"] = -errors["output_tok_s_per_gpu"]
    return errors


def running(
    provider: Roofline, engine: Engine, input: Any, output: Any, clients: Any, requests: Any
) -> Steady:
    """What a load of one kind runs to: a closed loop of `clients`, or where `requests` are finite all of them at once.

    ValueError where loads of both kinds are mixed.
    """
    finite = np.isfinite(np.asarray(requests, float))
    if finite.all():
        return finite_run(provider, engine, input, output, requests)
    if finite.any():
        raise ValueError("closed loops and finite runs in one call; ask for each apart")
    return steady_state(provider, engine, input, output, clients)


def burst_s(steady: Any, clients: np.ndarray) -> np.ndarray:
    """What the first requests of all clients, arriving at once, add to the mean time to first token, s."""
    mean_wait = np.where(np.isfinite(clients), (np.asarray(steady.batch) - 1) / 2, 0.0) * steady.added_s
    return np.asarray(mean_wait / PROMPTS_PER_CLIENT)


def residuals(found: list[Batch], vector: np.ndarray, parameters: tuple[Parameter, ...]) -> np.ndarray:
    """Weighted ln errors of all cases, and the parameters' distance from their starts; (rows + P,).

    `vector`: logarithms (P,), or many at once (S, P), which gives (S, rows + P).
    """
    many = np.atleast_2d(vector)
    numbers = {p.path: np.exp(many[:, [j]]) for j, p in enumerate(parameters)}
    parts = []
    for batch in found:
        errors = log_errors(batch, numbers)
        few = batch.numbers("concurrency") <= TTFT_CLIENTS
        weighted = (
            errors["tpot_ms"],
            errors["output_tok_s_per_gpu"],
            TTFT_WEIGHT * np.where(few, errors["ttft_ms"], math.nan),
        )
        parts += [np.broadcast_to(each, (len(many), len(batch.cases))) for each in weighted]
    rows = np.nan_to_num(np.concatenate(parts, axis=1), nan=0.0, posinf=2.0, neginf=-2.0)
    starts, widths = np.log([p.start for p in parameters]), np.array([p.width for p in parameters])
    found_all = np.concatenate([rows, (many - starts) / widths * 0.3], axis=1)
    return found_all if np.ndim(vector) > 1 else found_all[0]


def _residuals(found: list[Batch], vector: np.ndarray) -> np.ndarray:
    return residuals(found, vector, PARAMETERS)


def _jacobian(found: list[Batch], vector: np.ndarray) -> np.ndarray:
    """Forward differences, all parameters in one evaluation; (rows + P, P)."""
    shifted = residuals(found, np.vstack([vector, vector + LOG_STEP * np.eye(len(vector))]), PARAMETERS)
    return np.asarray((shifted[1:] - shifted[0]).T / LOG_STEP)


def fit(
    found: list[Batch], begin: np.ndarray | None = None, evaluations: int = 12
) -> tuple[np.ndarray, np.ndarray]:
    """Fitted logarithms of the parameters (P,) and their standard errors (P,)."""
    start = np.log([p.start for p in PARAMETERS]) if begin is None else begin
    top = np.array([math.log(p.most) if math.isfinite(p.most) else np.inf for p in PARAMETERS])
    solved: Any = least_squares(
        partial(_residuals, found),
        jac=partial(_jacobian, found),
        x0=np.minimum(start, top - 1e-3),
        bounds=(-np.inf, top),
        loss="soft_l1",
        f_scale=SOFT,
        max_nfev=evaluations,
    )
    count = max(np.count_nonzero(solved.fun) - len(PARAMETERS), 1)
    covariance: np.ndarray = np.linalg.pinv(solved.jac.T @ solved.jac) * 2 * solved.cost / count
    return solved.x, np.sqrt(np.diag(covariance))


def errors_of(found: list[Batch], numbers: dict[str, float]) -> dict[str, np.ndarray]:
    """Finite ln errors of all cases by key."""
    parts: dict[str, list[np.ndarray]] = {key: [] for key in KEYS}
    for batch in found:
        few = batch.numbers("concurrency") <= TTFT_CLIENTS
        for key, values in log_errors(batch, numbers).items():
            kept = values if key != "ttft_ms" else values[few]
            parts[key].append(kept[np.isfinite(kept)])
    return {key: np.concatenate(values) if values else np.zeros(0) for key, values in parts.items()}


def described(errors: np.ndarray) -> dict[str, Any]:
    """n, mean absolute error, bias and 90th percentile (fractions of the measured time) of ln errors."""
    if not len(errors):
        return {"n": 0}
    relative = np.expm1(errors)
    return {
        "n": len(errors),
        "mape": round(float(np.abs(relative).mean()), 4),
        "bias": round(float(relative.mean()), 4),
        "p90_abs": round(float(np.quantile(np.abs(relative), 0.9)), 4),
    }


def sigma(errors: np.ndarray) -> float:
    """The standard deviation of a normal distribution whose central 90 % reaches as far as the errors' do."""
    return round(float(np.quantile(np.abs(errors), 0.9)) / 1.645, 4) if len(errors) else 0.3


def leave_one_model_out(found: list[Batch], vector: np.ndarray) -> dict[str, np.ndarray]:
    """ln errors by key of every model's cases under numbers fitted without them."""
    names = sorted({batch.provider.model.name for batch in found})
    parts: dict[str, list[np.ndarray]] = {key: [] for key in KEYS}
    for name in names:
        others = [b for b in found if b.provider.model.name != name]
        without, _ = fit(others, vector, 2)
        numbers = {p.path: math.exp(x) for p, x in zip(PARAMETERS, without, strict=True)}
        for key, values in errors_of([b for b in found if b.provider.model.name == name], numbers).items():
            parts[key].append(values)
    return {key: np.concatenate(values) for key, values in parts.items()}


def table_of(rows: list[Row], command: str) -> dict[str, Any]:
    """The shipped table."""
    seen, aside = batches(rows, False), batches(rows, True)
    vector, spread = fit(seen)
    numbers = {p.path: math.exp(x) for p, x in zip(PARAMETERS, vector, strict=True)}
    fitted, hidden = errors_of(seen, numbers), errors_of(aside, numbers)
    left_out = leave_one_model_out(seen, vector)
    return {
        "generated_by": command,
        "parameters": {
            p.path: {
                "value": float(f"{math.exp(x):.4g}"),
                "low": float(f"{math.exp(x - 1.645 * min(s, 2.0)):.4g}"),
                "high": float(f"{min(math.exp(x + 1.645 * min(s, 2.0)), p.most):.4g}"),
                "standard_error_of_log": round(float(s), 4),
                "start": p.start,
                "meaning": p.meaning,
            }
            for p, x, s in zip(PARAMETERS, vector, spread, strict=True)
        },
        "errors": {
            key: {
                name: described(e[key])
                for name, e in (("fitted", fitted), ("set_aside", hidden), ("left_one_model_out", left_out))
            }
            for key in KEYS
        },
        "residuals": residuals_by_grade(fitted, left_out, hidden),
        "fitted": fitted_groups(seen),
    }


def residuals_by_grade(
    fitted: dict[str, np.ndarray], left_out: dict[str, np.ndarray], hidden: dict[str, np.ndarray]
) -> dict[str, dict[str, float]]:
    """Spread by grade: of the fitted rows; the larger of the models left out and the rows set aside; half as much again
    (an assumption) where not even the kind of model, the generation or the engine was fitted.
    """
    unseen, aside = _sigmas(left_out), _sigmas(hidden)
    interpolated = {key: max(unseen[key], aside[key]) for key in unseen}
    return {
        "measured-like": _sigmas(fitted),
        "interpolated": interpolated,
        "extrapolated": {key: round(1.5 * value, 4) for key, value in interpolated.items()},
    }


def _sigmas(errors: dict[str, np.ndarray]) -> dict[str, float]:
    """Spread of iterations, of throughput at the largest batch, and of the time to first token."""
    return {
        "decode": sigma(errors["tpot_ms"]),
        "throughput": sigma(errors["output_tok_s_per_gpu"]),
        "first_token": sigma(errors["ttft_ms"]),
    }


def fitted_groups(found: list[Batch]) -> dict[str, list[str]]:
    """What the fit saw: accelerators, generations, engines, kinds of model, models."""
    providers = [batch.provider for batch in found]
    return {
        "accelerators": sorted({p.device.name for p in providers}),
        "generations": sorted({p.device.generation for p in providers}),
        "engines": sorted({p.engine.name for p in providers}),
        "kinds": sorted({p.kind for p in providers}),
        "models": sorted({p.model.name for p in providers}),
    }


def main(arguments: list[str] | None = None) -> None:
    """Command line: read the rows, fit, write the table, print the errors."""
    given = sys.argv[1:] if arguments is None else arguments
    if not given:
        sys.exit(__doc__)
    target = Path(given[1]) if len(given) > 1 else TABLE
    command = f"python -m argosy.validation.fit_serving {Path(given[0]).name}"
    table = table_of(read_table(Path(given[0]))[1], command)
    target.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for key, found in table["errors"].items():
        print(f"{key}: {found}")


if __name__ == "__main__":
    main()
