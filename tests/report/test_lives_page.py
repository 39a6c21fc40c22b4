"""The pictures of `argosy simulate`: what they draw is what the payload says, whatever its shape."""

from html.parser import HTMLParser
from itertools import pairwise

import pytest

from argosy.reliability import STATES
from argosy.report.lives import COLOURS, life_charts, one_life, waterfall
from argosy.report.lives_html import lives_html

HOUR = 3600.0


def payload(**changed):
    shares = dict.fromkeys(STATES, 0.0) | {
        "productive": 0.8,
        "checkpoint": 0.05,
        "rework": 0.1,
        "restart": 0.05,
    }
    total = 1000 * HOUR
    fix = {"name": "detection −50 %", "gain": 0.02, "stderr": 0.001, "goodput": 0.82, "days_saved": 0.5}
    curve = [{"goodput": 0.7 + 0.01 * n, "stderr": 0.001, "closed_form": 0.7 + 0.01 * n} for n in range(4)]
    return {
        "job": "a <job>",
        "replications": 10,
        "finishes": True,
        "total_gpu_s": total,
        "ledger_gpu_s": {state: share * total for state, share in shares.items()},
        "goodput": {"mean": 0.8, "stderr": 0.001, "p10": 0.79, "p50": 0.8, "p90": 0.81},
        "closed_form_goodput": 0.8,
        "views": {"ettr": 0.8},
        "days": {"p10": 1.9, "p50": 2.0, "p90": 2.1},
        "histogram": {"edges_days": [1.8, 2.0, 2.2], "lives": [5, 5]},
        "interval_s": 1800.0,
        "spares": 3,
        "failures": {"gpu": {"expected": 1.0, "mean": 1.1}, "shock": {"expected": None, "mean": 0.0}},
        "timeline": {
            "stretches": [
                {"start_s": 0.0, "end_s": 30 * HOUR, "state": "productive"},
                {"start_s": 30 * HOUR, "end_s": 31 * HOUR, "state": "rework"},
                {"start_s": 31 * HOUR, "end_s": 50 * HOUR, "state": "productive"},
            ],
            "failures": [{"start_s": 31 * HOUR, "category": "gpu", "node": 4}],
        },
        "fix_first": [fix],
        "spares_curve": {"recommended": 2, "curve": [{"spares": n, **row} for n, row in enumerate(curve)]},
        "interval_curve": {
            "recommended_s": 1200.0,
            "by": "closed form",
            "curve": [{"interval_s": 600.0 * (n + 1), **row} for n, row in enumerate(curve)],
        },
        "notes": [],
        **changed,
    }


def rows_of(chart) -> list[dict]:
    """The rows behind the first layer of a chart, which may have moved up to the whole."""
    drawn = chart.to_dict()
    return (drawn.get("data") or drawn["layer"][0]["data"])["values"]


def test_the_waterfall_closes() -> None:
    """Each loss starts where the one before it ends, and the shares shown are those of the ledger."""
    rows = rows_of(waterfall(payload()))
    assert rows[0]["end"] == 100.0
    for above, below in pairwise(rows):
        assert below["end"] == pytest.approx(above["start"])
    assert rows[-1]["state"] == "productive"
    assert rows[-1]["end"] == pytest.approx(80.0)


def test_one_life_is_drawn_whole() -> None:
    """The pieces of all rows add up to the life, state by state; none crosses a row's end."""
    rows = rows_of(one_life(payload()))
    assert sum(row["to"] - row["from"] for row in rows) == pytest.approx(50.0)
    assert sum(row["to"] - row["from"] for row in rows if row["state"] == "rework") == pytest.approx(1.0)
    assert all(0.0 <= row["from"] < row["to"] <= 24.0 + 1e-9 for row in rows)
    assert {row["row"] for row in rows} == {0, 1, 2}


def test_every_state_has_a_colour() -> None:
    assert set(COLOURS) == set(STATES)


@pytest.mark.parametrize("advice", [True, False])
def test_the_page_is_whole_and_asks_for_nothing(advice: bool) -> None:
    answer = payload()
    if not advice:
        for key in ("fix_first", "spares_curve", "interval_curve"):
            del answer[key]
    page = lives_html(answer)
    assert len(life_charts(answer)) == (6 if advice else 3)
    assert "a &lt;job&gt;" in page
    assert "a <job>" not in page
    assert page.count("<figure>") == len(life_charts(answer))
    sources = []

    class Links(HTMLParser):
        def handle_starttag(self, tag, attrs):
            sources.extend(value for name, value in attrs if name in ("src", "href"))

    Links().feed(page)
    assert not [link for link in sources if link and not link.startswith(("#", "data:"))]


def test_a_job_that_never_finishes_says_so() -> None:
    assert "will never finish" in lives_html(payload(finishes=False))
