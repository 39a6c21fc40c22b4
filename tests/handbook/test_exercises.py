"""Exercises: exact answers, own numbers, random variants."""

import re
from pathlib import Path

import pytest

from argosy.facts import FactError
from argosy.handbook import data, exercise_ids, solve, variant
from argosy.handbook.exercises import amount
from argosy.handbook.givens import own_number


def test_there_are_three_questions_and_sixteen_worked_examples():
    assert exercise_ids() == [
        "1",
        "2",
        "3",
        *(f"W{n}" for n in range(1, 7)),
        *(f"F{n}" for n in range(1, 11)),
    ]


@pytest.mark.parametrize(
    ("number", "answer"),
    [
        ("1", 6 * 70e9 * 1e12 / (512 * 989e12 * 0.45) / 86400),
        ("2", 8 * 0.38 / 0.45),
        ("3", 10_000 * 1.1 * 1.25 * 8760),
        ("W3", 2e6 / (3600 * 0.4 * 989e12 / (6 * 405e9))),
    ],
)
def test_answers_worked_by_hand(number: str, answer: float):
    assert solve(number).answer["value"] == pytest.approx(answer, rel=1e-12)


def numbers_of(exercise: str) -> list[float]:
    solved = solve(exercise)
    found: list[float] = []

    def collect(value):
        if isinstance(value, list):
            for each in value:
                collect(each)
        elif isinstance(value, int | float):
            found.append(float(value))

    collect([step["value"] for step in solved.steps])
    collect(solved.grid["rows"] if solved.grid else [])
    return found


def reference_numbers(text: str) -> dict[str, list[float]]:
    """Per section of the reference, the numbers of its "exact value" column, or of all columns of a grid."""
    sections: dict[str, list[float]] = {}
    name, exact_only = "", True
    for line in text.splitlines():
        if heading := re.match(r"### (\w+)", line):
            name = heading[1]
            sections[name] = []
        elif line.startswith("|") and name:
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if cells[0] in ("quantity", "GPUs", "params"):
                exact_only = cells[0] == "quantity"
            elif not set(cells[0]) <= {"-"}:
                kept = cells[1:2] if exact_only else cells[1:]
                sections[name] += [
                    float(each) for cell in kept for each in re.findall(r"-?\d[\d.]*(?:e[+-]?\d+)?", cell)
                ]
    return sections


def test_against_the_reference(shared_directory: Path):
    text = (shared_directory / "spec" / "exercises.md").read_text(encoding="utf-8")
    sections = reference_numbers(text)
    assert len(sections) == 19
    for name, expected in sections.items():
        ours = numbers_of(name.removeprefix("E"))
        scaled = ours + [value / 100 for value in ours] + [value * 100 for value in ours]
        missing = [
            value for value in expected if not any(value == pytest.approx(each, rel=1e-9) for each in scaled)
        ]
        assert not missing, (name, missing)


def test_own_numbers_take_the_books_place():
    solved = solve("1", {"n": 1024, "A": "2.25 PFLOP/s", "MFU": "0.4"})
    assert solved.answer["value"] == pytest.approx(6 * 70e9 * 1e12 / (1024 * 2.25e15 * 0.4) / 86400)
    assert solved.changed == ("n", "A", "MFU")
    assert "1,024 accelerators" in solved.question
    assert all(step["printed"] is None for step in solved.steps)
    assert any(step["printed"] for step in solve("1").steps)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"x": 1}, "no given 'x'"),
        ({"A": "989 GB"}, "A:"),
        ({"n": "many"}, "n:"),
        ({"MFU": 0}, "above 0"),
    ],
)
def test_bad_numbers(settings, message):
    with pytest.raises(FactError, match=message):
        solve("1", settings)


def test_unknown_exercise():
    with pytest.raises(FactError, match="W1"):
        solve("17")


@pytest.mark.parametrize("number", exercise_ids())
def test_variants_are_random_repeatable_and_right(number: str):
    first, again = variant(number, 5), variant(number, 5)
    assert first.to_dict() == again.to_dict()
    values = {name: given["value"] for name, given in first.givens.items()}
    assert solve(number, values).answer == {
        **first.answer,
        "printed": solve(number, values).answer["printed"],
    }


