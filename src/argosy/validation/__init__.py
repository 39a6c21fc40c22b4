"""Published measurements beside predictions: reading, converting, predicting, scoring, and the fits of
the model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from argosy.validation.rows import TableError

__all__ = ["TableError", "validate"]


def validate(path: Path) -> dict[str, Any]:
    """The payload of `argosy validate FILE.csv`: rows and summary, with the keys of the contract.

    The kind (runs, memory, serving) is recognised by the file's columns. TableError where it is none of them.
    """
    from argosy import __version__
    from argosy.facts import load_catalog
    from argosy.validation import rows as tables
    from argosy.validation.memory_rows import predict_memory_rows
    from argosy.validation.runs import predict_rows
    from argosy.validation.serving_rows import predict_serving_rows, serving_summary
    from argosy.validation.summary import summarise

    kind, rows = tables.read_table(path)
    head = {
        "schema": "argosy.validate/1",
        "version": __version__,
        "facts_date": load_catalog().facts_date,
        "kind": kind,
    }
    if kind == "runs":
        answers = predict_rows(rows)
        return head | {"rows": answers, "summary": summarise(answers)}
    if kind == "memory":
        answers = predict_memory_rows(rows)
        return head | {"rows": answers, "summary": summarise(answers, "peak_bytes")}
    answers = predict_serving_rows(rows)
    return head | {"rows": answers, "summary": serving_summary(answers)}
