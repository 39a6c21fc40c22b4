"""Reports say what the plan says: headline, ledger shares, why; nothing is computed anew, nothing is fetched."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from rich.console import Console

import argosy
from argosy.report import charts, plan_html, plan_markdown
from argosy.report import text as write
from argosy.report.terminal import show_plan

TINY = """
name: tiny <fleet> & co
fleet: {accelerator: H100-SXM, count: 128}
training: {name: pre-train, model: llama-3.1-8b, tokens: 1e10, sequence_length: 8192, global_batch: 128 sequences}
"""


@pytest.fixture(scope="module")
def plan() -> dict:
    return argosy.plan(argosy.loads(TINY), draws=100).to_dict()


def shown(plan: dict, width: int) -> str:
    console = Console(width=width, record=True, file=open("/dev/null", "w"), color_system=None)  # noqa: SIM115
    show_plan(plan, console)
    console.file.close()
    return console.export_text()


@pytest.mark.parametrize("width", [80, 140])
def test_terminal_lines_fit_and_lead_with_the_verdict(plan, width):
    lines = shown(plan, width).splitlines()
    assert lines[0].startswith("tiny <fleet> & co: feasible")
    assert max(map(len, lines)) <= width
    assert any("P10" in line and "P90" in line for line in lines)


def test_a_wide_terminal_shows_laws(plan):
    law = plan["headline"][0]["law"]
    assert law in shown(plan, 160)
    assert law not in shown(plan, 80)


def test_every_ledger_line_is_in_the_page_with_its_law(plan):
    page = plan_html(plan)

    def names(node):
        yield node
        for child in node["children"]:
            yield from names(child)

    for node in names(plan["ledger"]):
        assert node["name"].replace("&", "&amp;") in page


def test_the_page_escapes_names_and_has_a_why_for_each_number(plan):
    page = plan_html(plan)
    assert "<fleet>" not in page
    assert page.count("why this number?") == len(plan["headline"])
    for fact in plan["facts"]:
        assert fact["path"] in page


def test_charts_are_well_formed_svg_with_their_numbers(plan):
    job = plan["training"][0]
    drawn = [charts.ledger_waterfall(plan), charts.step_breakdown(job), charts.memory_bar(job), charts.layout_ranking(job),
             charts.headline_intervals(plan), *(charts.fabric_drawing(fabric) for fabric in plan["fabrics"])]  # fmt: skip
    for chart in drawn:
        ElementTree.fromstring(charts.to_svg(chart))
    assert write.duration(job["breakdown_s"]["compute"]) in charts.to_svg(charts.step_breakdown(job))


def test_the_waterfall_has_no_gaps(plan):
    """Each loss starts where the one above ends, and the last is the useful part, from zero."""
    specification = charts.ledger_waterfall(plan).to_dict()
    rows = (
        specification["data"]["values"]
        if "data" in specification
        else specification["layer"][0]["data"]["values"]
    )
    small = 100 * 5e-4 * len(rows)  # leaves too small to draw leave gaps of their size
    for above, below in pairwise(rows[1:]):
        assert below["end"] == pytest.approx(above["start"], abs=small)
    assert rows[-1]["start"] == 0


def test_markdown_tables_have_equal_columns(plan):
    table = [line for line in plan_markdown(plan).splitlines() if line.startswith("|")]
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table}
    assert table and widths <= {4, 5}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.000431, "431 µs"),
        (0.431, "431 ms"),
        (4.52, "4.52 s"),
        (726, "12.1 min"),
        (11160, "3.10 h"),
        (6739200, "78.0 days"),
    ],
)
def test_durations_take_the_unit_a_person_would(value, expected):
    assert write.duration(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(51.2e6, "$51.2 M"), (3.412, "$3.41"), (2.3e9, "$2.30 B"), (999.0, "$999.00")]
)
def test_dollars(value, expected):
    assert write.dollars(value) == expected


def test_a_time_too_small_to_tell_is_none():
    from argosy.report import text

    assert [text.duration(value) for value in (0.0, 2e-91, -1e-17)] == ["0 s"] * 3
    assert text.duration(4e-7) == "0.400 µs"
