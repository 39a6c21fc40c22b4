"""What the ranks of a layout exchange, and how much of it is left exposed.

Sizes follow the fabric's convention: `bytes` is the full tensor of a collective. Ranks are numbered tp
fastest, then cp, dp, pp; expert groups fold into tp · cp · dp as Megatron-Core lays them (etp fastest, then
ep, then the replicas).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from argosy.spec.model import ModelArchitecture
from argosy.training.layout import FULL, SELECTIVE, Layouts
from argosy.training.stack import Stack
from argosy.workload.operations import LayerWork

Array = Any
ACTIVATION_BYTES = 2.0  # activations travel in BF16, whatever the products' format


class Network(Protocol):
    """What training asks of a fabric (docs/architecture.md): seconds, for arrays of sizes, groups and
    strides.
    """

    def collective(self, kind: str, bytes: Array, size: Array, stride: Array) -> Array: ...

    def point_to_point(self, bytes: Array, stride: Array) -> Array: ...


@dataclass(frozen=True)
class Passes:
    """Seconds of communication in one layer's forward and backward pass, per micro-batch."""

    forward: Array = 0.0
    backward: Array = 0.0


def exposed(seconds: Array, hidden: Array, window: Array, drag: Array = 0.0) -> Array:
    """Seconds of a communication that a step waits for, given what it may hide behind.

    `hidden`: fraction that the stack can start early enough (draws are cut to 0–1); `window`: seconds of
    compute to hide behind; `drag`: seconds of compute lost per hidden second.
    seconds − (1 − drag) · min(hidden · seconds, window): never negative, never more than `seconds`, and never
    decreasing in `seconds`.
    """
    return seconds - (1 - drag) * np.minimum(np.clip(hidden, 0.0, 1.0) * seconds, window)


def tensor_parallel(
    work: LayerWork, network: Network, layouts: Layouts, gather_bytes: float = ACTIVATION_BYTES
) -> Passes:
    """Tensor parallelism's collectives in one block, each over the hidden state of the group's tokens.

    With sequence parallelism an exchange is an all-gather and a reduce-scatter, and the backward gathers the
    inputs once more for the weight gradients (Korthikanti et al. 2022, arXiv:2205.05198, section 4.2.2);
    without it, an all-reduce. Full recomputation repeats the forward's. `gather_bytes`: bytes per element
    that is gathered (1: converted to FP8 before).
    """
    x, sharded, parallel = work.extra, layouts.sequence_parallel, layouts.tp > 1
    if not parallel.any():
        return Passes()
    narrow = gather_bytes / ACTIVATION_BYTES
    gather, scatter, reduce = (
        network.collective(kind, x["tp_bytes"] * share, layouts.tp, 1)
        for kind, share in (("all_gather", narrow), ("reduce_scatter", 1.0), ("all_reduce", 1.0))
    )
    exchange = np.where(parallel, np.where(sharded, gather + scatter, reduce), 0.0)
    regather = np.where(parallel & sharded, gather, 0.0) * x["tp_regather"]
    forward = exchange * x["tp_forward"]
    backward = exchange * x["tp_backward"] + regather + np.where(layouts.recompute == FULL, forward, 0.0)
    return Passes(forward, backward)


def context_parallel(work: LayerWork, network: Network, layouts: Layouts) -> Passes:
    """Keys and values that context-parallel ranks exchange in one layer.

    Both the ring and the gather move every other rank's keys and values past each rank: an all-gather's
    volume. The backward gathers them again and scatters their gradients; recomputed attention gathers once
    more.
    """
    active = layouts.cp > 1
    if not active.any():
        return Passes()
    gather, scatter = (
        np.where(active, network.collective(kind, work.extra["cp_bytes"], layouts.cp, layouts.tp), 0.0)
        for kind in ("all_gather", "reduce_scatter")
    )
    return Passes(gather, gather + scatter + np.where(layouts.recompute > 0, gather, 0.0))


