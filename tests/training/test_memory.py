"""The memory model: state by hand, in-flight micro-batches by walking the schedules, monotony, shapes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argosy.facts.values import Values
from argosy.spec.model import MixtureOfExperts, ModelArchitecture
from argosy.training.job import Job
from argosy.training.layout import Layouts
from argosy.training.memory import memory
from argosy.training.memory_stages import in_flight
from argosy.training.memory_traits import MemoryTraits, StateBytes, memory_facts, memory_traits
from argosy.workload import count

MODEL = ModelArchitecture(
    name="llama-3.1-8b", layers=32, hidden=4096, heads=32, kv_heads=8, head_dim=128, ffn=14336, vocab=128256
)
MIXTURE = MODEL.model_copy(update={"moe": MixtureOfExperts(experts=8, top_k=2, expert_ffn=14336)})
JOB = Job(MODEL, 4096, 64)
PARTS = ("weights", "gradients", "optimizer", "activations", "buffers")


def peak(job=JOB, stack="megatron-core", state=None, more=None, **layout):
    return memory(job, Layouts.one(**{"grad_accumulation": 8, **layout}), stack, state, **(more or {}))


def test_state_is_eighteen_bytes_per_parameter():
    result = peak(zero=0)
    state = result.weights + result.gradients + result.optimizer
    assert state[0] == pytest.approx(18 * count(MODEL).total, rel=1e-9)


@pytest.mark.parametrize(
    ("zero", "per_parameter"), [(0, 16), (1, 2 + 2 + 12 / 8), (2, 2 + 14 / 8), (3, 16 / 8)]
)
def test_zero_stages(zero, per_parameter):
    """ZeRO (arXiv:1910.02054, figure 1) with 2-byte gradients: 2 + 2 + 12, sharded over 8 replicas stage by
    stage.
    """
    result = peak(zero=zero, dp=8, state=StateBytes(gradients=2.0))
    state = result.weights + result.gradients + result.optimizer
    assert state[0] == pytest.approx(per_parameter * count(MODEL).total, rel=1e-9)


def test_fsdp_shards_everything_and_keeps_one_master():
    result = peak(stack="fsdp2", zero=3, dp=64)
    state = result.weights + result.gradients + result.optimizer
    assert state[0] == pytest.approx(16 / 64 * count(MODEL).total, rel=1e-9)


def test_experts_shard_over_their_own_replicas():
    """Eight ranks, experts over four of them: two replicas of each expert, eight of everything else."""
    result = peak(Job(MIXTURE, 4096, 64), zero=1, dp=8, ep=4)
    experts = 32 * 8 * 3 * 4096 * 14336
    rest = count(MIXTURE).total - experts
    assert result.weights[0] == pytest.approx(2 * (rest + experts / 4))
    assert result.optimizer[0] == pytest.approx(12 * (rest / 8 + experts / 4 / 2))


def one_forward_one_backward(p, r, m):
    """Forwards done minus backwards done, at most, in Megatron-LM's order on rank r."""
    warm = min(p - r - 1, m)
    order = [1] * warm + [1, -1] * (m - warm) + [-1] * warm
    return max(np.cumsum(order))


def interleaved(p, r, m, v):
    """The same over chunks, in micro-batches: each chunk holds 1/v of a rank's layers."""
    warm = min(2 * (p - r - 1) + (v - 1) * p, m * v)
    order = [1] * warm + [1, -1] * (m * v - warm) + [-1] * warm
    return max(np.cumsum(order)) / v


@pytest.mark.parametrize(("p", "m"), [(1, 4), (4, 2), (4, 16), (8, 8)])
def test_in_flight_by_walking_the_schedule(p, m):
    ranks = np.arange(p)
    for r in ranks:
        layout = Layouts.one(pp=p, grad_accumulation=m)
        assert in_flight(layout, np.array([[r]]))[0, 0] == one_forward_one_backward(p, r, m)
        assert in_flight(Layouts.one(pp=p, grad_accumulation=m, schedule="gpipe"), np.array([[r]]))[0, 0] == m
        if p > 1 and m % p == 0:
            layout = Layouts.one(pp=p, vp=3, grad_accumulation=m)
            assert in_flight(layout, np.array([[r]]))[0, 0] == pytest.approx(interleaved(p, r, m, 3))


def test_interleaving_costs_what_korthikanti_says():
    """p (1 + (p − 1)/(p v)) on the first rank."""
    layout = Layouts.one(pp=8, vp=4, grad_accumulation=64)
    assert in_flight(layout, np.array([[0]]))[0, 0] == pytest.approx(8 * (1 + 7 / (8 * 4)))


def test_dualpipe_holds_two_stages():
    plain = peak(pp=8, grad_accumulation=32)
    dual = peak(pp=8, grad_accumulation=32, schedule="dualpipe")
    layers = (count(MODEL).total - 2 * 128256 * 4096 - 4096) / 8
    assert plain.weights[0] == pytest.approx(2 * (layers + 128256 * 4096), rel=1e-4)
    assert dual.weights[0] == pytest.approx(2 * (2 * layers + 2 * 128256 * 4096), rel=1e-4)


