"""One replica, or a prefill and a decode pool, in closed form: throughput against latency, and the cache's way.

Distributions of latency come from the fleet's simulation (`serving.fleet.simulate`, of one replica if so wanted).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.fabric import Network
from argosy.serving.engine import Engine
from argosy.serving.provider import StepTimeProvider
from argosy.serving.roofline import Roofline
from argosy.serving.steady import largest_batch, steady_state

Array = Any


def transfer_time(provider: Roofline, network: Network, tokens: Array, hidden: float = 0.0) -> Array:
    """Seconds to hand the KV cache of `tokens` prompt tokens to another replica of the same layout over `network`.

    Every accelerator sends its part to its counterpart, one replica further on; `hidden`: share (0–1) of it that runs
    under the prefill, layer by layer.
    """
    held = np.asarray(tokens, float)
    sent = (held + provider.window_tokens(held)) * provider.kv_bytes_per_token
    return (1.0 - hidden) * network.point_to_point(sent, provider.gpus, 2)


def disaggregated_rate(
    prefill: StepTimeProvider,
    decode: StepTimeProvider,
    engine: Engine,
    input: Array,
    output: Array,
    prefill_replicas: Array,
    decode_replicas: Array,
) -> Array:
    """Most requests per second, min(n_P·μ_P, n_D·μ_D): full prompt iterations, and decode at the largest batch."""
    prompts = np.maximum(np.floor(engine.max_tokens / np.asarray(input, float)), 1.0)
    by_prefill = prefill_replicas * prompts / prefill.prefill_s(input, 0, prompts)
    batch = largest_batch(decode, engine, input, output)
    step = decode.decode_s(batch, np.asarray(input) + np.asarray(output) / 2)
    by_decode = decode_replicas * batch * decode.tokens_per_step / (step * output)
    return np.minimum(by_prefill, by_decode)


def frontier(
    provider: StepTimeProvider, engine: Engine, input: float, output: float, points: int = 24
) -> dict[str, np.ndarray]:
    """Throughput against latency in steady state, from one client to the largest batch: `concurrency`, `tpot_s`,
    `ttft_s`, `output_tokens_per_s_per_gpu`, `requests_per_s`, each (points,) or fewer.
    """
    most = float(largest_batch(provider, engine, input, output))
    if most < 1:
        return {key: np.zeros(0) for key in ("concurrency", "tpot_s", "ttft_s", "requests_per_s")}
    clients = np.unique(np.round(np.geomspace(1.0, most, points)))
    steady = steady_state(provider, engine, input, output, clients)
    return {
        "concurrency": clients,
        "tpot_s": np.asarray(steady.tpot_s),
        "ttft_s": np.asarray(steady.ttft_s),
        "requests_per_s": np.asarray(steady.requests_per_s),
        "output_tokens_per_s_per_gpu": np.asarray(steady.output_tokens_per_s) / provider.gpus,
    }
