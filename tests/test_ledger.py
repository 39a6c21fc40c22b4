"""The ledger: sums close, views are the same tree, a diff finds every line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argosy.ledger import Interval, Ledger, LedgerError, diff, observation, run

amounts = st.floats(min_value=0, max_value=1e15, allow_nan=False)


@st.composite
def trees(draw: st.DrawFn, depth: int = 3) -> Ledger:
    if depth == 0 or draw(st.booleans()):
        return Ledger(draw(st.text("abc", min_size=1, max_size=3)), draw(amounts))
    children = tuple(draw(trees(depth=depth - 1)) for _ in range(draw(st.integers(1, 4))))
    return Ledger.parent(draw(st.text("abc", min_size=1, max_size=3)), children)


def test_children_that_do_not_sum_are_refused():
    with pytest.raises(LedgerError, match="children sum to 3"):
        Ledger("run", 4.0, children=(Ledger("useful", 1.0), Ledger("lost", 2.0)))


def test_children_in_another_unit_are_refused():
    with pytest.raises(LedgerError, match="usd"):
        Ledger("run", 1.0, "gpu_s", children=(Ledger("useful", 1.0, "usd"),))


@given(trees(), st.floats(min_value=1e-6, max_value=1e6))
def test_a_view_keeps_the_shape_and_the_sums(tree: Ledger, factor: float):
    view = tree.scaled(factor, "usd")
    assert [path for path, _ in view.walk()] == [path for path, _ in tree.walk()]
    for (_, before), (_, after) in zip(tree.walk(), view.walk(), strict=True):
        assert after.amount == pytest.approx(before.amount * factor)


@given(trees())
def test_json_round_trip(tree: Ledger):
    assert Ledger.from_dict(json.loads(json.dumps(tree.to_dict()))) == tree


def test_diff_has_lines_of_both_sides():
    a = Ledger.parent("run", (Ledger("useful", 10.0), Ledger("rework", 2.0)))
    b = Ledger.parent("run", (Ledger("useful", 10.0), Ledger("maintenance", 1.0)))
    changes = {change.path: change.delta for change in diff(a, b)}
    assert changes == {"run": -1.0, "run/useful": 0.0, "run/rework": -2.0, "run/maintenance": 1.0}


def test_diff_refuses_two_units():
    with pytest.raises(ValueError, match="scaled"):
        diff(Ledger("run", 1.0), Ledger("run", 1.0, "usd"))


def test_a_run_and_an_observation_have_one_shape():
    timeline = (Interval(0.0, 1.0, "compute", "rank 0"),)
    tree = Ledger("run", 1.0)
    simulated, measured = run(timeline, tree), observation(timeline, tree)
    assert (simulated.kind, measured.kind) == ("run", "observation")
    assert (simulated.timeline, simulated.ledger) == (measured.timeline, measured.ledger)
