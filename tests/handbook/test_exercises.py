"""Exercises: exact answers, own numbers, random variants."""

import re
from pathlib import Path

import pytest

from argosy.facts import FactError
from argosy.handbook import exercise_ids, solve, variant
from argosy.handbook.exercises import amount


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
        ({"MFU": 0}, "cannot be computed"),
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
