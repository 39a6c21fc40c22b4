"""Pipeline formulas against the event simulation, and both against published bubbles."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argosy.training import Layouts, simulate
from argosy.training.pipeline import chunk_sizes, schedule_seconds, stage_classes, stage_layers


def formula(schedule, stages, micro_batches, vp=1, backward_share=2 / 3):
    """The closed form for stages given as busy seconds per micro-batch and rank (p,)."""
    layout = Layouts.one(pp=len(stages), vp=vp, grad_accumulation=micro_batches, schedule=schedule)
    slow = max(stages)
    backward = slow * backward_share
    return float(schedule_seconds(sum(stages), slow, backward, backward / 2, layout)[0])


@settings(max_examples=40, deadline=None)
@given(
    schedule=st.sampled_from(["gpipe", "1f1b", "interleaved", "zero-bubble"]),
    pp=st.integers(2, 6),
    groups=st.integers(1, 4),
    vp=st.integers(2, 4),
)
def test_formula_equals_simulation_on_even_stages(schedule, pp, groups, vp):
    vp = vp if schedule == "interleaved" else 1
    m = pp * groups if schedule != "zero-bubble" else 2 * pp * groups
    chunks = pp * vp
    run = simulate(schedule, [1 / vp] * chunks, [2 / vp] * chunks, m, vp)
    assert run.seconds == pytest.approx(formula(schedule, [3.0] * pp, m, vp), rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0.5, 2.0), min_size=2, max_size=6), st.integers(1, 4))
def test_gpipe_formula_is_exact_on_uneven_stages(stages, groups):
    m = groups * len(stages)
    run = simulate("gpipe", [s / 3 for s in stages], [2 * s / 3 for s in stages], m)
    assert run.seconds == pytest.approx(formula("gpipe", stages, m), rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0.8, 1.25), min_size=2, max_size=6), st.integers(2, 6))
def test_1f1b_formula_is_close_on_uneven_stages(stages, groups):
    m = groups * len(stages)
    run = simulate("1f1b", [s / 3 for s in stages], [2 * s / 3 for s in stages], m)
    assert run.seconds == pytest.approx(formula("1f1b", stages, m), rel=0.1)
    assert run.seconds >= m * max(stages)


def test_bubble_of_public_logs():
    # BigScience, m = 4: the non-compute share follows (p − 1)/(m + p − 1).
    for pp, share in ((4, 0.429), (8, 0.636), (16, 0.789), (32, 0.886), (64, 0.940)):
        assert simulate("1f1b", [1.0] * pp, [2.0] * pp, 4).bubble_fraction == pytest.approx(share, abs=1e-3)


def test_one_stage_has_no_bubble_and_waits_for_no_transfer():
    run = simulate("1f1b", [1.0], [2.0], 5, transfer=0.5)
    assert run.seconds == 15.0 and run.bubble_fraction == 0.0


def test_transfers_lengthen_the_ramp():
    assert simulate("1f1b", [1.0] * 4, [2.0] * 4, 1, transfer=0.1).seconds == pytest.approx(4 * 3 + 6 * 0.1)


def test_a_straggling_micro_batch_delays_the_step():
    forward = np.ones((4, 8))
    forward[2, 3] = 3.0
    assert (
        simulate("1f1b", forward, 2 * np.ones((4, 8)), 8).seconds
        > simulate("1f1b", [1.0] * 4, [2.0] * 4, 8).seconds
    )


def test_timeline_covers_all_work_without_overlap_on_a_rank():
    run = simulate("interleaved", [0.5] * 8, [1.0] * 8, 8, vp=2)
    assert sum(i.end_s - i.start_s for i in run.timeline) == pytest.approx(run.busy.sum())
    for rank in range(4):
        own = sorted((i for i in run.timeline if i.place == f"stage {rank}"), key=lambda i: i.start_s)
        assert all(a.end_s <= b.start_s + 1e-12 for a, b in pairwise(own))


def test_what_cannot_be_simulated_is_refused():
    with pytest.raises(ValueError, match="no simulated order"):
        simulate("chimera", [1.0] * 4, [2.0] * 4, 8)
    for pp, m in ((3, 8), (4, 6), (4, 9)):
        with pytest.raises(ValueError, match="even"):
            simulate("dualpipe", [1.0] * pp, [2.0] * pp, m)
    with pytest.raises(ValueError, match="two chunks"):
        simulate("zero-bubble-v", [1.0] * 4, [2.0] * 4, 8)
    with pytest.raises(ValueError, match="multiples"):
        simulate("interleaved", [1.0] * 8, [2.0] * 8, 6, vp=2)


def test_dualpipe_bubble_is_the_published_expression():
    # DeepSeek's table: (p/2 − 1)(F&B + B − 3W), F&B = F + B; F = 1, B = 2, W = 1.
    layout = Layouts.one(pp=8, grad_accumulation=20, schedule="dualpipe")
    assert schedule_seconds(24.0, 3.0, 2.0, 1.0, layout)[0] == pytest.approx(20 * 3 + 3 * (3 + 2 - 3))


def longest_span(run, ranks):
    """From its first forward to its last operation, on the rank where that takes longest."""
    spans = []
    for rank in range(ranks):
        own = [i for i in run.timeline if i.place == f"stage {rank}"]
        spans.append(max(i.end_s for i in own) - min(i.start_s for i in own))
    return max(spans)


@pytest.mark.parametrize("pp", [2, 4, 8])
@pytest.mark.parametrize("rounds", [2, 3])
def test_dualpipe_in_the_simulation_takes_what_the_formula_says(pp, rounds):
    m = 2 * pp * rounds
    run = simulate("dualpipe", [1.0] * pp, [2.0] * pp, m)
    assert run.seconds == pytest.approx(formula("dualpipe", [3.0] * pp, m), rel=1e-12)
    assert run.busy == pytest.approx(np.full(pp, 3.0 * m))


@given(st.integers(2, 8), st.integers(0, 12), st.floats(0.0, 0.3))
@settings(max_examples=40, deadline=None)
def test_zero_bubble_h2_idles_as_published(pp, more, shift):
    # Qi et al., table 1: (p − 1)(F + B − 2W) between a rank's first and last operation.
    m, weights = 2 * pp + more, 1.0 - shift
    run = simulate("zero-bubble-h2", [1.0] * pp, [2.0] * pp, m, weight_gradient=[weights] * pp)
    idle = longest_span(run, pp) - 3.0 * m
    assert idle == pytest.approx((pp - 1) * (1.0 + (2.0 - weights) - 2 * weights), abs=1e-9)


@pytest.mark.parametrize("pp", [2, 3, 4, 8])
def test_zero_bubble_v_has_none_where_all_passes_take_as_long(pp):
    m = 3 * pp
    run = simulate("zero-bubble-v", [0.5] * 2 * pp, [1.0] * 2 * pp, m, vp=2)
    assert longest_span(run, pp) == pytest.approx(3.0 * m)
    held = [0] * pp  # chunks whose weight gradients are still to come: memory of 1F1B's first rank at most
    peak = 0
    for each in sorted(run.timeline, key=lambda i: i.end_s):
        rank = int(each.place.split()[1])
        held[rank] += {"F": 1, "B": 0, "W": -1}[each.state[0]]
        peak = max(peak, *held)
    assert peak <= 2 * pp


@pytest.mark.parametrize("schedule", ["zero-bubble", "zero-bubble-h2", "zero-bubble-v", "dualpipe"])
def test_every_operation_runs_once_and_uneven_stages_only_cost(schedule):
    pp, m, vp = 4, 16, 2 if schedule == "zero-bubble-v" else 1
    even = simulate(schedule, [1.0 / vp] * pp * vp, [2.0 / vp] * pp * vp, m, vp)
    uneven = np.ones(pp * vp)
    uneven[-1] = 1.5
    slow = simulate(schedule, uneven / vp, 2 * uneven / vp, m, vp)
    assert slow.seconds > even.seconds
    assert even.busy.sum() == pytest.approx(3.0 * m * pp)
    kinds = "".join(i.state for i in even.timeline)
    assert kinds.count("F") == m * pp * vp
    assert kinds.count("B") + kinds.count("A") == m * pp * vp and kinds.count("B") == kinds.count("W")


def test_the_last_rank_sees_the_bubble_of_public_logs():
    """BigScience, micro-batches m = 4: measured share of a step that is not compute, against formula and simulation."""
    measured = {4: 0.500, 8: 0.665, 16: 0.795, 32: 0.884, 64: 0.935}
    for pp, share in measured.items():
        run = simulate("1f1b", [1.0] * pp, [2.0] * pp, 4)
        assert run.bubble_fraction == pytest.approx((pp - 1) / (4 + pp - 1), rel=1e-12)
        # The logs also hold what is exposed beside the bubble: a larger part where the bubble is small.
        assert -0.01 < share - run.bubble_fraction < 0.075
        last = [i for i in run.timeline if i.place == f"stage {pp - 1}"]
        waits = run.seconds - sum(i.end_s - i.start_s for i in last)
        assert waits / run.seconds == pytest.approx(run.bubble_fraction)


def test_layers_that_do_not_divide_go_to_the_middle():
    assert chunk_sizes(126, 16).tolist() == [7, *[8] * 14, 7]  # Llama 3 405B
    assert chunk_sizes(126, 128).tolist() == [0, *[1] * 126, 0]
    assert chunk_sizes(5, 1).tolist() == [5]


@given(st.integers(1, 60), st.integers(1, 8), st.integers(1, 4), st.integers(0, 5))
def test_every_layer_is_on_exactly_one_rank(layers, pp, vp, dense):
    kinds = tuple("dense" if i < dense else "moe" for i in range(layers))
    counts = stage_layers(kinds, pp, vp)
    assert counts.sum(axis=0).tolist() == [kinds.count(kind) for kind in sorted(set(kinds))]


def test_classes_regroup_the_ranks():
    kinds = ("dense",) * 3 + ("moe",) * 58
    classes = stage_classes(kinds, Layouts.one(pp=[1, 16], vp=1))
    assert (classes.ranks.sum(axis=1) == [1, 16]).all()
    assert ((classes.layers * classes.ranks[..., None]).sum(axis=1) == [3, 58]).all()
    assert (classes.first.sum(axis=1) == 1).all() and (classes.last.sum(axis=1) == 1).all()


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
def test_a_way_for_every_cut(schedule):
    """Ways all alike are the one way; and where all stages but one neighbour are next door, only that cut's way counts."""
    forward, backward = [1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0]
    one = simulate(schedule, forward, backward, 6, transfer=0.5).seconds
    assert simulate(schedule, forward, backward, 6, transfer=[0.5, 0.5, 0.5]).seconds == one
    far = [simulate(schedule, forward, backward, 6, transfer=hops).seconds for hops in ([5, 0, 0], [0, 5, 0])]
    none = simulate(schedule, forward, backward, 6).seconds
    if schedule == "gpipe":
        assert far == [none + 10, none + 10]  # the way there and the way back, wherever the cut is
    else:
        assert far[0] > none + 10  # the fewer a stage holds, the more it waits for each answer


def test_as_many_ways_as_cuts():
    with pytest.raises(ValueError, match="broadcast"):
        simulate("gpipe", [1.0] * 4, [2.0] * 4, 6, transfer=[0.5, 0.5])
