"""The plan as Markdown, for a pull request or a memo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from argosy.report import sentences
from argosy.report import text as write


def plan_markdown(plan: Mapping[str, Any]) -> str:
    """Verdict, headline numbers, layout, step, memory and ledger of a plan (the contract's JSON) as Markdown tables."""
    answer = plan["verdict"]
    binding = f"; what binds: {answer['binding']}" if answer["binding"] else ""
    lines = [f"## {plan['scenario']['name']}: {answer['status']}{binding}", ""]
    lines += [f"- {reason}" for reason in answer["reasons"]]
    if plan.get("headline"):
        rows = [
            [row["label"], *(write.quantity(row[key], row["unit"]) for key in ("p10", "p50", "p90"))]
            for row in plan["headline"]
        ]
        lines += ["", *table(["", "P10", "P50", "P90"], rows)]
    for job in plan["training"]:
        lines += [
            "",
            f"**{job['name']}**: {write.layout_arithmetic(job['layout'])}; {sentences.utilisation(job)}; {job['grade']}",
            "",
        ]
        whole = job["step_time_s"]["nominal"]
        rows = [
            [key.replace("_", " "), write.duration(value), write.percent(value / whole)]
            for key, value in job["breakdown_s"].items()
            if value
        ]
        lines += table(["step", "time", "share"], rows)
    if plan.get("serving"):
        from argosy.report.serving import service_markdown

        lines += [line for entry in plan["serving"] for line in service_markdown(entry)]
    if plan.get("ledger"):
        tree = plan["ledger"]
        lines += ["", *table(["ledger", "GPU-hours", "share"], _ledger_rows(tree, tree["amount"], 0))]
    return "\n".join(lines) + "\n"


def _ledger_rows(node: Mapping[str, Any], whole: float, level: int) -> list[list[str]]:
    own = [
        "&nbsp;" * 3 * level + node["name"],
        write.large(node["amount"] / 3600),
        write.percent(node["amount"] / whole),
    ]
    return [own] + [
        row for child in node["children"] if child["amount"] for row in _ledger_rows(child, whole, level + 1)
    ]


def table(heads: list[str], rows: list[list[str]]) -> list[str]:
    """A Markdown table, first column left, the others right; a bar inside a cell is escaped."""
    rule = "|---|" + "---:|" * (len(heads) - 1)
    body = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return ["| " + " | ".join(heads) + " |", rule, *body]
