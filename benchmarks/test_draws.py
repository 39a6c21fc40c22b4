"""The uncertainty of the main job: 2,000 joint draws at the chosen layout, against planning the same number one by one.

The aim is two seconds for 2,000 draws of examples/llama3-405b.yaml.
"""

from __future__ import annotations

import time
from pathlib import Path

from argosy.fabric import plan_fabric
from argosy.planning.context import context
from argosy.planning.job import laid_out
from argosy.planning.run import drawn_run, nominal_run
from argosy.planning.site import network_account
from argosy.spec import load

EXAMPLE = Path(__file__).parent.parent / "examples" / "llama3-405b.yaml"
DRAWS = 2000


def test_two_thousand_draws_of_the_main_job(benchmark):
    setting = context(load(EXAMPLE))
    jobs = [laid_out(setting, job) for job in setting.scenario.training]
    network = network_account(plan_fabric(setting.fleet, setting.values))
    nominal_run(setting, jobs, network)
    started = time.perf_counter()
    for _ in range(5):
        nominal_run(setting, jobs, network)
    alone = (time.perf_counter() - started) / 5
    drawn_run(setting, jobs, network, 100, 1)  # what is compiled once is compiled now
    benchmark.pedantic(drawn_run, (setting, jobs, network, DRAWS, 0), rounds=3)
    seconds = benchmark.stats.stats.median
    benchmark.extra_info["faster_than_one_by_one"] = DRAWS * alone / seconds
    print(f"\n{DRAWS:,} draws in {seconds:.2f} s, {DRAWS * alone / seconds:,.0f} × one by one")
    assert DRAWS * alone / seconds > 5
