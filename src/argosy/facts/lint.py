"""Finds the mistakes that catalogs of hardware are full of: sparse for dense, two ways for one, bytes for bits,
a superchip for a GPU, a value outside of its own band, a number without unit, source or date.

Every rule compares facts with each other (a switch's capacity with its ports, a peak with the peaks of its family), so
that none holds a figure of its own which could be wrong in the same way. Where physics or a vendor makes an exception,
the entry says so in its text: `lint_allow: "family: most of its arithmetic is cut"`, several separated by `;`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from statistics import median

from argosy import units
from argosy.facts.catalog import Catalog, Entry, plain
from argosy.facts.fact import Fact


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: the path of the fact (or entry), the rule that found it, and what is wrong with it."""

    path: str
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message} [{self.rule}]"


Rule = Callable[[Catalog], Iterator[Problem]]

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
_FACTORS = {
    2: "both ways, sparse, or two devices counted as one",
    8: "bits taken for bytes",
    1000: "a wrong prefix",
}
_FACTORS |= {
    1 / 2: "half of a device or of a link",
    1 / 8: "bytes taken for bits",
    1 / 1000: "a wrong prefix",
}
_LINE_RATES = {
    10e9,
    25e9,
    40e9,
    50e9,
    100e9,
    200e9,
    400e9,
    800e9,
    1600e9,
}  # bit/s of one port, Ethernet and InfiniBand


def lint(catalog: Catalog) -> list[Problem]:
    """Every problem of the catalog that no entry explains, in the order of its entries."""
    problems = [problem for rule in RULES for problem in rule(catalog) if not _allowed(catalog, problem)]
    order = {path: number for number, path in enumerate(catalog.facts)}
    return sorted(problems, key=lambda problem: order.get(problem.path, -1))


def _allowed(catalog: Catalog, problem: Problem) -> bool:
    """True where the entry's text gives a reason for breaking this rule."""
    section, name, *_ = _split(problem.path)
    entry = catalog.entries.get((section, name))
    reasons = entry.text.get("lint_allow", "").split(";") if entry else []
    return any(reason.strip().startswith(f"{problem.rule}: ") for reason in reasons)


def _split(path: str) -> tuple[str, str, str]:
    section, _, rest = path.partition(".")
    name, _, fact = rest.rpartition(".")
    return section, name, fact


def _pattern(table: dict[str, str], section: str, fact: str) -> str | None:
    return next((value for pattern, value in table.items() if fnmatch(f"{section}.{fact}", pattern)), None)


def _facts(catalog: Catalog) -> Iterator[tuple[Entry, str, Fact]]:
    for entry in catalog.entries.values():
        for name, fact in entry.facts.items():
            yield entry, name, fact


def _times(factor: float) -> str:
    """How far off, and what that usually means."""
    for known, reason in _FACTORS.items():
        if abs(factor / known - 1) < 0.15:
            return f"{factor:.3g} times that: {reason}?"
    return f"{factor:.3g} times that"


# --- Each fact by itself


def check_units(catalog: Catalog) -> Iterator[Problem]:
    """Facts are in the unit that their name stands for, and one name has one unit throughout a section."""
    for entry, name, fact in _facts(catalog):
        wanted = _pattern(_UNITS, entry.section, name) or catalog.units(entry.section)[name]
        if units.dimension(fact.unit) != units.dimension(wanted):
            missing = "has no unit" if fact.unit == "ratio" else f"is in {fact.unit}"
            yield Problem(entry.path(name), "unit", f"{missing}, and {wanted} is meant")


def check_sources(catalog: Catalog) -> Iterator[Problem]:
    """Every fact names a source (or says "assumption: why") and the month in which it was checked."""
    for entry, name, fact in _facts(catalog):
        if not fact.source.strip() or fact.source.strip() in ("assumption", "assumption:"):
            yield Problem(entry.path(name), "source", 'has no source: name one, or write "assumption: why"')
        if not _DATE.fullmatch(fact.verified):
            yield Problem(
                entry.path(name), "date", f"was verified on {fact.verified!r}: write the month, as in 2026-11"
            )


def check_kinds(catalog: Catalog) -> Iterator[Problem]:
    """Peaks say dense, bandwidths say one-way; what is part of a larger package says per what."""
    for entry, name, fact in _facts(catalog):
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
    for entry, name, fact in _facts(catalog):
        low = fact.value if fact.low is None else fact.low
        high = fact.value if fact.high is None else fact.high
        if not low <= fact.value <= high:
            shown = f"{units.format(low, fact.unit)} to {units.format(high, fact.unit)}"
            yield Problem(
                entry.path(name), "band", f"{units.format(fact.value, fact.unit)} is outside of {shown}"
            )


