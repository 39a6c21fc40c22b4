"""Runs of one replica, or of a prefill and a decode pool, on the oracle's kernel (`replica_kernel`).

`closed_loop` has clients that send their next request when the last is answered, as load tests do; `open_loop` takes
arrivals as they come; `disaggregated` hands every prompt's KV cache from a prefill pool to a decode pool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import replica_kernel as kernel
from replica_state import (
    AGGREGATED,
    DECODE,
    PREFILL,
    Pool,
    ReplicaSettings,
    Requests,
    new_pool,
    new_requests,
)

from argosy.serving.engine import Engine
from argosy.serving.provider import StepTimeProvider, table

_LEAVES = 4  # a pool's log has room for this many departures per request


@dataclass(frozen=True)
class ReplicaRun:
    """What a simulated replica (or pool) did. Latencies (n,) in s, NaN for requests turned away.

    `span_s`: from the first arrival to the last departure; `batch`: running sequences, mean over time and replicas;
    `in_system`: requests, mean over time, by adding up the time each spent; `preemptions`; `peak_kv_tokens` of
    `kv_capacity_tokens`; `utilisation`: share of the time that replicas iterate; `turned_away`: requests that can never
    fit.
    """

    ttft_s: np.ndarray
    tpot_s: np.ndarray
    e2e_s: np.ndarray
    span_s: float
    output_tokens: float
    batch: float
    in_system: float
    preemptions: int
    peak_kv_tokens: float
    kv_capacity_tokens: float
    utilisation: float
    turned_away: int

    @property
    def requests_per_s(self) -> float:
        """Requests answered per second."""
        return (len(self.e2e_s) - self.turned_away) / self.span_s

    @property
    def output_tokens_per_s(self) -> float:
        """Output tokens per second of the pool."""
        return self.output_tokens / self.span_s

    def quantiles(self, name: str) -> dict[str, float]:
        """p50, p90, p99 of `ttft_s`, `tpot_s` or `e2e_s`."""
        values = getattr(self, name)
        found = np.nanquantile(values, (0.5, 0.9, 0.99))
        return {p: float(v) for p, v in zip(("p50", "p90", "p99"), found, strict=True)}


def replica_settings(
    provider: StepTimeProvider, engine: Engine, length: float, role: int = AGGREGATED
) -> ReplicaSettings:
    """What the kernel needs to know of a replica; `length`: mean tokens of a whole request, for sliding windows."""
    windows = float(provider.window_tokens(length))
    return ReplicaSettings(
        capacity=float(provider.kv_capacity_tokens),
        per_sequence=windows,
        max_batch=int(min(provider.max_batch * provider.layout.dp, provider.kv_capacity_tokens)),
        max_tokens=int(engine.max_tokens * provider.layout.dp),
        mixed=engine.mixed,
        reserve=engine.reserve_output,
        tokens_per_step=float(provider.tokens_per_step),
        role=role,
    )


def closed_loop(
    provider: StepTimeProvider, engine: Engine, input: np.ndarray, output: np.ndarray, clients: int
) -> ReplicaRun:
    """`clients` clients send the requests (n,) one after another, all beginning at once."""
    settings = replica_settings(provider, engine, float(np.mean(input) + np.mean(output)))
    requests = new_requests(np.zeros(len(input)), input, output)
    pool = new_pool(1, settings, _LEAVES * len(input))
    if provider.kv_capacity_tokens > 0:
        kernel.closed_loop(clients, pool, requests, settings, _grids(provider, requests, settings))
    return _run(requests, requests.ready, pool, settings, engine.request_s)


def open_loop(
    provider: StepTimeProvider,
    engine: Engine,
    arrival_s: np.ndarray,
    input: np.ndarray,
    output: np.ndarray,
    cached: np.ndarray | None = None,
    replicas: int = 1,
) -> ReplicaRun:
    """Requests (n,) arriving at `arrival_s` at `replicas` replicas, each going to the one with least to do."""
    settings = replica_settings(provider, engine, float(np.mean(input) + np.mean(output)))
    requests = new_requests(arrival_s, input, output, cached)
    pool = new_pool(replicas, settings, _LEAVES * len(input))
    order = np.argsort(requests.ready, kind="stable")
    kernel.open_loop(order, pool, requests, settings, _grids(provider, requests, settings))
    return _run(requests, np.asarray(arrival_s, float), pool, settings, engine.request_s)


def disaggregated(
    prefill: StepTimeProvider,
    decode: StepTimeProvider,
    engine: Engine,
    arrival_s: np.ndarray,
    input: np.ndarray,
    output: np.ndarray,
    transfer_s: np.ndarray,
    prefill_replicas: int = 1,
    decode_replicas: int = 1,
) -> ReplicaRun:
    """Prompts (n,) on a prefill pool, their answers on a decode pool, the KV cache handed over in `transfer_s` (n,).

    The first token comes with the prompt; decoding waits for the cache (`transfer_time`) and for room. Preempted
    sequences are computed again on the decode replica. Batch, peak of the cache and utilisation are the decode pool's.
    """
    length = float(np.mean(input) + np.mean(output))
    first = new_requests(arrival_s, input, output)
    settings = replica_settings(prefill, engine, length, PREFILL)
    pool = new_pool(prefill_replicas, settings, _LEAVES * len(input))
    order = np.argsort(first.ready, kind="stable")
    kernel.open_loop(order, pool, first, settings, _grids(prefill, first, settings))

    settings = replica_settings(decode, engine, length, DECODE)
    done = np.where(np.isfinite(first.finish), first.finish, np.nan)
    second = new_requests(np.where(np.isfinite(done), done + transfer_s, np.inf), input, output)
    second.first[:] = first.first
    pool = new_pool(decode_replicas, settings, _LEAVES * len(input))
    order = np.argsort(second.ready, kind="stable")
    order = order[np.isfinite(second.ready[order])]
    kernel.open_loop(order, pool, second, settings, _grids(decode, second, settings))
    second.finish[~np.isfinite(second.ready)] = np.inf
    return _run(second, np.asarray(arrival_s, float), pool, settings, engine.request_s)


def _grids(provider: StepTimeProvider, requests: Requests, settings: ReplicaSettings) -> Any:
    longest = float(np.max(requests.input + requests.output, initial=2))
    return table(provider, longest, settings.max_batch, settings.max_tokens).grids


def _run(
    requests: Requests, arrival_s: np.ndarray, pool: Pool, settings: ReplicaSettings, request_s: float
) -> ReplicaRun:
    served = np.isfinite(requests.finish)
    ttft = np.where(served, requests.first - arrival_s, np.nan)
    e2e = np.where(served, requests.finish - arrival_s, np.nan)
    steps = np.maximum(requests.output - 1, 1)
    tpot = np.where(served & (requests.output > 1), (e2e - ttft) / steps, np.nan)
    begin = float(np.min(arrival_s, initial=np.inf))
    span = max(float(np.max(requests.finish[served], initial=begin)) - begin, 1e-12)
    replicas = len(pool.clock)
    return ReplicaRun(
        ttft_s=ttft + request_s,
        tpot_s=tpot,
        e2e_s=e2e + request_s,
        span_s=span,
        output_tokens=float(requests.output[served].sum()),
        batch=float(pool.area.sum()) / span / replicas,
        in_system=float(np.nansum(e2e)) / span,
        preemptions=int(requests.preempted.sum()),
        peak_kv_tokens=float(pool.peak_kv.max()),
        kv_capacity_tokens=settings.capacity,
        utilisation=float(pool.busy.sum()) / span / replicas,
        turned_away=int((~served).sum()),
    )
