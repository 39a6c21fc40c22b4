"""Second stage of the fit: mixtures of experts, and what Blackwell's recipes of 2025 and 2026 say.

The dense numbers of `fit_steps` stay as they are; these few are fitted after them and apart, so that mixtures,
whose tables state least, cannot pull at what dense runs say. Kept aside: whole containers (releases) of Megatron-Bridge.

    python -m argosy.validation.fit_mixtures RUNS.csv [TABLE.json]

fits this stage anew on the table's dense numbers (`fit_steps` fits both).
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from argosy.validation.cases import Case
from argosy.validation.fit_steps import (
    SOURCE,
    TABLE,
    Sample,
    errors_of,
    fit,
    kept_aside,
    relative_errors,
    residual_sigma,
    rounded,
    samples,
    settled,
)
from argosy.validation.rows import Row, read_table
from argosy.validation.step_parameters import BRIDGE, FITTED_CONTAINERS, MIXTURES, PARAMETERS, Parameter

# A model is left out whole, with all its sizes and truncations.
MODELS = {
    "Qwen3 30B": r"qwen3.?30b",
    "Qwen3 235B": r"qwen3.?235b",
    "gpt-oss": r"gpt.?oss",
    "DeepSeek": r"deepseek",
    "Grok": r"grok",
    "dense": r"llama|nemotron",
}


def concerned(prepared: Case) -> bool:
    """Mixtures of experts, and dense models on Blackwell under Megatron-Bridge."""
    blackwell = prepared.device.generation == "blackwell" and prepared.stack.name in BRIDGE
    return prepared.job.model.moe is not None or blackwell


def aside(sample: Sample) -> bool:
    """Whether the fit never sees a sample: other containers of Megatron-Bridge, other sources kept aside."""
    words = sample.case.row.text("framework")
    if "Megatron-Bridge" in words:
        return not re.search(rf"Megatron-Bridge ({'|'.join(map(re.escape, FITTED_CONTAINERS))}) ", words)
    return kept_aside(sample)


def groups(found: list[Sample]) -> dict[str, np.ndarray]:
    """Masks (samples,) of the groups that are reported."""
    moe = np.array([s.case.job.model.moe is not None for s in found], bool)
    blackwell = np.array([s.case.device.generation == "blackwell" for s in found], bool)
    return {
        "mixtures of experts": moe,
        "mixtures of experts, A100 and H100": moe & ~blackwell,
        "mixtures of experts, Blackwell": moe & blackwell,
        "dense, Blackwell under Megatron-Bridge": ~moe,
    }


def leave_one_model_out(found: list[Sample], values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Errors (samples,) of each model under numbers fitted without any of its rows, and the vectors (M, P)."""
    relative, vectors = np.full(len(found), np.nan), []
    for pattern in MODELS.values():
        own = np.array([bool(re.search(pattern, s.case.row.text("model").lower())) for s in found])
        others = [s for s, mine in zip(found, own, strict=True) if not mine and not aside(s)]
        vector, _ = fit(others, MIXTURES, begin=values, evaluations=12)
        vectors.append(vector)
        members = [s for s, mine in zip(found, own, strict=True) if mine]
        relative[own] = relative_errors(members, MIXTURES, vector)
    return relative, np.array(vectors)


def mixtures(rows: list[Row], dense: np.ndarray) -> dict[str, Any]:
    """The second stage's `numbers`, `parameters` and `errors` as the shipped table has them.

    `dense`: the first stage's vector (P,).
    """
    found = [settled(s, dense) for s in samples(rows, concerned)]
    values, spread = fit([s for s in found if not aside(s)], MIXTURES, evaluations=40)
    relative = relative_errors(found, MIXTURES, values)
    left_out, vectors = leave_one_model_out(found, values)
    hidden = np.array([aside(s) for s in found])
    numbers = {}
    for parameter, value, error, column in zip(MIXTURES, values, spread, vectors.T, strict=True):
        reach = max(1.645 * error, np.abs(column - value).max())
        band = {"low": max(value - reach, parameter.low), "high": min(value + reach, parameter.high)}
        for place in parameter.paths:
            numbers[place] = {
                "value": rounded(value),
                **{k: rounded(v) for k, v in band.items()},
                "source": SOURCE,
            }
    numbers["training.residual.extrapolated"] = {
        "value": rounded(residual_sigma(left_out[groups(found)["mixtures of experts"]])),
        "source": SOURCE + " (mixtures of experts, each model predicted by the others)",
    }
    return {
        "numbers": numbers,
        "parameters": [described(*each) for each in zip(MIXTURES, values, spread, vectors.T, strict=True)],
        "errors": {name: _errors(relative, left_out, hidden, mask) for name, mask in groups(found).items()},
        "left_one_model_out": {
            name: errors_of(left_out[[bool(re.search(p, s.case.row.text("model").lower())) for s in found]])
            for name, p in MODELS.items()
        },
    }


def _errors(
    relative: np.ndarray, left_out: np.ndarray, hidden: np.ndarray, mask: np.ndarray
) -> dict[str, Any]:
    parts = {"fitted": mask & ~hidden, "aside": mask & hidden}
    table: dict[str, Any] = {
        k: errors_of(relative[part]) if part.any() else None for k, part in parts.items()
    }
    known = mask & np.isfinite(left_out)
    return table | {"left_one_model_out": errors_of(left_out[known]) if known.any() else None}


def described(parameter: Parameter, value: float, error: float, column: np.ndarray) -> dict[str, Any]:
    """One parameter's entry in the shipped table."""
    return {
        "name": parameter.name,
        "meaning": parameter.meaning,
        "prior": parameter.start,
        "prior_width": parameter.width,
        "value": rounded(value),
        "standard_error": rounded(error),
        "left_out_low": rounded(column.min()),
        "left_out_high": rounded(column.max()),
    }


def merged(table: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """The shipped table with a second stage put in the place of its own."""
    names = {parameter.name for parameter in MIXTURES}
    first = [entry for entry in table["parameters"] if entry["name"] not in names]
    return table | {
        "numbers": table["numbers"] | second["numbers"],
        "parameters": first + second["parameters"],
        "errors": table["errors"] | second["errors"],
        "left_one_model_out": second["left_one_model_out"],
    }


def main(arguments: list[str] | None = None) -> None:
    """Command line: read the runs and the table, fit the second stage, write the table."""
    given = sys.argv[1:] if arguments is None else arguments
    if not given:
        sys.exit(__doc__)
    target = Path(given[1]) if len(given) > 1 else TABLE
    table = json.loads(target.read_text(encoding="utf-8"))
    known = {entry["name"]: entry["value"] for entry in table["parameters"]}
    dense = np.array([known[parameter.name] for parameter in PARAMETERS])
    table = merged(table, mixtures(read_table(Path(given[0]))[1], dense))
    target.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for name in groups([]):
        print(f"{name}: {table['errors'][name]}")


if __name__ == "__main__":
    main()
