"""`assert:` lines against a plan's JSON."""

from __future__ import annotations

from typing import Any

import pytest

from argosy.spec import check_assertions, loads
from argosy.spec.assertions import unit_of

PLAN: dict[str, Any] = {
    "verdict": {"status": "feasible"},
    "training": [
        {
            "name": "pretrain",
            "step_time_s": {"nominal": 4.5, "p90": 5.0},
            "mfu": {"parameters_only": 0.41},
            "memory_bytes": {"peak_allocated": 70e9},
            "schedule": {"days": {"nominal": 60.0, "p90": 66.0}},
            "usd_per_million_tokens": None,
        }
    ],
    "fabrics": [{"role": "storage", "usd": 1e6}, {"role": "compute", "usd": 3e7}],
    "facility": {"facility_peak_w": 25e6, "energy_kwh": 4e7},
}


def check(*lines: str) -> list[Any]:
    text = """name: x
fleet: {accelerator: H100, count: 8}
training: {name: pretrain, model: llama-3.1-8b, tokens: 1e12, sequence_length: 8192, global_batch: 4 Mtok}
assert:
"""
    return check_assertions(loads(text + "".join(f"  - '{line}'\n" for line in lines)), PLAN)


@pytest.mark.parametrize(
    ("line", "holds"),
    [
        ("training.pretrain.schedule.days.p90 <= 90", True),
        ("training.pretrain.schedule.days.p90<66", False),
        ("training.0.schedule.days.p90 <= 2 months", False),
        ("training.0.schedule.days <= 9 weeks", True),  # the nominal value of an uncertain one
        ("training.pretrain.mfu.parameters_only >= 38 %", True),
        ("training.pretrain.mfu.parameters_only >= 0.42", False),
        ("training.pretrain.step_time_s == 4500 ms", True),
        ("training.pretrain.memory_bytes.peak_allocated < 80 GB", True),
        ("training.pretrain.memory_bytes.peak_allocated < 64 GiB", False),
        ("facility.facility_peak_w <= 30 MW", True),
        ("facility.energy_kwh < 50 GWh", True),
        ("fabrics.compute.usd > 20 MUSD", True),
        ("fabrics.1.usd > 20 MUSD", True),
        ("verdict.status == feasible", True),
        ("verdict.status == violates", False),
        ("training.pretrain.usd_per_million_tokens < 3", False),
        ("training.pretrain.schedule.hours < 3", False),
        ("training.pretrain.schedule < 3", False),
    ],
)
def test_verdicts(line: str, holds: bool) -> None:
    (result,) = check(line)
    assert result.holds is holds
    assert line.split("<")[0].split(">")[0].split("=")[0].strip() in result.message


def test_messages_say_what_there_is() -> None:
    first, second, third = check(
        "training.0.step_time < 5",
        "facility.facility_peak_w <= 20 MW",
        "training.0.usd_per_million_tokens < 1",
    )
    assert "training.0 has no 'step_time'; write step_time_s" in first.message
    assert "misses, the plan has 25 MW" in second.message
    assert (second.actual, second.limit, second.unit) == (25e6, 20e6, "W")
    assert "does not apply" in third.message


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("a.step_time_s.p90", "s"),
        ("a.schedule.days.p10", "d"),
        ("a.bisection_bps_per_direction", "bit/s"),
        ("a.bus_bandwidth_bytes_per_s", "byte/s"),
        ("a.memory_bytes.weights", "byte"),
        ("a.cost.usd_per_gpu_hour", "1"),
        ("a.tokens_per_s", "1"),
        ("a.mfu.peak_flops", "FLOP/s"),
        ("facility.rack_kw", "1"),
        ("goodput.ettr.p50", "1"),
    ],
)
def test_the_key_names_the_unit(path: str, unit: str) -> None:
    assert unit_of(path) == unit


def test_nothing_is_evaluated() -> None:
    (result,) = check("__class__.__init__ == 1")
    assert not result.holds
