"""A replica's steady state in closed form: batch, time per output token, throughput, time to first token.

Continuous batching with B sequences running: in the life of one sequence every other slot takes a new prompt once, so
    TPOT = t_d(B, ISL + OSL/2) + (B − 1)·ΔS/OSL,   X = B/(S + (B − 1)·ΔS + OSL·t_d),
where S is a prompt's own iterations and ΔS what a prompt adds to the iterations of the others. Little's law ties them:
B = X·(S + OSL·TPOT). Holds for lengths near their means and a queue that never runs dry; an event simulation
in the tests is its oracle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.serving.engine import Engine
from argosy.serving.provider import StepTimeProvider

Array = Any


@dataclass(frozen=True)
class Steady:
    """Steady state, each a float or array.

    `batch`: running sequences (mean); `waiting`: clients beyond them; `tpot_s`; `ttft_s`, with the wait for a slot;
    `added_s`: what one prompt costs the others; `requests_per_s`, `output_tokens_per_s` of the replica.
    """

    batch: Array
    waiting: Array
    tpot_s: Array
    ttft_s: Array
    added_s: Array
    requests_per_s: Array
    output_tokens_per_s: Array


def largest_batch(
    provider: StepTimeProvider, engine: Engine, input: Array, output: Array, throughput: bool = True
) -> Array:
    """Most sequences of these lengths that memory and the engine's limit let run; whole, 0 where none fits.

    An engine that reserves the output counts the whole length. One that does not runs at the mean context
    (input + output/2) when asked for `throughput`, else is safe from preemption only at the whole length.
    """
    input, output = np.asarray(input, float), np.asarray(output, float)
    mean = throughput and not engine.reserve_output
    length = input + (output / 2 if mean else output)
    held = length + provider.window_tokens(length)
    fits = input + output + provider.window_tokens(input + output) <= provider.kv_capacity_tokens
    most = np.floor(provider.kv_capacity_tokens / held)
    return np.where(fits, np.minimum(most, provider.max_batch * provider.layout.dp), 0.0)[()]


def prompt_s(provider: StepTimeProvider, engine: Engine, input: Array, cached: Array = 0) -> Array:
    """Seconds of one prompt alone, in chunks of `engine.max_tokens`."""
    new = np.maximum(np.asarray(input, float) - cached, 0.0)
    chunks = np.maximum(np.ceil(new / engine.max_tokens), 1.0)
    return chunks * provider.mixed_s(new / chunks, np.asarray(cached) + new / 2, 0, 1)


def added_s(
    provider: StepTimeProvider,
    engine: Engine,
    input: Array,
    batch: Array,
    context: Array,
    cached: Array = 0,
    together: Array = 1,
) -> Array:
    """Seconds that one prompt adds to the iterations of `batch` running sequences.

    `together`: sequences that end in one iteration, whose successors' prompts share the next (as many as its tokens
    allow) and with it what an iteration with prompts costs once.
    """
    new = np.maximum(np.asarray(input, float) - cached, 1.0)
    if not engine.mixed:
        return prompt_s(provider, engine, input, cached)
    room = np.maximum(engine.max_tokens - batch, 1.0)
    chunks = np.maximum(np.ceil(new / room), 1.0)
    sharing = np.clip(together, 1.0, np.maximum(room / new, 1.0))
    each = provider.mixed_s(sharing * new / chunks, np.asarray(cached) + new / 2, batch, context)
    return chunks * (each - provider.decode_s(batch, context)) / sharing


def steady_state(
    provider: StepTimeProvider,
    engine: Engine,
    input: Array,
    output: Array,
    concurrency: Array,
    cached: Array = 0,
) -> Steady:
    """The steady state under `concurrency` clients (infinite: as many as run at once), all arguments broadcasting.

    `input` and `output` tokens (means), `cached` prompt tokens found in the cache. NaN where not one request fits.
    """
    input, output = np.asarray(input, float), np.asarray(output, float)
    concurrency, cached = np.asarray(concurrency, float), np.asarray(cached, float)
    most = largest_batch(provider, engine, input, output)
    batch = np.where(most > 0, np.minimum(concurrency, most), np.nan)
    context = input + output / 2
    step = provider.decode_s(batch, context) / provider.tokens_per_step
    own = prompt_s(provider, engine, input, cached)
    added = added_s(provider, engine, input, batch, context, cached, batch / output)
    others = np.maximum(batch - 1, 0.0) * added
    tpot = step + others / output
    rate = batch / (own + others + output * step)
    waiting = np.where(np.isfinite(concurrency), np.maximum(concurrency - batch, 0.0), 0.0)
    # A new prompt waits for half an iteration and, where more clients than slots, for a slot (Little).
    ttft = engine.request_s + own + step * provider.tokens_per_step / 2 + waiting / rate
    return Steady(batch, waiting, tpot, ttft, added, rate, rate * output)


def finite_run(
    provider: StepTimeProvider, engine: Engine, input: Array, output: Array, requests: Array
) -> Steady:
    """A run of `requests` of equal lengths that all wait from the start, until the last one ends; arguments broadcast.

    As many as fit run at once, in waves, the last with who is left (r = N mod B):
        T = ⌊N/B⌋·(O·t_d(B) + B·ΔS) + O·t_d(r) + r·ΔS(r),   X = N/T.
    Requests that enter in one iteration end in one, so that their successors' prompts share an iteration too, as many as its
    tokens allow. `tpot_s` and `added_s` are those of a full wave, `ttft_s` without the wait for a slot. NaN where not one
    request fits.
    """
    input, output, requests = (np.asarray(x, float) for x in (input, output, requests))
    most = np.minimum(largest_batch(provider, engine, input, output), requests)
    full, context = np.where(most > 0, most, np.nan), input + output / 2
    waves = np.floor(requests / full)
    left = requests - waves * full

    def wave(batch: Array) -> tuple[Array, Array]:
        step = provider.decode_s(batch, context) / provider.tokens_per_step
        return output * step, added_s(provider, engine, input, batch, context, together=np.inf)

    (decoding, added), (last, last_added) = wave(full), wave(np.maximum(left, 1.0))
    seconds = waves * (decoding + full * added) + np.where(left > 0, last + left * last_added, 0.0)
    rate = requests / seconds
    tpot = (decoding + (full - 1) * added) / output
    ttft = engine.request_s + prompt_s(provider, engine, input)
    return Steady(full, requests - full, tpot, ttft, added, rate, rate * output)
