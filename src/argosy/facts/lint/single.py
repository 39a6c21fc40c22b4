"""Rules about one fact by itself: its unit, source, date, kind, band, and whether such a number exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch

from argosy import units
from argosy.facts.catalog import Catalog, Entry, plain
from argosy.facts.lint.problem import Problem, Rule, facts_of

# What each fact must be measured in, by section and name pattern; the first match counts.
_UNITS = {
    "accelerators.peak_*": "FLOP/s",
    "accelerators.achievable_*": "FLOP/s",
    "accelerators.memory_capacity": "byte",
    "accelerators.memory_marketed": "byte",
    "accelerators.memory_bandwidth": "byte/s",
    "accelerators.scale_up_bandwidth": "byte/s",
    "accelerators.scale_up_domain": "count",
    "accelerators.nic_bandwidth": "bit/s",
    "nodes.nic_rate": "bit/s",
    "switches.port_rate": "bit/s",
    "switches.capacity": "bit/s",
    "*switches.ports": "count",
    "optics.rate": "bit/s",
    "links.rate": "bit/s",
    "links.bandwidth": "byte/s",
    "regions.carbon_intensity*": "kg/kWh",
    "regions.electricity": "USD/kWh",
    "prices.on_demand": "USD/GPU-h",
    "prices.reserved*": "USD/GPU-h",
    "prices.spot": "USD/GPU-h",
    "prices.contract": "USD/GPU-h",
    "prices.capital*": "USD",
    "*.price": "USD",
    "*.latency": "s",
    "*.reach": "m",
    "*.wue": "L/kWh",
    "accelerators.power_*": "W",
    "nodes.power_*": "W",
    "racks.power_*": "W",
    "*switches.power*": "W",
    "optics.power": "W",
}
# What a fact's kind must say, so that nobody has to guess what was counted.
_KINDS = {
    "accelerators.peak_*": "dense",
    "accelerators.achievable_*": "dense",
    "accelerators.scale_up_bandwidth": "one-way",
    "accelerators.nic_bandwidth": "one-way",
    "nodes.nic_rate": "one-way",
    "*switches.port_rate": "one-way",
    "*switches.capacity": "one-way",
    "optics.rate": "one-way",
    "links.rate": "one-way",
    "links.bandwidth": "one-way",
}
_WRONG_KINDS = re.compile(r"\bspars|bidirectional|both ways|two-way|duplex", re.IGNORECASE)
_DATE = re.compile(r"20\d\d-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?")
_RATED = {"nodes.nic_rate", "switches.port_rate", "optics.rate", "links.rate", "accelerators.nic_bandwidth"}
# bit/s of one port, Ethernet and InfiniBand
_LINE_RATES = {1e9, 10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9, 1600e9}


def _pattern(table: dict[str, str], section: str, fact: str) -> str | None:
    return next((value for pattern, value in table.items() if fnmatch(f"{section}.{fact}", pattern)), None)


def check_units(catalog: Catalog) -> Iterator[Problem]:
    """Facts are in the unit that their name stands for, and one name has one unit throughout a section."""
    for entry, name, fact in facts_of(catalog):
        wanted = _pattern(_UNITS, entry.section, name) or catalog.units(entry.section)[name]
        if units.dimension(fact.unit) != units.dimension(wanted):
            missing = "has no unit" if fact.unit == "ratio" else f"is in {fact.unit}"
            yield Problem(entry.path(name), "unit", f"{missing}, and {wanted} is meant")


def check_sources(catalog: Catalog) -> Iterator[Problem]:
    """Every fact names a source (or says "assumption: why") and the month in which it was checked."""
    for entry, name, fact in facts_of(catalog):
        if not fact.source.strip() or fact.source.strip() in ("assumption", "assumption:"):
            yield Problem(entry.path(name), "source", 'has no source: name one, or write "assumption: why"')
        if not _DATE.fullmatch(fact.verified):
            yield Problem(
                entry.path(name), "date", f"was verified on {fact.verified!r}: write the month, as in 2026-11"
            )


def check_kinds(catalog: Catalog) -> Iterator[Problem]:
    """Peaks say dense, bandwidths say one-way; what is part of a larger package says per what."""
    for entry, name, fact in facts_of(catalog):
        wanted = _pattern(_KINDS, entry.section, name)
        if wanted and wanted not in fact.kind:
            yield Problem(entry.path(name), "kind", f"says {fact.kind!r}: its kind must say {wanted}")
        elif _WRONG_KINDS.search(fact.kind):
            yield Problem(entry.path(name), "kind", f"says {fact.kind!r}: keep dense peaks and one-way rates")
        per_device = wanted or name.startswith("memory_")
        if entry.section == "accelerators" and per_device and _is_part(entry) and "per " not in fact.kind:
            yield Problem(
                entry.path(name), "kind", "must say per GPU or per package: its sheets print two together"
            )


def _is_part(entry: Entry) -> bool:
    return "superchip of" in entry.text.get("description", "") or "package of two" in entry.text.get(
        "description", ""
    )


def check_bands(catalog: Catalog) -> Iterator[Problem]:
    """low ≤ value ≤ high."""
    for entry, name, fact in facts_of(catalog):
        low = fact.value if fact.low is None else fact.low
        high = fact.value if fact.high is None else fact.high
        if not low <= fact.value <= high:
            shown = f"{units.format(low, fact.unit)} to {units.format(high, fact.unit)}"
            yield Problem(
                entry.path(name), "band", f"{units.format(fact.value, fact.unit)} is outside of {shown}"
            )


def check_fractions(catalog: Catalog) -> Iterator[Problem]:
    """Shares and fractions lie between 0 and 1."""
    for entry, name, fact in facts_of(catalog):
        if name.endswith(("_fraction", "_share")) and fact.unit == "ratio" and not 0 <= fact.value <= 1:
            yield Problem(
                entry.path(name), "range", f"{fact.value:g} is no share: per cent taken for a fraction?"
            )


def check_line_rates(catalog: Catalog) -> Iterator[Problem]:
    """Ports, cards and modules run at rates that exist; 8 or 2 times one of them is a slip."""
    for entry, name, fact in facts_of(catalog):
        exists = any(abs(fact.value / rate - 1) < 0.01 for rate in _LINE_RATES)
        if f"{entry.section}.{name}" in _RATED and not exists:
            message = f"{units.format(fact.value, fact.unit)} is not a rate of Ethernet or InfiniBand"
            yield Problem(entry.path(name), "line-rate", message)


def check_regions(catalog: Catalog) -> Iterator[Problem]:
    """Grid carbon below 1.5 kg/kWh (old lignite plants reach 1.3) with its basis said; electricity between 1
    and 60 US cents.
    """
    for entry in catalog.section("regions") if "regions" in catalog.sections else []:
        for name in ("carbon_intensity", "carbon_intensity_direct"):
            if name in entry.facts and not 0 <= entry.facts[name].value <= 1.5:
                yield Problem(
                    entry.path(name),
                    "range",
                    "is above the worst grids (1.4 kg/kWh): grams taken for kilograms?",
                )
            if name in entry.facts and not re.search("lifecycle|direct", entry.facts[name].kind):
                yield Problem(entry.path(name), "kind", "its kind must say lifecycle or direct, and the year")
        if "electricity" in entry.facts and not 0.01 <= entry.facts["electricity"].value <= 0.6:
            yield Problem(
                entry.path("electricity"), "range", "is no price of a kWh: cents taken for dollars?"
            )


def check_prices(catalog: Catalog) -> Iterator[Problem]:
    """Spot is not above on demand; an accelerator costs 500 to 200,000 US dollars."""
    for entry in catalog.section("prices") if "prices" in catalog.sections else []:
        facts = entry.facts
        if "spot" in facts and "on_demand" in facts and facts["spot"].value > facts["on_demand"].value:
            yield Problem(entry.path("spot"), "range", "is above on_demand")
        if "capital" in facts and not 500 <= facts["capital"].value <= 200_000:
            yield Problem(entry.path("capital"), "range", "is no price of one accelerator")


def check_names(catalog: Catalog) -> Iterator[Problem]:
    """No two entries of a section answer to one name."""
    seen: dict[tuple[str, str], str] = {}
    for entry in catalog.entries.values():
        for name in (entry.name, *entry.aliases):
            owner = seen.setdefault((entry.section, plain(name)), entry.name)
            if owner != entry.name:
                yield Problem(f"{entry.section}.{entry.name}.", "name", f"{name!r} also names {owner}")


RULES: tuple[Rule, ...] = (
    check_units,
    check_sources,
    check_kinds,
    check_bands,
    check_fractions,
    check_line_rates,
    check_regions,
    check_prices,
    check_names,
)