def test_breakdown_adds_up():
    layouts = Layouts.one(pp=np.array([1, 2, 4]), tp=np.array([1, 2, 8]), dp=2, grad_accumulation=4)
    result = memory(JOB, layouts)
    np.testing.assert_allclose(sum(getattr(result, part) for part in PARTS), result.peak_allocated)
    np.testing.assert_allclose(result.peak_allocated + result.overhead, result.peak_reserved)
    assert np.all(result.allocator_reserved > result.peak_allocated)
    row = result.to_dict(1, capacity=80e9)
    assert set(row) == {*PARTS, "stage", "overhead", "peak_allocated", "peak_reserved", "host", "capacity"}
    assert list(result.fits(result.peak_reserved)) == [True] * 3


def test_arrays_are_the_same_as_one_by_one():
    fields = {
        "tp": [1, 2, 8, 1], "pp": [1, 4, 2, 8], "cp": [1, 2, 1, 1], "dp": [2, 1, 4, 8], "micro_batch": [1, 2,
        1, 4], "recompute": [0, 1, 2, 2], "zero": [0, 1, 3, 2], "grad_accumulation": [4, 8, 16, 32],
    }  # fmt: skip
    together = memory(Job(MIXTURE, 4096, 64), Layouts.one(**fields), "fsdp2")
    for i in range(4):
        layout = Layouts.one(**{name: values[i] for name, values in fields.items()})
        alone = memory(Job(MIXTURE, 4096, 64), layout, "fsdp2")
        assert together.peak_reserved[i] == pytest.approx(alone.peak_reserved[0], rel=1e-12)
        assert together.stage[i] == alone.stage[0]


def test_recomputation_trades_kept_for_working_memory():
    none, selective, full = (peak(recompute=code, stack="megatron-2021").activations[0] for code in range(3))
    assert none > selective > full
    block = peak(recompute=2, stack="megatron-2021", more={"recomputed_share": 0.5}).activations[0]
    assert full < block < none
    # One input per group: with all layers in one group, everything exists again in the backward pass.
    one, two, all_layers = (
        peak(recompute=2, micro_batch=8, more={"recompute_group": n}).activations[0] for n in (1, 2, 32)
    )
    assert max(one, two) < all_layers


def test_kept_activations_of_the_first_stage_by_hand():
    """Four layers' activations of eight micro-batches, counted in elements (see the workload tests)."""
    activations = memory(JOB, Layouts.one(pp=8, grad_accumulation=16), MemoryTraits()).activations[0]
    per_layer = 4096 * (2 * (4 * 4096 + 4096 + 2 * 1024 + 4096 + 3 * 14336) + 4 * 32)
    gradients = 4096 * 2 * (2 * 4096 + 2 * 14336)
    assert activations == pytest.approx(8 * 4 * per_layer + gradients)


def test_more_parallelism_never_needs_more_memory():
    for name in ("tp", "pp", "dp"):
        peaks = memory(JOB, Layouts.one(**{name: np.array([1, 2, 4, 8])}, grad_accumulation=8)).peak_allocated
        assert np.all(np.diff(peaks) <= 0), name


def test_fp8_keeps_narrow_inputs_only_where_the_framework_does():
    fp8 = Job(MODEL, 4096, 64, precision="fp8")
    assert peak(fp8).activations[0] < peak().activations[0]
    assert peak(fp8, stack="fsdp2").activations[0] == peak(stack="fsdp2").activations[0]


def test_unknown_stack_is_megatron_core():
    assert memory_traits("generic") == memory_traits("megatron-core")


def test_overheads_are_facts_that_are_drawn_and_overridden():
    facts = memory_facts()
    draws = Values(facts).sample(500, seed=1)
    spread = memory(JOB, Layouts.one(dp=8), memory_traits("fsdp2", draws))
    nominal = memory(JOB, Layouts.one(dp=8), memory_traits("fsdp2", Values(facts)))
    assert spread.peak_reserved.shape == (500,)
    low, high = np.quantile(spread.peak_reserved, [0.05, 0.95])
    assert low < nominal.peak_reserved[0] < high
    path = "memory.fsdp2.fragmentation"
    changed = Values({**facts, path: replace(facts[path], value=0.0)})
    packed = memory(JOB, Layouts.one(dp=8), memory_traits("fsdp2", changed))
    assert packed.allocator_reserved[0] == packed.peak_allocated[0]
    assert all(fact.is_assumption or "BLOOM" in fact.source for fact in facts.values())


@settings(max_examples=60, deadline=None)
@given(
    tp=st.sampled_from([1, 2, 4, 8]),
    pp=st.sampled_from([1, 2, 4, 8]),
    cp=st.sampled_from([1, 2]),
    zero=st.integers(0, 3),
    recompute=st.integers(0, 2),
    shape=st.sampled_from([(32, 2, 8), (64, 4, 4), (16, 1, 16)]),
)
def test_memory_grows_with_the_micro_batch(tp, pp, cp, zero, recompute, shape):
    """At a fixed layout, and a batch of twice the sequences, a larger micro-batch never needs less memory."""
    accumulation, small_batch, dp = shape
    fields = {"tp": tp, "pp": pp, "cp": cp, "dp": dp, "zero": zero, "recompute": recompute}
    peaks = []
    for micro_batch in (small_batch, 2 * small_batch):
        layout = Layouts.one(micro_batch=micro_batch, grad_accumulation=accumulation, **fields)
        task = Job(MODEL, 4096, int(layout.global_batch[0]))
        peaks.append(float(memory(task, layout, "megatron-core").peak_reserved[0]))
    assert peaks[1] >= peaks[0]
