"""Clocks, groups, waiting and replay of hand-made ranks, against what was put in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_traces import MS, even, traces

from argosy.observe.align import KINETO_BASE_S, align
from argosy.observe.lateness import lateness, robust_z
from argosy.observe.replay import chains
from argosy.observe.stages import stages


def test_offsets_of_clocks_come_back_and_leave_small_residuals() -> None:
    offsets = [0, 3 * MS, -7 * MS, 500_000, 0, 0]
    found = align(traces(6, 5, even, offset_ns=offsets))
    assert found is not None
    assert found.offset_ns - np.median(found.offset_ns) == pytest.approx(
        np.array(offsets) - np.median(offsets), abs=2
    )
    assert np.nanmax(found.residual_ns) < 2


def test_ranks_a_base_time_of_kineto_apart_are_aligned_and_told() -> None:
    step = KINETO_BASE_S * 10**9
    found = align(traces(4, 4, even, offset_ns=[0, 0, step, 0]))
    assert found is not None and any("base time of Kineto" in note for note in found.notes)
    assert found.offset_ns[2] == pytest.approx(step, abs=10)
    assert found.matched.wait_ns().max() < 5 * MS


def test_waiting_and_transfer_are_split_at_the_last_arrival() -> None:
    found = align(traces(4, 3, lambda rank, step, k: 30.0 if rank == 2 else 20.0, transfer_ms=2.0))
    assert found is not None
    wait = found.matched.wait_ns()
    late = found.matched.who == 2
    assert wait[~late] == pytest.approx(10 * MS, rel=1e-6) and wait[late] == pytest.approx(0.0, abs=10)
    took = found.matched.end_ns - found.matched.start_ns
    assert (took - wait) == pytest.approx(2 * MS, rel=1e-6)


def test_two_unnamed_groups_are_told_apart_by_their_ends() -> None:
    rng = np.random.default_rng(4)
    jitter = rng.uniform(18.0, 30.0, (2, 20, 4))
    a = traces(3, 20, lambda rank, step, k: jitter[0, step, k])
    b = traces(3, 20, lambda rank, step, k: jitter[1, step, k])
    b = [replace(trace, path=f"rank{3 + i}.json") for i, trace in enumerate(b)]
    found = align(a + b)
    assert found is not None
    assert sorted(found.groups.values()) == [(0, 1, 2), (3, 4, 5)]
    assert len(set(found.part.tolist())) == 2


def test_missing_ranks_are_told() -> None:
    found = align(traces(4, 2, even, metadata=True, group="0")[:3])
    assert found is not None and found.missing == (3,) and any("1 of 4 ranks" in note for note in found.notes)


def test_sends_and_receives_set_no_clock_and_blame_nobody() -> None:
    made = traces(4, 3, lambda rank, step, k: 30.0 if rank == 1 else 20.0)
    made = [
        replace(t, collectives=replace(t.collectives, operation=np.ones_like(t.collectives.operation)))
        for t in made
    ]
    found = align(made)
    assert found is not None and not found.matched.barrier.any()
    late = lateness(found)
    assert late is not None and late.last_in.sum() == 0 and late.last_in_all[1] == 12


def test_own_time_tells_the_late_rank_from_the_waiting_ones() -> None:
    found = align(traces(8, 6, lambda rank, step, k: even(rank, step, k) * (1.2 if rank == 5 else 1.0)))
    assert found is not None
    late = lateness(found)
    assert late is not None and int(np.argmax(late.z)) == 5 and late.z[5] > 10
    assert np.delete(late.z, 5).max() < 3.5
    assert late.typical_excess_s[5] == pytest.approx(0.2 * 0.1, rel=0.1)


def test_robust_z_of_equal_values_is_nothing_and_of_an_outlier_by_hand() -> None:
    assert robust_z(np.ones(5)).tolist() == [0.0] * 5
    values = np.array([1.0, 2.0, 3.0, 4.0, 100.0])
    assert robust_z(values)[-1] == pytest.approx(0.6745 * 97.0 / 1.0)


def test_replay_gives_back_the_steps_and_the_saving_that_was_put_in() -> None:
    found = align(traces(4, 10, lambda rank, step, k: 30.0 if rank == 1 else 20.0, transfer_ms=2.0))
    assert found is not None
    graph = chains(found)
    measured = graph.finish_ns(np.ones(4))
    # The chain begins at the first collective, before which all ranks worked alike.
    assert measured == pytest.approx(float(found.matched.end_ns.max()), rel=1e-9)
    assert graph.saved_s({1: 20.0 / 30.0}) == pytest.approx(39 * 10e-3 / 10, rel=1e-6)
    assert graph.saved_s({0: 0.5}) == pytest.approx(
        0.0, abs=1e-12
    )  # who is waited for by nobody saves nothing


def test_no_traces_no_alignment() -> None:
    assert align([]) is None


def test_stages_stand_in_the_order_of_their_pipeline_group() -> None:
    made = traces(4, 2, even, metadata=True, group="0")
    out = []
    for rank, trace in enumerate(made):
        line = (0, 2) if rank in (0, 2) else (1, 3)
        each = trace.collectives
        each = replace(each, groups=("0", "7"), operation=np.append(each.operation, 1), group=np.append(each.group, 1),
                       **{name: np.append(getattr(each, name), getattr(each, name)[-1])
                          for name in ("sequence", "start_ns", "end_ns", "bytes", "exposed_ns", "step", "event")})  # fmt: skip
        out.append(replace(trace, collectives=each, groups={"0": (0, 1, 2, 3), "7": line}))
    found = align(out)
    assert found is not None and stages(found) == [0, 0, 1, 1]


@pytest.mark.slow
def test_a_pipelined_job_without_metadata_is_put_together(tmp_path: Path) -> None:
    from argosy.observe.corpus import KINDS, Case, write_case
    from argosy.observe.corpus.families import FAMILIES
    from argosy.observe.gather import gather
    from argosy.observe.observed import Observed

    family = FAMILIES["pipeline-2022"]
    write_case(Case(family, KINDS["healthy"], 1.0), tmp_path)
    observed = Observed(tuple(gather([tmp_path / "files"])))
    replicas = family.work.dp
    assert observed.stages == [rank // replicas for rank in range(family.work.gpus)]
    assert observed.alignment is not None
    found = set(observed.alignment.groups.values())
    wanted = {tuple(range(stage * replicas, (stage + 1) * replicas)) for stage in range(family.work.pp)}
    assert wanted <= found and tuple(range(family.work.gpus)) in found


def test_traces_of_other_jobs_are_left_out_and_told() -> None:
    job = [replace(trace, device="NVIDIA H100 80GB HBM3") for trace in traces(8, 4, even, metadata=True)]
    other = [
        replace(trace, path=f"other{i}.json") for i, trace in enumerate(traces(2, 4, even, metadata=True))
    ]
    lone = replace(
        job[0],
        path="amd.json",
        device="AMD Instinct MI300X",
        position=replace(job[0].position, world=None, rank=None),
    )
    found = align([*other, *job, lone])
    assert found is not None and found.ranks == tuple(range(8))
    assert all(trace.path.startswith("rank") for trace in found.traces)
    assert set(found.others) == {"other0.json", "other1.json", "amd.json"}
    assert any("3 traces of other jobs left out" in note for note in found.notes)


def test_of_several_windows_the_one_that_most_ranks_recorded_counts() -> None:
    job = traces(4, 3, even, metadata=True)
    early = [
        replace(
            trace,
            path=f"early{trace.path}",
            step_number=np.arange(30),
            step_start_ns=np.arange(30) * 10**6,
            step_end_ns=(1 + np.arange(30)) * 10**6,
        )
        for trace in job[1:2]
    ]  # longer, but of one rank alone
    found = align([*early, *job])
    assert found is not None and [trace.path for trace in found.traces] == [trace.path for trace in job]
    assert any("rank 1 has several traces" in note for note in found.notes)


def test_an_exchange_of_all_ranks_is_no_pipeline() -> None:
    """Embeddings' all-to-all of an older profiler: sends and receives that end on all ranks together."""
    job = []
    for trace in traces(4, 6, even):
        each = trace.collectives
        job.append(replace(trace, collectives=replace(each, operation=each.event % 2)))
    found = align(job)
    assert found is not None and stages(found) == [None] * 4
