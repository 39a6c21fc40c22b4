"""The catalog: sections of entries (accelerators, nodes, switches, regions, prices...), each a set of facts.

A fact's path is `section.entry.fact`, for example `accelerators.H100-SXM.memory_bandwidth`. The catalog is
written by people as YAML (facts/data/*.yaml) and read by the program as one compiled JSON file, see
`argosy.facts.compile`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from argosy.facts.fact import Fact

COMPILED = Path(__file__).parent / "data" / "catalog.json"


class FactError(ValueError):
    """What a user wrote about facts cannot be used. `problems` holds one message per fault."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing of the catalog: an accelerator, a switch, a region. `facts` are by name, `text` is what is no
    number.
    """

    section: str
    name: str
    aliases: tuple[str, ...]
    text: Mapping[str, str]
    facts: Mapping[str, Fact]

    def path(self, fact: str) -> str:
        """The full path of one of this entry's facts."""
        return f"{self.section}.{self.name}.{fact}"

    def to_dict(self) -> dict[str, Any]:
        """The entry as JSON-ready data: numbers in the unit that stands beside them."""
        return {
            "section": self.section,
            "name": self.name,
            "aliases": list(self.aliases),
            "text": dict(self.text),
            "facts": {
                name: {"path": self.path(name), **fact.to_dict(), "assumption": fact.is_assumption}
                for name, fact in self.facts.items()
            },
        }


@dataclass(frozen=True)
class Catalog:
    """All entries, by section and name. Immutable: `with_overrides` and `with_entry` give new catalogs."""

    entries: Mapping[tuple[str, str], Entry]

    @cached_property
    def facts(self) -> dict[str, Fact]:
        """Every fact by its path: what `Values` is made of."""
        return {
            f"{section}.{name}.{fact}": value
            for (section, name), entry in self.entries.items()
            for fact, value in entry.facts.items()
        }

    @cached_property
    def sections(self) -> tuple[str, ...]:
        """The section names, in order of first appearance."""
        return tuple(dict.fromkeys(section for section, _ in self.entries))

    @cached_property
    def facts_date(self) -> str:
        """The latest day (or month) on which any fact was verified: how old the catalog's knowledge is."""
        return max((fact.verified for fact in self.facts.values()), default="")

    def section(self, name: str) -> list[Entry]:
        """The entries of one section; FactError with suggestions for a section that does not exist."""
        if name not in self.sections:
            raise FactError(f"the catalog has no section {name!r}; {suggest(name, self.sections)}")
        return [entry for (section, _), entry in self.entries.items() if section == name]

    def entry(self, section: str, name: str) -> Entry:
        """The entry of `section` with this name or alias, in any case; FactError with suggestions."""
        key = self._names(section).get(plain(name))
        if key is None:
            known = [entry.name for entry in self.section(section)]
            spelled = [alias for entry in self.section(section) for alias in (entry.name, *entry.aliases)]
            raise FactError(f"the catalog has no {name!r} in {section}; {suggest(name, spelled, known)}")
        return self.entries[section, key]

    def named(self, name: str) -> list[Entry]:
        """The entries that `name` means: by section.entry.fact (that fact alone), by section.entry, or as `find`."""
        section, _, rest = name.partition(".")
        if section not in self.sections or not rest:
            return self.find(name)
        entry_name, _, fact = rest.rpartition(".")
        if entry_name and fact in self.units(section):
            return [replace(self.entry(section, entry_name), facts={fact: self.fact(name)})]
        return [self.entry(section, rest)]

    def find(self, name: str) -> list[Entry]:
        """Every entry with this name or alias, in whatever section; FactError with suggestions if there is
        none.
        """
        found = [
            self.entries[section, key]
            for section in self.sections
            if (key := self._names(section).get(plain(name)))
        ]
        if not found:
            spelled = [word for entry in self.entries.values() for word in (entry.name, *entry.aliases)]
            raise FactError(f"the catalog has no {name!r}; {suggest(name, spelled)}")
        return found

    def fact(self, path: str) -> Fact:
        """The fact at `path` (aliases allowed in it); FactError with suggestions."""
        section, name, fact = self.resolve(path)
        facts = self.entries[section, name].facts
        if fact not in facts:
            raise FactError(f"{section}.{name} has no known {fact}: give it in assumptions.overrides")
        return facts[fact]

    def resolve(self, path: str) -> tuple[str, str, str]:
        """Section, entry name and fact name of a path; the fact need only exist somewhere in the section.

        So a number that nobody published for one entry can still be given as an override.
        """
        section, _, rest = path.partition(".")
        name, _, fact = rest.rpartition(".")
        if not (section and name and fact):
            raise FactError(
                f"{path!r} is not a fact path; write section.entry.fact, such as {next(iter(self.facts))!r}"
            )
        entry = self.entry(section, name)
        if fact not in self.units(section):
            raise FactError(f"{section} have no fact {fact!r}; {suggest(fact, self.units(section))}")
        return section, entry.name, fact

    def units(self, section: str) -> Mapping[str, str]:
        """The unit of every fact name that occurs in `section`."""
        if section not in self._units:
            self.section(section)  # names the section that was meant
        return self._units[section]

    @cached_property
    def _units(self) -> dict[str, dict[str, str]]:
        units: dict[str, dict[str, str]] = {section: {} for section in self.sections}
        for (section, _), entry in self.entries.items():
            for name, fact in entry.facts.items():
                units[section].setdefault(name, fact.unit)
        return units

    def _names(self, section: str) -> dict[str, str]:
        """Every spelling of every entry of a section, to its name; names win over aliases."""
        if section not in self._spellings:
            entries = self.section(section)
            spelled = {plain(alias): entry.name for entry in entries for alias in entry.aliases}
            self._spellings[section] = spelled | {plain(entry.name): entry.name for entry in entries}
        return self._spellings[section]

    @cached_property
    def _spellings(self) -> dict[str, dict[str, str]]:
        return {}

    def with_facts(self, facts: Mapping[str, Fact]) -> Catalog:
        """The catalog with some facts, by path, in place of or beside its own."""
        entries = dict(self.entries)
        for path, fact in facts.items():
            section, name, key = self.resolve(path)
            entry = entries[section, name]
            entries[section, name] = replace(entry, facts={**entry.facts, key: fact})
        return Catalog(entries)

    def with_overrides(self, overrides: Mapping[str, Any] | str | Path, where: str = "") -> Catalog:
        """The catalog with the numbers of an overrides file, or of such a mapping, in place of its own.

        `overrides` maps fact paths to `{value, low, high, source, ...}` or to a quantity alone. A number
        without a unit is in the unit named by `unit`. FactError tells every fault, each with its place
        (`where`, or file:line).
        """
        from argosy.facts.overrides import apply

        return apply(self, overrides, where)

    def with_entry(
        self, section: str, name: str, fields: Mapping[str, Any], *, base: str | None = None, where: str = ""
    ) -> Catalog:
        """The catalog with one more entry: that of `base`, if one is named, with `fields` over it.

        `fields` maps fact names to a quantity or to {value, low, high, source}. FactError tells every unknown
        name and every unit mistake.
        """
        from argosy.facts.overrides import add_entry

        return add_entry(self, section, name, fields, base, where)


