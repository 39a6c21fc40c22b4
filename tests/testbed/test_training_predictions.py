"""The training experiment without torch or root: sizes, samples, predictions against oracles, logs, verdicts, the page."""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from argosy.observe.readers import training_log
from argosy.report.testbed.pages import write_page
from argosy.testbed.comparison import answer
from argosy.testbed.fabrics import fabric
from argosy.testbed.predict import Baseline
from argosy.testbed.training import beside, cases, data, diagnosed, predict
from argosy.testbed.training.recorded import write_log
from argosy.testbed.training.shape import Pace, Shape

ALL = Baseline(1.0, 0.0)
TRACES = Path(__file__).parents[1] / "observe" / "processor_traces"


def exchanges(ranks: int = 4) -> predict.Exchanges:
    return predict.Exchanges(fabric("flat", 1 << 20), ranks, ALL)


def test_parameters_of_a_layer_are_those_of_its_matrices() -> None:
    shape, h = Shape(hidden=8, heads=2, vocab=10, context=5), 8
    matrices = [(h, 3 * h), (h, h), (h, 4 * h), (4 * h, h)]
    biases = [3 * h, h, 4 * h, h]
    assert shape.parameters(1) == sum(a * b for a, b in matrices) + sum(biases) + 2 * 2 * h
    assert shape.parameters(0) == (10 + 5) * h
    assert shape.gradient_bytes(1) == 4 * shape.parameters(1)


def test_a_sample_depends_on_its_number_alone() -> None:
    first = data.batch([7, 3], 12, 64, seed=5)
    assert (first[1] == data.sample(3, 13, 64, seed=5)).all()
    assert (data.batch([3], 12, 64, seed=5)[0] == first[1]).all()
    assert (data.sample(3, 13, 64, seed=6) != first[1]).any()
    rule = (3 * first[:, :-1] + 1) % 64 == first[:, 1:]
    assert 0.7 < rule.mean() < 1


@pytest.mark.parametrize("ranks", [1, 3, 4, 7])
def test_every_sample_is_used_once_by_any_number_of_ranks(ranks: int) -> None:
    numbers = [*data.numbers_of_step(0, 10), *data.numbers_of_step(1, 10)]
    assert numbers == list(range(20))
    parts = [data.share(numbers, rank, ranks) for rank in range(ranks)]
    assert sorted(each for part in parts for each in part) == numbers
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_an_all_reduce_takes_what_its_ring_carries() -> None:
    """Four ranks at 100 Mb/s: 1.5 times the message, half of it scattered, half gathered."""
    size = 4_000_000
    assert exchanges().all_reduce(size) == pytest.approx(1.5 * size / 12.5e6)
    assert exchanges().reduce_scatter(size) == pytest.approx(0.75 * size / 12.5e6)
    assert exchanges().all_gather(size) == pytest.approx(0.75 * size / 12.5e6)
    assert exchanges().message(size) == pytest.approx(size / 12.5e6)


def played(case: dict[str, Any], down: list[float], up: list[float], blocks: list[list[int]]) -> float:
    """A step of an overlapped case event by event: backward, buckets over one link, then gathers and the next forward."""
    pace, now, link = Pace.of(case["pace"]), 0.0, 0.0
    for run, seconds in zip(blocks, down, strict=True):
        now += sum(pace.backward_s[number] for number in run)
        link = max(link, now) + seconds
    now = link = max(now, link)
    arrived = []
    for seconds in up:
        link += seconds
        arrived.append(link)
    for at, run in enumerate(blocks[::-1]):
        if arrived:
            now = max(now, arrived[at])
        now += sum(pace.forward_s[number] for number in run)
    return now


