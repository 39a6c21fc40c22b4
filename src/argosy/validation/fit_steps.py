"""Fit the few physical numbers of the step model to measured training steps, and say what each is worth.

    python -m argosy.validation.fit_steps RUNS.csv [TABLE.json]

Every number has a meaning of its own, a prior (where it was published or assumed, and how far it may be
off) and a shipped value with its error; none belongs to a source or a row. Whole sources are kept aside.
See docs/accuracy.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from argosy.training import Device, Layouts, Stack, evaluate
from argosy.training.kernels import attention_kernel
from argosy.validation.cases import Case, case
from argosy.validation.models import Skipped
from argosy.validation.rows import Row, read_table
from argosy.validation.runs import choose_recompute
from argosy.validation.step_parameters import ASIDE, PARAMETERS, Parameter

TABLE = Path(__file__).parents[1] / "training" / "kernels" / "data" / "steps.json"
SOURCE = "fitted to published training steps: python -m argosy.validation.fit_steps; see docs/accuracy.md"


@dataclass(frozen=True)
class Sample:
    """A case with the one layout that it means, ready for evaluation under many parameter vectors."""

    case: Case
    layouts: Layouts
    source: str


def samples(rows: Iterable[Row], keep: Callable[[Case], bool]) -> list[Sample]:
    """The unflagged rows that can be predicted and that `keep` accepts."""
    found = []
    for row in rows:
        if row.text("flag"):
            continue
        try:
            prepared = case(row)
        except Skipped:
            continue
        if not prepared.measured_s or not keep(prepared):
            continue
        chosen = choose_recompute(prepared)
        if chosen.share < 1:  # a mixture of two layouts; few rows, none of them stated
            continue
        layouts = chosen.layouts
        if len(layouts) > 1:
            steps = evaluate(prepared.job, prepared.device, prepared.network, prepared.stack, layouts)
            layouts = layouts.take([int(np.argmin(steps.step_s))])
        found.append(Sample(prepared, layouts, source_of(row)))
    return found


def source_of(row: Row) -> str:
    """The source for keeping whole sources apart; a source of several files counts each (single and
    multi-node).
    """
    reference = row.text("source_ref")
    part = " multi-node" if "multi" in reference else " single-node" if "single" in reference else ""
    return row.text("source") + part


def dense_on_measured_devices(prepared: Case) -> bool:
    """Dense models on devices whose kernels were measured."""
    return prepared.job.model.moe is None and prepared.device.curves.relative_of is None


def with_parameters(
    sample: Sample, parameters: tuple[Parameter, ...], columns: np.ndarray
) -> tuple[Device, Stack]:
    """Device and stack of a sample with the parameters that concern it; `columns` (P, n), one column per
    vector.
    """
    device, stack = sample.case.device, sample.case.stack
    limits: dict[str, np.ndarray] = {}
    named: Any = stack.attention  # a name, or in a settled stack the kernel's numbers
    kernel: Any = attention_kernel(named, device.generation) if isinstance(named, str) else named
    for parameter, values in zip(parameters, columns, strict=True):
        part, field, *rest = parameter.where.split(".")
        if part == "device" and rest[0] in (device.generation, device.name):
            if field == "memory_efficiency":
                device = replace(
                    device,
                    memory_bandwidth=device.memory_bandwidth * values / device.curves.memory_efficiency,
                )
            else:
                limits[field] = values
        elif part == "stack" and stack.name in parameter.stacks:
            stack = replace(stack, **{field: values})
        elif part == "attention" and rest == [kernel.name, device.generation]:
            kernel = replace(kernel, **{field: values})
    if limits:
        exponent = limits.get("power_exponent", device.power_exponent)
        device = device.at(limits["sustained_clock"], exponent)
    return device, replace(stack, attention=kernel)


def log_errors(found: list[Sample], parameters: tuple[Parameter, ...], columns: np.ndarray) -> np.ndarray:
    """ln(predicted/measured) of every sample under every parameter vector: (samples, n)."""
    errors = np.empty((len(found), columns.shape[1]))
    for i, sample in enumerate(found):
        device, stack = with_parameters(sample, parameters, columns)
        steps = evaluate(sample.case.job, device, sample.case.network, stack, sample.layouts)
        errors[i] = np.log(np.broadcast_to(steps.step_s, columns.shape[1]) / sample.case.measured_s)
    return errors


def settled(sample: Sample, values: np.ndarray) -> Sample:
    """A sample whose device and stack hold the fitted dense numbers."""
    device, stack = with_parameters(sample, PARAMETERS, values)
    return replace(sample, case=replace(sample.case, device=device, stack=stack))


def weights(found: list[Sample]) -> np.ndarray:
    """Weight of each residual: a source of n rows counts as the root of n independent ones.

    Its rows share one machine, one framework and one way of measuring, and so their errors.
    """
    counts = {source: sum(s.source == source for s in found) for source in {s.source for s in found}}
    return np.array([counts[s.source] ** -0.25 for s in found])


def fit(
    found: list[Sample],
    parameters: tuple[Parameter, ...],
    begin: np.ndarray | None = None,
    spread: float = 0.05,
    evaluations: int = 25,
) -> tuple[np.ndarray, np.ndarray]:
    """Parameters and standard errors that minimise weighted, softened residuals of ln time plus the priors.

    `begin`: where to start, the priors if not given; `spread`: the scale of a residual (the noise floor
    between runs of equal visible settings).
    """
    from scipy.optimize import least_squares

    start = np.array([p.start for p in parameters])
    width = np.array([p.width for p in parameters])
    weight = weights(found) / spread
    step = 0.02 * width

    def columns(x: np.ndarray) -> np.ndarray:
        return np.asarray(x[:, None] + np.concatenate([np.zeros((len(x), 1)), np.diag(step)], axis=1))

    cache: dict[bytes, np.ndarray] = {}

    def all_errors(x: np.ndarray) -> np.ndarray:
        key = x.tobytes()
        if key not in cache:
            cache.clear()
            cache[key] = log_errors(found, parameters, columns(x))
        return cache[key]

    def residuals(x: np.ndarray) -> np.ndarray:
        return np.concatenate([all_errors(x)[:, 0] * weight, (x - start) / width])

    def jacobian(x: np.ndarray) -> np.ndarray:
        errors = all_errors(x)
        slopes = (errors[:, 1:] - errors[:, :1]) / step * weight[:, None]
        return np.concatenate([slopes, np.diag(1 / width)])

    bounds = ([p.low for p in parameters], [p.high - 0.03 * p.width for p in parameters])
    result = least_squares(
        residuals,
        np.clip(start if begin is None else begin, *bounds),
        jac=jacobian,
        bounds=bounds,
        x_scale=width,
        loss="soft_l1",
        max_nfev=evaluations,
        xtol=1e-4,
    )
    slopes = jacobian(result.x)
    return result.x, np.sqrt(np.diag(np.linalg.pinv(slopes.T @ slopes)))


def kept_aside(sample: Sample) -> bool:
    """Whether a sample's source is one that the fit never sees."""
    return sample.source.startswith(ASIDE)