def test_variants_differ():
    answers = {variant("1", seed).answer["value"] for seed in range(8)}
    assert len(answers) > 4


def test_a_variant_is_worked_again_by_hand():
    given = {name: each["value"] for name, each in variant("1", 11).givens.items()}
    by_hand = 6 * given["N"] * given["D"] / (given["n"] * given["A"] * given["MFU"]) / 86400
    assert variant("1", 11).answer["value"] == pytest.approx(by_hand)


def test_amounts():
    assert amount(989e12, "FLOP/s") == "989 TFLOP/s"
    assert amount(0.45, "") == "45 %"
    assert amount(5e-6, "s") == "5 µs"
    assert amount(70e9, "parameters") == "70B parameters"
    assert amount(16384, "GPUs") == "16,384 GPUs"


@pytest.mark.parametrize(
    ("exercise", "name", "text", "value"),
    [
        ("1", "MFU", "45%", 0.45),
        ("1", "MFU", "45 %", 0.45),
        ("1", "N", "405B", 405e9),
        ("1", "N", "405B parameters", 405e9),
        ("1", "D", "15.6T", 15.6e12),
        ("1", "n", "1,024", 1024),
        ("1", "n", "1,024 GPUs", 1024),
        ("1", "price", "2.5 USD/GPU-h", 2.5),
        ("2", "n2", "8k", 8000),
        ("W2", "bill", "30.84M", 30.84e6),
        ("3", "P", "1.1 kW", 1100),
        ("F2", "b", "14 B/parameter", 14),
        ("F5", "a", "5 µs", 5e-6),
        ("F7", "ratio", "2.5x", 2.5),
        ("F10", "lam", "1,000 1/s", 1000),
    ],
)
def test_numbers_are_read_as_pages_write_them(exercise, name, text, value):
    assert solve(exercise, {name: text}).givens[name]["value"] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("exercise", exercise_ids())
def test_what_the_page_shows_of_a_given_can_be_set(exercise: str):
    for name, given in solve(exercise).givens.items():
        text = amount(given["value"], given["unit"])
        again = solve(exercise, {name: text}).givens[name]["value"]
        assert again == pytest.approx(given["value"], rel=1e-3), (name, text)


@pytest.mark.parametrize(
    ("exercise", "name", "text", "message"),
    [
        ("1", "MFU", "1.2", "MFU: 1.2 must be above 0 and at most 1"),
        ("1", "MFU", "-0.1", "above 0"),
        ("1", "n", "0", "at least 1"),
        ("1", "n", "1.5", "whole number"),
        ("1", "n", "50%", "share"),
        ("1", "A", "50%", "share"),
        ("F3", "N", "1e6", "more than the embedding"),
        ("F7", "n2", "1e300", "at most"),
        ("1", "price", "-2", "price"),
        ("1", "N", "nan", "finite"),
        ("1", "N", "inf", "finite"),
        ("1", "A", "1e400", "finite"),
        ("3", "PUE", "0.5", "at least 1"),
        ("W5", "k", "63", "multiple of 2"),
        ("W5", "k", "2", "at least 4"),
    ],
)
def test_numbers_outside_their_bounds_get_one_line(exercise, name, text, message):
    with pytest.raises(FactError) as caught:
        solve(exercise, {name: text})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_given_of_the_books_has_a_bound_and_keeps_it():
    entries = [entry["givens"] for entry in data.load("exercises")]
    entries += [entry["inputs"] for entry in data.load("guide")["questions"]]
    for givens in entries:
        for name, given in givens.items():
            assert {"min", "above"} & given.keys(), name
            assert own_number(given["value"], given, name) == given["value"]


def test_tiers_follow_the_number_of_hosts():
    """A tree of h tiers of k ports reaches 2 (k/2)^h hosts: 64, 2,048, 65,536 of 64 ports."""
    for cards, tiers in ((64, 1), (65, 2), (2048, 2), (2049, 3), (65536, 3), (65537, 4)):
        values = {step["id"]: step["value"] for step in solve("W5", {"N": cards}).steps}
        assert values["tree_tiers"] == tiers
        assert values["tree_links"] == cards * tiers
