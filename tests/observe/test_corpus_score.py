"""The floor under docs/diagnosis-accuracy.md: no wrong blame on healthy runs, recall of 0.9 at the stated effect sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from argosy.observe.corpus import KINDS, cases
from argosy.observe.corpus.__main__ import score_paths, scored
from argosy.observe.corpus.real import real_cases
from argosy.observe.corpus.score import Outcome, row

RECALL = 0.9
HEALTHY = ("healthy", "table-healthy", "healthy-run")
# The quick suite's corpus: the strongest of every kind in a family that was tuned on; of one set aside a few of each sort.
ASIDE = ["healthy", "healthy-run", "table-healthy", "slow-gpu", "table-slow-gpu", "hang-missing"]
QUICK = [
    case
    for case in (*cases(["megatron-3d"]), *cases(["interleaved-amd"], ASIDE))
    if case.strength == case.kind.strengths[-1]
]


def told(outcomes: list[Outcome]) -> str:
    """The cases that are not right, for the message of a failure."""
    return "; ".join(
        f"{each.truth.family}/{each.truth.kind}-{each.truth.strength:g}: {each.found} of {each.expected}, wrong {each.wrong}"
        for each in outcomes
        if each.wrong or each.found < each.expected
    )


def held(outcomes: list[Outcome]) -> None:
    healthy = [each for each in outcomes if each.truth.kind in HEALTHY]
    assert healthy
    assert not any(each.wrong for each in healthy), told(healthy)
    sums = row("all", outcomes)
    assert sums.recalled is not None and sums.recalled >= RECALL, f"{sums.recalled:.2f}: {told(outcomes)}"


def test_a_small_corpus() -> None:
    outcomes = list(scored(QUICK))
    assert {each.truth.kind for each in outcomes} == set(KINDS)
    held(outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("aside", [False, True])
def test_the_whole_corpus(aside: bool) -> None:
    held(list(scored(case for case in cases() if case.family.set_aside == aside)))


def test_real_cases(shared_directory: Path) -> None:
    given = real_cases(shared_directory / "samples")
    assert len(given) >= 6
    outcomes = [score_paths(truth, paths) for truth, paths in given]
    assert not any(each.wrong for each in outcomes), told(outcomes)
    assert all(each.found == each.expected for each in outcomes if each.truth.stated), told(outcomes)