def relative_errors(found: list[Sample], parameters: tuple[Parameter, ...], values: np.ndarray) -> np.ndarray:
    """predicted/measured − 1 of every sample at one parameter vector, (samples,)."""
    columns = values.reshape(len(parameters), 1)
    return np.asarray(np.expm1(log_errors(found, parameters, columns)[:, 0]))


def errors_of(relative: np.ndarray) -> dict[str, Any]:
    """n, mape, bias, p90_abs of relative errors."""
    size = np.abs(relative)
    numbers = {"mape": size.mean(), "bias": relative.mean(), "p90_abs": np.quantile(size, 0.9)}
    return {"n": len(relative), **{name: round(float(value), 4) for name, value in numbers.items()}}


def leave_one_out(found: list[Sample], values: np.ndarray) -> tuple[np.ndarray, dict[str, Any], np.ndarray]:
    """Errors of each source under numbers fitted without it: per sample, by source; and all the fitted
    vectors (S, P).
    """
    relative, table, vectors = np.empty(len(found)), {}, []
    for source in sorted({s.source for s in found}):
        inside = np.array([s.source == source for s in found])
        others = [s for s, own in zip(found, inside, strict=True) if not own]
        vector, _ = fit(others, PARAMETERS, begin=values, evaluations=4)
        vectors.append(vector)
        relative[inside] = relative_errors(
            [s for s, own in zip(found, inside, strict=True) if own], PARAMETERS, vector
        )
        table[source] = errors_of(relative[inside])
        print(f"left out {source}: {table[source]}", file=sys.stderr)
    return relative, table, np.array(vectors)


