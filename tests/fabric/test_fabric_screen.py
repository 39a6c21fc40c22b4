"""Tables of `argosy fabric` lose no word, however narrow the screen."""

import io

import pytest

from argosy.cli.fabric.screen import new_console, new_table
from argosy.fabric import Design, build
from argosy.fabric.bill import bill
from argosy.fabric.drawing import rail_drawing
from argosy.facts import Values, load_catalog

pytest.importorskip("rich")


@pytest.mark.parametrize("columns", ["24", "80", None])
def test_nothing_is_cut(monkeypatch, columns):
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    console = new_console()
    console.file = io.StringIO()
    table = new_table("title", "one", "bisection", "accelerators slowed", left=("one",))
    table.add_row("spine-core-cable-of-many", "87.50%", "24,576")
    console.print(table)
    shown = console.file.getvalue()
    assert "…" not in shown
    if columns != "24":
        assert "spine-core-cable-of-many" in shown and "bisection" in shown


def test_a_bill_has_a_part_once():
    """Lengths of several classes, in which the same module is the cheapest, are one line; sums stay."""
    values = Values(load_catalog().facts)
    found = bill(build(Design("fat-tree", 4096, 1, 64, 400e9, switch="QM9700")), values)
    items = [line.item for line in found.lines]
    assert len(items) == len(set(items))
    assert found.usd == pytest.approx(
        sum(line.count * values[f"{line.fact}.price"] for line in found.lines), rel=1e-12
    )
    fibres = next(line.count for line in found.lines if line.item == "MPO-fibre")
    modules = sum(line.count for line in found.lines if line.kind == "module" and line.metres is None)
    assert fibres == modules  # a fibre has two ends, and a module of twice the rate serves two fibres


@pytest.mark.parametrize(
    ("hosts", "topology", "title"),
    [(4, "rail-optimized", "4 servers, 1 leaf"), (3, "rail-only", "3 servers, 8 rails")],
)
def test_titles_of_small_pictures(hosts, topology, title):
    assert rail_drawing(build(Design(topology, hosts, 8, 64, 400e9)))["title"] == f"{topology}: {title}"