@pytest.mark.parametrize("form", ["all-reduce", "sharded"])
@pytest.mark.parametrize("forward_s", [0.001, 0.008, 0.025, 0.2])
@pytest.mark.parametrize("per_bucket", [1, 3, 10])
def test_overlap_by_the_law_is_overlap_event_by_event(form: str, forward_s: float, per_bucket: int) -> None:
    case = cases.data_parallel(form, True, 4, forward_s=forward_s, blocks=per_bucket)
    shape = Shape(**case["shape"])
    last_first = list(range(shape.blocks))[::-1]
    blocks = [last_first[at : at + per_bucket][::-1] for at in range(0, shape.blocks, per_bucket)]
    sizes = [sum(shape.gradient_bytes(number) for number in run) for run in blocks]
    net = exchanges()
    step = predict.data_parallel(case, sizes, blocks, net, 0.0)
    sharded = form == "sharded"
    down = [net.reduce_scatter(size) if sharded else net.all_reduce(size) for size in sizes]
    up = [net.all_gather(size) for size in sizes[::-1]] if sharded else []
    assert step.seconds == pytest.approx(played(case, down, up, blocks))
    after = predict.data_parallel({**case, "overlap": False}, sizes, blocks, net, 0.0)
    assert after.seconds == pytest.approx(Pace.of(case["pace"]).step_s + sum(down) + sum(up))
    if per_bucket == shape.blocks:
        assert step.seconds == pytest.approx(after.seconds)  # one bucket hides nothing
    assert step.exposed_s <= after.exposed_s + 1e-12


def test_transfers_one_by_one_end_when_the_law_says() -> None:
    from argosy.laws.overlap import last_transfer_end

    draw = random.Random(4)
    for _ in range(50):
        ready = sorted(draw.random() for _ in range(6))
        durations = [draw.random() / 4 for _ in range(6)]
        assert predict.event_schedule(ready, durations) == pytest.approx(last_transfer_end(ready, durations))


def test_even_stages_without_transfers_fill_and_drain() -> None:
    case = cases.pipeline("1f1b", cases.EVEN, 3)
    net = predict.Exchanges(fabric("flat", 1 << 20), 4, Baseline(1e9, 0.0))
    found = predict.pipeline(case, 4, net)
    work = 3 * 2 * cases.STAGE_S  # forward and backward of two layers
    assert found.seconds == pytest.approx((cases.MICRO_BATCHES + 3) * work, rel=1e-6)
    assert found.bubble_fraction == pytest.approx(3 / (cases.MICRO_BATCHES + 3), rel=1e-6)


def test_plans_name_every_case_apart() -> None:
    for short in (True, False):
        plan = [case for case in cases.timed(short) if case.get("form") in ("all-reduce", "sharded")]
        plan += [case for case in cases.timed(short) if case["kind"] == "pipeline"]
        names = [beside.name_of(case) for case in plan]
        assert len(set(names)) == len(names)
    traced = {case["trace"] for case in [*cases.traced(False), *cases.on_a_cube()] if "trace" in case}
    assert traced == set(diagnosed.PLANTED)


def found_of(case: dict[str, Any], step_s: float) -> list[dict[str, Any]]:
    """What four ranks would have found, had every step taken so long."""
    steps = case["steps"]
    ends = [step_s * k for k in range(steps + 1)]
    blocks = [[number] for number in range(cases.SHAPE.blocks)][::-1]
    sizes = [cases.SHAPE.gradient_bytes(run[0]) for run in blocks]
    one = {"ends_s": ends, "losses": [2.0 - 0.1 * k for k in range(steps)], "bucket_bytes": sizes}
    record = {
        "forward_s": [0.2] * steps,
        "backward_s": [0.4] * steps,
        "ended_s": [1.8e9 + end for end in ends[1:]],
    }
    sent = int(1.512 * sum(sizes) * steps)
    more = {"bucket_blocks": blocks, "sent_bytes": sent, "waited_s": [0.3] * steps, "record": record}
    return [copy.deepcopy({**one, **more}) for _ in range(4)]


