"""Bytes that a layout sends per step, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from argosy.training import Job, Layouts
from argosy.training.traffic import bytes_per_step

LAYERS, HIDDEN, VOCAB, FFN, KV = 8, 4096, 32000, 14336, 8 * 128
# One layer of `small`: queries and output, keys and values, three products of the gated unit.
LAYER = 2 * HIDDEN * HIDDEN + 2 * HIDDEN * KV + 3 * HIDDEN * FFN


def test_zero_one_scatters_gradients_and_gathers_weights(small, device, stack):
    job = Job(small, 4096, 64, gradient_bytes=4.0, parameter_bytes=2.0)
    found = bytes_per_step(job, device, stack, Layouts.one(dp=8, grad_accumulation=8))
    parameters = LAYERS * LAYER + 2 * VOCAB * HIDDEN
    assert found["dp"] == pytest.approx((4 + 2) * parameters * 7 / 8, rel=1e-3)
    assert found["tp"] == found["cp"] == found["ep"] == found["pp"] == 0


def test_stages_send_activations_and_gradients(small, device, stack):
    job = Job(small, 4096, 64)
    found = bytes_per_step(job, device, stack, Layouts.one(pp=4, dp=1, grad_accumulation=64))
    assert found["pp"] == pytest.approx(2 * 64 * 4096 * HIDDEN * 2)
    halves = bytes_per_step(job, device, stack, Layouts.one(pp=4, vp=2, dp=1, grad_accumulation=64))
    assert halves["pp"] == pytest.approx(2 * found["pp"])


def test_tensor_parallelism_gathers_and_scatters_every_block(small, device, stack):
    """Per layer and micro-batch: two gathers and two scatters forward; backward as many, and two gathers again."""
    job = Job(small, 4096, 8)
    found = bytes_per_step(job, device, stack, Layouts.one(tp=8, dp=1, grad_accumulation=8))
    hidden_state = 4096 * HIDDEN * 2
    layers = 8 * LAYERS * (4 + 4 + 2) * hidden_state * 7 / 8
    assert layers <= found["tp"] <= 1.2 * layers  # embedding and head on top


def test_nothing_hides(small, device, stack):
    shown = Job(small, 4096, 64)
    layouts = Layouts.one(dp=8, grad_accumulation=8)
    hiding = replace(stack, dp_hidden=1.0, overlap_drag=0.0)
    assert bytes_per_step(shown, device, hiding, layouts) == pytest.approx(
        bytes_per_step(shown, device, stack, layouts)
    )


def test_experts_send_what_leaves_the_node(deepseek_v3, device, stack):
    """A node-limited dispatcher sends fewer bytes between nodes than one that sends every copy."""
    job = Job(deepseek_v3, 4096, 64)
    layouts = Layouts.one(ep=64, dp=64, grad_accumulation=1)
    everywhere = bytes_per_step(job, device, replace(stack, dispatcher="all-to-all"), layouts)["ep"]
    limited = bytes_per_step(job, device, replace(stack, dispatcher="node-limited"), layouts)["ep"]
    routed = replace(stack, dispatcher="node-limited", node_limit=4.0)
    # Of 8 copies to 8 nodes, 8 · (1 − (7/8)^8) nodes are distinct.
    assert limited / everywhere == pytest.approx(1 - (7 / 8) ** 8)
    assert bytes_per_step(job, device, routed, layouts)["ep"] / everywhere == pytest.approx(4 / 8)
