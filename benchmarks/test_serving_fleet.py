"""How fast an inference fleet is simulated: requests per second at 23, 920 and 2,500 replicas, failures and retries included.

Run: `python -m pytest benchmarks/test_serving_fleet.py --benchmark-only -s`. Two runs at once, as a machine of two cores
allows. The baseline is the same fleet in plain Python, iteration by iteration (`tests/serving/plain_fleet.py`, the oracle of
the tests), on a small case in the same process; `extra_info` has the ratio. The bar is 100,000 requests a second at 2,500
replicas. Nothing is asserted in seconds.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "serving"))

from affine_engine import Affine
from plain_fleet import PlainFleet, Request

from argosy.kernels.serving_records import FAILURES as FAILURES_AT
from argosy.serving.failures import Failures
from argosy.serving.fleet import Policy, Pool, simulate_seeds
from argosy.serving.traffic import LengthShape, Synthetic, made

PER_REPLICA = 8.0  # requests per second of one replica: four tenths of what it carries
FAILURES = Failures(1 / (5000 * 3600.0), 7200.0)  # ten times as often as 50,000 h, so that runs have some
SEEDS = (0, 1)


def traffic(replicas: int, requests: int, seed: int):
    rate = PER_REPLICA * replicas
    shape = Synthetic(rate, 1.5, (LengthShape(1000, 1.0),), (LengthShape(250, 1.0),), longest=16_000)
    return made(shape, requests / rate, seed)


@pytest.fixture(scope="module")
def plain_requests_per_s() -> float:
    requests = traffic(4, 3000, 0)
    asked = [
        Request(a, int(i), int(o), 0)
        for a, i, o in zip(requests.arrival_s, requests.input_tokens, requests.output_tokens, strict=True)
    ]
    fleet = PlainFleet([(Affine(), 4, False, 8192, 256, 256, True, True)], "round-robin")
    began = time.process_time()
    fleet.run(asked)
    return len(asked) / (time.process_time() - began)


@pytest.mark.parametrize("router", ["round-robin", "power-of-two"])
@pytest.mark.parametrize(("replicas", "requests"), [(23, 300_000), (920, 1_000_000), (2500, 1_500_000)])
def test_requests_per_second(benchmark, plain_requests_per_s, replicas, requests, router):
    traces = [traffic(replicas, requests, seed) for seed in SEEDS]
    pools, policy = [Pool(Affine(), replicas)], Policy(router=router)
    with ThreadPoolExecutor(len(SEEDS)) as executor:
        simulate_seeds(
            [trace.where(trace.arrival_s < 1.0) for trace in traces], pools, policy, FAILURES, SEEDS
        )  # compiles
        began = time.process_time()
        runs = benchmark.pedantic(
            simulate_seeds, (traces, pools, policy, FAILURES, SEEDS, executor), rounds=2, iterations=1
        )
    core_s = (time.process_time() - began) / 2  # of all threads, in each of two rounds
    assert all(run.done.mean() > 0.999 for run in runs)
    speed = sum(len(run.requests) for run in runs) / benchmark.stats.stats.min
    requests_each = sum(len(run.requests) for run in runs)
    info = benchmark.extra_info
    info["requests_per_s"] = round(speed)
    info["requests_per_core_s"] = round(requests_each / core_s)
    info["plain_python_requests_per_core_s"] = round(plain_requests_per_s)
    info["ratio"] = round(requests_each / core_s / plain_requests_per_s)
    info["failures"] = float(sum(run.books[0, FAILURES_AT] for run in runs))
    print(
        f"\n{replicas} replicas, {router}: {speed:,.0f} requests/s ({info['requests_per_core_s']:,} a core-second), "
        f"{info['ratio']:,} × plain Python"
    )
