"""Every mistake the lint knows is planted in a copy of the catalog, and found; the shipped one has none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from argosy.facts import Catalog, Entry, load_catalog
from argosy.facts.lint import RULES, lint


def planted(path: str, **changes: Any) -> Catalog:
    """The catalog with one fact changed; `factor` multiplies its value (and drops its band)."""
    catalog = load_catalog()
    fact = catalog.facts[path]
    factor = changes.pop("factor", None)
    if factor:
        changes |= {"value": fact.value * factor, "low": None, "high": None}
    return catalog.with_facts({path: replace(fact, **changes)})


def test_the_shipped_catalog_is_clean() -> None:
    assert [str(problem) for problem in lint(load_catalog())] == []


# path, what is planted, the rule that must find it, a word of its message
PLANTS: list[tuple[str, dict[str, Any], str, str]] = [
    # sparse for dense
    ("accelerators.H100-SXM.peak_fp8", {"factor": 2}, "peak-ladder", "sparse"),
    ("accelerators.B200-SXM.peak_fp4", {"factor": 2}, "peak-ladder", "sparse"),
    ("accelerators.H100-SXM.peak_int8", {"factor": 2}, "peak-ladder", "sparse"),
    ("accelerators.A100-80GB-SXM.peak_tf32", {"factor": 2}, "peak-ladder", "sparse"),
    ("accelerators.H100-SXM.peak_bf16", {"factor": 2}, "dense", "sparse"),
    ("accelerators.B200-SXM.peak_bf16", {"factor": 2}, "family", "both ways, sparse"),
    ("accelerators.MI355X.peak_bf16", {"factor": 2}, "dense", "sparse"),
    ("accelerators.H100-SXM.peak_bf16", {"kind": "with sparsity"}, "kind", "must say dense"),
    ("accelerators.H100-SXM.peak_fp8", {"kind": "dense and sparse"}, "kind", "keep dense"),
    ("accelerators.H100-SXM.peak_bf16", {"kind": ""}, "kind", "must say dense"),
    # both ways for one
    ("accelerators.H100-SXM.scale_up_bandwidth", {"factor": 2}, "two-way", "both ways"),
    ("accelerators.A100-80GB-SXM.scale_up_bandwidth", {"factor": 2}, "two-way", "both ways"),
    ("accelerators.B300-SXM.scale_up_bandwidth", {"factor": 2}, "two-way", "both ways"),
    ("accelerators.H100-SXM.scale_up_bandwidth", {"kind": "bidirectional, one-way"}, "kind", "one-way rates"),
    ("switches.QM9700.capacity", {"factor": 2}, "two-way", "both ways"),
    ("switches.SN5600.capacity", {"factor": 0.5}, "two-way", "half"),
    ("links.NVLink4.bandwidth", {"factor": 2}, "two-way", "half"),
    ("nodes.DGX-H100.nic_rate", {"factor": 2}, "two-way", "half"),
    ("accelerators.TPU-v6e.scale_up_bandwidth", {"factor": 2}, "two-way", "both ways"),
    ("accelerators.TPU-v5p.scale_up_bandwidth", {"factor": 8}, "two-way", "bits taken for bytes"),
    ("accelerators.TPU-v5e.scale_up_bandwidth", {"factor": 2}, "two-way", "both ways"),
    ("accelerators.TPU7x.scale_up_bandwidth", {"factor": 2}, "two-way", "both ways"),
    ("accelerators.MI300X.scale_up_bandwidth", {"factor": 2}, "two-way", "both ways"),
    ("accelerators.MI355X.scale_up_bandwidth", {"factor": 1 / 8}, "two-way", "bytes taken for bits"),
    ("optics.SR8-800G.rate", {"factor": 0.5}, "line-rate", "name says 800G"),
    ("optics.DR4-400G.rate", {"factor": 2}, "line-rate", "name says 400G"),
    # bits for bytes
    ("accelerators.H100-SXM.memory_bandwidth", {"factor": 8}, "memory", "×8"),
    ("accelerators.H200-SXM.memory_bandwidth", {"factor": 1 / 8}, "memory", "×8"),
    ("accelerators.H100-SXM.nic_bandwidth", {"factor": 1 / 8}, "two-way", "bytes taken for bits"),
    ("accelerators.H100-SXM.nic_bandwidth", {"factor": 8}, "line-rate", "3.2 Tb/s"),
    ("accelerators.H100-SXM.scale_up_bandwidth", {"factor": 8}, "two-way", "bits taken for bytes"),
    ("switches.QM9700.port_rate", {"factor": 8}, "line-rate", "not a rate"),
    ("accelerators.H100-SXM.memory_bandwidth", {"unit": "bit/s"}, "unit", "byte/s is meant"),
    ("accelerators.H100-SXM.nic_bandwidth", {"unit": "byte/s"}, "unit", "bit/s is meant"),
    # a superchip or a die for a device
    ("accelerators.GB200.memory_bandwidth", {"factor": 2}, "family", "two devices"),
    ("accelerators.GB200.memory_marketed", {"factor": 2}, "memory", "half"),
    ("accelerators.GB200.peak_bf16", {"factor": 2}, "dense", "two devices"),
    ("accelerators.GB300.peak_bf16", {"kind": "dense"}, "kind", "per GPU"),
    ("accelerators.MI250X.memory_bandwidth", {"kind": "peak"}, "kind", "per package"),
    ("accelerators.H100-SXM.memory_capacity", {"factor": 0.5}, "memory", "half"),
    # unit, source, date, band
    ("accelerators.H100-SXM.power_idle", {"unit": "ratio"}, "unit", "has no unit"),
    ("optics.SR4-400G.power", {"unit": "J"}, "unit", "W is meant"),
    ("clusters.Meta-24576.pod_oversubscription", {"unit": "s"}, "unit", "is in s, and ratio"),
    ("accelerators.H100-SXM.peak_bf16", {"source": ""}, "source", "has no source"),
    ("nodes.DGX-H100.price", {"source": "assumption"}, "source", "assumption: why"),
    ("nodes.DGX-H100.price", {"verified": ""}, "date", "write the month"),
    ("nodes.DGX-H100.price", {"verified": "2026-13"}, "date", "write the month"),
    ("accelerators.B300-SXM.peak_fp4", {"low": 14e15}, "band", "outside"),
    ("switches.QM9700.latency", {"high": 1e-9}, "band", "outside"),
    # power
    ("accelerators.H100-SXM.power_idle", {"value": 800.0}, "power", "above power_measured"),
    ("accelerators.H100-SXM.power_measured", {"value": 750.0}, "power", "above power_cap"),
    ("accelerators.H100-SXM.power_cap", {"value": 900.0}, "power", "above power_nameplate"),
    ("nodes.DGX-H100.power_measured_max", {"value": 11e3}, "power", "above power_nameplate"),
    ("nodes.DGX-H100.power_nameplate", {"factor": 10}, "power", "nameplate"),
    ("nodes.GB200-tray.power_nameplate", {"factor": 0.5}, "power", "boards"),
    ("switches.QM9700.power", {"factor": 3}, "power", "above"),
    ("nodes.DGX-H100.host_power_share", {"factor": 0.5}, "power", "over power_nameplate"),
    ("racks.GB300-NVL72.liquid_fraction", {"factor": 100}, "range", "per cent"),
    ("accelerators.H200-SXM.peak_fp32", {"factor": 2}, "family", "sparse"),
    # places and prices
    ("regions.us-texas.carbon_intensity", {"factor": 1000}, "range", "grams"),
    ("regions.us-texas.carbon_intensity", {"kind": "2023"}, "kind", "lifecycle or direct"),
    ("regions.us-texas.electricity", {"factor": 100}, "range", "cents"),
    ("prices.H100-SXM.spot", {"factor": 4}, "range", "above on_demand"),
    ("prices.H100-SXM.capital", {"factor": 8}, "range", "no price"),
]


@pytest.mark.parametrize(
    ("path", "changes", "rule", "says"), PLANTS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_planted_mistake_is_found(path: str, changes: dict[str, Any], rule: str, says: str) -> None:
    problems = lint(planted(path, **dict(changes)))
    found = [problem for problem in problems if problem.rule == rule and says in problem.message]
    assert found, f"not found; the lint said {[str(problem) for problem in problems]}"
    name = path.rsplit(".", 1)[0]
    related = {
        "links.NVLink4",
        "nodes.DGX-H100",
    }  # planted there, seen at the accelerators that depend on them
    assert name in related or any(problem.path.startswith(name) for problem in found)


def test_every_rule_has_been_planted_against() -> None:
    """No rule may be dead: each finds something new in one of the plants (check_names: below)."""
    silent = {rule for rule in RULES if rule.__name__ != "check_names"}
    known = {rule: set(map(str, rule(load_catalog()))) for rule in silent}  # exceptions that entries explain
    for path, changes, _, _ in PLANTS:
        catalog = planted(path, **dict(changes))
        silent -= {rule for rule in silent if set(map(str, rule(catalog))) - known[rule]}
    assert not silent


def test_two_entries_with_one_name() -> None:
    catalog = load_catalog()
    twin = Entry("accelerators", "Twin", ("h100 sxm",), {}, {})
    problems = lint(Catalog({**catalog.entries, ("accelerators", "Twin"): twin}))
    assert [(problem.rule, problem.path) for problem in problems] == [("name", "accelerators.Twin.")]


def test_slips_of_two_and_eight_are_found_in_every_bandwidth_and_size() -> None:
    """×2, ×8 and their inverses in every scale-up bandwidth, port, card and module rate, capacity and memory size."""
    catalog = load_catalog()
    names = ("scale_up_bandwidth", "capacity", "port_rate", "nic_rate", "rate", "memory_marketed")
    unknown = {
        "MI250X",
        "MI455X",
        "Trainium2",
        "Trainium3",
        "Ascend-910B",
        "Ascend-910C",
        "Ascend-950DT",
    }  # links
    excused = {"H800-SXM", "H100-PCIe"}  # their links are cut or missing: `lint_allow` says so
    comparing = [
        rule
        for rule in RULES
        if rule.__name__ not in ("check_units", "check_sources", "check_kinds", "check_bands")
    ]
    before = {str(problem) for rule in comparing for problem in rule(catalog)}
    missed, planted_in = [], 0
    for path in catalog.facts:
        section, entry, name = path.split(".")[0], path.split(".")[1], path.rsplit(".", 1)[1]
        hardware = section in ("accelerators", "nodes", "switches", "scale_up_switches", "optics")
        if hardware and name in names and (name != "scale_up_bandwidth" or entry not in unknown | excused):
            planted_in += 1
            wrong = planted(path, factor=(2, 8, 0.5, 0.125)[planted_in % 4])
            found = {str(problem) for rule in comparing for problem in rule(wrong)} - before
            missed += [] if found else [path]
    assert missed == [] and planted_in > 100


def test_an_exception_needs_its_reason_and_holds_for_one_fact() -> None:
    catalog = load_catalog()
    entry = catalog.entries["accelerators", "H800-SXM"]
    without = Catalog(
        {
            **catalog.entries,
            ("accelerators", "H800-SXM"): replace(entry, text={**entry.text, "lint_allow": ""}),
        }
    )
    assert {problem.rule for problem in lint(without)} == {"two-way", "family"}
    other = planted("accelerators.H800-SXM.peak_bf16", factor=2)
    assert any(problem.path == "accelerators.H800-SXM.peak_bf16" for problem in lint(other))
