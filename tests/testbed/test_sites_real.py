"""Two real sites: a synchronous job and DiLoCo over a cable of 40 ms give the losses that they give in one process."""

from __future__ import annotations

import pytest

from argosy.testbed import hosts, torch_launch
from argosy.testbed.sites import experiment, plan


@pytest.mark.slow
def test_losses_are_those_of_one_process():
    if (reason := hosts.why_not()) is not None:
        pytest.skip(reason)
    if (reason := torch_launch.missing()) is not None:
        pytest.skip(reason)
    wanted = ("sites", "ring", "diloco", "late")
    cases = [case for case in plan.cases(True, 3) if case.get("name") in wanted]
    for case in cases:
        case["steps"] = 6
    told = experiment._run(cases, 120.0)
    found = plan.by_name(told["found"], cases)
    rows = experiment._losses(found, told["alone"])
    assert [row["within"] for row in rows[:4]] == [True] * 4
    assert all(step > 0 for steps in found["late"] for step in steps["behind"])
