"""The handbook in the terminal: the answer first, tables that line up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
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
    """A value as people read it: `21.333 days`, `38 to 43 %`, `3.7908×10²⁵ FLOP`, fractions as they are."""
    if value is None:
        return "–"
    if isinstance(value, list):
        joint = " to " if len(value) == 2 else ", "
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


_WIDE = 110  # columns from which reasons stand beside their numbers; below it, under them


def _console() -> Console:
    """A console that prints texts as they are: brackets in them are no markup."""
    return Console(markup=False, highlight=False)


def _stacked(console: Console, head: Text, *below: Text) -> None:
    """A head line and indented texts under it: the shape of a row where there is no room for a table."""
    console.print(head)
    for text in below:
        if text:
            console.print(Padding(text, (0, 0, 0, 4)))


def _table(columns: Sequence[tuple[str, str]], title: str = "") -> Table:
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
    console = _console()
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
    if console.width >= _WIDE:
        table = _table(
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
            _stacked(console, Text.assemble((name, "bold"), " ", verdict, numbers), why)
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
    note = " ".join(filter(None, (claim.explanation, checked.problem)))
    if isinstance(checked.correct_value, str):
        note = f"Right: {checked.correct_value}. {note}"
    why.append(note, style="dim")
    verdict = Text(_SHORT.get(checked.verdict, checked.verdict), style=_COLOUR[checked.verdict])
    unit = claim.unit if len(claim.unit) <= 12 else ""
    return [claim.id, verdict, shown(said), shown(right, unit), why]


def exercise_list(solved: Iterable[Any]) -> None:
    """All exercises in one table: question and answer."""
    table = _table([("", "right"), ("question", "left"), ("answer", "right")])
    for each in solved:
        table.add_row(each.id, each.question, shown(each.answer["value"], each.answer["unit"]))
    console = _console()
    console.print(table)
    console.print(
        Text("argosy exercises N shows the steps; --set NAME=VALUE puts your own numbers in", style="dim")
    )


def exercise(solved: Any) -> None:
    """One exercise: question, answer, formula, givens, steps."""
    from argosy.handbook.exercises import amount

    console = _console()
    answer = solved.answer
    console.print(Text.assemble((f"{solved.id}. {solved.title}. ", "bold"), solved.question))
    console.print(Text.assemble("Answer: ", (shown(answer["value"], answer["unit"]), "bold green")))
    console.print(Text(f"Formula: {solved.formula}"))
    givens = _table([("given", "left"), ("", "left"), ("", "right"), ("--set", "left")])
    for name, given in solved.givens.items():
        mark = "yours" if name in solved.changed else ""
        givens.add_row(str(given["symbol"]), mark, amount(given["value"], given["unit"]), name)
    console.print(givens)
    with_book = any(step["printed"] for step in solved.steps)
    wide = console.width >= _WIDE
    columns = [("step", "left"), ("", "right"), ("exact", "right")]
    columns += [("book", "right")] * with_book + [("by", "left")] * wide
    steps = _table(columns)
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
    heads = [f"{each['name']}\n{each['unit']}" if each["unit"] else each["name"] for each in columns]
    table = _table(
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
    _console().print(verdict)


def numbers(card: Sequence[dict[str, Any]], tables: Sequence[dict[str, Any]]) -> None:
    """The quick card, ratios apart from values; then the tables."""
    console = _console()
    for kind, title in (("ratio", "Ratios, which last"), ("value", "Values, which age")):
        rows = [row for row in card if row["kind"] == kind]
        if not rows:
            continue
        table = _table(
            [
                ("number", "left"),
                ("", "right"),
                ("counts", "left"),
                ("of", "left"),
                ("book", "right"),
                ("use", "left"),
            ],
            title,
        )
        for row in rows:
            date = "convention" if row["convention"] else row["date"] or ""
            cells = (row["direction"] or "", date, row["printed"] or "", row["use"])
            table.add_row(row["label"], Text(shown(row["value"], row["unit"], 4), style="bold"), *cells)
        console.print(table)
    for each in tables:
        console.print(_grid(each["columns"], each["rows"], each["title"]))
        if each["note"]:
            console.print(Padding(Text(each["note"], style="dim"), (0, 0, 1, 0)))


def glossary(entries: Iterable[dict[str, Any]]) -> None:
    """All quantities in one table."""
    table = _table(
        [
            ("quantity", "left"),
            ("symbol", "left"),
            ("unit", "left"),
            ("English", "left"),
            ("中文", "left"),
            ("formula", "left"),
        ]
    )
    for each in entries:
        table.add_row(each["id"], each["symbol"], each["unit"], each["en"], each["zh"], each["formula"] or "")
    _console().print(table)


def quantity(entry: dict[str, Any]) -> None:
    """One quantity."""
    console = _console()
    console.print(
        Text.assemble((entry["en"], "bold"), f" ({entry['zh']}), {entry['symbol']}, in {entry['unit']}")
    )
    console.print(Text(entry["definition"]))
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("", style="dim")
    table.add_column("", overflow="fold")
    rows = {
        "formula": entry["formula"],
        "not": entry["not_to_be_confused_with"],
        "law": entry["signature"],
        "source": entry["source"],
        "used in": ", ".join(entry["used"]),
        "claims": ", ".join(entry["claims"]),
    }
    for name, text in rows.items():
        if text:
            table.add_row(name, text)
    console.print(table)
    if entry["law_text"]:
        console.print(Padding(Text(entry["law_text"], style="dim"), (1, 0, 0, 2)))


def questions(answers: Iterable[dict[str, Any]]) -> None:
    """The five questions, each with its constraint and, at the example's numbers, its lever."""
    table = _table(
        [
            ("ask", "left"),
            ("question", "left"),
            ("symptom", "left"),
            ("constraint", "left"),
            ("lever (example)", "left"),
        ]
    )
    for each in answers:
        table.add_row(each["id"], each["question"], each["symptom"], each["constraint"], each["lever"])
    console = _console()
    console.print(table)
    console.print(
        Text("argosy guide talk --set devices=1024 answers one of them with your numbers", style="dim")
    )


