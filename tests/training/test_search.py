"""The search: complete on a small fleet, accounted for, and ranked by the same evaluation."""

import numpy as np
import pytest

from argosy.training import Job, Layouts, evaluate, exclusions, search
from argosy.training.search import ACROSS_DOMAIN, OUT_OF_MEMORY, divisors


def weights_only(model_parameters):
    """A stand-in for the memory model: weights and optimizer states, divided by what shards them."""

    def peak(layouts):
        return model_parameters / (layouts.tp * layouts.pp) * (6 + 12 / layouts.dp)

    return peak


@pytest.fixture
def job(small):
    return Job(small, 4096, 64)


def test_counts_close(job, device, network, stack):
    found = search(job, device, network, stack, 16, weights_only(2e9), 10e9)
    assert found.evaluated == found.feasible + sum(found.excluded.values())
    assert found.feasible > 0 and OUT_OF_MEMORY in found.excluded


def test_best_is_the_minimum_of_a_brute_force_over_plain_loops(job, device, network, stack):
    found = search(
        job, device, network, stack, 8, weights_only(0.0), 1.0, micro_batch_max=4, schedules=["1f1b"]
    )
    fastest = np.inf
    for tp in (1, 2, 4, 8):
        for pp in (1, 2, 4, 8):
            for recompute in (0, 1, 2):
                for micro_batch in (1, 2, 4):
                    for zero in (1, 3):
                        dp = 8 // (tp * pp)
                        if dp < 1 or (zero == 3 and pp > 1):
                            continue
                        layout = Layouts.one(
                            tp=tp,
                            pp=pp,
                            dp=dp,
                            micro_batch=micro_batch,
                            zero=zero,
                            recompute=recompute,
                            grad_accumulation=64 // (dp * micro_batch),
                        )
                        if exclusions(job.model, 4096, 64, layout)[0].all():
                            fastest = min(fastest, evaluate(job, device, network, stack, layout).step_s[0])
    assert found.best.step_s[0] == pytest.approx(fastest, rel=1e-12)


def test_ranking_is_sorted_and_ties_are_within_the_tolerance(job, device, network, stack):
    found = search(job, device, network, stack, 16, weights_only(0.0), 1.0, keep=50, tolerance=0.05)
    steps = found.best.step_s
    assert (np.diff(steps) >= 0).all()
    assert (steps[: found.ties] <= 1.05 * steps[0]).all()
    assert found.ties == 50 or steps[found.ties] > 1.05 * steps[0]
    assert len(found.to_dict()["ties"]) == found.ties - 1


def test_given_fields_are_kept(job, device, network, stack):
    found = search(
        job, device, network, stack, 16, weights_only(0.0), 1.0, fixed={"tp": 4, "dp": 2, "recompute": "full"}
    )
    layouts = found.best.layouts
    assert set(layouts.tp) == {4} and set(layouts.dp) == {2} and set(layouts.recompute) == {2}


def test_nothing_fits_is_an_answer(job, device, network, stack):
    found = search(job, device, network, stack, 16, weights_only(1e15), 80e9)
    assert found.best is None and found.feasible == 0 and found.to_dict()["ties"] == []
    assert found.excluded[OUT_OF_MEMORY] > 0 and found.excluded[ACROSS_DOMAIN] > 0


def test_a_mixture_on_2048_accelerators_is_searched_over_experts(deepseek_v3, device, network, stack):
    job = Job(deepseek_v3, 4096, 15360)
    found = search(job, device, network, stack, 2048, weights_only(0.0), 1.0)
    assert set(found.best.layouts.ep) - {1}


def test_divisors():
    assert divisors(12) == [1, 2, 3, 4, 6, 12]
    assert divisors(1) == [1]
