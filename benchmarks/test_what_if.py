"""A slider's answer, charts included, against the whole plan of the same scenario in the same run."""

from __future__ import annotations

import time

import pytest

from argosy.web import answers
from argosy.web.starts import starts

PRESETS = ("llama3-70b-512", "llama3-70b-4096", "llama3-405b", "deepseek-v3")


@pytest.mark.parametrize("preset", PRESETS)
def test_what_if_against_the_whole_plan(benchmark, preset):
    text = starts()[preset]
    whole = answers.plan(text)["plan"]
    layouts = {job["name"]: [stage["layout"] for stage in job["stages"]] for job in whole["training"]}
    dearer = answers.change(text, {"prices.accelerator_hour": "3 USD/h"})["text"]
    started = time.process_time()
    answers.plan(dearer)
    plan_s = time.process_time() - started
    spent = []

    def slide():
        started = time.process_time()
        answers.what_if(dearer, layouts)
        spent.append(time.process_time() - started)

    benchmark.pedantic(slide, rounds=20, warmup_rounds=2)
    spent = sorted(spent[2:])
    quick_s, slow_s = spent[len(spent) // 2], spent[int(0.95 * len(spent))]
    benchmark.extra_info["of_the_plan"] = quick_s / plan_s
    print(
        f"\n{preset}: {1e3 * quick_s:.0f} ms, P95 {1e3 * slow_s:.0f} ms of processor time; "
        f"{quick_s / plan_s:.2f} of the plan's {1e3 * plan_s:.0f} ms"
    )
    assert quick_s < 0.8 * plan_s
