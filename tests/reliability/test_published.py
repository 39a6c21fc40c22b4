"""The validation report: computed, current, and honest about its own fleet."""

from pathlib import Path

from argosy.facts import Values, load_catalog
from argosy.reliability.published import ROWS, error, per_node_day, tables

REPORT = Path(__file__).parents[2] / "docs" / "reliability.md"


def test_the_report_is_current() -> None:
    text = REPORT.read_text(encoding="utf-8")
    for line in tables().splitlines():
        assert line in text, f"run python -m argosy.reliability.published: {line}"


def test_no_fleet_predicts_itself() -> None:
    for row in ROWS:
        for way, _ in row.predictions:
            if row.what.startswith("Llama 3"):
                assert "llama3" not in way
            if row.what.startswith("BLOOM: GPU"):
                assert "bloom" not in way


def test_per_node_rates_and_errors_by_hand() -> None:
    values = Values(load_catalog().facts)
    assert abs(per_node_day(values, "meta-rsc1") - 6.5e-3) < 1e-9
    assert abs(per_node_day(values, "llama3-table5") - 419 / 54 / 2048) < 1e-6
    row = next(row for row in ROWS if row.published == "419")
    assert error(419.0, row) == "holds"
    assert error(838.0, row) == "+100 %"


def test_published_table_agrees_with_the_reference(shared_directory: Path) -> None:
    import csv

    path = shared_directory / "data" / "reliability" / "published_reliability.csv"
    with path.open(encoding="utf-8") as file:
        known = {row["value"] for row in csv.DictReader(file)}
    for value in ("419", "47.7", "7.9", "1.8", "0.23", "97", "117", "57", "9.1", "2.3"):
        assert value in known
        assert any(row.published == value for row in ROWS)
