"""A provider that is off by a factor: how its error reaches latencies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from argosy.serving.option import Option
from argosy.serving.provider import StepTimeProvider

Array = Any


@dataclass(frozen=True)
class Scaled:
    """`provider` with all iterations `factor` times as long; memory and limits are its own."""

    provider: StepTimeProvider
    factor: float

    def __getattr__(self, name: str) -> Any:
        return getattr(self.provider, name)

    def prefill_s(self, tokens: Array, cached_tokens: Array = 0, batch: Array = 1) -> Array:
        """See `StepTimeProvider.prefill_s`."""
        return self.factor * self.provider.prefill_s(tokens, cached_tokens, batch)

    def decode_s(self, batch: Array, context: Array) -> Array:
        """See `StepTimeProvider.decode_s`."""
        return self.factor * self.provider.decode_s(batch, context)

    def mixed_s(
        self, prefill_tokens: Array, prefill_context: Array, decode_batch: Array, decode_context: Array
    ) -> Array:
        """See `StepTimeProvider.mixed_s`."""
        return self.factor * self.provider.mixed_s(
            prefill_tokens, prefill_context, decode_batch, decode_context
        )


def scaled_option(option: Option, factor: float) -> Option:
    """The option with iterations of all its pools `factor` times as long."""
    first = replace(option.replica, provider=Scaled(option.replica.provider, factor))
    if option.decode is None:
        return replace(option, replica=first)
    second = replace(option.decode, provider=Scaled(option.decode.provider, factor))
    return replace(option, replica=first, decode=second)