def answer(content: dict[str, Any]) -> None:
    """One question answered: the lever first, then how it follows."""
    from argosy.handbook.exercises import amount

    console = _console()
    console.print(Text.assemble((content["question"] + " ", "bold"), (content["lever"], "green")))
    console.print(Text(f"Symptom: {content['symptom']}\nConstraint: {content['constraint']}"))
    inputs = _table([("--set", "left"), ("", "right"), ("", "left")])
    for name, given in content["inputs"].items():
        inputs.add_row(name, amount(given["value"], given["unit"]), given["text"])
    wide = console.width >= _WIDE
    steps = _table([("computed", "left"), ("", "right"), *[("by", "left")] * wide])
    for step in content["steps"]:
        by = [Text(step["formula"], style="dim")] * wide
        steps.add_row(step["text"], shown(step["value"], step["unit"], 4), *by)
    console.print(Group(inputs, steps))
    if content["advice"]:
        columns = [
            ("change, best yield per device first", "left"),
            ("ρ", "right"),
            ("step", "right"),
            ("per device", "right"),
            ("whole job", "right"),
        ]
        table = _table(columns)
        for each in content["advice"]:
            ratios = (f"{each['per_device']:.2f}x", f"{each['throughput']:.2f}x")
            table.add_row(each["change"], shown(each["rho"], "", 3), shown(each["step_s"], "s", 4), *ratios)
        console.print(table)


def errors(entries: Sequence[dict[str, Any]]) -> None:
    """The error catalogue."""
    console = _console()
    console.print(Text(f"{len(entries)} statements that do not stand", style="bold"))
    wide = console.width >= _WIDE
    table = _table(
        [
            ("claim", "left"),
            ("says", "left"),
            ("right", "right"),
            ("why", "left"),
            ("why it is tempting", "left"),
        ]
    )
    for each in entries:
        why, tempting = _error_texts(each)
        right = _error_number(each)
        if wide:
            table.add_row(each["id"], each["statement"], right, why, tempting)
        else:
            head = Text.assemble(
                (each["id"], "bold"), f" {each['statement']}", (f" Right: {right}." if right else "", "green")
            )
            _stacked(console, head, why, tempting)
    if wide:
        console.print(table)


def _error_number(entry: dict[str, Any]) -> str:
    unit = entry["unit"] if len(entry["unit"]) <= 12 else ""
    return (
        shown(entry["correct_value"], unit, 4)
        if isinstance(entry["correct_value"], int | float | list)
        else ""
    )


def _error_texts(entry: dict[str, Any]) -> tuple[Text, Text]:
    right = f"{entry['correct_value']}. " if isinstance(entry["correct_value"], str) else ""
    return Text(right + entry["explanation"]), Text(entry["tempting"] or "", style="dim")


def paradigms(content: dict[str, Any]) -> None:
    """The three paradigms in eight dimensions, and the answers that `classify` takes."""
    console = _console()
    table = _table([("", "left"), *((name, "left") for name in content["paradigms"].values())])
    for each in content["dimensions"]:
        table.add_row(each["name"], *(each[key] for key in content["paradigms"]))
    console.print(table)
    asked = _table(
        [("--set", "left"), ("question", "left"), ("answers", "left")],
        "To classify a workload: argosy guide classify --set coupling=lockstep ...",
    )
    for each in content["questions"]:
        asked.add_row(each["id"], each["question"], ", ".join(each["answers"]))
    console.print(asked)


def classification(content: dict[str, Any]) -> None:
    """Which paradigm a workload follows, and where it departs from it."""
    from argosy.handbook.paradigms import table as paradigm_table

    names = paradigm_table()["paradigms"] | {"hybrid": "between two paradigms"}
    console = _console()
    score = ", ".join(f"{names[key]} {number}" for key, number in content["score"].items())
    console.print(Text.assemble((names[content["paradigm"]], "bold green"), f" ({score})"))
    table = _table([("dimension", "left"), ("answer", "left"), ("which is", "left")])
    for each in content["dimensions"]:
        style = "yellow" if each["id"] in content["foreign"] else ""
        table.add_row(each["name"], each["answer"], Text(each["why"], style=style))
    console.print(table)


def takeaways(entries: Iterable[dict[str, Any]]) -> None:
    """The takeaways with their checks."""
    table = _table(
        [("", "left"), ("takeaway", "left"), ("holds", "left"), ("but", "left"), ("claims", "left")]
    )
    for each in entries:
        holds = Text("yes", style="green") if each["holds"] else Text("no", style="red")
        table.add_row(each["id"], each["says"], holds, each["remark"] or "", ", ".join(each["claims"]))
    _console().print(table)


def rail_figure(content: dict[str, Any]) -> None:
    """The figure as Mermaid text, to be pasted into a document."""
    print(content["mermaid"], end="")
