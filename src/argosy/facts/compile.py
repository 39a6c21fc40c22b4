"""Compiles the YAML that people write (facts/data/*.yaml) into the JSON that the program reads.

Run `python -m argosy.facts.compile` after editing a data file; a test proves that the compiled file is
current.

A data file has any number of sections, each with entries:

    sources:                                    # names for long sources, optional
      h100-datasheet: NVIDIA H100 datasheet, https://...
    accelerators:                               # a section
      H100-SXM:                                 # an entry
        aliases: [H100]
        text: {vendor: NVIDIA, generation: hopper}
        memory_bandwidth: {value: 3.35 TB/s, kind: per GPU, source: h100-datasheet, verified: 2026-11}

Every other key of an entry is a fact: `value` (a quantity with unit), and `low`, `high`, `kind`, `source`,
`verified`, `note`. `source` is one of the names under `sources:` or free text, and may be a list.
`defaults:` beside `sources:` gives `source` or `verified` to all facts of the file that name none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from argosy import units
from argosy.facts.catalog import COMPILED, FactError

# The unit in which each dimension is kept: SI, apart from what is only ever quoted per kWh or per hour.
_KEPT = """s byte bit byte/s bit/s W J FLOP FLOP/s ratio token token/s req/s kg L m °C VA Hz J/bit W/m s/m
USD USD/h USD/kWh USD/W USD/yr USD/byte USD/token CNY CNY/h CNY/kWh EUR EUR/kWh kg/kWh L/kWh"""
_FIELDS = ("value", "low", "high", "kind", "source", "verified", "note")
Row = list[Any]


def kept_unit(unit: str) -> str:
    """The unit in which a fact written in `unit` is stored: byte/s for TB/s, USD/GPU-h for itself.

    Counted things (`8 GPUs`, `64 ports`) become `count`, other plain numbers `ratio`.
    """
    dimension = units.dimension(unit)
    if not dimension:
        return "ratio" if unit in ("ratio", "%", "1") else "count"
    if unit.endswith("/GPU-h"):
        return unit
    for kept in _KEPT.split():
        if units.dimension(kept) == dimension and not (kept == "Hz" and "Hz" not in unit):
            return kept
    if dimension == (("s", -1),):
        return "1/s"
    return unit


def read_fact(data: Any, sources: Mapping[str, str], defaults: Mapping[str, str], where: str) -> Row:
    """One fact of a data file: [value, unit, low, high, kind, source, verified, note] in its stored unit."""
    if not isinstance(data, Mapping) or "value" not in data:
        raise FactError(
            f"{where}: a fact is a mapping with a `value`, such as {{value: 3.35 TB/s, source: ...}}"
        )
    if unknown := set(data) - set(_FIELDS):
        raise FactError(f"{where}: unknown field {sorted(unknown)[0]!r}; a fact has {', '.join(_FIELDS)}")
    number, written = split_unit(data["value"], where)
    unit = kept_unit(written)
    bounds = [data.get(key) for key in ("low", "high")]
    low, high = (None if bound is None else units.parse(bound, unit, where=where) for bound in bounds)
    source = data.get("source", defaults.get("source", ""))
    named = source if isinstance(source, list) else [source]
    joined = "; ".join(sources.get(str(one), str(one)) for one in named)
    verified = str(data.get("verified", defaults.get("verified", "")))
    value = units.convert(number, written, unit)
    return [
        float(f"{value:.15g}"),
        unit,
        low,
        high,
        str(data.get("kind", "")),
        joined,
        verified,
        str(data.get("note", "")),
    ]


def split_unit(value: Any, where: str = "") -> tuple[float, str]:
    """Number and unit of a quantity as written: ("3.35 TB/s") → (3.35, "TB/s"); a bare number is a ratio."""
    text = str(value).strip()
    number, _, unit = text.partition(" ")
    if not unit and text.endswith("%"):
        number, unit = text[:-1], "%"
    unit = unit.strip() or "ratio"
    units.parse(text, unit, where=where)
    return units.parse(number, "ratio", where=where), unit


def read_file(path: Path) -> list[Row]:
    """The entries of one data file, as [section, name, aliases, text, [[fact, value, unit, ...], ...]]."""
    from ruamel.yaml import YAML  # only here: the program itself reads JSON

    data = YAML(typ="safe").load(path.read_text(encoding="utf-8")) or {}
    sources = data.pop("sources", {})
    defaults = data.pop("defaults", {})
    rows: list[Row] = []
    for section, entries in data.items():
        for name, fields in entries.items():
            where = f"{path.name}: {section}.{name}"
            text = {key: str(value) for key, value in (fields.get("text") or {}).items()}
            facts = [
                [key, *read_fact(value, sources, defaults, f"{where}.{key}")]
                for key, value in fields.items()
                if key not in ("aliases", "text")
            ]
            rows.append(
                [section, str(name), [str(alias) for alias in fields.get("aliases", [])], text, facts]
            )
    return rows


def compile_files(paths: Iterable[Path]) -> dict[str, Any]:
    """All entries of `paths` in the compiled form: the words of the facts are numbered, so that none is
    stored twice.
    """
    entries: list[Row] = []
    seen: set[tuple[str, str]] = set()
    numbers: dict[str, int] = {}
    for path in sorted(paths):
        for section, name, aliases, text, facts in read_file(path):
            if (section, name) in seen:
                raise FactError(f"{path.name}: {section}.{name} is already in another file")
            seen.add((section, name))
            rows = []
            for key, value, unit, low, high, *words in facts:
                unit_number, *rest = (numbers.setdefault(word, len(numbers)) for word in (unit, *words))
                rows.append([key, value, unit_number, low, high, *rest])
            entries.append([section, name, aliases, text, rows])
    return {"words": list(numbers), "entries": entries}


def compile_text(folder: Path = COMPILED.parent) -> str:
    """The compiled file's content: one line per entry, so that changes are seen in a diff."""
    data = compile_files(folder.glob("*.yaml"))
    lines = ",\n".join(
        json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in data["entries"]
    )
    words = ",\n".join(json.dumps(word, ensure_ascii=False) for word in data["words"])
    return f'{{"words":[\n{words}\n],"entries":[\n{lines}\n]}}\n'


def main() -> None:
    """Write the compiled catalog beside its sources."""
    COMPILED.write_text(compile_text(), encoding="utf-8")
    print(f"wrote {COMPILED}")


if __name__ == "__main__":
    main()
