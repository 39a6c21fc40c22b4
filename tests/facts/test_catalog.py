"""The catalog: looked up by name and alias, compiled from its YAML, loaded without heavy libraries."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from argosy.facts import Catalog, Entry, Fact, FactError, Values, load_catalog
from argosy.facts.catalog import COMPILED, from_compiled
from argosy.facts.compile import compile_text, kept_unit, read_fact
from argosy.facts.values import two_piece_normal

ACCELERATORS = [
    "A100-80GB-SXM",
    "A100-40GB-SXM",
    "H100-SXM",
    "H800-SXM",
    "H200-SXM",
    "B200-SXM",
    "B300-SXM",
    "GB200",
    "GB300",
]
NEEDED = [
    "peak_bf16",
    "memory_capacity",
    "memory_bandwidth",
    "scale_up_bandwidth",
    "scale_up_domain",
    "nic_bandwidth",
    "power_idle",
    "power_measured",
    "power_cap",
    "power_nameplate",
]


def test_the_compiled_file_is_current() -> None:
    assert COMPILED.read_text(encoding="utf-8") == compile_text(), "run python -m argosy.facts.compile"


@pytest.mark.parametrize("name", ACCELERATORS)
def test_accelerators_have_what_the_step_model_reads(name: str) -> None:
    facts = load_catalog().entry("accelerators", name).facts
    assert set(NEEDED) <= set(facts)
    assert facts["peak_bf16"].unit == "FLOP/s" and "dense" in facts["peak_bf16"].kind
    assert facts["nic_bandwidth"].unit == "bit/s" and "one-way" in facts["nic_bandwidth"].kind
    assert facts["scale_up_bandwidth"].unit == "byte/s" and "one-way" in facts["scale_up_bandwidth"].kind


def test_figures_that_are_often_printed_wrong() -> None:
    catalog = load_catalog()
    assert catalog.fact("accelerators.B200-SXM.peak_fp8").value == 4.5e15  # 9,000 is sparse
    assert catalog.fact("accelerators.TPU7x.peak_bf16").value == 2.307e15  # 4,614 is FP8
    assert (
        catalog.fact("accelerators.Gaudi3.peak_bf16").value == 1.677e15
    )  # 1,835 is at a clock that none ships with
    assert catalog.fact("accelerators.TPU-v5p.scale_up_bandwidth").value == 600e9  # 1,200 is both ways
    assert catalog.fact("switches.QM9700.capacity").value == 25.6e12  # 51.2 is both ways
    assert catalog.fact("switches.SN5600.capacity").value == 51.2e12  # 51.2 is one way
    assert catalog.fact("accelerators.H100.memory_capacity").value == 85520809984  # 81,559 MiB


def test_entries_are_found_by_alias_in_any_case() -> None:
    catalog = load_catalog()
    assert catalog.entry("accelerators", "h100 sxm5").name == "H100-SXM"
    assert catalog.entry("switches", "minipack2").name == "Minipack2-64x400G"
    assert {entry.section for entry in catalog.find("H100")} == {"accelerators", "prices"}
    assert catalog.facts["accelerators.H100-SXM.peak_bf16"] is catalog.fact("accelerators.H100.peak_bf16")


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("accelerators.H10.peak_bf16", "did you mean H100"),
        ("accelerator.H100.peak_bf16", "did you mean accelerators"),
        ("accelerators.H100.peak_b16", "did you mean peak_bf16"),
        ("H100", "section.entry.fact"),
        ("", "section.entry.fact"),
        ("accelerators.H100.peak_fp4", "assumptions.overrides"),
    ],
)
def test_unknown_names_are_answered_with_near_ones(path: str, says: str) -> None:
    with pytest.raises(FactError, match=says):
        load_catalog().fact(path)


def test_a_name_unlike_any_is_answered_with_the_list() -> None:
    with pytest.raises(FactError, match="it has A100-80GB-SXM"):
        load_catalog().entry("accelerators", "zzzzzz")
    with pytest.raises(FactError, match="did you mean"):
        load_catalog().find("H1000")


def test_facts_date_is_the_latest() -> None:
    facts = {"a": Fact(1, "W", verified="2024-05"), "b": Fact(1, "W", verified="2026-01-31")}
    assert Catalog({("x", "y"): Entry("x", "y", (), {}, facts)}).facts_date == "2026-01-31"
    assert load_catalog().facts_date >= "2026-11"


def test_stored_units() -> None:
    assert [
        kept_unit(unit) for unit in ("TB/s", "Gb/s", "MW", "GPUs", "%", "1/h", "g/kWh", "USD/GPU-h", "ns/m")
    ] == ["byte/s", "bit/s", "W", "count", "ratio", "1/s", "kg/kWh", "USD/GPU-h", "s/m"]


def test_a_fact_of_a_data_file() -> None:
    data = {"value": "3.35 TB/s", "low": "3.2 TB/s", "source": ["a", "free text"], "kind": "peak"}
    assert read_fact(data, {"a": "A sheet"}, {"verified": "2026-11"}, "here") == [
        3.35e12,
        "byte/s",
        3.2e12,
        None,
        "peak",
        "A sheet; free text",
        "2026-11",
        "",
    ]


@pytest.mark.parametrize(
    "data",
    [
        {"low": "1 W"},
        "3 W",
        {"value": "3 W", "sauce": "x"},
        {"value": "3 W", "low": "1 kg"},
        {"value": "3 wat"},
    ],
)
def test_mistakes_in_a_data_file_are_told_with_their_place(data: object) -> None:
    with pytest.raises(ValueError, match=r"^here: "):
        read_fact(data, {}, {}, "here")


def test_listing_the_catalog_needs_no_heavy_library() -> None:
    heavy = ("numpy", "scipy", "ruamel", "pydantic", "pint")
    code = f"import sys, argosy.facts as f; f.load_catalog(); print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- Values


FACT = Fact(10.0, "W", low=8.0, high=16.0)


def test_draws_keep_to_the_band() -> None:
    z = np.array([-1.6448536269514722, 0.0, 1.6448536269514722])
    assert two_piece_normal(FACT, z) == pytest.approx([8.0, 10.0, 16.0])
    draws = Values({"p": FACT}).sample(40_000, seed=3)["p"]
    assert np.quantile(draws, [0.05, 0.5, 0.95]) == pytest.approx([8, 10, 16], rel=0.02)
    assert two_piece_normal(Fact(1.0, "W", low=0.0), np.array([-5.0])) == 0.0
    assert two_piece_normal(Fact(-1.0, "°C", low=-2.0), np.array([-5.0])) < -2.0


def test_one_fact_more_does_not_move_the_draws_of_another() -> None:
    alone = Values({"p": FACT}).sample(5, seed=1)["p"]
    beside = Values({"o": FACT, "p": FACT}).sample(5, seed=1)
    assert (beside["p"] == alone).all() and (beside["o"] != alone).any()
    assert (Values({"p": FACT}).sample(5, seed=2)["p"] != alone).any()


def test_values_record_what_was_used() -> None:
    values = Values({"p": FACT, "q": Fact(2.0, "s")})
    assert values["q"] == 2.0 and values.get("r") is None and values.get("r", 7) == 7
    assert list(values.used) == ["q"]
    sampled = values.sample(4)
    assert (
        sampled["q"] == 2.0
        and sampled["p"].shape == (4,)
        and list(sampled.draws) == ["p"]
        and len(sampled.draws) == 1
    )


def test_a_missing_number_is_named() -> None:
    values = Values(load_catalog().facts)
    with pytest.raises(
        FactError,
        match=r"^no number is known for \S+Vera-Rubin\.power_idle: give it in assumptions\.overrides$",
    ):
        values["accelerators.Vera-Rubin.power_idle"]
    with pytest.raises(KeyError):
        values["accelerators.Vera-Rubin.power_idle"]
    with pytest.raises(FactError, match=r"did you mean accelerators\.H100-SXM"):
        values["accelerators.H100-SXN.peak_bf16"]


# --- Data files


def test_every_yaml_of_the_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("fans:\n  F1: {airflow: {value: 3 m3/s, source: x}}\n", encoding="utf-8")
    (tmp_path / "a.yaml").write_text(
        "sources: {s: A sheet}\ndefaults: {verified: 2026-10, source: s}\n"
        "pumps:\n  P1: {aliases: [pump], text: {vendor: V, year: 2025}, power: {value: 1.5 kW, low: 1 kW}}\n",
        encoding="utf-8",
    )
    catalog = from_compiled(json.loads(compile_text(tmp_path)))
    assert catalog.sections == ("pumps", "fans")
    pump = catalog.entry("pumps", "PUMP")
    assert pump.text == {"vendor": "V", "year": "2025"}
    assert pump.facts["power"] == Fact(1500, "W", low=1000, source="A sheet", verified="2026-10")


def test_one_entry_in_two_files_is_a_mistake(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("fans:\n  F1: {power: {value: 3 W, source: x}}\n", encoding="utf-8")
    with pytest.raises(FactError, match=r"b\.yaml: fans\.F1 is already in another file"):
        compile_text(tmp_path)
