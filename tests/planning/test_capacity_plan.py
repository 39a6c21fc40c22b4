"""`argosy capacity` of a whole scenario: the plan's own unit costs, and a decision that follows its numbers."""

from __future__ import annotations

import pytest

import argosy
from argosy.facts import FactError
from argosy.planning.capacity import capacity_payload

SCENARIO = """
name: small
fleet: {accelerator: H100-SXM, count: 256}
training: {name: pretrain, model: llama-3.1-8b, tokens: 1e11, sequence_length: 8192, global_batch: 2 Mtok}
"""
PLANNED = """
capacity:
  start: 2027-Q1
  quarters: 6
  deliveries: [{quarter: 2027-Q1, accelerators: 256}]
  demand: {accelerators: 200, growth: 5 %}
  rent: {hour: RENT USD/h}
"""


def answered(rent: str = "2", extra: str = "") -> dict:
    return capacity_payload(argosy.loads(SCENARIO + PLANNED.replace("RENT", rent) + extra), draws=200)


@pytest.fixture(scope="module")
def answer() -> dict:
    return answered()


def test_a_unit_is_the_plans_share(answer: dict) -> None:
    plan = argosy.plan(argosy.loads(SCENARIO), draws=100)
    power = next(line["usd"] for line in plan.nominal.cost["lines"] if line["name"] == "electricity")
    hours = plan.nominal.gpu_hours
    assert answer["unit"]["electricity_usd_per_hour"] == pytest.approx(power / hours)
    assert answer["unit"]["rent_usd_per_hour"] == pytest.approx(2.0)
    assert 0.99 < answer["unit"]["in_service"] < 1.0


def test_quarters_close(answer: dict) -> None:
    assert [row["quarter"] for row in answer["quarters"]][-1] == "2028-Q2"
    for row in answer["quarters"]:
        met = sum(row[key]["nominal"] for key in ("own", "rented", "unmet"))
        assert met == pytest.approx(row["demand"]["nominal"])
        assert row["own"]["nominal"] + row["idle"]["nominal"] == pytest.approx(row["usable"]["nominal"])
        assert row["demand"]["p10"] <= row["demand"]["p50"] <= row["demand"]["p90"]


def test_dear_rent_makes_buying_pay_and_cheap_rent_does_not() -> None:
    dear, cheap = (answered(rent)["rent_or_buy"] for rent in ("20", "0.2"))
    assert dear["advantage_of_buying_usd"]["nominal"] > 0 > cheap["advantage_of_buying_usd"]["nominal"]
    assert dear["share_of_draws_in_which_buying_wins"] == 1.0 and cheap["break_even_quarter"] is None
    assert dear["break_even_quarter"] is not None and dear["break_even_quarter_in_cash"] is not None


def test_without_a_plan_of_capacity_it_says_what_to_write() -> None:
    with pytest.raises(FactError, match="write capacity:"):
        capacity_payload(argosy.loads(SCENARIO))


def test_the_same_seed_gives_the_same_answer(answer: dict) -> None:
    assert answered() == answer


def test_it_is_shown_and_drawn(answer: dict, capsys: pytest.CaptureFixture[str]) -> None:
    from argosy.report.capacity import chart, show_capacity
    from argosy.report.charts import to_svg

    show_capacity(answer)
    shown = capsys.readouterr().out
    assert "2027-Q1" in shown and "present value" in shown
    assert to_svg(chart(answer)).startswith("<svg")
