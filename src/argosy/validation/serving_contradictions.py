"""Serving rows that another row of the same settings contradicts: more clients, and yet less time per token."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from argosy.validation.contradictions import CONTRADICTED

SAME = ("model", "accelerator", "framework", "engine", "precision", "layout", "input_tokens", "output_tokens")


def mark_contradicted(answers: list[dict[str, Any]]) -> None:
    """Sets `contradicted` of every predicted row: the id of the row that contradicts it, or None.

    An engine's iterations do not become shorter with more sequences. A row is contradicted where, of the same settings,
    as many or more clients took less time per output token by CONTRADICTED; rows whose clients queued (`flag`) are no
    witnesses, since fewer sequences ran than clients.
    """
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in answers:
        if row["status"] == "ok":
            row["contradicted"] = None
            if row["measured_tpot_ms"]:
                groups[tuple(row[name] for name in SAME)].append(row)
    for rows in groups.values():
        witnesses = [row for row in rows if not row["flag"]]
        for row in rows:
            for other in witnesses:
                faster = row["measured_tpot_ms"] > CONTRADICTED * other["measured_tpot_ms"]
                if faster and other["concurrency"] >= row["concurrency"]:
                    row["contradicted"] = other["row_id"]
