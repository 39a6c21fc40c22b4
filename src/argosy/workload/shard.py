"""What one rank sees of a micro-batch: its tokens and its share of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any  # float or numpy array (L,)


@dataclass(frozen=True)
class Shard:
    """One rank's share. All fields are floats or arrays (L,) and broadcast.

    `tokens` are those of the tensor-parallel group per micro-batch (after context parallelism); `own_tokens`
    those on which norms, router and dispatch work: with sequence parallelism each rank has its own part of
    them (Korthikanti et al. 2022, arXiv:2205.05198, section 4.2.2), without it every rank repeats them all.
    """

    sequence_length: Array  # tokens per sequence
    micro_batch: Array  # sequences per micro-batch
    tp: Array
    cp: Array
    ep: Array
    etp: Array
    sequence_parallel: Array  # bool
    element_bytes: float = 2.0  # of activations

    @property
    def queries(self) -> Array:
        """Query tokens per sequence on this rank."""
        return self.sequence_length / self.cp

    @property
    def tokens(self) -> Array:
        """Tokens of this rank's tensor-parallel group per micro-batch."""
        return self.micro_batch * self.queries

    @property
    def own_tokens(self) -> Array:
        """Tokens in the parts that sequence parallelism divides."""
        return self.tokens / np.where(self.sequence_parallel, self.tp, 1)

    @property
    def routed_tokens(self) -> Array:
        """Tokens that meet on one expert-tensor-parallel group per expert rank: its members gather theirs.

        Without sequence parallelism the members already hold the same tokens, and nothing is gathered.
        """
        return self.own_tokens * np.where(self.sequence_parallel, self.etp, 1)

    def key_value_heads(self, kv_heads: Array) -> Array:
        """Key/value heads on this rank: never less than one, they are repeated where tp exceeds them."""
        return np.maximum(kv_heads / self.tp, 1.0)
