"""All claims of both documents: verdicts and values, and the reference's where it is at hand."""

import collections
import json
import math
from pathlib import Path
from typing import Any

import pytest

from argosy.handbook import data
from argosy.handbook.claims import check, checked_handbook, counts, handbook_claims, judgement_problem
from argosy.handbook.compile import text
from argosy.handbook.formula import laws_used

SNAPSHOT = json.loads((Path(__file__).parent / "claims_snapshot.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def checked() -> dict[str, Any]:
    return {each.claim.id: each for each in checked_handbook()}


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, list):
        return isinstance(ours, list) and all(map(same, ours, theirs))
    if ours is None or theirs is None:
        return ours is theirs
    return math.isclose(ours, theirs, rel_tol=1e-6, abs_tol=1e-9)


def test_the_compiled_data_is_fresh():
    assert data.COMPILED.read_text(encoding="utf-8") == text(), "run: python -m argosy.handbook.compile"


def test_every_claim_of_both_documents_is_there(checked):
    assert len(checked) == len(handbook_claims()) == 227


def test_every_verdict_and_value_is_that_of_the_snapshot(checked):
    """As they agreed with an independent recomputation: a changed law, fact or rule shows here."""
    assert checked.keys() == SNAPSHOT.keys()
    wrong = {
        name: (each.verdict, each.computed_value, SNAPSHOT[name])
        for name, each in checked.items()
        if each.verdict != SNAPSHOT[name]["verdict"] or not same(each.computed_value, SNAPSHOT[name]["value"])
    }
    assert not wrong


def test_every_formula_can_be_computed(checked):
    assert not {name: each.problem for name, each in checked.items() if each.problem}


def test_verdicts_are_counted(checked):
    assert counts(checked.values()) == {
        "reproduces": 97,
        "rounds": 50,
        "wrong": 17,
        "wrong-attribution": 14,
        "inconsistent-with-other-claim": 23,
        "not-checkable": 26,
    }


def test_against_the_reference(shared_directory: Path, checked):
    from ruamel.yaml import YAML

    path = shared_directory / "spec" / "claims.yaml"
    reference = {each["id"]: each for each in YAML(typ="safe").load(path.read_text(encoding="utf-8"))}
    assert checked.keys() == reference.keys()
    for name, theirs in reference.items():
        ours = checked[name]
        assert ours.verdict == theirs["verdict"], name
        assert same(ours.computed_value, theirs["recomputed_value"]), name
        correct = theirs.get("correct_value")
        if isinstance(correct, int | float):
            assert same(float(ours.correct_value), correct), name
        if isinstance(theirs["claimed_value"], int | float) and not isinstance(ours.claim.claimed_value, str):
            assert ours.claim.claimed_value == theirs["claimed_value"], name


def test_a_judgement_has_a_basis_and_a_source_and_never_overrules_numbers():
    for claim in handbook_claims():
        if claim.judgement is None:
            continue
        assert not judgement_problem(claim.judgement), claim.id
        if claim.judgement["verdict"] in ("reproduces", "wrong"):
            assert not isinstance(claim.claimed_value, int | float), claim.id
        if claim.judgement["basis"] == "contradiction":
            assert claim.judgement["contradicts"] in SNAPSHOT, claim.id


def test_most_numbers_come_from_laws_or_facts():
    numeric = [claim for claim in handbook_claims() if claim.formula]
    by_law = [claim for claim in numeric if laws_used(claim.formula) or "fact(" in claim.formula]
    assert len(by_law) > 0.6 * len(numeric)


def test_what_does_not_stand_has_reason_temptation_and_where_it_can_the_right_value(checked):
    for name, each in checked.items():
        assert each.claim.explanation, name
        if each.verdict in ("wrong", "wrong-attribution", "inconsistent-with-other-claim"):
            assert each.claim.tempting, name
        if each.verdict == "wrong" and each.claim.claimed_value is not None:
            assert each.correct_value is not None, name
            assert each.correct_value != each.claim.claimed_value, name


def test_payload_is_the_contracts(checked):
    keys = {
        "id",
        "seed",
        "statement",
        "formula",
        "inputs",
        "claimed_value",
        "unit",
        "computed_value",
        "verdict",
        "correct_value",
        "explanation",
        "source",
    }
    for each in checked.values():
        assert keys <= each.to_dict().keys()
    json.dumps([each.to_dict() for each in checked.values()], allow_nan=False)


def test_a_changed_number_changes_the_verdict():
    """The check is not a look-up: move an input or a claimed value, and the verdict follows."""
    import dataclasses

    ridge = next(claim for claim in handbook_claims() if claim.id == "s004-ridge-h100")
    assert check(ridge).verdict == "rounds"
    assert check(dataclasses.replace(ridge, claimed_value=296.2)).verdict == "wrong"
    faster = dataclasses.replace(ridge, inputs={"R": 989e12, "BW": 4.8e12})
    assert check(faster).verdict == "wrong"
    assert check(faster).correct_value == pytest.approx(989 / 4.8)


def test_ids_are_unique_and_documents_known():
    ids = collections.Counter(claim.id for claim in handbook_claims())
    assert max(ids.values()) == 1
    assert {claim.seed for claim in handbook_claims()} == {"000", "004"}
