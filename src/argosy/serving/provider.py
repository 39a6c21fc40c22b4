"""What a serving engine's iteration takes: the protocol, and its tabulated form for compiled simulations.

An engine runs iterations. One iteration carries prompt tokens (prefill), one token of every running sequence
(decode), or both (mixed). Whoever can say how long that takes is a `StepTimeProvider`: the calibrated roofline
(`serving.roofline`), aiconfigurator-core (`serving.aiconfigurator`), a measured table (`serving.measured`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from argosy.kernels.step_table import StepGrids
from argosy.serving.layout import ReplicaLayout

Array = Any  # float or numpy array

GRADES = ("measured-like", "interpolated", "extrapolated")


@runtime_checkable
class StepTimeProvider(Protocol):
    """Seconds of one iteration of one replica, and what the replica can hold.

    All counts are of the whole replica (all its attention replicas together); arguments broadcast over NumPy
    arrays. Times are in s, 0 where an iteration carries nothing.
    """

    @property
    def name(self) -> str:
        """What predicts, on what: for reports."""

    @property
    def layout(self) -> ReplicaLayout:
        """Parallel degrees of the replica."""

    @property
    def gpus(self) -> int:
        """Accelerators of one replica."""

    @property
    def weight_bytes(self) -> float:
        """Bytes of weights on one accelerator (the fullest)."""

    @property
    def kv_bytes_per_token(self) -> float:
        """KV-cache bytes of one token on one accelerator that holds it (full-attention layers)."""

    def window_tokens(self, context: Array) -> Array:
        """Tokens' worth of KV cache that a sequence of `context` tokens takes besides them, in layers that attend to a
        window; 0 for models without.
        """

    @property
    def kv_capacity_tokens(self) -> int:
        """Tokens whose KV cache the replica's memory holds; 0 where not even the weights fit."""

    @property
    def max_batch(self) -> int:
        """Most sequences that the engine runs at once (its own setting, memory apart)."""

    @property
    def grade(self) -> str:
        """One of GRADES: how near the prediction is to what was measured."""

    @property
    def residual_sigma(self) -> float:
        """Standard deviation of ln(measured ÷ predicted) step time at this grade, for error bands."""

    def prefill_s(self, tokens: Array, cached_tokens: Array = 0, batch: Array = 1) -> Array:
        """One iteration over `batch` whole prompts of `tokens` tokens, `cached_tokens` of each found in the cache."""

    def decode_s(self, batch: Array, context: Array) -> Array:
        """One iteration that gives `batch` sequences of `context` tokens (their mean) a token each.

        With speculative decoding, the iteration that drafts and verifies; see `tokens_per_step`.
        """

    def mixed_s(
        self, prefill_tokens: Array, prefill_context: Array, decode_batch: Array, decode_context: Array
    ) -> Array:
        """One iteration over `prefill_tokens` prompt tokens, each seeing `prefill_context` keys on average (n/2 for
        one whole prompt of n tokens, c + n/2 for a chunk of n after c tokens), beside `decode_batch` sequences.
        """

    @property
    def tokens_per_step(self) -> float:
        """Tokens that a sequence gains per decode iteration: 1, more with speculative decoding."""


@dataclass(frozen=True)
class StepTable:
    """A provider on regular grids, for interpolation in compiled code (`argosy.kernels.step_table`).

    `grids`: the arrays; `name`, `grade`, `residual_sigma`: the provider's.
    """

    grids: StepGrids
    name: str
    grade: str
    residual_sigma: float


def grid(most: float, per_octave: int = 2) -> np.ndarray:
    """1 … at least `most`, `per_octave` points in every doubling: what the compiled look-up expects."""
    octaves = max(int(np.ceil(np.log2(max(most, 2.0)))), 1)
    return 2.0 ** (np.arange(octaves * per_octave + 1) / per_octave)


def table(
    provider: StepTimeProvider,
    most_context: float = 131072,
    most_batch: float | None = None,
    most_prefill_tokens: float = 16384,
    per_octave: int = 2,
) -> StepTable:
    """Tabulate a provider: decode by (batch, context), prefill by (tokens, keys seen), and what the two share.

    A mixed iteration is decode + prefill − shared, the last by (prefill tokens, batch): the weights are read and the
    engine's overhead is paid once. Exact at the grid where attention's time adds to the rest. Beyond the grid the
    last cell is continued linearly. `most_batch` None: the provider's `max_batch`.
    """
    batch = grid(float(most_batch or provider.max_batch), per_octave)
    context, tokens = grid(most_context, per_octave), grid(most_prefill_tokens, per_octave)
    decode = np.asarray(provider.decode_s(batch[:, None], context[None, :]), float)
    prefill = np.asarray(provider.mixed_s(tokens[:, None], context[None, :], 0, 1), float)
    alone = (
        np.asarray(provider.decode_s(batch, 1.0))[None, :]
        + np.asarray(provider.mixed_s(tokens, 1.0, 0, 1))[:, None]
    )
    shared = alone - np.asarray(provider.mixed_s(tokens[:, None], 1.0, batch[None, :], 1.0))
    grids = StepGrids(
        float(per_octave),
        *(np.ascontiguousarray(x, float) for x in (batch, context, tokens, decode, prefill, shared)),
    )
    return StepTable(grids, provider.name, provider.grade, provider.residual_sigma)
