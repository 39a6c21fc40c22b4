"""The decision guide (symptom → constraint → lever), the error catalogue, and the takeaways with their
checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from argosy.facts import FactError
from argosy.handbook import data
from argosy.handbook.claims import RIGHT, checked_handbook
from argosy.handbook.formula import compute
from argosy.handbook.givens import own_number


def question_ids() -> list[str]:
    """The ids of the five questions, in order."""
    return [each["id"] for each in data.load("guide")["questions"]]


def answer(question: str, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """One question of the guide, computed: inputs, steps, the lever that follows, and ranked advice where
    there is a ranking.

    `question` is an id or a number from 1; `settings` replace inputs (numbers in the input's unit, or text
    with one). FactError for unknown ones.
    """
    entry = _question(question)
    inputs = {name: given["value"] for name, given in entry["inputs"].items()}
    for name, text in (settings or {}).items():
        if name not in inputs:
            raise FactError(
                f"the question {entry['id']!r} has no input {name!r}; it has: {', '.join(inputs)}"
            )
        inputs[name] = own_number(text, entry["inputs"][name], name)
    known, steps = dict(inputs), []
    for step in entry["steps"]:
        known[step["id"]] = compute(step["formula"], known)
        steps.append(
            {
                "id": step["id"],
                "text": step["text"],
                "unit": step["unit"],
                "formula": step["formula"],
                "value": known[step["id"]],
            }
        )
    lever = next(each["then"] for each in entry["verdicts"] if compute(each["when"], known))
    described = {
        name: {"value": inputs[name], "unit": given["unit"], "text": given["text"]}
        for name, given in entry["inputs"].items()
    }
    keys = ("id", "question", "symptom", "constraint", "section")
    return {key: entry[key] for key in keys} | {
        "inputs": described,
        "steps": steps,
        "lever": lever,
        "advice": _advice(inputs) if entry.get("advice") else [],
    }


def _question(name: str) -> dict[str, Any]:
    entries = data.load("guide")["questions"]
    for number, entry in enumerate(entries, start=1):
        if name.lower() in (entry["id"], str(number)):
            return dict(entry)
    raise FactError(
        f"the guide has no question {name!r}; there are: {', '.join(question_ids())} (or 1 to {len(entries)})"
    )


def _advice(inputs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Changes to the step, best yield per device first, by the ring's cost; none for fewer than four devices."""
    from dataclasses import asdict

    from argosy.laws.collectives import ring_all_reduce
    from argosy.laws.communication_ratio import ranked_advice

    def ring(message_bytes: float, devices: float) -> float:
        return float(ring_all_reduce(message_bytes, devices, inputs["bandwidth"], inputs["latency"]))

    if inputs["devices"] < 4:  # a quarter of them would be none
        return []
    return [
        asdict(each)
        for each in ranked_advice(ring, inputs["message_bytes"], inputs["devices"], inputs["computation_s"])
    ]


def errors() -> list[dict[str, Any]]:
    """Every claim of the documents that does not stand: what is said, what is right, why, and why the
    mistake is tempting.
    """
    keys = (
        "id",
        "seed",
        "section",
        "statement",
        "claimed_value",
        "unit",
        "verdict",
        "correct_value",
        "explanation",
        "tempting",
        "source",
    )
    wrong = [each.to_dict() for each in checked_handbook() if each.verdict not in (*RIGHT, "not-checkable")]
    return [{key: each[key] for key in keys} for each in wrong]


def takeaways() -> list[dict[str, Any]]:
    """The eleven takeaways of both documents, each with its check computed now, the claims behind it and
    the test that holds it.
    """
    return [_takeaway(entry) for entry in data.load("guide")["takeaways"]]


def _takeaway(entry: Mapping[str, Any]) -> dict[str, Any]:
    from argosy.handbook.paradigms import classify, table

    if "holds" in entry:
        holds = bool(compute(entry["holds"]))
        check = entry["holds"]
    else:  # the hybrid: training couples like HPC, and yet takes failures as WSC does not stop for them
        training = classify(
            {"coupling": "lockstep", "failure": "elastic", "scheduling": "gang", "nodes": "pet-then-cattle"}
        )
        holds = (
            training["paradigm"] == "ml"
            and training["foreign"] == ["coupling"]
            and len(table()["dimensions"]) == 8
        )
        check = "classify(a training job): an ML fleet, its coupling that of HPC"
    return {
        "id": entry["id"],
        "document": entry["document"],
        "says": entry["says"],
        "holds": holds,
        "check": check,
        "remark": entry.get("remark"),
        "claims": entry["claims"],
        "test": entry["test"],
    }
