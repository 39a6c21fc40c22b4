"""The exercises and worked examples: givens, formula, steps; with the book's numbers, one's own, or random
ones.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from argosy.facts import FactError
from argosy.handbook import data
from argosy.handbook.formula import compute, laws_used
from argosy.handbook.givens import own_number


@dataclass(frozen=True)
class Solved:
    """An exercise with its givens in place and its steps computed; `changed` names the givens that are not
    the book's.
    """

    id: str
    document: str
    title: str
    question: str
    formula: str
    givens: Mapping[str, Mapping[str, Any]]
    steps: list[dict[str, Any]]
    grid: dict[str, Any] | None
    answer: dict[str, Any]
    changed: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The exercise as JSON-ready data."""
        return {
            "id": self.id,
            "document": self.document,
            "title": self.title,
            "question": self.question,
            "formula": self.formula,
            "givens": dict(self.givens),
            "steps": self.steps,
            "grid": self.grid,
            "answer": self.answer,
            "changed": list(self.changed),
        }


def exercise_ids() -> list[str]:
    """The ids, in order: 1 to 3 are the book's questions, W1 to W6 and F1 to F10 its worked examples."""
    return [entry["id"] for entry in data.load("exercises")]


def solve(exercise_id: str, settings: Mapping[str, Any] | None = None) -> Solved:
    """Exercise `exercise_id` with `settings` in place of the book's givens (numbers in the given's unit, or
    text such as "989 TFLOP/s").

    FactError for an unknown exercise or given, a quantity that does not fit its unit, or a number outside a
    law's range.
    """
    entry = _entry(exercise_id)
    own = {name: _setting(exercise_id, entry, name, text) for name, text in (settings or {}).items()}
    values = {name: own.get(name, given["value"]) for name, given in entry["givens"].items()}
    for each in entry.get("requires", []):
        if not compute(each["when"], values):
            raise FactError(f"exercise {entry['id']}: {each['say']}")
    givens = {
        name: {"value": values[name], "unit": given["unit"], "symbol": given["symbol"]}
        for name, given in entry["givens"].items()
    }
    changed = tuple(name for name, value in own.items() if value != entry["givens"][name]["value"])
    steps = _steps(entry["steps"], dict(values), printed=not changed)
    answer = next(step for step in steps if step["id"] == entry["answer"])
    grid = _grid(entry["grid"], values) if "grid" in entry else None
    question = entry["question"].format(
        **{name: in_sentence(given["value"], given["unit"]) for name, given in givens.items()}
    )
    return Solved(
        entry["id"],
        entry["document"],
        entry["title"],
        question,
        entry["formula"],
        givens,
        steps,
        grid,
        answer,
        changed,
    )


def variant(exercise_id: str, seed: int, settings: Mapping[str, Any] | None = None) -> Solved:
    """The exercise with givens drawn from its ranges: the same seed gives the same numbers. Givens without
    a range stay, and `settings` take the place of what was drawn.
    """
    stream = random.Random(f"{exercise_id}-{seed}")
    givens = _entry(exercise_id)["givens"]
    drawn = {name: stream.choice(given["range"]) for name, given in givens.items() if "range" in given}
    return solve(exercise_id, {**drawn, **(settings or {})})


def _entry(exercise_id: str) -> dict[str, Any]:
    wanted = exercise_id.upper().removeprefix("E") or exercise_id
    for entry in data.load("exercises"):
        if entry["id"] == wanted:
            return dict(entry)
    raise FactError(f"there is no exercise {exercise_id!r}; there are: {', '.join(exercise_ids())}")


def _setting(exercise_id: str, entry: Mapping[str, Any], name: str, text: Any) -> float:
    if name not in entry["givens"]:
        raise FactError(f"exercise {exercise_id} has no given {name!r}; it has: {', '.join(entry['givens'])}")
    return own_number(text, entry["givens"][name], name)


def _steps(entries: list[dict[str, Any]], known: dict[str, Any], printed: bool) -> list[dict[str, Any]]:
    """Every step with its value; the book's printed number only where its own givens are in place."""
    steps = []
    for entry in entries:
        known[entry["id"]] = compute(entry["formula"], known)
        step = {key: entry[key] for key in ("id", "text", "formula", "unit")}
        steps.append(
            {
                **step,
                "value": known[entry["id"]],
                "printed": entry.get("printed") if printed else None,
                "laws": laws_used(entry["formula"]),
            }
        )
    return steps


def _grid(entry: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """A table: its columns' formulas over the givens and each row's own names."""
    columns = [{"name": column["name"], "unit": column.get("unit", "")} for column in entry["columns"]]
    rows = [
        [compute(column["formula"], {**values, **row}) for column in entry["columns"]]
        for row in entry["rows"]
    ]
    return {"columns": columns, "rows": rows}


_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_COUNTED = {
    "parameters": ((1e12, "T"), (1e9, "B"), (1e6, "M")),
    "tokens": ((1e12, "T"), (1e9, "B"), (1e6, "M")),
}
_NAMED = frozenset(
    {"parameters", "tokens", "GPUs", "cards", "nodes", "requests", "days", "GPU-h", "x", "1/s"}
)
_PREFIXED = frozenset({"FLOP/s", "B/s", "B", "b/s", "W", "FLOP"})


def in_sentence(value: float, unit: str) -> str:
    """A given inside a question, which names what is counted itself: `70B`, `512`, but `1.1 kW`."""
    return amount(value, unit).removesuffix(unit).rstrip() if unit in _NAMED else amount(value, unit)


def amount(value: float, unit: str) -> str:
    """A given as text, with a prefix where its unit takes one: `70B parameters`, `989 TFLOP/s`, `45 %`,
    `512 GPUs`.
    """
    if unit == "":
        return f"{100 * value:.4g} %" if 0 < value <= 1 else f"{value:.5g}"
    for factor, prefix in _COUNTED.get(unit, ()):
        if value >= factor:
            return f"{value / factor:.5g}{prefix} {unit}"
    if unit == "s" and 0 < value < 1e-3:
        return f"{value * 1e6:.4g} µs"
    for factor, prefix in _PREFIXES if unit in _PREFIXED else ():
        if value >= factor:
            return f"{value / factor:.5g} {prefix}{unit}"
    return f"{value:,.10g} {unit}"