# --- Facts of one entry against each other


def check_capacity(catalog: Catalog) -> Iterator[Problem]:
    """A switch carries ports × port rate, one way: vendors print twice that for InfiniBand."""
    for section in ("switches", "scale_up_switches"):
        for entry in catalog.section(section) if section in catalog.sections else []:
            yield from _equal(entry, "capacity", ("ports", "port_rate"), 0.01)


def _equal(entry: Entry, name: str, factors: tuple[str, str], tolerance: float) -> Iterator[Problem]:
    if name in entry.facts and all(factor in entry.facts for factor in factors):
        product = entry.facts[factors[0]].value * entry.facts[factors[1]].value
        ratio = entry.facts[name].value / product
        if abs(ratio - 1) > tolerance:
            message = f"{' × '.join(factors)} is {units.format(product, entry.facts[name].unit)}; this is {_times(ratio)}"
            yield Problem(entry.path(name), "two-way", message)


def check_line_rates(catalog: Catalog) -> Iterator[Problem]:
    """Ports, cards and modules run at rates that exist; 8 or 2 times one of them is a slip."""
    for entry, name, fact in _facts(catalog):
        rated = (entry.section, name)
        if rated in {("nodes", "nic_rate"), ("switches", "port_rate"), ("optics", "rate"), ("links", "rate"), ("accelerators", "nic_bandwidth")}:  # fmt: skip
            if not any(abs(fact.value / rate - 1) < 0.01 for rate in _LINE_RATES):
                message = f"{units.format(fact.value, fact.unit)} is not a rate of Ethernet or InfiniBand"
                yield Problem(entry.path(name), "line-rate", message)


def check_memory(catalog: Catalog) -> Iterator[Problem]:
    """What the device reports is what the sheet prints (GiB or GB); all memory is read in 10 to 100 ms."""
    for entry in catalog.section("accelerators"):
        facts = entry.facts
        if "memory_capacity" in facts and "memory_marketed" in facts:
            ratio = facts["memory_capacity"].value / facts["memory_marketed"].value
            if not 0.93 < ratio < 1.08:
                yield Problem(
                    entry.path("memory_capacity"), "memory", f"the sheet prints less or more: {_times(ratio)}"
                )
        if "memory_bandwidth" in facts and "memory_marketed" in facts:
            per_second = facts["memory_bandwidth"].value / facts["memory_marketed"].value
            if not 10 < per_second < 100:
                message = f"reads all memory {per_second:.3g} times a second; 10 to 100 times are built: ×8 or ×1000?"
                yield Problem(entry.path("memory_bandwidth"), "memory", message)


_LADDER = {"tf32": (0.5,), "fp16": (1,), "fp8": (2,), "int8": (2,), "fp4": (4, 6)}  # times the BF16 peak


def check_peak_ladder(catalog: Catalog) -> Iterator[Problem]:
    """Half the bits, twice the rate: TF32 ½, FP16 1, FP8 and INT8 2, FP4 4 (or 6) times the BF16 peak.

    A sparse figure among dense ones breaks the ladder. Designs that are built otherwise say so in `lint_allow`.
    """
    for entry in catalog.section("accelerators"):
        if "peak_bf16" not in entry.facts:
            continue
        peak = entry.facts["peak_bf16"].value
        for dtype, steps in _LADDER.items():
            name = f"peak_{dtype}"
            if name in entry.facts and not any(
                abs(entry.facts[name].value / peak / step - 1) < 0.04 for step in steps
            ):
                factor = entry.facts[name].value / peak / steps[0]
                message = f"{steps[0]:g} × the BF16 peak is usual; this is {_times(factor)}"
                yield Problem(entry.path(name), "peak-ladder", message)


def check_measured_matmul(catalog: Catalog) -> Iterator[Problem]:
    """The best measured product is 45 to 100 % of a dense peak; against a sparse one it looks half as good."""
    for entry in catalog.section("accelerators"):
        if "achievable_matmul_bf16" in entry.facts and "peak_bf16" in entry.facts:
            share = entry.facts["achievable_matmul_bf16"].value / entry.facts["peak_bf16"].value
            if not 0.45 <= share <= 1:
                message = f"the best measured product is {share:.0%} of it: a sparse peak, or two devices?"
                yield Problem(entry.path("peak_bf16"), "dense", message)


_ORDERS = {
    "accelerators": ("power_idle", "power_measured", "power_cap", "power_nameplate"),
    "nodes": ("power_idle", "power_heavy", "power_measured_max", "power_nameplate"),
    "switches": ("power", "power_nameplate"),
}


