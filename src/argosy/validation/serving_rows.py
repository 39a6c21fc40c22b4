"""Predict published serving measurements, row by row, and say what was assumed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from argosy.serving import Roofline
from argosy.serving.engine import engines_table
from argosy.serving.steady import Steady
from argosy.validation.fit_serving import PROMPTS_PER_CLIENT, TTFT_CLIENTS, running
from argosy.validation.models import Skipped
from argosy.validation.rows import Row
from argosy.validation.serving_cases import ServingCase, serving_case
from argosy.validation.serving_contradictions import mark_contradicted
from argosy.validation.serving_flags import flag
from argosy.validation.serving_groups import held_out
from argosy.validation.summary import statistics, summarise

METRICS = ("tpot_ms", "output_tok_s_per_gpu", "ttft_ms")
NORMAL_90 = (
    1.6448536269514722  # half-width of the central 90 % of a normal distribution, in standard deviations
)


def predict_serving_row(row: Row, number: int) -> dict[str, Any]:
    """One row of `argosy validate` on serving, with the keys of the contract; `number`: of the row, from 0.

    `error`, `p05` and `p95` are those of `metric`: the time per output token, else the throughput; `errors` has all.
    `ttft_in_scope`: few enough clients that the queue in front of the prompts is known.
    """
    source, _, test = row.text("source").partition(" id=")
    answer: dict[str, Any] = {
        "row_id": row.text("row_id") or str(number),
        "source": source,
        "test": test or None,
        "model": row.text("model"),
        "accelerator": row.text("gpu"),
        "framework": row.text("engine"),
        "precision": row.text("precision"),
        "n_gpus": row.count("n_gpus"),
        "kind": row.text("kind"),
        "engine": row.text("engine"),
        "input_tokens": row.number("isl"),
        "output_tokens": row.number("osl"),
        "concurrency": row.number("concurrency"),
    }
    try:
        case = serving_case(row)
    except Skipped as why:
        return answer | {"status": "skipped", "reason": str(why)}
    provider = case.provider
    answer |= {
        "n_gpus": provider.gpus,
        "accelerator": provider.device.name,
        "framework": provider.engine.name,
        "layout": str(provider.layout),
        "flag": flag(case) or None,
        "set_aside": held_out(row, case),
        "grade": provider.grade,
        "remarks": list(case.remarks),
        **{f"measured_{key}": case.measured.get(key) for key in METRICS},
    }
    engine = replace(provider.engine, max_tokens=case.max_tokens)
    steady = running(provider, engine, case.input, case.output, case.concurrency, case.requests)
    if not math.isfinite(float(steady.batch)):
        return answer | {"status": "oom", "reason": "memory does not hold one request beside the weights"}
    return answer | {"status": "ok", **_compared(case, steady)}


def _compared(case: ServingCase, steady: Steady) -> dict[str, Any]:
    """Predictions, errors and the 90 % interval of one case."""
    provider, measured = case.provider, case.measured
    clients = case.concurrency if math.isfinite(case.concurrency) else 0.0
    burst = (
        max(float(steady.batch) - 1, 0.0) / 2 * float(steady.added_s) / PROMPTS_PER_CLIENT if clients else 0.0
    )
    predicted = {
        "tpot_ms": float(steady.tpot_s) * 1e3,
        "ttft_ms": (float(steady.ttft_s) + burst) * 1e3,
        "output_tok_s_per_gpu": float(steady.output_tokens_per_s) / provider.gpus,
    }
    errors = {key: predicted[key] / measured[key] - 1 for key in METRICS if key in measured}
    metric = next(key for key in METRICS if key in errors) if errors else None
    answer: dict[str, Any] = {f"predicted_{key}": value for key, value in predicted.items()}
    answer |= {
        "batch": float(steady.batch),
        "metric": metric,
        "errors": errors,
        "error": errors.get(metric) if metric else None,
        "ttft_in_scope": "ttft_ms" in errors and clients <= TTFT_CLIENTS,
        "intervals": {key: interval(provider, case, key, value) for key, value in predicted.items()},
    }
    if metric:
        answer |= dict(zip(("p05", "p95"), answer["intervals"][metric], strict=True))
    return answer


def interval(provider: Roofline, case: ServingCase, key: str, value: float) -> tuple[float, float]:
    """The predicted 90 % interval by the grade's residuals, cut where no engine can go."""
    kind = {"ttft_ms": "first_token", "tpot_ms": "decode"}.get(key, "throughput")
    spread = math.exp(NORMAL_90 * engines_table()["residuals"].get(provider.grade, {}).get(kind, 0.3))
    low, high = value / spread, value * spread
    if key == "tpot_ms":
        one = float(provider.floor_s(1, 1, case.input)) / provider.tokens_per_step * 1e3
        low = max(low, one)
    return low, high


def predict_serving_rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """All rows, in order; those that another row contradicts are marked, and scored like any other."""
    answers = [predict_serving_row(row, number) for number, row in enumerate(rows)]
    mark_contradicted(answers)
    return answers


def serving_summary(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """The contract's summary over each row's own metric, and besides: by metric, set aside and fitted apart."""
    summary = summarise(answers, "")
    clean = [row for row in answers if row["status"] == "ok" and not row.get("flag")]
    by_metric: dict[str, Any] = {}
    for key in METRICS:
        rows = [of_metric(row, key) for row in clean if key in row["errors"]]
        if key == "ttft_ms":
            rows = [row for row in rows if row["ttft_in_scope"]]
        by_metric[key] = {
            name: statistics([row for row in rows if row["set_aside"] in wanted], key)
            for name, wanted in (("all", (True, False)), ("fitted", (False,)), ("set_aside", (True,)))
        }
    models = sorted({row["model"] for row in clean})
    return summary | {
        "metric": by_metric,
        "model": {name: statistics([row for row in clean if row["model"] == name]) for name in models},
    }


def of_metric(row: dict[str, Any], key: str) -> dict[str, Any]:
    """The row with `error`, `p05` and `p95` of one metric."""
    low, high = row["intervals"][key]
    return row | {"metric": key, "error": row["errors"][key], "p05": low, "p95": high}
