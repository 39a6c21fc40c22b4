"""Two plans side by side: changed inputs, changed losses, and the days and dollars that each changed loss means.

Every line of a ledger is a share of its run, so that it has days (share × wall clock) and dollars (share × cost) as it
has GPU-seconds. The differences of all leaves then add up to the difference of the runs, in each of the three.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from argosy import __version__
from argosy.facts import FactError
from argosy.ledger import Ledger
from argosy.planning import plan
from argosy.spec import load

SCHEMA = "argosy.diff/1"
PLAN_SCHEMA = "argosy.plan/1"
_KEYS = ("scenario", "verdict", "training", "fabrics", "facility", "cost", "ledger", "facts_date")
_ROUNDING = 1e-12  # of the run: what float sums leave behind is no change


def read_plan(path: Path, draws: int = 2000, seed: int = 0) -> dict[str, Any]:
    """The plan of a scenario file (planned now, with `draws` and `seed`), or a saved plan (`argosy plan --json`).

    FactError where a JSON file is no plan of this schema; ScenarioError for a faulty scenario.
    """
    if path.suffix.lower() != ".json":
        return plan(load(path), draws=draws, seed=seed).to_dict()
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise FactError(
            f"{path}: no JSON that can be read ({error}); write a scenario or a saved plan"
        ) from None
    if not isinstance(saved, dict) or saved.get("schema") != PLAN_SCHEMA:
        raise FactError(f"{path}: not a plan; save one with argosy plan SCENARIO --json > {path.name}")
    lacking = [key for key in _KEYS if key not in saved]
    if lacking or not isinstance(saved["scenario"], dict) or "inputs" not in saved["scenario"]:
        what = ", ".join(lacking) or "its inputs"
        raise FactError(f"{path}: cut short, or saved by an older Argosy, without {what}; plan it again")
    return saved


def compare(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of `argosy diff`, from two plans (the contract's JSON of `argosy plan`).

    `inputs`: fields of the scenarios that differ; `chosen`: what the planner then chose otherwise; `headline`: days,
    usd and mw, each with a, b and delta; `ledger`: every line that changed, `leaf` where it has no parts: GPU-seconds
    a, b and delta, with `delta_days` and `delta_usd`, which over all leaves sum to the headline's.
    """
    lines = _ledger_lines(a, b) if a["ledger"] and b["ledger"] else []
    return {
        "schema": SCHEMA,
        "version": __version__,
        "facts_date": b["facts_date"],
        "a": _identity(a),
        "b": _identity(b),
        "inputs": _changed(a["scenario"]["inputs"], b["scenario"]["inputs"]),
        "chosen": _changed(_chosen(a), _chosen(b)),
        "headline": {name: _figure(a, b, name) for name in ("days", "usd", "mw")},
        "figures": _figures(a, b),
        "ledger": lines,
    }


def _identity(one: Mapping[str, Any]) -> dict[str, Any]:
    verdict = one["verdict"]
    return {
        "name": one["scenario"]["name"],
        "hash": one["scenario"]["hash"],
        "status": verdict["status"],
        "binding": verdict["binding"],
    }


def _totals(one: Mapping[str, Any]) -> dict[str, float | None]:
    """Days of training, dollars and peak megawatts of a plan at central facts; None for what it has not."""
    days = sum(job["schedule"]["days"]["nominal"] for job in one["training"]) if one["training"] else None
    cost, site = one.get("cost"), one.get("facility")
    return {
        "days": days,
        "usd": cost["total_usd"] if cost else None,
        "mw": site["facility_peak_w"] / 1e6 if site else None,
    }


def _figure(a: Mapping[str, Any], b: Mapping[str, Any], name: str) -> dict[str, float | None]:
    left, right = _totals(a)[name], _totals(b)[name]
    return {"a": left, "b": right, "delta": None if left is None or right is None else right - left}


def _figures(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The headline rows of both plans with their P10, P50 and P90, in the order of `a`."""
    right = {row["label"]: row for row in b.get("headline", [])}
    keys = ("nominal", "p10", "p50", "p90")
    return [
        {
            "label": row["label"],
            "unit": row["unit"],
            "a": {key: row.get(key) for key in keys},
            "b": {key: right[row["label"]].get(key) for key in keys},
        }
        for row in a.get("headline", [])
        if row["label"] in right
    ]


def _ledger_lines(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[dict[str, Any]]:
    sides = [_amounts(one) for one in (a, b)]
    left, right = (side for side, _ in sides)
    runs = [{"gpu_s": ledger.amount, **_run(one)} for one, (_, ledger) in zip((a, b), sides, strict=True)]
    per = [{key: total / run["gpu_s"] for key, total in run.items()} for run in runs]
    scale = {key: max(run[key] for run in runs) for key in runs[0]}
    parents = {path.rpartition("/")[0] for path in left | right}
    lines = []
    for path in left | right:
        old, new = left.get(path, 0.0), right.get(path, 0.0)
        delta = {key: new * per[1][key] - old * per[0][key] for key in scale}
        if any(abs(delta[key]) > _ROUNDING * scale[key] for key in scale):
            lines.append(
                {
                    "path": path,
                    "a": old,
                    "b": new,
                    "delta": new - old,
                    "delta_days": delta["days"],
                    "delta_usd": delta["usd"],
                    "leaf": path not in parents,
                }
            )
    return lines


def _run(one: Mapping[str, Any]) -> dict[str, float]:
    totals = _totals(one)
    return {"days": totals["days"] or 0.0, "usd": totals["usd"] or 0.0}


def _amounts(one: Mapping[str, Any]) -> tuple[dict[str, float], Ledger]:
    """Amounts by path below the run's own name, which the two plans need not share."""
    tree = Ledger.from_dict(one["ledger"])
    return {path.partition("/")[2]: node.amount for path, node in tree.walk() if "/" in path}, tree


def _chosen(one: Mapping[str, Any]) -> dict[str, Any]:
    """What the planner chose: layouts, checkpoint intervals, fabrics' sizes."""
    return {
        "layout": {job["name"]: job["layout"] for job in one["training"]},
        "checkpoint_interval_s": {
            job["name"]: job["goodput"]["checkpoint_interval_s"] for job in one["training"]
        },
        "fabric": {
            fabric["role"]: {tier["name"]: tier["switches"] for tier in fabric["tiers"]}
            for fabric in one["fabrics"]
        },
        "serving": {
            service["name"]: {"replica": service["replica"]["label"], "gpus": service["fleet"]["gpus"]}
            for service in one.get("serving", [])
            if service["fleet"]
        },
    }


def _changed(a: Any, b: Any) -> list[dict[str, Any]]:
    """Leaves of two nested values that differ, by path; None on the side that lacks one."""
    left, right = dict(_leaves(a)), dict(_leaves(b))
    return [
        {"path": path, "a": left.get(path), "b": right.get(path)}
        for path in left | right
        if left.get(path) != right.get(path)
    ]


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Path and value of everything that is not a container; members of lists by their name, else their place."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _leaves(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            name = each.get("name") if isinstance(each, Mapping) else None
            yield from _leaves(each, f"{path}.{name or index}")
    else:
        yield path, value
