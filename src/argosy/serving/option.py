"""One way to serve a model: pools of replicas, what they can do at best, and the latency that none of them beats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from argosy.serving.fleet import Policy, Pool
from argosy.serving.objectives import Objective, quantile
from argosy.serving.provider import StepTimeProvider
from argosy.serving.traffic import Requests

Array = Any


@dataclass(frozen=True)
class Option:
    """One layout, precision and batch limit; with `decode`, prompts are seen by `replica`'s pool and answers made by that one.

    `flops_per_token` (2 · active parameters) and `peak_flops` of one accelerator are what useful work is counted by.
    """

    replica: Pool
    decode: Pool | None
    flops_per_token: float
    peak_flops: float
    precision: str
    policy: Policy

    @property
    def label(self) -> str:
        """In a few words, for tables."""
        first = self.replica.provider.layout
        own = f"{first} {self.precision}, batch {self.last.batch}"
        if self.decode is None:
            return own
        return f"prompts {first}, answers {self.decode.provider.layout}, {self.precision}, batch {self.last.batch}"

    @property
    def last(self) -> Pool:
        """The pool that generates."""
        return self.decode or self.replica

    @property
    def kinds(self) -> tuple[Pool, ...]:
        """The pools, of one replica each."""
        return (self.replica,) if self.decode is None else (self.replica, self.decode)

    def pools(self, counts: Sequence[int], **changes: Any) -> list[Pool]:
        """The pools with so many replicas each."""
        return [
            replace(pool, count=max(int(n), 1), **changes) for pool, n in zip(self.kinds, counts, strict=True)
        ]

    def gpus(self, counts: Sequence[int]) -> int:
        """Accelerators of so many replicas."""
        return sum(pool.provider.gpus * int(n) for pool, n in zip(self.kinds, counts, strict=True))

    def with_batch(self, batch: int) -> Option:
        """The same with another limit of the batch that generates."""
        if self.decode is None:
            return replace(self, replica=replace(self.replica, max_batch=batch))
        return replace(self, decode=replace(self.decode, max_batch=batch))


@dataclass(frozen=True)
class Mean:
    """Mean request: prompt tokens to be computed and in all, answer tokens, context of a generated token (over tokens)."""

    computed: float
    prompt: float
    answer: float
    context: float

    @classmethod
    def of(cls, requests: Requests, hits: float = 1.0) -> Mean:
        """The mean of requests of whose prefixes a share `hits` is found in the cache."""
        prompt, answer = requests.input_tokens, requests.output_tokens
        weight = float(np.maximum(answer - 1, 0).sum())
        inside = float((np.maximum(answer - 1, 0) * (prompt + answer / 2.0)).sum())
        computed = float((prompt - hits * requests.prefix_tokens).clip(1).mean())
        return cls(
            computed,
            float(prompt.mean()),
            float(answer.mean()),
            inside / weight if weight else float(prompt.mean()),
        )


@dataclass(frozen=True)
class Capacity:
    """The fluid limit of one replica: requests per second, the batch and the time per token at which it is reached."""

    rate_per_s: float
    batch: float
    tpot_s: float


def capacity(
    pool: Pool, mean: Mean, tpot_limit_s: float = np.inf, prompts: bool = True, answers: bool = True
) -> Capacity:
    """The most requests per second that a replica serves when nothing queues and all steps are alike.

    Continuous batching: X = B ÷ (B·S_p + (O − 1)·t_d(B) ÷ γ) at the best batch B whose time per token,
    t_d(B) ÷ γ + B·S_p ÷ (O − 1), keeps the limit and whose contexts fit in memory; S_p is what one prompt adds to the
    iterations, γ tokens per iteration. `prompts` only: 1 ÷ S_p with a full chunk; `answers` only: without S_p. Where the mean
    request alone is slower than the limit (a promise to most may still be kept), one at a time.
    """
    provider = pool.provider
    if not answers:
        many = max(pool.chunk / max(mean.computed, 1.0), 1.0)
        seconds = float(np.mean(provider.mixed_s(mean.computed * many, _seen(mean), 0, 1.0))) / many
        return Capacity(1.0 / seconds, many, 0.0)
    most = min(
        pool.batch,
        max(int(provider.kv_capacity_tokens / (mean.context + _window(provider, mean.context))), 1),
    )
    batch = np.unique(np.round(np.geomspace(1, most, 96)).astype(int)).astype(float)
    decode = np.asarray(provider.decode_s(batch, mean.context), float)
    prompt = np.zeros_like(batch)
    if prompts:
        part = min(mean.computed, float(pool.chunk))
        with_prompt = np.asarray(provider.mixed_s(part, _seen(mean), batch, mean.context), float)
        prompt = (with_prompt - decode) * mean.computed / part
    more = mean.answer - 1.0
    tpot = np.zeros_like(batch)  # of answers of one token
    if more > 0.0:
        tpot = decode / provider.tokens_per_step + batch * prompt / more
    kept = np.flatnonzero(tpot <= tpot_limit_s)
    if not len(kept):
        kept = np.array([0])
    rate = batch / (batch * prompt + more * decode / provider.tokens_per_step)
    at = kept[np.argmax(rate[kept])]
    return Capacity(float(rate[at]), float(batch[at]), float(tpot[at]))


def _seen(mean: Mean) -> float:
    """Keys that a computed prompt token sees on average."""
    return mean.prompt - mean.computed / 2.0


def _window(provider: StepTimeProvider, context: float) -> float:
    return float(np.mean(provider.window_tokens(context)))


@dataclass(frozen=True)
class Floors:
    """Latencies of every request alone on an idle replica (s), by the step model and by physics (None where it cannot say)."""

    alone: dict[str, np.ndarray]
    physical: dict[str, np.ndarray] | None

    def faults(self, wanted: Sequence[Objective]) -> list[str]:
        """Objectives that no number of replicas keeps, in words."""
        told = []
        for each in wanted:
            least = quantile(self.alone[each.metric], each.quantile)
            if least <= each.limit_s:
                continue
            bound = ""
            if self.physical is not None:
                physics = quantile(self.physical[each.metric], each.quantile)
                beyond = (
                    "itself beyond the promise" if physics > each.limit_s else "which engines do not reach"
                )
                bound = f"; the hardware's bound is {physics:.3g} s, {beyond}"
            told.append(
                f"{each.name} of {each.limit_s:.3g} s is below the floor: alone on an idle replica it is {least:.3g} s{bound}; "
                f"{_LOWERS[each.metric]}"
            )
        return told


_LOWERS = {
    "ttft": "more tensor parallelism, a narrower format, a faster accelerator or a prefix cache would lower it",
    "tpot": "more tensor parallelism, narrower weights, speculative decoding or more memory bandwidth would lower it",
    "e2e": "shorter answers, speculative decoding, more tensor parallelism or narrower weights would lower it",
}


def floors(option: Option, requests: Requests, most: int = 20_000) -> Floors:
    """The floors of (a sample of) requests: prefixes found, no queue, a batch of one."""
    step = max(len(requests) // most, 1)
    few = requests.where(np.arange(len(requests)) % step == 0)
    prompt, answer = few.input_tokens.astype(float), few.output_tokens.astype(float)
    computed = np.maximum(prompt - few.prefix_tokens, 1.0)
    first, last = option.replica.provider, option.last.provider
    context = prompt + answer / 2.0
    travel = (
        option.policy.transfer_s + option.policy.transfer_s_per_token * prompt
        if option.decode is not None
        else 0.0
    )

    def of(ttft: Array, tpot: Array) -> dict[str, np.ndarray]:
        more = np.maximum(answer - 1.0, 0.0)
        ttft, tpot = np.asarray(ttft, float), np.where(more > 0, np.asarray(tpot, float), 0.0)
        return {"ttft": ttft, "tpot": tpot, "e2e": ttft + more * tpot}

    alone = of(
        first.mixed_s(computed, prompt - computed / 2.0, 0, 1.0) + option.policy.request_s + travel,
        np.asarray(last.decode_s(1.0, context)) / last.tokens_per_step,
    )
    bounds = bound(first), bound(last)
    if bounds[0] is None or bounds[1] is None:
        return Floors(alone, None)
    physical = of(
        bounds[0](computed, 0.0, 1.0), np.asarray(bounds[1](1.0, 1.0, prompt)) / last.tokens_per_step
    )
    return Floors(alone, physical)


def bound(provider: StepTimeProvider) -> Callable[[Array, Array, Array], Array] | None:
    """The hardware's bound of an iteration, `floor_s`, of a provider or of the built-in one that it stands on; None without."""
    for one in (provider, getattr(provider, "base", None)):
        if one is not None and hasattr(one, "floor_s"):
            found: Callable[[Array, Array, Array], Array] = one.floor_s
            return found
    return None


@dataclass(frozen=True)
class Limits:
    """What an option can do for a mean request, from its pools' capacities."""

    option: Option
    mean: Mean
    tpot_limit_s: float

    @cached_property
    def by_pool(self) -> tuple[Capacity, ...]:
        """The fluid capacity of one replica of each pool."""
        option = self.option
        if option.decode is None:
            return (capacity(option.replica, self.mean, self.tpot_limit_s),)
        return (
            capacity(option.replica, self.mean, answers=False),
            capacity(option.decode, self.mean, self.tpot_limit_s, prompts=False),
        )

    def gpus(self, rate_per_s: float) -> float:
        """The fewest accelerators, fractions of replicas allowed, that carry `rate_per_s` arrivals."""
        return sum(
            pool.provider.gpus * (rate_per_s / most.rate_per_s if most.rate_per_s > 0 else np.inf)
            for pool, most in zip(self.option.kinds, self.by_pool, strict=True)
        )

    def replicas(self, rate_per_s: float) -> list[int]:
        """The same in whole replicas of each pool."""
        rates = [most.rate_per_s for most in self.by_pool]
        return [max(int(np.ceil(round(rate_per_s / rate, 9))), 1) if rate > 0 else 1 for rate in rates]
