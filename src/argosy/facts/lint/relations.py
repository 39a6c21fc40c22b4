"""Rules that compare facts with each other: ports with capacity, peaks with peaks, nodes with boards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from argosy import units
from argosy.facts.catalog import Catalog, Entry
from argosy.facts.lint.problem import Problem, Rule, times


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
            shown = units.format(product, entry.facts[name].unit)
            message = f"{' × '.join(factors)} is {shown}; this is {times(ratio)}"
            yield Problem(entry.path(name), "two-way", message)


def check_memory(catalog: Catalog) -> Iterator[Problem]:
    """What the device reports is what the sheet prints (GiB or GB); all memory is read in 10 to 100 ms."""
    for entry in catalog.section("accelerators"):
        facts = entry.facts
        if "memory_capacity" in facts and "memory_marketed" in facts:
            ratio = facts["memory_capacity"].value / facts["memory_marketed"].value
            if not 0.93 < ratio < 1.08:
                yield Problem(
                    entry.path("memory_capacity"), "memory", f"the sheet prints less or more: {times(ratio)}"
                )
        if "memory_bandwidth" in facts and "memory_marketed" in facts:
            per_second = facts["memory_bandwidth"].value / facts["memory_marketed"].value
            if not 10 < per_second < 100:
                message = (
                    f"reads all memory {per_second:.3g} times a second, 10 to 100 are usual: ×8 or ×1000?"
                )
                yield Problem(entry.path("memory_bandwidth"), "memory", message)


_LADDER = {"tf32": (0.5,), "fp16": (1,), "fp8": (2,), "int8": (2,), "fp4": (4, 6)}  # times the BF16 peak


def check_peak_ladder(catalog: Catalog) -> Iterator[Problem]:
    """Half the bits, twice the rate: TF32 ½, FP16 1, FP8 and INT8 2, FP4 4 (or 6) times the BF16 peak.

    A sparse figure among dense ones breaks the ladder. Designs that are built otherwise say so in
    `lint_allow`.
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
                message = f"{steps[0]:g} × the BF16 peak is usual; this is {times(factor)}"
                yield Problem(entry.path(name), "peak-ladder", message)


def check_measured_matmul(catalog: Catalog) -> Iterator[Problem]:
    """The best measured product is 45 to 100 % of a dense peak; of a sparse one it is half of that."""
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
            for (lower, a), (upper, b) in pairwise(known):
                if a > b or (lower == "power_idle" and a == b):
                    yield Problem(entry.path(lower), "power", f"is above {upper}")


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
                    f"its boards' nameplate is {units.format(boards, 'W')}; this is {times(ratio)}",
                )


def check_node_network(catalog: Catalog) -> Iterator[Problem]:
    """A node's cards give each accelerator the rate that its own entry states."""
    for node, board in _nodes(catalog):
        if all(name in node.facts for name in ("nics", "nic_rate")) and "nic_bandwidth" in board.facts:
            share = node.facts["nics"].value * node.facts["nic_rate"].value / node.facts["accelerators"].value
            ratio = board.facts["nic_bandwidth"].value / share
            if abs(ratio - 1) > 0.01:
                message = f"{node.name} gives each {units.format(share, 'bit/s')}; this is {times(ratio)}"
                yield Problem(board.path("nic_bandwidth"), "two-way", message)


def _nodes(catalog: Catalog) -> Iterator[tuple[Entry, Entry]]:
    """Every node with its accelerator's entry."""
    for node in catalog.section("nodes") if "nodes" in catalog.sections else []:
        accelerator = ("accelerators", node.text.get("accelerator", ""))
        if accelerator in catalog.entries and "accelerators" in node.facts:
            yield node, catalog.entries[accelerator]


def check_scale_up(catalog: Catalog) -> Iterator[Problem]:
    """A device has its links × their one-way bandwidth (NVLink, ICI, xGMI): sheets print twice that, or bits."""
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
                    f"{link.name} gives {units.format(given, 'byte/s')} each way; this is {times(ratio)}"
                )
                yield Problem(entry.path("scale_up_bandwidth"), "two-way", message)


_FAMILY = {
    "peak_bf16": 1.6,
    "peak_fp32": 1.6,
    "memory_bandwidth": 1.7,
    "scale_up_bandwidth": 1.6,
    "memory_marketed": 3.0,
}


def check_family(catalog: Catalog) -> Iterator[Problem]:
    """Devices of one generation are alike: twice the family's middle is a superchip, a sparse figure or two
    ways.
    """
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
                            entry.path(name), "family", f"its family has {shown}; this is {times(ratio)}"
                        )


def check_named_rates(catalog: Catalog) -> Iterator[Problem]:
    """A module or cable whose name states a rate (SR8-800G) has it."""
    for entry in catalog.section("optics") if "optics" in catalog.sections else []:
        stated = re.search(r"(\d+)G$", entry.name)
        if stated and "rate" in entry.facts:
            ratio = entry.facts["rate"].value / (float(stated[1]) * 1e9)
            if abs(ratio - 1) > 0.01:
                message = f"its name says {stated[0]}; this is {times(ratio)}"
                yield Problem(entry.path("rate"), "line-rate", message)


def check_host_share(catalog: Catalog) -> Iterator[Problem]:
    """The host's share of a node's nameplate is its watts over the node's."""
    for entry in catalog.section("nodes") if "nodes" in catalog.sections else []:
        facts = entry.facts
        if all(name in facts for name in ("host_power_share", "power_host", "power_nameplate")):
            share = facts["power_host"].value / facts["power_nameplate"].value
            if abs(facts["host_power_share"].value - share) > 0.01:
                message = f"power_host over power_nameplate is {share:.3f}"
                yield Problem(entry.path("host_power_share"), "power", message)


RULES: tuple[Rule, ...] = (
    check_capacity,
    check_named_rates,
    check_host_share,
    check_memory,
    check_peak_ladder,
    check_measured_matmul,
    check_power_order,
    check_node_power,
    check_node_network,
    check_scale_up,
    check_family,
)