def expert_parallel(
    model: ModelArchitecture,
    work: LayerWork,
    network: Network,
    stack: Stack,
    layouts: Layouts,
    node_size: int,
    dispatch_bytes: float,
) -> Passes:
    """Dispatch of tokens to their experts and the combination of the results, in one mixture layer.

    The busiest rank exchanges `imbalance` times the mean. The backward exchanges as much again, in BF16.
    Tensor parallelism inside experts gathers and scatters what was dispatched. `dispatch_bytes`: bytes per
    element of the forward dispatch (1 in FP8).
    """
    moe = model.moe
    if moe is None or not ((layouts.ep > 1) | (layouts.etp > 1)).any():
        return Passes()
    sent = work.extra["ep_bytes"] * (moe.capacity_factor or moe.imbalance)
    combine = all_to_all(sent, moe.top_k, network, stack, layouts, node_size)
    dispatch = combine
    if dispatch_bytes != ACTIVATION_BYTES:
        dispatch = all_to_all(
            sent * (dispatch_bytes / ACTIVATION_BYTES), moe.top_k, network, stack, layouts, node_size
        )
    gather, scatter = (
        np.where(layouts.etp > 1, network.collective(kind, work.extra["etp_bytes"], layouts.etp, 1), 0.0)
        for kind in ("all_gather", "reduce_scatter")
    )
    forward = dispatch + combine + gather + scatter
    backward = 2 * combine + 2 * gather + scatter
    again = layouts.recompute == FULL
    if stack.recomputes_experts:
        again = again | (layouts.recompute == SELECTIVE)
    return Passes(forward, backward + np.where(again, forward, 0.0))


def all_to_all(
    bytes: Array, top_k: int, network: Network, stack: Stack, layouts: Layouts, node_size: int
) -> Array:
    """Seconds of one exchange among the expert-parallel ranks of a send buffer of `bytes` per rank.

    `all-to-all`: every copy crosses whatever lies between. `node-limited` (DeepSeek-V3, arXiv:2412.19437,
    section 3.2.2): a token crosses the fabric once per node it visits and is copied inside, so that of top_k
    copies only the expected number of distinct nodes, nodes · (1 − (1 − 1/nodes)^top_k), or the router's
    limit, crosses; both legs run at once.
    """
    ep, stride = layouts.ep, layouts.etp
    plain = network.collective("all_to_all", bytes, ep, stride)
    if stack.dispatcher == "node-limited":
        local = np.maximum(np.minimum(node_size // stride, ep), 1)
        nodes = ep / local
        visited = np.minimum(nodes * (1 - (1 - 1 / nodes) ** top_k), stack.node_limit)
        across = network.collective(
            "all_to_all", bytes * visited / top_k, np.maximum(nodes, 1).astype(int), stride * local
        )
        inside = network.collective("all_to_all", bytes, local, stride)
        limited = np.maximum(np.where(nodes > 1, across, 0.0), np.where(local > 1, inside, 0.0))
        plain = np.where(nodes > 1, np.minimum(plain, limited), plain)
    return np.where(ep > 1, plain, 0.0)


def pipeline_transfer(bytes: Array, network: Network, layouts: Layouts) -> Array:
    """Seconds to hand one micro-batch's hidden state, `bytes` in all (or its gradient), to the next stage.

    Every tensor-parallel rank sends its part of the tokens, with sequence parallelism because it holds no
    more, without it because the receivers gather the parts over the scale-up network (scatter/gather,
    Narayanan et al. 2021, arXiv:2104.04473, section 4.1).
    """
    hop = network.point_to_point(bytes / layouts.tp, layouts.tp * layouts.cp * layouts.dp)
    gathers = (layouts.tp > 1) & ~layouts.sequence_parallel
    if gathers.any():
        hop = hop + np.where(gathers, network.collective("all_gather", bytes, layouts.tp, 1), 0.0)
    return np.where(layouts.pp > 1, hop, 0.0)


def data_parallel(kind: str, bytes: Array, network: Network, layouts: Layouts) -> Array:
    """A collective over the ranks that share a copy of dense weights (dp · cp or fewer), `bytes` in all."""
    size = layouts.shards
    return np.where(size > 1, network.collective(kind, bytes, size, layouts.tp), 0.0)


def between_copies(bytes: Array, network: Network, layouts: Layouts) -> Array:
    """Hybrid sharding's second half: the shards' sums, `bytes` in all, are added up over the copies."""
    copies = layouts.dp * layouts.cp // layouts.shards
    stride = layouts.tp * layouts.shards
    if not (copies > 1).any():
        return 0.0
    return np.where(copies > 1, network.collective("all_reduce", bytes / layouts.shards, copies, stride), 0.0)


def expert_data_parallel(kind: str, bytes: Array, network: Network, layouts: Layouts) -> Array:
    """A collective over the replicas of an expert's weights, `bytes` in all (hybrid sharding leaves them
    whole).
    """
    size = layouts.expert_dp
    return np.where(size > 1, network.collective(kind, bytes, size, layouts.ep * layouts.etp), 0.0)
