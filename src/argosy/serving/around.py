"""A step-time provider that stands on the built-in one: times of its own, layout and memory of the replica below."""

from __future__ import annotations

from typing import Any

from argosy.serving.layout import ReplicaLayout
from argosy.serving.roofline import Roofline

Array = Any


class Around:
    """What a provider takes over from `base`, the built-in provider of the same replica; see `StepTimeProvider`."""

    base: Roofline

    @property
    def layout(self) -> ReplicaLayout:
        """Parallel degrees of the replica."""
        return self.base.layout

    @property
    def gpus(self) -> int:
        """Accelerators of one replica."""
        return self.base.gpus

    @property
    def weight_bytes(self) -> float:
        """Bytes of weights on one accelerator."""
        return self.base.weight_bytes

    @property
    def kv_bytes_per_token(self) -> float:
        """KV-cache bytes of one token on one accelerator."""
        return self.base.kv_bytes_per_token

    @property
    def kv_capacity_tokens(self) -> int:
        """Tokens that the replica's memory holds."""
        return self.base.kv_capacity_tokens

    @property
    def max_batch(self) -> int:
        """Most sequences that the engine runs at once."""
        return self.base.max_batch

    @property
    def tokens_per_step(self) -> float:
        """Tokens that a sequence gains per decode iteration."""
        return self.base.tokens_per_step

    def window_tokens(self, context: Array) -> Array:
        """Tokens' worth of the windowed layers' cache."""
        return self.base.window_tokens(context)
