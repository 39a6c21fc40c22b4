"""The catalog in the terminal: sections, entries, facts with bands and sources, and what the lint found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from argosy import units
from argosy.facts.fact import Fact

if TYPE_CHECKING:
    from argosy.facts import Catalog, Entry
    from argosy.facts.lint import Problem

_ASSUMED = "yellow"
# The facts that a section's list shows; other sections show the ones that most of their entries have.
_COLUMNS = {
    "accelerators": (
        "peak_bf16",
        "memory_capacity",
        "memory_bandwidth",
        "scale_up_bandwidth",
        "power_nameplate",
    ),
    "nodes": ("accelerators", "nic_rate", "power_measured_max", "power_nameplate", "price"),
    "switches": ("ports", "port_rate", "capacity", "power", "price"),
    "regions": ("carbon_intensity", "electricity", "temperature", "humidity"),
    "prices": ("on_demand", "contract", "spot", "capital"),
}


def sections(catalog: Catalog) -> RenderableType:
    """Every section with its number of entries and facts, how many of those are assumed, and some names."""
    table = Table(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        title=f"Facts verified up to {catalog.facts_date}",
        title_justify="left",
    )
    table.add_column("section", no_wrap=True)
    for heading in ("entries", "facts", "assumed"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("for example")
    for name in catalog.sections:
        entries = catalog.section(name)
        facts = [fact for entry in entries for fact in entry.facts.values()]
        assumed = sum(fact.is_assumption for fact in facts)
        names = ", ".join([entry.name for entry in entries[:3]] + ["…"] * (len(entries) > 3))
        table.add_row(name, str(len(entries)), str(len(facts)), Text(str(assumed or ""), _ASSUMED), names)
    return Group(table, _hint("argosy catalog list SECTION, argosy catalog show NAME"))


def section(entries: Sequence[Entry]) -> RenderableType:
    """The entries of a section with their main facts."""
    counts = Counter(name for entry in entries for name in entry.facts)
    columns = _COLUMNS.get(entries[0].section) or tuple(name for name, _ in counts.most_common(5))
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("name", style="bold", no_wrap=True)
    for name in columns:
        table.add_column(name.replace("_", " "), justify="right")
    for entry in entries:
        cells = [_value(entry.facts[name]) if name in entry.facts else Text("") for name in columns]
        table.add_row(entry.name, *cells)
    return Group(table, _hint("Yellow is assumed. argosy catalog show NAME gives bands and sources."))


def entry(entry: Entry) -> RenderableType:
    """All facts of an entry: value, band, what it counts, date; below, the numbered sources and the notes."""
    head = Text.assemble((entry.name, "bold"), f"  {entry.section}")
    about = "; ".join(f"{key}: {value}" for key, value in entry.text.items() if key != "lint_allow")
    lines = [about] if about else []
    lines += [f"also called {', '.join(entry.aliases)}"] if entry.aliases else []
    dates = sorted({fact.verified for fact in entry.facts.values()})
    lines += [f"verified {dates[0]}"] if len(dates) == 1 else []
    numbers: dict[str, int] = {}
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("fact", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("90 % band", no_wrap=True)
    table.add_column("what it counts", min_width=12)
    table.add_column("source", no_wrap=True)
    if len(dates) > 1:
        table.add_column("verified", no_wrap=True)
    for name, fact in entry.facts.items():
        cited = [str(numbers.setdefault(source, len(numbers) + 1)) for source in sources(fact)]
        mark = "*" if fact.is_assumption else ""
        source = Text(f"[{' '.join(cited)}]{mark}", _ASSUMED if mark else "")
        table.add_row(
            name, _value(fact), band(fact), fact.kind, source, *([fact.verified] if len(dates) > 1 else [])
        )
    below = [_numbered(f"[{number}]", source, width=5) for source, number in numbers.items()]
    return Group(head, *map(_hint, lines), table, *below, *_remarks(entry))


def _remarks(entry: Entry) -> list[RenderableType]:
    """The notes, those on which sources disagree first."""
    noted = [(name, fact) for name, fact in entry.facts.items() if fact.note]
    disputed = [(name, fact) for name, fact in noted if is_disputed(fact)]
    others = [(name, fact) for name, fact in noted if not is_disputed(fact)]
    parts: list[RenderableType] = []
    for title, group in (("Sources disagree; the band holds them all", disputed), ("Notes", others)):
        if group:
            parts.append(Padding(Text(title, "bold"), (1, 0, 0, 1)))
            parts += [_numbered(name, fact.note, width=26) for name, fact in group]
    if "lint_allow" in entry.text:
        parts.append(Padding(Text("Exceptions to the usual", "bold"), (1, 0, 0, 1)))
        rows = (reason.partition(": ") for reason in entry.text["lint_allow"].split("; "))
        reasons = dict.fromkeys((rule.split(" ")[-1], reason) for rule, _, reason in rows)
        parts += [_numbered(fact, reason, width=26) for fact, reason in reasons]
    if any(fact.is_assumption for fact in entry.facts.values()):
        parts.append(_hint("* assumed: no published source"))
    return [*parts, Text("")]


def _numbered(label: str, text: str, width: int) -> RenderableType:
    line = Table.grid(padding=(0, 1, 0, 1))
    line.add_column(width=width, no_wrap=True)
    line.add_column(overflow="fold")
    line.add_row(Text(label), Text(text, _ASSUMED if text.startswith("assumption") else "dim"))
    return line


def _hint(text: str) -> Text:
    return Text(f" {text}", "dim")


def sources(fact: Fact) -> list[str]:
    """The sources of a fact, one by one."""
    return [source for source in fact.source.split("; ") if source] or ["assumption: no source is named"]


def is_disputed(fact: Fact) -> bool:
    """True where a band stands on several sources."""
    return (fact.low is not None or fact.high is not None) and len(sources(fact)) > 1


def _value(fact: Fact) -> Text:
    return Text(units.format(fact.value, fact.unit, 4), _ASSUMED if fact.is_assumption else "")


def band(fact: Fact) -> str:
    """`1–1.4 kW`, or `900 W–1.1 kW`, or nothing."""
    if fact.low is None and fact.high is None:
        return ""
    bounds = (fact.value if bound is None else bound for bound in (fact.low, fact.high))
    low, high = (units.format(bound, fact.unit) for bound in bounds)
    number, _, unit = low.partition(" ")
    return f"{number}–{high}" if unit == high.partition(" ")[2] else f"{low}–{high}"


def problems(found: Sequence[Problem], facts: int, assumptions: int) -> RenderableType:
    """What the lint found, or that it found nothing."""
    count = f"{facts} facts, {assumptions} of them labelled assumptions"
    if not found:
        return Text.assemble(("No problems", "bold green"), f" in {count}.")
    table = Table(box=SIMPLE_HEAD)
    for heading in ("fact", "problem", "rule"):
        table.add_column(heading, overflow="fold")
    for problem in found:
        table.add_row(problem.path, problem.message, problem.rule)
    return Group(table, Text(f"{len(found)} problems in {count}.", "bold red"))
