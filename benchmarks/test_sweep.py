"""A sweep of a hundred thousand points at a fixed layout, against planning its points one by one.

Run `make benchmark`; the sweep is to be done in a minute on two cores, at most 100 µs a point of overhead.
"""

from __future__ import annotations

import time
from pathlib import Path

from argosy.study.axes import read_study
from argosy.study.points import alone as plan_alone
from argosy.study.sweep import cut, sweep
from argosy.study.vectors import run_chunk

POINTS = 100_000
SCENARIO = """
name: swept
fleet: {accelerator: H100-SXM, count: 512}
training:
  {name: pretrain, model: llama-3.1-70b, stack: megatron-core, tokens: 1e12, sequence_length: 8192,
   global_batch: 1024 sequences,
   layout: {tp: 4, pp: 2, vp: 8, cp: 2, dp: 32, micro_batch: 1, zero: 1, recompute: none, schedule: interleaved}}
"""
STUDY = f"""
scenario: swept.yaml
axes:
  reliability.detection: {{from: 10 s, to: 10 min}}
  fleet.storage.bandwidth: {{from: 0.1 TB/s, to: 4 TB/s}}
  assumptions.overrides.training.sustained_clock.hopper: {{from: 0.8, to: 0.95}}
  assumptions.overrides.accelerators.H100-SXM.memory_bandwidth: {{from: 3 TB/s, to: 4 TB/s}}
sampling: latin-hypercube
points: {POINTS}
"""


def study(folder: Path, points: int = POINTS):
    (folder / "swept.yaml").write_text(SCENARIO, encoding="utf-8")
    (folder / "study.yaml").write_text(STUDY.replace(str(POINTS), str(points)), encoding="utf-8")
    return read_study(folder / "study.yaml")


def test_a_hundred_thousand_points(benchmark, tmp_path):
    asked = study(tmp_path)
    chunk = next(cut(asked, asked.combinations()))
    started = time.perf_counter()
    for number, values in chunk.points[:20]:
        plan_alone(chunk, number, values)
    alone = (time.perf_counter() - started) / 20
    summary = benchmark.pedantic(sweep, (asked, tmp_path / "r"), rounds=1)
    each = benchmark.stats.stats.mean / summary.points
    benchmark.extra_info["points_per_s"] = 1 / each
    benchmark.extra_info["faster_than_one_by_one"] = alone / each
    seconds = benchmark.stats.stats.mean
    print(
        f"\n{summary.points:,} points in {seconds:.1f} s: {each * 1e6:.0f} µs a point, {alone / each:,.0f} × one by one"
    )
    assert alone / each > 20


def test_what_a_point_costs_beside_its_arithmetic(benchmark, tmp_path):
    """Storing and cutting, without planning: what the sweep adds to each point."""
    from argosy.study import sweep as module

    asked = study(tmp_path)
    whole = time.perf_counter()
    sweep(asked, tmp_path / "r")
    whole = time.perf_counter() - whole

    def rows(chunk):
        return [
            {"point": n, **dict.fromkeys(chunk.outputs, 1.0), "status": "feasible", "reason": ""}
            for n, _ in chunk.points
        ]

    original, module.run_chunk = module.run_chunk, rows
    try:
        benchmark.pedantic(sweep, (asked, tmp_path / "empty"), rounds=1)
    finally:
        module.run_chunk = original
    overhead = benchmark.stats.stats.mean
    benchmark.extra_info["overhead_us_per_point"] = overhead / POINTS * 1e6
    print(f"\noverhead {overhead / POINTS * 1e6:.1f} µs a point, {overhead / whole:.0%} of the sweep")
    assert overhead < whole


def test_run_chunk_is_what_workers_call(benchmark, tmp_path):
    asked = study(tmp_path, 4096)
    (chunk,) = cut(asked, asked.combinations())
    rows = benchmark.pedantic(run_chunk, (chunk,), rounds=2)
    assert len(rows) == 4096
