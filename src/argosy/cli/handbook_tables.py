"""The handbook in the terminal: the answer first, tables that line up."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_COLOUR = {
    "reproduces": "green",
    "rounds": "green",
    "wrong": "red",
    "wrong-attribution": "yellow",
    "inconsistent-with-other-claim": "yellow",
    "not-checkable": "dim",
}
_SHORT = {"inconsistent-with-other-claim": "inconsistent", "wrong-attribution": "misattributed"}


def shown(value: Any, unit: str = "", digits: int = 5) -> str:
    """A value as people read it: `21.333 days`, `38 to 43 %` (a range), `64, 32` (a list), `3.7908×10²⁵ FLOP`."""
    if value is None:
        return "–"
    if isinstance(value, list):
        joint = " to " if len(value) == 2 and value[0] < value[1] else ", "
        text = joint.join(shown(each, "", digits) for each in value)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        text = str(value)
    else:
        text = _number(float(value), digits)
    return f"{text} {unit}".rstrip()


def _number(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if exponent >= 15 or exponent < -4:
        raised = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"{value / 10**exponent:.{digits}g}×10{raised}"
    decimals = max(0, digits - 1 - exponent)
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


WIDE = 110  # columns from which reasons stand beside their numbers; below it, under them


def new_console() -> Console:
    """A console that prints texts as they are: brackets in them are no markup."""
    return Console(markup=False, highlight=False)


def stacked(console: Console, head: Text, *below: Text) -> None:
    """A head line and indented texts under it: the shape of a row where there is no room for a table."""
    console.print(head)
    for text in below:
        if text:
            console.print(Padding(text, (0, 0, 0, 4)))


def table_of(columns: Sequence[tuple[str, str]], title: str = "") -> Table:
    """An empty table; each column is (name, "left" or "right")."""
    table = Table(
        box=SIMPLE_HEAD, pad_edge=False, title=title or None, title_justify="left", title_style="bold"
    )
    for name, side in columns:
        if side == "right":
            table.add_column(name, justify="right", no_wrap=True)
        else:
            table.add_column(name, overflow="fold")
    return table


def claims(checked: Sequence[Any], everything: bool) -> None:
    """How many claims stand, then those that do not (or all), with the right value and the reason."""
    console = new_console()
    if not checked:
        console.print("no claim has this in its id, section or verdict; argosy claims --all lists them")
        return
    stand = sum(each.right for each in checked)
    open_ = sum(each.verdict == "not-checkable" for each in checked)
    line = Text.assemble(
        (f"{len(checked)} claims: ", "bold"),
        (f"{stand} stand", "green"),
        ", ",
        (f"{len(checked) - stand - open_} do not", "red"),
        f", {open_} cannot be checked",
    )
    console.print(line)
    rows = [each for each in checked if everything or not (each.right or each.verdict == "not-checkable")]
    if console.width >= WIDE:
        table = table_of(
            [
                ("claim", "left"),
                ("verdict", "left"),
                ("said", "right"),
                ("computed", "right"),
                ("why", "left"),
            ]
        )
        for each in rows:
            table.add_row(*_claim_cells(each))
        console.print(table)
    else:
        for each in rows:
            name, verdict, said, right, why = _claim_cells(each)
            numbers = f": said {said}, computed {right}" if right != "–" else ""
            stacked(console, Text.assemble((name, "bold"), " ", verdict, numbers), why)
    if not everything:
        console.print(
            Text(
                "--all shows the others, --only ID one of them, --json formulas, inputs and sources",
                style="dim",
            )
        )


def _claim_cells(checked: Any) -> list[Any]:
    claim = checked.claim
    said = claim.printed or shown(claim.claimed_value)
    right = (
        checked.correct_value if isinstance(checked.correct_value, int | float) else checked.computed_value
    )
    why = Text(f"{claim.statement} ")
    note = checked.explanation
    if isinstance(checked.correct_value, str):
        note = f"Right: {checked.correct_value}. {note}"
    if claim.judgement is not None:
        note = f"{note} Judged: {claim.judgement['basis']}. Source: {checked.source}.".lstrip()
    why.append(note, style="dim")
    verdict = Text(_SHORT.get(checked.verdict, checked.verdict), style=_COLOUR[checked.verdict])
    unit = claim.unit if len(claim.unit) <= 12 else ""
    return [claim.id, verdict, shown(said), shown(right, unit), why]


def exercise_list(solved: Iterable[Any]) -> None:
    """All exercises in one table: question and answer."""
    table = table_of([("", "right"), ("question", "left"), ("answer", "right")])
    for each in solved:
        table.add_row(each.id, each.question, shown(each.answer["value"], each.answer["unit"]))
    console = new_console()
    console.print(table)
    console.print(
        Text("argosy exercises N shows the steps; --set NAME=VALUE puts your own numbers in", style="dim")
    )


def exercise(solved: Any) -> None:
    """One exercise: question, answer, formula, givens, steps."""
    from argosy.handbook.exercises import amount

    console = new_console()
    answer = solved.answer
    console.print(Text.assemble((f"{solved.id}. {solved.title}. ", "bold"), solved.question))
    console.print(Text.assemble("Answer: ", (shown(answer["value"], answer["unit"]), "bold green")))
    console.print(Text(f"Formula: {solved.formula}"))
    givens = table_of([("given", "left"), ("", "left"), ("", "right"), ("--set", "left")])
    for name, given in solved.givens.items():
        mark = "yours" if name in solved.changed else ""
        givens.add_row(str(given["symbol"]), mark, amount(given["value"], given["unit"]), name)
    console.print(givens)
    with_book = any(step["printed"] for step in solved.steps)
    wide = console.width >= WIDE
    columns = [("step", "left"), ("", "right"), ("exact", "right")]
    columns += [("book", "right")] * with_book + [("by", "left")] * wide
    steps = table_of(columns)
    for step in solved.steps:
        exact = f"{step['value']:,}" if isinstance(step["value"], int | float) else ""
        cells: list[Any] = [step["text"], shown(step["value"], step["unit"]), exact]
        cells += [str(step["printed"] or "")] * with_book + [Text(step["formula"], style="dim")] * wide
        steps.add_row(*cells)
    console.print(steps)
    if solved.grid:
        console.print(_grid(solved.grid["columns"], solved.grid["rows"]))


def _grid(columns: Sequence[dict[str, str]], rows: Sequence[Sequence[Any]], title: str = "") -> Table:
    """A table whose number columns stand right, with the unit in the head."""
    numeric = [all(not isinstance(row[place], str) for row in rows) for place in range(len(columns))]
    heads = ["\n".join([*textwrap.wrap(each["name"], 11), each["unit"]]).rstrip() for each in columns]
    table = table_of(
        [(head, "right" if right else "left") for head, right in zip(heads, numeric, strict=True)], title
    )
    for row in rows:
        table.add_row(*(shown(cell, "", 4) for cell in row))
    return table


def quiz_answer(question: dict[str, Any], correct: bool) -> None:
    """Right or wrong, the answer, and what it is good for."""
    verdict = Text("   right: " if correct else "   no: ", style="green" if correct else "red")
    verdict.append(shown(question["answer"], question["unit"]), style="bold")
    verdict.append(f"  ({question['why']})", style="dim")
    new_console().print(verdict)


def numbers(card: Sequence[dict[str, Any]], tables: Sequence[dict[str, Any]]) -> None:
    """The quick card, ratios apart from values; then the tables."""
    console = new_console()
    for kind, title in (("ratio", "Ratios, which last"), ("value", "Values, which age")):
        rows = [row for row in card if row["kind"] == kind]
        if not rows:
            continue
        console.print(_card_table(rows, title, console.width >= WIDE))
    for each in tables:
        console.print(_grid(each["columns"], each["rows"], each["title"]))
        if each["note"]:
            console.print(Padding(Text(each["note"], style="dim"), (0, 0, 1, 0)))


def _card_table(rows: Sequence[dict[str, Any]], title: str, wide: bool) -> Table:
    """Rows of the quick card; what a number is good for only where there is room."""
    columns = [("number", "left"), ("", "right"), ("counts, of", "left"), ("book", "right")]
    table = table_of([*columns, *[("use", "left")] * wide], title)
    for row in rows:
        date = "convention" if row["convention"] else row["date"]
        value = Text(shown(row["value"], row["unit"], 4), style="bold")
        counts = ", ".join(filter(None, (row["direction"], date)))
        table.add_row(row["label"], value, counts, row["printed"] or "", *[row["use"]] * wide)
    return table