def check_power_order(catalog: Catalog) -> Iterator[Problem]:
    """idle < measured ≤ cap ≤ nameplate; a node's nameplate covers its boards with room for a host."""
    for section, names in _ORDERS.items():
        for entry in catalog.section(section) if section in catalog.sections else []:
            known = [(name, entry.facts[name].value) for name in names if name in entry.facts]
            for (lower, a), (upper, b) in zip(known, known[1:], strict=False):
                if a > b or (lower == "power_idle" and a == b):
                    yield Problem(entry.path(lower), "power", f"is above {upper}")


# --- Entries against each other


def check_node_power(catalog: Catalog) -> Iterator[Problem]:
    """A node's nameplate is 1.15 to 2.6 times its boards': less or more is another unit's figure."""
    for node, board in _nodes(catalog):
        if "power_nameplate" in node.facts and "power_nameplate" in board.facts:
            boards = node.facts["accelerators"].value * board.facts["power_nameplate"].value
            ratio = node.facts["power_nameplate"].value / boards
            if not 1.15 <= ratio <= 2.6:
                yield Problem(
                    node.path("power_nameplate"),
                    "power",
                    f"its boards' nameplate is {units.format(boards, 'W')}; this is {_times(ratio)}",
                )


def check_node_network(catalog: Catalog) -> Iterator[Problem]:
    """A node's cards give each accelerator the rate that its own entry states."""
    for node, board in _nodes(catalog):
        if all(name in node.facts for name in ("nics", "nic_rate")) and "nic_bandwidth" in board.facts:
            share = node.facts["nics"].value * node.facts["nic_rate"].value / node.facts["accelerators"].value
            ratio = board.facts["nic_bandwidth"].value / share
            if abs(ratio - 1) > 0.01:
                message = f"{node.name} gives each {units.format(share, 'bit/s')}; this is {_times(ratio)}"
                yield Problem(board.path("nic_bandwidth"), "two-way", message)


def _nodes(catalog: Catalog) -> Iterator[tuple[Entry, Entry]]:
    """Every node with its accelerator's entry."""
    for node in catalog.section("nodes") if "nodes" in catalog.sections else []:
        accelerator = ("accelerators", node.text.get("accelerator", ""))
        if accelerator in catalog.entries and "accelerators" in node.facts:
            yield node, catalog.entries[accelerator]


def check_scale_up(catalog: Catalog) -> Iterator[Problem]:
    """NVLink gives a GPU its links × their one-way bandwidth: sheets print twice that."""
    links = {
        generation: entry
        for entry in (catalog.section("links") if "links" in catalog.sections else [])
        for generation in entry.text.get("generation", "").split()
        if "links_per_gpu" in entry.facts
    }
    for entry in catalog.section("accelerators"):
        link = links.get(entry.text.get("generation", ""))
        if link and "scale_up_bandwidth" in entry.facts:
            given = link.facts["links_per_gpu"].value * link.facts["bandwidth"].value
            ratio = entry.facts["scale_up_bandwidth"].value / given
            if abs(ratio - 1) > 0.01:
                message = (
                    f"{link.name} gives {units.format(given, 'byte/s')} each way; this is {_times(ratio)}"
                )
                yield Problem(entry.path("scale_up_bandwidth"), "two-way", message)


_FAMILY = {"peak_bf16": 1.6, "memory_bandwidth": 1.7, "scale_up_bandwidth": 1.6, "memory_marketed": 3.0}


def check_family(catalog: Catalog) -> Iterator[Problem]:
    """Devices of one generation are alike: twice the family's middle is a superchip, a sparse figure or two ways."""
    families: dict[str, list[Entry]] = {}
    for entry in catalog.section("accelerators"):
        families.setdefault(entry.text.get("generation", ""), []).append(entry)
    for members in families.values():
        for name, widest in _FAMILY.items():
            own = {entry.name: entry.facts[name].value for entry in members if name in entry.facts}
            for entry in members if len(own) > 1 else []:
                if entry.name in own:
                    middle = median(value for other, value in own.items() if other != entry.name)
                    ratio = own[entry.name] / middle
                    if not 1 / widest < ratio < widest:
                        shown = units.format(middle, entry.facts[name].unit)
                        yield Problem(
                            entry.path(name), "family", f"its family has {shown}; this is {_times(ratio)}"
                        )


def check_regions(catalog: Catalog) -> Iterator[Problem]:
    """Grid carbon below 1.5 kg/kWh (old lignite plants reach 1.3) with its basis said; electricity between 1 and 60 US cents."""
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
    check_units, check_sources, check_kinds, check_bands, check_capacity, check_line_rates, check_memory, check_peak_ladder,
    check_measured_matmul, check_power_order, check_node_power, check_node_network, check_scale_up, check_family,
    check_regions, check_prices, check_names,
)  # fmt: skip