def residual_sigma(relative: np.ndarray) -> float:
    """σ of a normal ln(measured/predicted) whose central 90 % would cover 90 % of these relative errors
    about zero.
    """
    return float(np.quantile(np.abs(np.log1p(relative)), 0.9) / 1.6448536269514722)


def build(path: Path) -> dict[str, Any]:
    """The whole table from a file of runs: numbers with errors and bands, errors fitted, aside and left
    out.
    """
    from argosy.validation.fit_mixtures import described, mixtures  # it uses this module's fit

    found = samples(read_table(path)[1], dense_on_measured_devices)
    seen = [s for s in found if not kept_aside(s)]
    values, spread = fit(seen, PARAMETERS)
    relative = relative_errors(found, PARAMETERS, values)
    left_out, by_source, vectors = leave_one_out(found, values)
    aside = np.array([kept_aside(s) for s in found])
    groups = {name: np.array([test(s) for s in found]) for name, test in _GROUPS.items()}
    numbers = {}
    for parameter, value, error, column in zip(PARAMETERS, values, spread, vectors.T, strict=True):
        reach = max(1.645 * error, np.abs(column - value).max())
        for place in parameter.paths:
            numbers[place] = {
                "value": rounded(value),
                "low": rounded(max(value - reach, parameter.low)),
                "high": rounded(min(value + reach, parameter.high)),
                "source": SOURCE,
            }
    for grade, group in (("measured-like", "dense, BF16 or FP16"), ("interpolated", "dense, narrow formats")):
        sigma = residual_sigma(relative[groups[group] & aside])
        numbers[f"training.residual.{grade}"] = {
            "value": rounded(sigma),
            "source": SOURCE + " (rows of sources kept aside)",
        }
    second = mixtures(read_table(path)[1], np.array([rounded(value) for value in values]))
    return {
        "generated_by": "python -m argosy.validation.fit_steps",
        "numbers": numbers | second["numbers"],
        "parameters": [described(*each) for each in zip(PARAMETERS, values, spread, vectors.T, strict=True)]
        + second["parameters"],
        "errors": {
            name: {
                "fitted": errors_of(relative[mask & ~aside]) if (mask & ~aside).any() else None,
                "aside": errors_of(relative[mask & aside]) if (mask & aside).any() else None,
                "left_one_source_out": errors_of(left_out[mask]),
            }
            for name, mask in groups.items()
        }
        | second["errors"],
        "left_one_source_out": by_source,
        "left_one_model_out": second["left_one_model_out"],
    }


def rounded(value: float) -> float:
    """Four significant figures, as the table has them."""
    return float(f"{value:.4g}")


_GROUPS: dict[str, Callable[[Sample], bool]] = {
    "all dense": lambda s: True,
    "dense, A100 and H100": lambda s: s.case.device.generation != "blackwell",
    "dense, A100 and H100, at least 1,000": lambda s: (
        s.case.device.generation != "blackwell" and s.layouts.gpus[0] >= 1000
    ),
    "dense, Blackwell": lambda s: s.case.device.generation == "blackwell",
    "dense, BF16 or FP16": lambda s: (
        s.case.job.precision in ("bf16", "fp16") and s.case.device.generation != "blackwell"
    ),
    "dense, narrow formats": lambda s: s.case.job.precision not in ("bf16", "fp16"),
}


def main(arguments: list[str] | None = None) -> None:
    """Command line: read the runs, write the table, print the errors."""
    given = sys.argv[1:] if arguments is None else arguments
    if not given:
        sys.exit(__doc__)
    table = build(Path(given[0]))
    target = Path(given[1]) if len(given) > 1 else TABLE
    target.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for row in table["parameters"]:
        print(
            f"{row['name']:75s} {row['value']:.4g} ± {row['standard_error']:.2g} (prior {row['prior']:.4g})"
        )
    for name, errors in table["errors"].items():
        print(f"{name}: {errors}")


if __name__ == "__main__":
    main()
