"""HPC, warehouse-scale computing and the ML fleet in eight dimensions, and which of them a described
workload follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from argosy.facts import FactError
from argosy.handbook import data


def table() -> dict[str, Any]:
    """The table as data: `paradigms` (key to name) and `dimensions` (id, name, one text per paradigm,
    remark).
    """
    content = data.load("paradigms")
    keys = ("id", "name", *content["paradigms"], "remark")
    return {
        "paradigms": content["paradigms"],
        "dimensions": [{key: each.get(key) for key in keys} for each in content["dimensions"]],
    }


def questions() -> list[dict[str, Any]]:
    """One question per dimension with its possible answers: what `classify` takes."""
    return [
        {"id": each["id"], "question": each["question"], "answers": list(each["answers"].values())}
        for each in data.load("paradigms")["dimensions"]
    ]


def classify(workload: Mapping[str, str]) -> dict[str, Any]:
    """Which paradigm a workload follows, per dimension and in all.

    `workload` maps dimension ids to answers (see `questions`); dimensions may be left out. Returns
    `paradigm` (the one with most dimensions, or "hybrid" on a tie), `score` (dimensions per paradigm),
    `dimensions` (id, answer, paradigm, why) and `foreign`: the dimensions that follow another paradigm than
    the whole, which is where a design copied from one world fails. FactError lists every fault.
    """
    content = data.load("paradigms")
    dimensions = {each["id"]: each for each in content["dimensions"]}
    problems = [
        problem for name, answer in workload.items() if (problem := _problem(dimensions, name, answer))
    ]
    if problems or not workload:
        raise FactError(
            *(problems or ["describe the workload in at least one dimension: " + ", ".join(dimensions)])
        )
    explained = [
        _explained(dimensions[name], answer, content["paradigms"]) for name, answer in workload.items()
    ]
    score = {key: sum(each["paradigm"] == key for each in explained) for key in content["paradigms"]}
    best = [key for key, number in score.items() if number == max(score.values())]
    whole = best[0] if len(best) == 1 else "hybrid"
    foreign = [each["id"] for each in explained if each["paradigm"] != whole] if whole != "hybrid" else []
    return {"paradigm": whole, "score": score, "dimensions": explained, "foreign": foreign}


def _problem(dimensions: Mapping[str, Any], name: str, answer: str) -> str:
    if name not in dimensions:
        return f"{name!r} is no dimension; there are: {', '.join(dimensions)}"
    answers = list(dimensions[name]["answers"].values())
    return "" if answer in answers else f"{name}: {answer!r} is no answer; write one of: {', '.join(answers)}"


def _explained(dimension: Mapping[str, Any], answer: str, names: Mapping[str, str]) -> dict[str, Any]:
    paradigm = next(key for key, each in dimension["answers"].items() if each == answer)
    return {
        "id": dimension["id"],
        "name": dimension["name"],
        "answer": answer,
        "paradigm": paradigm,
        "why": f"{names[paradigm]}: {dimension[paradigm]}",
    }
