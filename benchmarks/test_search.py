"""How fast layouts are evaluated. Run: `python -m pytest benchmarks/test_search.py --benchmark-only`.

Reported as evaluations per second (`extra_info`); nothing is asserted in seconds.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "training"))

from training_fixtures import PlainNetwork, h100

from argosy.spec.model import ModelArchitecture
from argosy.training import Job, Stack, evaluate, exclusions, search
from argosy.training.search import candidates

MODEL = ModelArchitecture(
    name="llama3-405b",
    layers=126,
    hidden=16384,
    heads=128,
    kv_heads=8,
    head_dim=128,
    ffn=53248,
    vocab=128256,
)
JOB = Job(MODEL, 8192, 2048)
GPUS = 16384


@pytest.fixture(scope="module")
def layouts():
    """Every valid layout of the 405B model on 16,384 accelerators, memory apart."""
    found = candidates(JOB, GPUS, 8, {}, 8, ("1f1b", "interleaved"))
    return found.take(exclusions(MODEL, 8192, 2048, found)[0])


def test_evaluations_per_second(benchmark, layouts):
    """Layouts that share a layer's cost share its computation: the rate of a search."""
    benchmark(evaluate, JOB, h100(), PlainNetwork(), Stack.preset("llama3"), layouts)
    benchmark.extra_info["evaluations_per_second"] = len(layouts) / benchmark.stats["mean"]


def test_evaluations_per_second_without_sharing(benchmark):
    """Layouts that all differ in a layer's cost, here by the micro-batch: the rate of a full evaluation."""
    from argosy.training import Layouts

    distinct = Layouts.one(tp=8, pp=16, dp=128, micro_batch=np.arange(1, 10_001), grad_accumulation=16)
    benchmark(evaluate, JOB, h100(), PlainNetwork(), Stack.preset("llama3"), distinct)
    benchmark.extra_info["evaluations_per_second"] = len(distinct) / benchmark.stats["mean"]


def test_one_layout(benchmark, layouts):
    benchmark(evaluate, JOB, h100(), PlainNetwork(), Stack.preset("llama3"), layouts.take(0))


def test_whole_search(benchmark):
    def run():
        return search(
            JOB, h100(), PlainNetwork(), Stack.preset("llama3"), GPUS, lambda x: np.zeros(len(x)), 80e9
        )

    found = benchmark(run)
    benchmark.extra_info["evaluated"] = found.evaluated
