"""Numbers of the user's own over the catalog's: files, mappings, and entries written in a scenario."""

from __future__ import annotations

from pathlib import Path

import pytest

from argosy.facts import FactError, load_catalog

PATH = "accelerators.H100-SXM.memory_bandwidth"


def test_an_override_replaces_value_band_and_source() -> None:
    catalog = load_catalog()
    changed = catalog.with_overrides(
        {PATH: {"value": "3.0 TB/s", "low": "2.9 TB/s", "high": "3.1 TB/s", "source": "our nodes"}}
    )
    fact = changed.facts[PATH]
    assert (fact.value, fact.low, fact.high, fact.source, fact.unit) == (
        3.0e12,
        2.9e12,
        3.1e12,
        "our nodes",
        "byte/s",
    )
    assert fact.kind == catalog.facts[PATH].kind
    assert catalog.facts[PATH].value == 3.35e12, "the shipped catalog does not change"


def test_an_override_by_alias_and_by_quantity_alone_is_an_assumption() -> None:
    changed = load_catalog().with_overrides({"accelerators.h100.memory_bandwidth": "3 TB/s"})
    assert changed.facts[PATH].value == 3e12 and changed.facts[PATH].is_assumption


def test_a_number_that_nobody_published_can_be_given() -> None:
    path = "accelerators.Vera-Rubin.power_idle"
    assert path not in load_catalog().facts
    assert load_catalog().with_overrides({path: "250 W"}).facts[path].value == 250


def test_bare_numbers_need_their_unit_beside_them() -> None:
    changed = load_catalog().with_overrides({PATH: {"value": 3.0, "high": 3.1, "unit": "TB/s"}})
    assert changed.facts[PATH].value == 3.0e12 and changed.facts[PATH].high == pytest.approx(3.1e12)
    with pytest.raises(FactError, match="has no unit"):
        load_catalog().with_overrides({PATH: {"value": 3e12}})


@pytest.mark.parametrize(
    ("path", "data", "says"),
    [
        (PATH, "3 Tb/s", "8 bits to the byte"),
        (PATH, "3 tb/s", "write '3 TB/s'"),
        (PATH, {"value": "3 TB/s", "hihg": "4 TB/s"}, "did you mean high"),
        (PATH, {"low": "3 TB/s"}, "has no value"),
        (PATH, {"value": "3 TB/s", "low": "3.1 TB/s"}, "outside of its band"),
        (PATH, None, "has no value"),
        ("accelerators.H100-SXM.memory_bandwith", "3 TB/s", "did you mean memory_bandwidth"),
        ("accelerators.H101.memory_bandwidth", "3 TB/s", "did you mean H100"),
    ],
)
def test_mistakes_say_what_to_write(path: str, data: object, says: str) -> None:
    with pytest.raises(FactError, match=says) as caught:
        load_catalog().with_overrides({path: data}, "scenario.yaml:9:3")
    assert str(caught.value).startswith("scenario.yaml:9:3: ")


def test_every_mistake_of_a_file_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "calibration.yaml"
    file.write_text(
        f"{PATH}: {{value: 3.0 TB/s, source: ours}}\nnodes.DGX-H100.power_idle: 2 kg\n\nnope.a.b: 1 W\n",
        encoding="utf-8",
    )
    with pytest.raises(FactError) as caught:
        load_catalog().with_overrides(file)
    assert len(caught.value.problems) == 2
    assert caught.value.problems[0].startswith(f"{file}:2: ") and caught.value.problems[1].startswith(
        f"{file}:4: "
    )
    file.write_text(f"{PATH}: {{value: 3.0 TB/s, source: ours}}\n", encoding="utf-8")
    assert load_catalog().with_overrides(file).facts[PATH].source == "ours"


@pytest.mark.parametrize(
    "text", ["[1, 2]", "a: {", "a: 1\na: 2\n", "", "just words", "a: !!python/object:os.system x"]
)
def test_files_that_are_no_overrides(tmp_path: Path, text: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(FactError, match=r"bad\.yaml"):
        load_catalog().with_overrides(file)


def test_a_file_that_is_absent_or_too_large_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(FactError, match="cannot be read"):
        load_catalog().with_overrides(tmp_path / "absent.yaml")
    large = tmp_path / "large.yaml"
    large.write_bytes(b"a: 1\n" * 1_000_000)
    with pytest.raises(FactError, match="larger than"):
        load_catalog().with_overrides(large)
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(FactError, match="is not YAML"):
        load_catalog().with_overrides(binary)


def test_an_entry_of_the_scenario_stands_on_its_base() -> None:
    catalog = load_catalog().with_entry(
        "accelerators", "H100-fast", {"memory_bandwidth": "4 TB/s"}, base="H100"
    )
    assert catalog.facts["accelerators.H100-fast.memory_bandwidth"].value == 4e12
    assert catalog.facts["accelerators.H100-fast.peak_bf16"].value == 989.4e12
    assert catalog.entry("accelerators", "H100").name == "H100-SXM", "the base keeps its aliases"


def test_mistakes_in_an_entry_are_all_told() -> None:
    with pytest.raises(FactError) as caught:
        load_catalog().with_entry(
            "accelerators", "X", {"memory_bandwith": "4 TB/s", "nic_bandwidth": "50 GB/s"}, where="a.yaml:4:5"
        )
    first, second = caught.value.problems
    assert (
        "did you mean memory_bandwidth" in first
        and "'400 Gb/s'" in second
        and second.startswith("a.yaml:4:5: ")
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("3.0 to 3.4 TB/s", (3.2e12, 3.0e12, 3.4e12)),
        ("3.0–3.4 TB/s", (3.2e12, 3.0e12, 3.4e12)),
        ({"value": "3.35 TB/s", "low": "3 TB/s"}, (3.35e12, 3.0e12, None)),
    ],
)
def test_a_range_is_its_middle_with_its_ends(
    given: object, expected: tuple[float, float, float | None]
) -> None:
    fact = load_catalog().with_overrides({PATH: given}).facts[PATH]
    assert (fact.value, fact.low, fact.high) == pytest.approx(expected)
    assert ("range" in fact.note or fact.note.startswith("given as")) == isinstance(given, str)


@pytest.mark.parametrize(
    "prose", ["747 with DAC; up to 1500 with multimode optics", "about 747 W", "4 to 3 kW"]
)
def test_prose_is_refused_with_an_example(prose: str) -> None:
    with pytest.raises(FactError, match=r"QM9700.*(write|for example|outside)"):
        load_catalog().with_overrides({"switches.QM9700.power": prose})
