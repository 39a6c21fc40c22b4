"""The guides and the glossary in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from argosy.cli.handbook_tables import WIDE, new_console, shown, stacked, table_of


def glossary(entries: Iterable[dict[str, Any]]) -> None:
    """All quantities in one table."""
    console = new_console()
    wide = console.width >= WIDE
    columns = [("quantity", "left"), ("symbol", "left"), ("unit", "left"), ("中文", "left")]
    table = table_of([*columns, *[("English", "left"), ("formula", "left")] * wide])
    for each in entries:
        more = [each["en"], each["formula"] or ""] * wide
        table.add_row(each["id"], each["symbol"], each["unit"], each["zh"], *more)
    console.print(table)


def shared_symbol(entries: Sequence[dict[str, Any]]) -> None:
    """The quantities that one symbol stands for."""
    console = new_console()
    console.print(Text(f"{entries[0]['symbol']} stands for {len(entries)} quantities", style="bold"))
    for each in entries:
        head = Text.assemble((each["id"], "bold"), f" ({each['zh']}), in {each['unit']}")
        stacked(console, head, Text(each["definition"]))
    console.print(Text(f"argosy explain {entries[0]['id']} tells one of them in full", style="dim"))


def quantity(entry: dict[str, Any]) -> None:
    """One quantity."""
    console = new_console()
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
        paragraphs = entry["law_text"].split("\n\n")
        flowing = "\n\n".join(  # lines of prose flow anew in the terminal's width; indented ones are set as they are
            each if "\n " in each else each.replace("\n", " ") for each in paragraphs
        )
        console.print(Padding(Text(flowing, style="dim"), (1, 0, 0, 2)))


def questions(answers: Iterable[dict[str, Any]]) -> None:
    """The five questions, each with its constraint and, at the example's numbers, its lever."""
    console = new_console()
    wide = console.width >= WIDE
    columns = [("ask", "left"), ("question", "left"), ("symptom", "left"), ("constraint", "left")]
    table = table_of([*columns, ("lever (example)", "left")])
    for each in answers:
        cells = (each["symptom"], each["constraint"], each["lever"])
        if wide:
            table.add_row(each["id"], each["question"], *cells)
        else:
            labels = ("when: ", "binds: ", "lever (example): ")
            texts = [Text(label + cell) for label, cell in zip(labels, cells, strict=True)]
            stacked(console, Text.assemble((each["id"], "bold"), "  ", (each["question"], "bold")), *texts)
    if wide:
        console.print(table)
    console.print(
        Text("argosy guide talk --set devices=1024 answers one of them with your numbers", style="dim")
    )


def answer(content: dict[str, Any]) -> None:
    """One question answered: the lever first, then how it follows."""
    from argosy.handbook.exercises import amount

    console = new_console()
    console.print(Text.assemble((content["question"] + " ", "bold"), (content["lever"], "green")))
    console.print(Text(f"Symptom: {content['symptom']}\nConstraint: {content['constraint']}"))
    inputs = table_of([("--set", "left"), ("", "right"), ("", "left")])
    for name, given in content["inputs"].items():
        inputs.add_row(name, amount(given["value"], given["unit"]), given["text"])
    wide = console.width >= WIDE
    steps = table_of([("computed", "left"), ("", "right"), *[("by", "left")] * wide])
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
        table = table_of(columns)
        for each in content["advice"]:
            ratios = (f"{each['per_device']:.2f}x", f"{each['throughput']:.2f}x")
            table.add_row(each["change"], shown(each["rho"], "", 3), shown(each["step_s"], "s", 4), *ratios)
        console.print(table)


def errors(entries: Sequence[dict[str, Any]]) -> None:
    """The error catalogue."""
    console = new_console()
    console.print(Text(f"{len(entries)} statements that do not stand", style="bold"))
    wide = console.width >= WIDE
    table = table_of(
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
            stacked(console, head, why, tempting)
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
    console = new_console()
    table = table_of([("", "left"), *((name, "left") for name in content["paradigms"].values())])
    for each in content["dimensions"]:
        table.add_row(each["name"], *(each[key] for key in content["paradigms"]))
    console.print(table)
    asked = table_of(
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
    console = new_console()
    score = ", ".join(f"{names[key]} {number}" for key, number in content["score"].items())
    console.print(Text.assemble((names[content["paradigm"]], "bold green"), f" ({score})"))
    table = table_of([("dimension", "left"), ("answer", "left"), ("which is", "left")])
    for each in content["dimensions"]:
        style = "yellow" if each["id"] in content["foreign"] else ""
        table.add_row(each["name"], each["answer"], Text(each["why"], style=style))
    console.print(table)


def takeaways(entries: Iterable[dict[str, Any]]) -> None:
    """The takeaways with their checks."""
    console = new_console()
    wide = console.width >= WIDE
    columns = [("", "left"), ("takeaway", "left"), ("holds", "left"), ("but", "left")]
    table = table_of([*columns, *[("claims", "left")] * wide])
    for each in entries:
        holds = Text("yes", style="green") if each["holds"] else Text("no", style="red")
        claims = [", ".join(each["claims"])] * wide
        table.add_row(each["id"], each["says"], holds, each["remark"] or "", *claims)
    console.print(table)


def rail_figure(content: dict[str, Any]) -> None:
    """The figure as Mermaid text, to be pasted into a document."""
    print(content["mermaid"], end="")
