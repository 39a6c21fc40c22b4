"""Offloading to the host: what leaves the accelerator is in the host, and the copies cost what the link takes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from training_fixtures import PlainNetwork, h100

import argosy
from argosy.training import Job, Layouts, Offload, Stack, evaluate
from argosy.training.host import exposed_copy, kept_on_device, update_seconds
from argosy.training.memory import memory
from argosy.workload import count

HOST = {"host_link": 50e9, "host_memory_bandwidth": 50e9, "host_memory_bytes": 250e9}
MODEL = (
    argosy.loads(
        "name: m\nfleet: {accelerator: H100-SXM, count: 8}\n"
        "training: {model: llama-3.1-8b, tokens: 1e9, sequence_length: 8192, global_batch: 64 sequences}\n"
    )
    .training[0]
    .model
)
JOB = Job(MODEL, 8192, 64)
LAYOUTS = Layouts.one(tp=np.array([1, 2, 8]), dp=np.array([8, 4, 1]), grad_accumulation=np.array([8, 16, 64]))


def offloaded(optimizer: float = 0.0, activations: float = 0.0) -> Job:
    return replace(JOB, offload=Offload(optimizer, activations))


def step(job: Job, **changes: float):
    return evaluate(job, h100(**{**HOST, **changes}), PlainNetwork(), Stack.preset("megatron-core"), LAYOUTS)


def test_the_optimizers_state_moves_to_the_host_and_nothing_else_changes():
    before, after = memory(JOB, LAYOUTS), memory(offloaded(optimizer=0.75), LAYOUTS)
    np.testing.assert_allclose(after.optimizer, 0.25 * before.optimizer)
    np.testing.assert_allclose(after.host, 0.75 * before.optimizer)
    np.testing.assert_allclose(after.peak_allocated + after.host, before.peak_allocated)
    assert np.all(before.host == 0)


def test_activations_leave_but_for_what_is_in_transit():
    before, after = memory(JOB, LAYOUTS), memory(offloaded(activations=1.0), LAYOUTS)
    np.testing.assert_allclose(after.activations + after.host, before.activations)
    assert np.all(after.activations < 0.5 * before.activations)
    assert kept_on_device(10.0, 10.0, 1.0) == 10.0  # one layer: nothing can leave while it is used
    assert kept_on_device(100.0, 10.0, 0.5) == 60.0


def test_memory_falls_with_every_share_and_a_step_never_gets_faster():
    shares = np.linspace(0.0, 1.0, 6)
    peaks = np.array([memory(offloaded(activations=float(s)), LAYOUTS).peak_reserved for s in shares])
    steps = np.array([step(offloaded(activations=float(s))).step_s for s in shares])
    assert np.all(np.diff(peaks, axis=0) <= 0)
    assert np.all(np.diff(steps, axis=0) >= 0)


def test_the_hosts_update_by_hand():
    # One replica of 8: an eighth of the parameters; 36 bytes each through 50 GB/s of host memory.
    parameters = count(MODEL).total / 8
    base, slow = step(JOB), step(offloaded(optimizer=1.0))
    assert slow.breakdown["optimizer"][0] == pytest.approx(parameters * 36 / 50e9, rel=0.01)
    assert slow.step_s[0] - base.step_s[0] == pytest.approx(
        slow.breakdown["optimizer"][0] - base.breakdown["optimizer"][0], rel=0.02
    )
    assert update_seconds(1e9, 4.0, 1e9, 1e12) == 4.0  # a slow link binds instead
    assert update_seconds(0.0, 4.0, 0.0, 0.0) == 0.0


def test_copies_hide_behind_the_layers_own_passes():
    assert exposed_copy(1e9, 0.5, 1e9, 0.6, 0.6) == 0.0
    assert exposed_copy(1e9, 1.0, 1e9, 0.6, 0.9) == pytest.approx(0.4 + 0.1)
    quick, slow = (step(offloaded(activations=1.0), host_link=link) for link in (1e13, 1e9))
    np.testing.assert_allclose(quick.step_s, step(JOB).step_s)
    assert np.all(slow.breakdown["other"] > quick.breakdown["other"])
    np.testing.assert_allclose(sum(slow.breakdown.values()), slow.step_s)


def test_a_scenario_offloads_and_a_host_that_is_too_small_is_no_way_out():
    text = (
        "name: m\nfleet: {accelerator: H100-SXM, count: 8}\n"
        "training: {model: llama-3.1-70b, tokens: 1e9, sequence_length: 8192, global_batch: 64 sequences%s}\n"
    )
    plain = argosy.plan(argosy.loads(text % ""), draws=10)
    helped = argosy.plan(argosy.loads(text % ", offload: {optimizer: 100 %, activations: 0.5}"), draws=10)
    assert plain.verdict.status == "infeasible"
    row = helped.payload["training"][0]["memory_bytes"]
    assert row["optimizer"] == 0 and 0 < row["host"] <= 250e9
