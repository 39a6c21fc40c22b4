"""Real files beside the checkout: what is known of them must come out. Skipped, visibly, where they are absent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from argosy.observe.diagnosis import Diagnosis, diagnose

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
pytestmark = pytest.mark.skipif(
    not SAMPLES.is_dir(), reason=f"the real samples are not beside the checkout ({SAMPLES})"
)


def blamed(found: Diagnosis) -> list[tuple[str, int | None]]:
    return [(each.id, each.culprit.rank) for each in found.findings if not each.culprit.nobody]


def test_eight_ranks_wait_for_rank_seven_and_nobody_is_blamed_by_sends() -> None:
    found = diagnose(sorted((SAMPLES / "kineto").glob("param_dlrm8_*")))
    answer = found.to_dict()
    # 96.5 % of all NCCL rank-time is waiting; rank 7 is last in 5 of 8, of which only one is barrier-like.
    assert answer["alignment"]["waiting_share_all"] == pytest.approx(0.965, abs=0.001)
    assert answer["alignment"]["barrier_like"] == 3
    rows = {row["rank"]: row for row in answer["ranks"]}
    assert max(rows, key=lambda rank: rows[rank]["last_in_all"]) == 7 and rows[7]["last_in_all"] == 5
    assert rows[7]["last_in"] == 1 and blamed(found) == []
    assert any("rank 7 came last in 5 of 8" in note for note in answer["notes"])
    assert found.observed.alignment is not None
    spent = [float(trace.communication_s.sum()) for trace in found.observed.alignment.traces]
    assert (
        spent.index(min(spent)) == 7
    )  # who is waited for has the least communication: to rank by it blames the victims


def test_the_published_what_if_of_the_operation_table() -> None:
    found = diagnose([SAMPLES / "straggler" / "trace-ST.parquet"])
    published = json.loads((SAMPLES / "straggler" / "result-ST.json").read_text())
    what_if = found.to_dict()["what_if"][0]
    assert what_if["slowdown"] == pytest.approx(published["blocking_slowdown"], abs=0.001)
    for stage, slowdown in published["blocking_decompose_by_stage"].items():
        assert what_if["by_stage"][stage] == pytest.approx(slowdown, abs=0.001)
    for name, slowdown in published["blocking_decompose_by_optype"].items():
        if name in what_if["by_operation"]:
            assert what_if["by_operation"][name] == pytest.approx(slowdown, abs=0.001)
    assert [(each.id, each.culprit.stage) for each in found.findings if not each.culprit.nobody] == [
        ("uneven-stage", 3)
    ]


def test_the_bubble_booked_as_embedding_all_reduce() -> None:
    found = diagnose([next((SAMPLES / "trainlog").glob("bigscience_meg_gpt2_base_n64*"))])
    by_id = {each.id: each for each in found.findings}
    assert {"bubble", "timer-misattribution"} <= set(by_id)
    bound = by_id["bubble"].bound
    assert (
        bound is not None
        and bound.value == pytest.approx(63 / 67)
        and bound.observed == pytest.approx(0.935, abs=0.005)
    )
    lying = by_id["timer-misattribution"]
    assert "embedding-all-reduce" in lying.title and lying.bound is not None
    assert lying.bound.observed == pytest.approx(4.55, abs=0.1) and lying.bound.value < 0.1
    assert blamed(found) == []


def test_two_ranks_of_eight_never_came() -> None:
    found = diagnose([SAMPLES / "nccldebug" / "torch_watchdog_hang_8rank_2v6_split.log"])
    assert blamed(found) == [("hang-missing-rank", 0), ("hang-missing-rank", 4)]
    assert all(each.severity == "critical" and each.evidence[0].line for each in found.findings)


def test_a_socket_fallback_is_told_and_infiniband_is_not() -> None:
    found = diagnose([SAMPLES / "nccldebug" / "nccl_info_socket_fallback_4ranks.log"])
    assert [each.id for each in found.findings] == ["socket-fallback"]
    assert diagnose([SAMPLES / "nccldebug" / "nccl_info_h_16ranks_ib_gdrdma.log"]).findings == ()


def test_an_xid_is_told_with_its_gpu() -> None:
    found = diagnose([SAMPLES / "xid"])
    assert [each.id for each in found.findings] == ["hardware-fault"]
    assert "Xid 119" in found.findings[0].title and "0000:9b:00" in str(found.findings[0].culprit)


def test_benchmarks_in_old_and_tagged_forms_are_read_and_not_blamed() -> None:
    found = diagnose([SAMPLES / "nccltests"])
    assert all(each.status in ("read", "partial") for each in found.observed.inputs)
    assert blamed(found) == []


def test_everything_at_once_closes() -> None:
    found = diagnose([SAMPLES / name for name in ("xid", "nccldebug", "sacct", "trainlog", "dcgm")])
    answer = found.to_dict()
    json.dumps(answer, allow_nan=False)
    assert {"hardware-fault", "hang-missing-rank", "socket-fallback", "bubble"} <= {
        each["id"] for each in answer["findings"]
    }
    assert answer["findings"][0]["severity"] == "critical"
