"""Each takeaway of the two documents, held by a check and tied to claims and to a test that exists."""

from pathlib import Path

import pytest

from argosy.handbook import handbook_claims, takeaways

REPOSITORY = Path(__file__).resolve().parents[2]
TAKEAWAYS = {each["id"]: each for each in takeaways()}


def test_seven_of_one_and_four_of_the_other():
    assert sum(each["document"] == "004" for each in TAKEAWAYS.values()) == 7
    assert sum(each["document"] == "000" for each in TAKEAWAYS.values()) == 4


@pytest.mark.parametrize("name", sorted(TAKEAWAYS))
def test_it_holds(name: str):
    each = TAKEAWAYS[name]
    assert each["holds"] is True, each["check"]
    known = {claim.id for claim in handbook_claims()}
    assert each["claims"]
    assert set(each["claims"]) <= known
    assert (REPOSITORY / each["test"]).is_file()
