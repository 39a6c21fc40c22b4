"""The page, the pictures, the ticket and the notebook's cell of a diagnosis, drawn from its JSON alone."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import pytest

import argosy.api
from argosy.observe.diagnosis import diagnosed
from argosy.observe.records import Batch, Input
from argosy.report import diagnosis as say
from argosy.report import diagnosis_charts
from argosy.report.diagnosis_html import diagnosis_html


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    from importlib.util import module_from_spec, spec_from_file_location
    from pathlib import Path

    found = spec_from_file_location("made", Path(__file__).parents[1] / "observe" / "made_traces.py")
    assert found is not None and found.loader is not None
    made = module_from_spec(found)
    found.loader.exec_module(made)
    ranks = made.traces(8, 5, lambda r, s, k: made.even(r, s, k) * (1.3 if r == 3 else 1.0))
    slices = [
        (("stream 7", "gemm", "gemm", int(t.step_start_ns[1]), int(t.collectives.start_ns[4])),)
        for t in ranks
    ]
    from dataclasses import replace

    given = [
        Batch(Input(t.path, "kineto", "read", 1), traces=(replace(t, slices=s),))
        for t, s in zip(ranks, slices, strict=True)
    ]
    given.append(Batch(Input("<b>odd & name</b>.log", "unknown", "ignored", 0)))
    return json.loads(json.dumps(diagnosed(given).to_dict(), allow_nan=False))


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [
            value or ""
            for name, value in attrs
            if name in ("src", "href") and not (value or "").startswith("#")
        ]


def test_the_page_says_who_and_what_to_do_and_asks_nobody(answer: dict[str, Any]) -> None:
    text = diagnosis_html(answer)
    page = _Page()
    page.feed(text)
    assert page.tags.count("svg") >= 4 and "script" not in page.tags and page.links == []
    assert text.index("straggler-rank") < text.index("<svg")
    assert "rank 3" in text and "a step saved if fixed" in text and "&lt;b&gt;odd &amp; name" in text


def test_every_picture_has_a_caption(answer: dict[str, Any]) -> None:
    drawn = diagnosis_charts.charts(answer)
    assert list(drawn) == ["timeline", "heat", "waterfall", "arrivals"]
    assert all(diagnosis_charts.caption(name, answer) for name in drawn)
    kinds = {row["kind"] for row in answer["pictures"]["timeline"] if row["rank"] == 3}
    assert "waiting" not in kinds and "compute" in kinds  # the late rank waits for nobody


def test_the_ticket_and_the_cell(answer: dict[str, Any]) -> None:
    ticket = say.markdown(answer)
    assert ticket.startswith("## straggler-rank") and "| waiting for late ranks" in ticket.replace(
        "&nbsp;", ""
    )
    cell = argosy.api.Answer(answer)._repr_html_()
    assert "rank 3" in cell and "<svg" in cell and "<script" not in cell


def test_a_healthy_run_says_so() -> None:
    nothing = {**diagnosed([Batch(Input("a.log", "xid", "read", 0))]).to_dict()}
    assert say.headline(nothing).startswith("nothing stands out")
    assert "nothing stands out" in diagnosis_html(nothing)
