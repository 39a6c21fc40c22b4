"""The verdict rules, one by one."""

import math

import pytest

from argosy.handbook.verdict import compare_any, decide, last_place, reason


@pytest.mark.parametrize(
    ("printed", "unit"),
    [
        ("98.04", 0.01),
        ("98", 1),
        ("1,840,000", 10_000),
        ("5.30", 0.01),
        ("0.5", 0.1),
        ("1e6", 1e6),
        ("0", 1),
        ("~9", 1),
        ("120000000.0", 0.1),
    ],
)
def test_last_printed_place(printed: str, unit: float):
    assert last_place(printed) == pytest.approx(unit)


def test_a_text_is_no_number():
    with pytest.raises((ValueError, ArithmeticError)):
        last_place("about ten")


@pytest.mark.parametrize(
    ("claimed", "computed", "printed", "verdict"),
    [
        (9.8, 9.799999999999999, None, "reproduces"),
        (208.6, 208.5928, None, "rounds"),
        (137, 137.5, None, "rounds"),  # cut off
        (64, 63.0, None, "wrong"),
        (64, 63.02, None, "rounds"),  # rounded up
        (29.6, 30.44, None, "wrong"),
        (1.4, 1.55, "1.40", "wrong"),
        (12, 3.41, None, "wrong"),
        (5, 5.33, None, "rounds"),
        (5, 48.0, None, "wrong"),
        (1000, 1250, None, "rounds"),  # an order of magnitude is what it says
        (1000, 1250, "1000.0", "wrong"),
        (0, 0.0, None, "reproduces"),
        ([2, 3], 2.5, None, "reproduces"),
        ([2, 3], 1.69, None, "rounds"),
        ([2, 3], 0.9, None, "wrong"),
        (40, [38, 43], None, "reproduces"),
        (37, [38, 43], None, "wrong"),
        ([400, 800], [400.0, 800.0], None, "reproduces"),
        ([400, 800], [400.0, 900.0], None, "wrong"),
        (None, 3.0, None, "not-checkable"),
        (3.0, None, None, "not-checkable"),
        ("Wei et al.", 3.0, None, "not-checkable"),
    ],
)
def test_numbers(claimed, computed, printed, verdict):
    assert compare_any(claimed, computed, printed) == verdict


def test_a_judgement_comes_before_a_condition_and_that_before_numbers():
    judgement = {"verdict": "wrong-attribution", "basis": "attribution", "source": "read"}
    assert decide(1, 1, holds=True, judgement=judgement)[0] == "wrong-attribution"
    assert decide(1, 1, holds=False)[0] == "wrong"
    assert decide(1, 2, holds=True)[0] == "reproduces"
    assert decide(1, 1)[0] == "reproduces"


@pytest.mark.parametrize(
    ("claimed", "computed"),
    [
        ([], 4),
        ([4], 4),
        (4, [4]),
        (4, []),
        ([1, 2], [1, 2, 3]),
        (["a", "b"], 4),
        (math.nan, 4),
        (4, [1, 2, 3]),
        (True, 1),
    ],
)
def test_what_has_no_common_shape_is_not_checkable(claimed, computed):
    assert compare_any(claimed, computed) == "not-checkable"


@pytest.mark.parametrize(
    ("claimed", "computed", "text"),
    [
        (82, 100, "18 % below the computed value; more than one unit of the last printed digit (1)"),
        (118.0, 100, "18 % above"),
        (500, 100, "5 times the computed value"),
        (3, 0, "which is 0"),
        ([1, 2], 4, "its nearer end is 50 % below"),
        (5, [1, 2], "Outside the computed range"),
        ([1, 3], [1, 2], "Its high end is 50 % above"),
    ],
)
def test_a_wrong_number_is_explained(claimed, computed, text):
    assert compare_any(claimed, computed) == "wrong"
    assert text in reason(claimed, computed)


def test_a_false_condition_is_named():
    assert "`value > 7` is false" in reason(None, 3, condition="value > 7")
