"""The examiner examined: the simulated job agrees with the step model, stalls as a real one would, and is scored rightly."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from argosy.observe.corpus import FAMILIES, KINDS, Case, Culprits, Expected, Truth, cases, write_case
from argosy.observe.corpus.cases import mean_step_s
from argosy.observe.corpus.faults import Fault
from argosy.observe.corpus.job import healthy
from argosy.observe.corpus.kineto import ERAS
from argosy.observe.corpus.noise import Noise
from argosy.observe.corpus.replay import RankRun, Replay
from argosy.observe.corpus.score import row, score
from argosy.observe.corpus.seeds import small_family

QUIET = Noise(sigma=0.0, spread=0.0, exchange=0.0, end_s=0.0)
FAMILY = FAMILIES["megatron-3d"]


def replayed(name: str, noise: Noise = QUIET, steps: int = 2, **changes: Any) -> list[RankRun]:
    work = FAMILIES[name].work
    fault = replace(Fault.none(work.gpus, work.pp), **changes)
    return Replay(healthy(work), fault, noise, np.random.default_rng(3), steps).run()


@pytest.mark.parametrize("name", FAMILIES)
def test_the_replayed_step_agrees_with_the_step_model(name: str) -> None:
    """Two roads to one number: the composed step, and the job played rank by rank. They may differ by what overlaps: the replay
    hides no tensor-parallel exchange and half of the gradients', but all gathers of sharded weights behind the first.
    """
    assert mean_step_s(replayed(name)) == pytest.approx(healthy(FAMILIES[name].work).step_s, rel=0.2)


def test_one_slow_rank_holds_up_all_and_waits_for_nobody() -> None:
    ranks = FAMILY.work.gpus
    compute = np.ones((1, ranks))
    compute[0, 5] = 1.5
    runs = replayed("megatron-3d", compute=compute)
    steps = [run.spans[-1].end for run in runs]
    assert max(steps) - min(steps) < 0.05 * max(steps)
    assert mean_step_s(runs) > 1.3 * mean_step_s(replayed("megatron-3d"))
    exchanged = [sum(s.end - s.start for s in run.slices if s.group) for run in runs]
    assert int(np.argmin(exchanged)) == 5  # whoever goes by the time in collectives blames the victims


def test_a_collective_begins_with_its_last_member_and_ends_for_all_at_once() -> None:
    runs = replayed("megatron-3d", Noise(end_s=0.0))
    met: dict[tuple[str, tuple[int, ...], int], list[tuple[float, float]]] = {}
    for run in runs:
        for each in run.slices:
            if each.group and each.sequence >= 0:
                met.setdefault((each.lane, each.group, each.sequence), []).append((each.start, each.end))
    assert len(met) > 300
    for (_, group, _), times in met.items():
        assert len(times) == len(group)
        assert len({end for _, end in times}) == 1
        assert max(start for start, _ in times) < times[0][1]


def test_a_rank_does_one_thing_at_a_time() -> None:
    for run in replayed("fsdp", Noise()):
        computing = [each for each in run.slices if each.lane == "compute"]
        assert all(a.end <= b.start + 1e-12 for a, b in pairwise(computing))
        assert all(each.launched < each.host_end < each.start for each in computing)


def test_stronger_causes_cost_more() -> None:
    took = [
        mean_step_s(replayed("megatron-3d", compute=np.full((1, FAMILY.work.gpus), f)))
        for f in (1.0, 1.1, 1.3)
    ]
    assert took == sorted(took)
    slow = [mean_step_s(replayed("megatron-3d", network=f)) for f in (1.0, 2.0, 8.0)]
    assert slow == sorted(slow) and slow[2] > slow[0]


def test_a_link_inside_a_node_is_nobodys_network() -> None:
    fault = replace(Fault.none(8, 1), link=np.full(8, 0.1), network=3.0)
    assert fault.exchange_factor([0, 1, 2, 3], 4, "tensor") == 1.0
    assert fault.exchange_factor([0, 4], 4, "data") == pytest.approx(30.0)


def test_cases_are_the_same_every_time(tmp_path: Path) -> None:
    case = Case(FAMILY, KINDS["gc-pause"], 0.25)
    write_case(case, tmp_path / "one")
    write_case(case, tmp_path / "two")
    for path in sorted((tmp_path / "one").rglob("*")):
        if path.is_file():
            assert (
                path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()
            ), path


@pytest.mark.parametrize("era", ERAS)
def test_every_era_tells_the_same_moments(tmp_path: Path, era: str) -> None:
    """ts is µs in all; the base is added where there is one."""
    family = small_family()
    family = replace(
        family, style=replace(family.style, era=era, gz=False), clocks=replace(family.clocks, offset_s=0.0)
    )
    write_case(Case(family, KINDS["healthy"], 1.0), tmp_path)
    trace = json.loads(min(tmp_path.glob("files/*.json")).read_text())
    base = trace.get("baseTimeNanoseconds", 0) / 1000
    steps = [each for each in trace["traceEvents"] if each["name"].startswith("ProfilerStep#")]
    assert len(steps) == family.steps
    assert (base + steps[0]["ts"]) / 1e6 == pytest.approx(1_757_000_000, abs=1.0)
    assert steps[0]["dur"] / 1e6 == pytest.approx(healthy(family.work).step_s, rel=0.3)
    kernels = [each for each in trace["traceEvents"] if each.get("cat") == "kernel"]
    assert all(isinstance(each["ts"], int) == (era == "absolute-us") for each in kernels)


def test_clocks_of_nodes_differ_and_those_of_one_node_do_not(tmp_path: Path) -> None:
    family = replace(small_family(), noise=QUIET)
    write_case(Case(family, KINDS["healthy"], 1.0), tmp_path)
    began = []
    for path in sorted(tmp_path.glob("files/*.json.gz")):
        events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
        began.append(min(each["ts"] for each in events if each["name"].startswith("ProfilerStep#")))
    assert len(began) == 8
    assert max(began[:4]) - min(began[:4]) < 1 and abs(began[0] - began[4]) > 50


def test_families_set_aside_differ_from_the_others_in_all_that_matters() -> None:
    tuned, aside = ([f for f in FAMILIES.values() if f.set_aside == which] for which in (False, True))
    assert len(tuned) == len(aside) == 3
    assert not {f.work for f in tuned} & {f.work for f in aside}
    assert {f.style for f in tuned}.isdisjoint({f.style for f in aside} - {FAMILIES["wide"].style})
    for name in ("nemo", "deepspeed"):
        assert name in {f.log for f in aside} and name not in {f.log for f in tuned}
    assert {f.noise.law for f in aside} - {f.noise.law for f in tuned}
    assert {f.style.kernels for f in aside} - {f.style.kernels for f in tuned}


def test_at_least_twelve_kinds_at_several_strengths() -> None:
    strong = [kind for kind in KINDS.values() if len(kind.strengths) > 1 and "healthy" not in kind.name]
    assert len(strong) >= 12
    assert sum(1 for _ in cases()) > 300


def finding(name: str, **culprit: Any) -> dict[str, Any]:
    return {"id": name, "culprit": {"rank": None, "node": None, "stage": None, "link": None} | culprit}


SLOW = Expected(("straggler-rank",), Culprits(ranks=(3,), nodes=("n1",)), named=True)
TRUTH = Truth("f", False, "k", 1.0, 0.1, True, (SLOW,), ("bubble",))


@pytest.mark.parametrize(
    ("findings", "found", "wrong"),
    [
        ([], 0, ()),
        ([finding("straggler-rank", rank=3)], 1, ()),
        ([finding("straggler-rank", rank=3, node="n1", stage=0)], 1, ()),
        ([finding("straggler-rank", node="n1")], 1, ()),
        ([finding("straggler-rank")], 0, ()),  # true, but nobody is named
        ([finding("straggler-rank", rank=4)], 0, ("straggler-rank",)),
        ([finding("straggler-rank", rank=3), finding("straggler-rank", rank=4)], 1, ("straggler-rank",)),
        ([finding("straggler-rank", rank=3, ranks=[3, 4])], 0, ("straggler-rank",)),
        ([finding("straggler-rank", stage=1)], 0, ("straggler-rank",)),
        ([finding("bubble")], 0, ()),
        ([finding("bubble", rank=4)], 0, ("bubble",)),
        ([finding("slow-link")], 0, ("slow-link",)),
    ],
)
def test_scoring(findings: list[dict[str, Any]], found: int, wrong: tuple[str, ...]) -> None:
    outcome = score(TRUTH, {"findings": findings})
    assert (outcome.found, outcome.wrong) == (found, wrong)


def test_rows_keep_weak_causes_apart() -> None:
    weak = replace(TRUTH, effect=0.01, stated=False)
    outcomes = [
        score(TRUTH, {"findings": [finding("straggler-rank", rank=3)]}),
        score(weak, {"findings": [finding("slow-link")]}),
    ]
    sums = row("all", outcomes)
    assert (sums.stated, sums.recalled, sums.weak, sums.weak_recalled, sums.precision, sums.wrong) == (
        1,
        1.0,
        1,
        0.0,
        0.5,
        1,
    )


def test_truth_survives_its_file() -> None:
    assert Truth.from_dict(json.loads(json.dumps(TRUTH.to_dict()))) == TRUTH
