"""A step-time provider whose times are linear: tables reproduce it, so that simulations agree to the last bit."""

from dataclasses import dataclass

import numpy as np

from argosy.serving import ReplicaLayout

_ONE = ReplicaLayout()


@dataclass(frozen=True)
class Affine:
    """Seconds: base + per_token · prompt tokens · (1 + keys ÷ 200,000) + per_sequence · batch + per_key · batch · context."""

    layout: ReplicaLayout = _ONE
    weight_bytes: float = 16e9
    kv_bytes_per_token: float = 131072.0
    kv_capacity_tokens: int = 400_000
    max_batch: int = 256
    base: float = 5e-3
    per_sequence: float = 20e-6
    per_key: float = 4e-8
    per_token: float = 2e-5
    tokens_per_step: float = 1.0
    name: str = "affine"
    grade: str = "measured-like"
    residual_sigma: float = 0.05

    def window_tokens(self, context):
        return 0.0 * context

    @property
    def gpus(self) -> int:
        return self.layout.gpus

    def decode_s(self, batch, context):
        batch = np.asarray(batch, float)
        return np.where(
            batch > 0, self.base + self.per_sequence * batch + self.per_key * batch * context, 0.0
        )

    def mixed_s(self, prefill_tokens, prefill_context, decode_batch, decode_context):
        tokens, batch = np.asarray(prefill_tokens, float), np.asarray(decode_batch, float)
        prompt = self.per_token * tokens * (1.0 + np.asarray(prefill_context) / 200_000.0)
        both = self.base + prompt + self.per_sequence * batch + self.per_key * batch * decode_context
        return np.where((tokens > 0) | (batch > 0), both, 0.0)

    def prefill_s(self, tokens, cached_tokens=0, batch=1):
        new = np.asarray(tokens) - cached_tokens
        return self.mixed_s(new * batch, cached_tokens + new / 2.0, 0, 0.0)