def rows_of(step_s: float, losses: float = 0.0) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    plan = [case for case in cases.timed(True) if case["kind"] != "reduce-scatter"]
    found: list[list[dict[str, Any]]] = []
    for case in plan:
        if case["kind"] == "messages":
            found.append([{"small_s": [1e-4], "large_s": [case["bytes"] / 12.5e6 + 1e-4]}] * 4)
        else:
            found.append(found_of(case, 0.6 if case.get("form") == "none" else step_s))
    found[-1][0]["losses"] = [value + losses for value in found[-1][0]["losses"]]
    return beside.timed_rows(plan, found, fabric("flat", 1 << 20), True)


def test_comparisons_judge_steps_bytes_and_losses() -> None:
    rows, told = rows_of(0.66)
    by_name = {row["what"]: row for row in rows}
    assert told["baseline"]["share_of_wire"] == pytest.approx(1.0, rel=1e-3)
    assert by_name["step: all-reduce, overlapped"]["within"]
    assert not by_name["step: all-reduce, after the backward pass"]["within"]
    assert not by_name["gain of overlap: all-reduce, overlapped"]["within"]
    assert by_name["bytes sent by a card a step: all-reduce, overlapped"]["within"]
    assert by_name["forms whose losses are the single process's"]["within"]
    rows, _ = rows_of(0.66, losses=1e-6)
    assert not {row["what"]: row for row in rows}["forms whose losses are the single process's"]["within"]


def test_a_log_of_ours_is_read_as_megatrons(tmp_path: Path) -> None:
    case = cases.data_parallel("all-reduce", True, 5)
    every = found_of(case, 0.75)
    for rank, one in enumerate(every):
        one["record"]["backward_s"] = [0.4 + 0.1 * rank] * 5
    write_log(tmp_path / "train.log", case, every)
    (log,) = training_log.read(tmp_path / "train.log").logs
    assert log.framework == "megatron"
    assert log.iteration.tolist() == [2, 3, 4, 5]
    assert log.step_time_s.tolist() == pytest.approx([0.75] * 4)
    assert log.settings["world_size"] == 4
    assert {rank: times[0] for rank, times in log.rank_timers_s["backward-compute"].items()} == pytest.approx(
        {0: 0.4, 1: 0.5, 2: 0.6, 3: 0.7}
    )


def test_diagnosed_traces_are_held_against_what_was_planted(tmp_path: Path) -> None:
    assert diagnosed.wrong(TRACES) == {}
    rows = diagnosed.comparisons(TRACES)
    assert len(rows) == 5 and all(row["within"] for row in rows)
    (tmp_path / "even-stages").symlink_to(TRACES / "uneven-stages")
    assert diagnosed.wrong(tmp_path) == {"even-stages": "uneven-stage: stage 1"}


def test_starts_of_groups_are_told_with_their_growth() -> None:
    told = beside.starts([{"2": [0.002], "4": [0.004, 0.009], "8": [0.016], "16": [0.064]}])
    assert told["ranks"] == [2, 4, 8, 16]
    assert told["last_exponent"] == pytest.approx(2.0)
    assert told["law_s"][-1] == pytest.approx(1047 * 16 / 2048)


def test_the_page_shows_steps_and_what_was_recorded_twice(tmp_path: Path) -> None:
    rows, told = rows_of(0.66)
    told["starts"] = beside.starts([{"2": [0.002], "4": [0.005], "8": [0.016], "16": [0.064]}])
    told["recorded_again"] = [{"name": "healthy", "first": "straggler-rank: rank 1"}]
    payload = {**answer(rows, ["a note"], **told), "version": "0"}
    written = write_page("training", payload, tmp_path / "training.md")
    text = written[0].read_text(encoding="utf-8")
    assert "healthy were recorded twice: first they blamed straggler-rank: rank 1" in text
    assert [path.name for path in written[1:]] == [
        "testbed-training-steps.svg",
        "testbed-training-starts.svg",
    ]
    assert np.all([path.stat().st_size > 0 for path in written])