@cache
def load_catalog() -> Catalog:
    """The shipped catalog, read once from its compiled form."""
    return from_compiled(json.loads(COMPILED.read_text(encoding="utf-8")))


def from_compiled(data: Mapping[str, Any]) -> Catalog:
    """The catalog in `argosy.facts.compile`'s form: facts are rows, texts that repeat are numbered."""
    words: list[str] = data["words"]
    entries: dict[tuple[str, str], Entry] = {}
    for section, name, aliases, text, rows in data["entries"]:
        facts = {
            key: Fact(value, words[unit], low, high, words[kind], words[source], words[verified], words[note])
            for key, value, unit, low, high, kind, source, verified, note in rows
        }
        entries[section, name] = Entry(section, name, tuple(aliases), text, facts)
    return Catalog(entries)


def plain(name: str) -> str:
    """A name as it is compared: small letters, spaces and underscores as hyphens."""
    return name.strip().lower().replace(" ", "-").replace("_", "-")


def suggest(name: str, spelled: Iterable[str], otherwise: Iterable[str] | None = None) -> str:
    """What to write instead: near spellings, or the list of what there is."""
    import difflib  # only on the way to an error

    choices = {plain(word): word for word in spelled}
    near = [choices[word] for word in difflib.get_close_matches(plain(name), choices, n=3, cutoff=0.5)]
    if near:
        return f"did you mean {' or '.join(near)}?"
    known = list(choices.values() if otherwise is None else otherwise)
    return f"it has {', '.join(known[:12])}{', ...' if len(known) > 12 else ''}"
