"""Volumes of what ranks exchange, read off a network that answers with the bytes it was asked for."""

from dataclasses import replace

import numpy as np
import pytest

from argosy.training import Job, Layouts, Stack
from argosy.training.blocks import blocks
from argosy.training.communication import (
    all_to_all,
    context_parallel,
    data_parallel,
    expert_data_parallel,
    expert_parallel,
    pipeline_transfer,
    tensor_parallel,
)


class Recorder:
    """Answers every question with one second per byte of the full tensor; remembers the questions."""

    def __init__(self):
        self.asked = []

    def collective(self, kind, bytes, size, stride):
        self.asked.append((kind, np.ravel(bytes)[0], np.ravel(size)[0], np.ravel(stride)[0]))
        return np.asarray(bytes, float) * np.ones(np.shape(size))

    def point_to_point(self, bytes, stride):
        self.asked.append(("send", np.ravel(bytes)[0], 2, np.ravel(stride)[0]))
        return np.asarray(bytes, float)


def layer(model, layout, name="dense"):
    return blocks(Job(model, 4096, 64), layout)[name].work


def test_tensor_parallel_volumes_of_a_dense_layer(small):
    hidden = 4096 * 4096 * 2  # tokens × hidden × BF16
    layout = Layouts.one(tp=8, sequence_parallel=[True, False])
    passes = tensor_parallel(layer(small, layout), Recorder(), layout)
    # Two blocks: gather and scatter each, or one all-reduce each; the backward regathers both inputs.
    assert passes.forward.tolist() == [4 * hidden, 2 * hidden]
    assert passes.backward.tolist() == [6 * hidden, 2 * hidden]


def test_activations_converted_before_the_gather_travel_at_half_the_bytes(small):
    layout = Layouts.one(tp=8, sequence_parallel=[True, False])
    wide, narrow = (tensor_parallel(layer(small, layout), Recorder(), layout, b) for b in (2.0, 1.0))
    hidden = 4096 * 4096 * 2
    assert (wide.forward - narrow.forward).tolist() == [2 * hidden / 2, 0]  # two gathers; an all-reduce stays
    assert (wide.backward - narrow.backward).tolist() == [4 * hidden / 2, 0]


def test_full_recomputation_repeats_the_forward_exchange(small):
    layout = Layouts.one(tp=8, recompute=[0, 2])
    passes = tensor_parallel(layer(small, layout), Recorder(), layout)
    assert passes.backward[1] - passes.backward[0] == passes.forward[0]


def test_context_parallel_moves_keys_and_values_once_forward_thrice_in_all(small):
    layout = Layouts.one(cp=4)
    passes = context_parallel(layer(small, layout), Recorder(), layout)
    keys_and_values = 4096 * 2 * 8 * 128 * 2  # sequence × (K, V) × kv heads × head × BF16
    assert passes.forward[0] == keys_and_values
    assert passes.backward[0] == 2 * keys_and_values


def test_pipeline_sends_are_split_over_tensor_ranks():
    network, layout = Recorder(), Layouts.one(tp=8, pp=4, dp=2, sequence_parallel=True)
    assert pipeline_transfer(800.0, network, layout)[0] == 100.0
    assert network.asked == [("send", 100.0, 2, 16)]
    gathered = Layouts.one(tp=8, pp=4, dp=2, sequence_parallel=False)
    assert pipeline_transfer(800.0, network, gathered)[0] == 100.0 + 800.0
    assert pipeline_transfer(800.0, network, Layouts.one(tp=8))[0] == 0.0


def test_expert_groups_fold_into_a_stage():
    network = Recorder()
    layout = Layouts.one(tp=4, cp=2, dp=32, ep=16, etp=2)
    expert_data_parallel("all_reduce", 1.0, network, layout)
    data_parallel("all_reduce", 1.0, network, layout)
    assert network.asked == [("all_reduce", 1.0, 8, 32), ("all_reduce", 1.0, 64, 4)]


def test_tokens_go_to_experts_and_back_in_both_passes(deepseek_v3):
    layout, network = Layouts.one(dp=64, ep=64), Recorder()
    work = layer(deepseek_v3, layout, "moe")
    passes = expert_parallel(deepseek_v3, work, network, Stack.preset("generic"), layout, 8, 2.0)
    sent = 4096 * 8 * 7168 * 2  # tokens × top_k × hidden × BF16
    assert passes.forward[0] == passes.backward[0] == 2 * sent
    narrow = expert_parallel(deepseek_v3, work, network, Stack.preset("generic"), layout, 8, 1.0)
    assert narrow.forward[0] == 1.5 * sent and narrow.backward[0] == 2 * sent


def test_node_limited_dispatch_crosses_once_per_node_visited():
    layout, network = Layouts.one(dp=64, ep=64), Recorder()
    stack = Stack.preset("megatron-bridge")
    all_to_all(800.0, 8, network, stack, layout, 8)
    plain, across, inside = network.asked
    assert plain == ("all_to_all", 800.0, 64, 1)
    visited = 8 * (1 - (7 / 8) ** 8)  # expected distinct nodes of eight random experts on eight nodes
    assert across[1] == pytest.approx(100.0 * visited) and across[2:] == (8, 8)
    assert inside == ("all_to_all", 800.0, 8, 1)
    network.asked.clear()
    all_to_all(800.0, 8, network, replace(stack, node_limit=4.0), layout, 8)
    assert network.asked[1][1] == pytest.approx(400.0)


def test_expected_nodes_visited_against_a_simulation():
    rng = np.random.default_rng(0)
    nodes = rng.integers(0, 8, (20000, 8))
    distinct = np.mean([len(set(row)) for row in nodes])
    assert distinct == pytest.approx(8 * (1 - (7 / 8) ** 8), rel=0.01)
