"""A diagnosis for people: the answer first, then who and what to do, where the time went, and against the plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from argosy.report import diagnosis as say
from argosy.report import text as write

_MOST = 12  # findings and problems shown; all are in the JSON
_BAR = 24


def show(answer: Mapping[str, Any]) -> None:
    """Print the payload of `argosy diagnose` to standard output."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    console.print(f"[bold]{escape(say.headline(answer))}[/]", soft_wrap=True)
    told = [write.duration(answer["step_time_s"]) + " a step"] if answer["step_time_s"] else []
    told += [each for each in (say.utilisation(answer),) if each]
    console.print("; ".join([*told, *say.inputs(answer)]), soft_wrap=True, markup=False)
    for number, finding in enumerate(answer["findings"][:_MOST], 1):
        _finding(console, number, finding)
    if more := len(answer["findings"]) - _MOST:
        console.print(f"{more} more findings in --json and --html" if more > 0 else "", style="dim")
    if answer["ledger"]:
        console.print(_ledger(answer))
    if answer.get("against"):
        console.print(_against(answer))
    if answer.get("goodput"):
        _goodput(console, answer["goodput"])
    for note in answer["notes"]:
        console.print(f"note: {note}", style="dim", markup=False, soft_wrap=True)
    problems = say.problems(answer)
    for problem in problems[:_MOST]:
        console.print(problem, style="yellow", markup=False, soft_wrap=True)
    if len(problems) > _MOST:
        console.print(f"{len(problems) - _MOST} more problems of the inputs in --json", style="dim")


def _finding(console: Any, number: int, finding: Mapping[str, Any]) -> None:
    from rich.markup import escape

    style = say.SEVERITY[finding["severity"]]
    console.print(
        f"\n[{style}]{number}. {finding['id']}[/] ({finding['severity']}, confidence {finding['confidence']:.2f}) "
        f"{escape(finding['title'])}",
        soft_wrap=True,
    )
    evidence = finding["evidence"]
    more = f" and {len(evidence) - 2} more" if len(evidence) > 2 else ""
    rows = [
        ("to blame", say.culprit(finding)),
        ("costs", say.cost(finding)),
        ("bound", say.bound(finding)),
        ("do", finding["advice"]),
        ("also seen", "; ".join(finding["causes"])),
        ("evidence", ", ".join(say.place(each) for each in evidence[:2]) + more),
    ]
    for name, text in rows:
        if text:
            console.print(f"   {name:9} {text}", markup=False, soft_wrap=True)


def _ledger(answer: Mapping[str, Any]) -> Any:
    from rich.table import Table

    table = Table("\nwhere the time went", "", "share", "", box=None, pad_edge=False)
    table.columns[1].justify = table.columns[2].justify = "right"
    for depth, name, amount, share in say.lines(answer["ledger"]):
        bar = "█" * round(_BAR * share) if depth else ""
        table.add_row("  " * depth + name, say.gpu_time(amount), write.percent(share), bar)
    return table


def _against(answer: Mapping[str, Any]) -> Any:
    from rich.table import Table

    table = Table(
        f"\na step against {answer['against']['scenario']}",
        "observed",
        "planned",
        "difference",
        box=None,
        pad_edge=False,
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for name, seen, planned, delta in say.comparison(answer):
        table.add_row(
            name, write.duration(max(seen, 0.0)), write.duration(planned), f"{1e3 * delta:+,.4g} ms"
        )
    return table


def _goodput(console: Any, goodput: Mapping[str, Any]) -> None:
    from rich.table import Table

    tree = goodput.get("ledger")
    if not tree:
        return
    table = Table("\nthe whole run", "", "share", box=None, pad_edge=False)
    table.columns[1].justify = table.columns[2].justify = "right"
    for depth, name, amount, share in say.lines(tree):
        table.add_row("  " * depth + name, say.gpu_time(amount), write.percent(share))
    console.print(table)
