"""Numbers of the user's own in place of the catalog's: overrides files, and entries written in a scenario."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from argosy import units
from argosy.facts.catalog import Catalog, Entry, FactError, suggest
from argosy.facts.fact import Fact

_FIELDS = ("value", "low", "high", "kind", "source", "verified", "note", "unit")
_LARGEST = 4_000_000  # bytes of an overrides file: a calibration of the whole catalog is a tenth of that


_DIVISORS = ("FLOP/s", "byte/s", "bit/s", "byte")  # units of what a time is divided by, or filled


def apply(catalog: Catalog, overrides: Mapping[str, Any] | str | Path, where: str) -> Catalog:
    """See `Catalog.with_overrides`."""
    places: Mapping[str, str] = {}
    if isinstance(overrides, (str, Path)):
        overrides, places = _read(Path(overrides))
    if not isinstance(overrides, Mapping):
        raise FactError(
            f"{where or 'overrides'}: write a mapping of fact paths to {{value, low, high, source}}"
        )
    facts: dict[str, Fact] = {}
    problems: list[str] = []
    for path, data in overrides.items():
        place = places.get(path) or where
        try:
            section, name, key = catalog.resolve(str(path))
            known = catalog.entries[section, name].facts.get(key)
            unit = catalog.units(section)[key]
            facts[f"{section}.{name}.{key}"] = read_fact(data, unit, known, f"{path}")
        except ValueError as error:
            problems.append(f"{place}: {error}" if place else str(error))
    if problems:
        raise FactError(*problems)
    return catalog.with_facts(facts)


def add_entry(
    catalog: Catalog, section: str, name: str, fields: Mapping[str, Any], base: str | None, where: str
) -> Catalog:
    """See `Catalog.with_entry`."""
    parent = catalog.entry(section, base) if base else Entry(section, name, (), {}, {})
    known = catalog.units(section)
    facts = dict(parent.facts)
    problems: list[str] = []
    for key, data in fields.items():
        if key not in known:
            problems.append(f"{where}: {section} have no fact {key!r}; {suggest(str(key), known)}")
            continue
        try:
            facts[key] = read_fact(data, known[key], parent.facts.get(key), key)
        except ValueError as error:
            problems.append(f"{where}: {error}" if where else str(error))
    if problems:
        raise FactError(*problems)
    entry = replace(parent, name=name, aliases=(), facts=facts)
    return Catalog({**catalog.entries, (section, name): entry})


def read_fact(data: Any, unit: str, known: Fact | None, where: str) -> Fact:
    """The fact that `data` states in `unit`: a quantity, a range ("132 to 155 kW"), or {value, low, high, source, kind,
    note, unit...}.

    What the number counts (`kind`) is taken over from the `known` fact; its band is not: a new value without
    a band is exact. A number without a unit is accepted with `unit:` beside it.
    """
    fields = data if isinstance(data, Mapping) else _ranged(data)
    if unknown := [str(key) for key in fields if key not in _FIELDS]:
        raise FactError(f"{where}: unknown field {unknown[0]!r}; {suggest(unknown[0], _FIELDS, _FIELDS)}")
    if fields.get("value") is None:
        raise FactError(f"{where}: has no value; write {{value: ..., low: ..., high: ..., source: ...}}")
    numbers = {
        key: _number(fields[key], fields.get("unit"), unit, where)
        for key in ("value", "low", "high")
        if fields.get(key) is not None
    }
    value, low, high = numbers["value"], numbers.get("low"), numbers.get("high")
    if (low is not None and low > value) or (high is not None and high < value):
        raise FactError(f"{where}: the value is outside of its band; write low ≤ value ≤ high")
    if value == 0 and unit in _DIVISORS:
        raise FactError(f"{where}: is zero, but times are divided by it; write a number above zero")
    kind = str(fields.get("kind") or (known.kind if known else ""))
    source = str(fields.get("source") or "assumption: given by the user without a source")
    return Fact(
        value, unit, low, high, kind, source, str(fields.get("verified") or ""), str(fields.get("note") or "")
    )


_RANGE = re.compile(r"\s*([\d.]+)\s*(?:–|to|\.\.)\s*([\d.]+)(\s*\D.*)?")


def _ranged(data: Any) -> dict[str, Any]:
    """A quantity, or a range such as "132 to 155 kW": its middle, with its ends as the band."""
    match = _RANGE.fullmatch(data) if isinstance(data, str) else None
    if match is None:
        return {"value": data}
    low, high, unit = match[1], match[2], match[3] or ""
    try:
        middle = (float(low) + float(high)) / 2
    except ValueError:
        return {"value": data}
    return {
        "value": f"{middle:.12g}{unit}",
        "low": f"{low}{unit}",
        "high": f"{high}{unit}",
        "note": f"given as {data}",
    }


def _number(value: Any, stated: Any, unit: str, where: str) -> float:
    """A quantity in `unit`; a bare number is in the `stated` unit."""
    if stated is None or not isinstance(value, (int, float)) or isinstance(value, bool):
        return units.parse(value, unit, where=where)
    return units.convert(units.parse(value, str(stated), where=where, bare=True), str(stated), unit)


def _read(path: Path) -> tuple[Mapping[str, Any], dict[str, str]]:
    """An overrides file's mapping, and file:line of each of its keys."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        if path.stat().st_size > _LARGEST:
            raise FactError(f"{path}: is larger than {units.format(_LARGEST, 'byte')}: not an overrides file")
        data = YAML(typ="rt").load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FactError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (YAMLError, UnicodeDecodeError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        place = f"{path}:{line + 1}" if line is not None else f"{path}"
        raise FactError(f"{place}: is not YAML: {getattr(error, 'problem', None) or error}") from None
    if not isinstance(data, Mapping):
        raise FactError(f"{path}: write a mapping of fact paths to {{value, low, high, source}}")
    places = {str(key): f"{path}:{data.lc.key(key)[0] + 1}" for key in data} if hasattr(data, "lc") else {}
    return data, places
