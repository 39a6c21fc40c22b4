"""The quick card and the tables of numbers to know, computed when asked for; and the questions of the
quiz.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

from argosy.handbook import data
from argosy.handbook.formula import compute, laws_used

_FACT = re.compile(r'fact\("([^"]+)"\)')
_KEYS = (
    "peak_bf16",
    "memory_bandwidth",
    "memory_marketed",
    "scale_up_bandwidth",
    "scale_up_domain",
    "nic_bandwidth",
    "power_nameplate",
)
_QUIZ_TOLERANCE = 0.1  # relative: numbers to know are orders and first digits


def card() -> list[dict[str, Any]]:
    """The quick card: one mapping per number, with value, kind (ratio or value), direction, date, sources,
    and what the document prints.
    """
    return [_card_row(entry) for entry in data.load("numbers")["card"]]


def tables() -> list[dict[str, Any]]:
    """The tables: id, title, note, columns (name, unit), rows of cells (numbers or texts), sources."""
    return [_table(entry) for entry in data.load("numbers")["tables"]]


def _card_row(entry: Mapping[str, Any]) -> dict[str, Any]:
    formula = str(entry["formula"])
    facts, date = _facts(formula)
    source = data.source_text(entry.get("source"))
    keys = ("id", "category", "label", "kind", "unit", "use")
    return {key: entry[key] for key in keys} | {
        "value": compute(formula),
        "direction": entry.get("direction"),
        "printed": entry.get("printed"),
        "date": entry.get("date") or date,
        "formula": formula,
        "laws": laws_used(formula),
        "facts": facts,
        "source": "; ".join(filter(None, (source, *(facts.values())))) or None,
        "convention": bool(entry.get("convention")),
    }


def _facts(formula: str) -> tuple[dict[str, str], str | None]:
    """The facts that a formula takes, with their sources, and the latest day on which one was verified."""
    from argosy.facts import load_catalog

    found = {path: load_catalog().fact(path) for path in _FACT.findall(formula)}
    dates = [fact.verified for fact in found.values() if fact.verified]
    return {path: fact.source for path, fact in found.items()}, max(dates, default=None)


def _table(entry: Mapping[str, Any]) -> dict[str, Any]:
    columns = [{"name": column["name"], "unit": column.get("unit", "")} for column in entry["columns"]]
    names = [_row_names(row, entry.get("entries")) for row in entry["rows"]]
    rows = [[_cell(column["formula"], known) for column in entry["columns"]] for known in names]
    sources = [data.source_text(row["source"]) for row in entry["rows"] if "source" in row]
    facts = [_facts(f'fact("{row["fact"]}")')[0] for row in entry["rows"] if "fact" in row]
    everything = [
        data.source_text(entry.get("source")),
        *sources,
        *(source for each in facts for source in each.values()),
    ]
    return {
        "id": entry["id"],
        "title": entry["title"],
        "note": entry.get("note"),
        "columns": columns,
        "rows": rows,
        "source": "; ".join(dict.fromkeys(filter(None, everything))) or None,
    }


def _row_names(row: Mapping[str, Any], section: str | None) -> dict[str, Any]:
    """The names that a row gives to its columns' formulas: its own fields, and `v` (or the name in `as`),
    the row's number.
    """
    names = dict(row)
    if "fact" in row:
        names["v"] = compute(f'fact("{row["fact"]}")') * row.get("scale", 1.0)
    elif "value" in row:
        names["v"] = row["value"]
    elif "compute" in row:
        names[row.get("as", "v")] = compute(row["compute"])
    if section:
        names["path"] = {key: f"{section}.{row['name']}.{key}" for key in _KEYS}
    return names


def _cell(formula: str, names: Mapping[str, Any]) -> Any:
    """A column's formula over a row; a name alone is the row's field. Facts that nobody published give
    None.
    """
    from argosy.facts import FactError
    from argosy.handbook.formula import FormulaError

    if formula in names:
        return names[formula]
    try:
        return compute(formula, names)
    except FormulaError:
        raise
    except FactError:
        return None


def quiz(count: int, seed: int) -> list[dict[str, Any]]:
    """`count` questions on the numbers to know, drawn by `seed`, each with its answer, unit and the
    tolerance within which it is right.
    """
    asked = [entry for entry in data.load("numbers")["card"] if "ask" in entry]
    chosen = random.Random(seed).sample(asked, min(count, len(asked)))
    return [
        {
            "id": entry["id"],
            "question": entry["ask"],
            "answer": compute(str(entry["formula"])),
            "unit": entry["unit"],
            "tolerance": _QUIZ_TOLERANCE,
            "why": entry["use"],
        }
        for entry in chosen
    ]


def is_right(question: Mapping[str, Any], given: float) -> bool:
    """True when `given`, in the question's unit, is within its relative tolerance of the answer."""
    answer = float(question["answer"])
    return abs(given - answer) <= float(question["tolerance"]) * abs(answer)
