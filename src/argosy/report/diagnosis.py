"""A diagnosis in words: what terminal, page, Markdown and notebook share, drawn from the contract's JSON alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from argosy.report import text as write

SEVERITY = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "dim"}
_ALIKE = 3  # files with the same trouble that are told one by one
_LEAST = 5e-4  # shares of the time below this are not shown


def headline(answer: Mapping[str, Any]) -> str:
    """One sentence: what is wrong, or that nothing stands out."""
    findings = answer["findings"]
    if not findings:
        return "nothing stands out: no finding is above its gates"
    first = findings[0]
    more = f"; {len(findings) - 1} more finding{'s' * (len(findings) > 2)}" if len(findings) > 1 else ""
    return f"{first['id']}: {first['title']}{more}"


def culprit(finding: Mapping[str, Any]) -> str:
    """Who is to blame, in words; nothing where nobody is."""
    who = finding["culprit"]
    ranks = who.get("ranks") or ([] if who["rank"] is None else [who["rank"]])
    shown = ", ".join(str(rank) for rank in ranks[:6]) + (
        f" and {len(ranks) - 6} more" if len(ranks) > 6 else ""
    )
    if who["rank"] is not None:
        shown = str(who["rank"])
    parts = [
        f"rank{'s' * (len(ranks) > 1 and who['rank'] is None)} {shown}" if ranks else "",
        f"node {who['node']}" if who["node"] else "",
        f"stage {who['stage']}" if who["stage"] is not None else "",
        str(who["link"] or ""),
    ]
    return ", ".join(part for part in parts if part)


def cost(finding: Mapping[str, Any]) -> str:
    """What a finding costs: share of the time, and what its repair saves a step."""
    told = []
    if finding["share_of_time"] is not None:
        told.append(f"{write.percent(finding['share_of_time'])} of the time")
    if finding["time_saved_s"]:
        told.append(f"{write.duration(finding['time_saved_s'])} a step saved if fixed")
    return ", ".join(told)


def place(evidence: Mapping[str, Any]) -> str:
    """`file:line`, or the file and the event in it."""
    if "line" in evidence:
        return f"{evidence['path']}:{evidence['line']}"
    return f"{evidence['path']} ({evidence['event']})" if "event" in evidence else str(evidence["path"])


def bound(finding: Mapping[str, Any]) -> str:
    """What was seen beside what is possible."""
    found = finding["bound"]
    if not found:
        return ""
    unit = found["unit"]
    if unit == "share of the step":
        seen, value = write.percent(found["observed"]), write.percent(found["value"])
    elif unit == "s":
        seen, value = write.duration(found["observed"]), write.duration(found["value"])
    else:
        seen, value = write.scaled(found["observed"], unit), write.scaled(found["value"], unit)
    return f"{seen} against {value} by {found['law']}"


def lines(tree: Mapping[str, Any] | None) -> list[tuple[int, str, float, float]]:
    """The ledger's lines worth showing: depth, name, GPU-seconds, share of the whole."""
    if not tree or not tree["amount"]:
        return []
    whole, found = tree["amount"], []

    def visit(node: Mapping[str, Any], depth: int) -> None:
        share = node["amount"] / whole
        if depth == 0 or share >= _LEAST:
            found.append((depth, node["name"], node["amount"], share))
            for child in node["children"]:
                visit(child, depth + 1)

    visit(tree, 0)
    return found


def gpu_time(seconds: float) -> str:
    """GPU-seconds, GPU-hours where there are many."""
    return (
        f"{write.large(seconds / 3600.0)} GPU-h"
        if seconds >= 36000.0
        else f"{write.significant(seconds)} GPU-s"
    )


def inputs(answer: Mapping[str, Any]) -> list[str]:
    """What was read, by kind, and what could not be."""
    by_kind: dict[str, list[Mapping[str, Any]]] = {}
    for each in answer["inputs"]:
        if each["status"] in ("read", "partial"):
            by_kind.setdefault(each["kind"], []).append(each)
    told = [f"{len(files)} {kind.replace('_', ' ')}" for kind, files in by_kind.items()]
    rest = sum(each["status"] in ("ignored", "unreadable") for each in answer["inputs"])
    first = (
        "read: "
        + (", ".join(told) or "nothing")
        + (f"; {rest} file{'s' * (rest > 1)} not used" if rest else "")
    )
    return [first]


def problems(answer: Mapping[str, Any]) -> list[str]:
    """Everything that could not be read, with file and line; what many whole files have in common once."""
    alike: dict[str, list[str]] = {}
    for each in answer["inputs"]:
        for problem in each["problems"]:
            if not problem["line"]:
                alike.setdefault(problem["message"], []).append(problem["path"])
    many = {message: paths for message, paths in alike.items() if len(paths) > _ALIKE}
    told = [f"{paths[0]} and {len(paths) - 1} more: {message}" for message, paths in many.items()]
    return told + [
        f"{problem['path']}:{problem['line']}: {problem['message']}"
        if problem["line"]
        else f"{problem['path']}: {problem['message']}"
        for each in answer["inputs"]
        for problem in each["problems"]
        if problem["line"] or problem["message"] not in many
    ]


def utilisation(answer: Mapping[str, Any]) -> str:
    """The MFU with its convention; nothing where none can be told."""
    found = answer.get("mfu")
    if not found or not found.get("value"):
        return ""
    told = f"MFU {write.percent(found['value'])}"
    return told + (f" ({found['convention']})" if found.get("convention") else "")


def comparison(answer: Mapping[str, Any]) -> list[tuple[str, float, float, float]]:
    """Lines of observed against planned, the largest excess first, the whole step last."""
    found = (answer.get("against") or {}).get("lines") or []
    rows = [(row["line"], row["observed_s"], row["planned_s"], row["delta_s"]) for row in found]
    return sorted(rows[:-1], key=lambda row: -row[3]) + rows[-1:]


def markdown(answer: Mapping[str, Any]) -> str:
    """The diagnosis as Markdown, for an incident's ticket."""
    from argosy.report.markdown import table

    out = [f"## {headline(answer)}", "", *[f"- {each}" for each in inputs(answer)]]
    if told := utilisation(answer):
        out.append(f"- {told}")
    for number, finding in enumerate(answer["findings"], 1):
        out += [
            "",
            f"**{number}. {finding['id']}** ({finding['severity']}, confidence {finding['confidence']:.2f}): {finding['title']}",
            "",
        ]
        rows = [
            ("to blame", culprit(finding)),
            ("costs", cost(finding)),
            ("bound", bound(finding)),
            ("do", finding["advice"]),
            ("seen", "; ".join(finding.get("causes") or [])),
            ("evidence", ", ".join(f"`{place(each)}`" for each in finding["evidence"][:4])),
        ]
        out += [f"- {name}: {text}" for name, text in rows if text]
    if tree := lines(answer["ledger"]):
        shown = [
            ["&nbsp;" * 3 * depth + name, gpu_time(amount), write.percent(share)]
            for depth, name, amount, share in tree
        ]
        out += ["", *table(["where the time went", "", "share"], shown)]
    if planned_rows := comparison(answer):
        shown = [
            [name, *(write.duration(abs(value)) for value in (seen, planned)), f"{1e3 * delta:+,.3g} ms"]
            for name, seen, planned, delta in planned_rows
        ]
        out += ["", *table(["a step", "observed", "planned", "difference"], shown)]
    return "\n".join(out) + "\n"
