"""The pipeline ranks whose memory is looked at: what they hold, and the micro-batches they have in flight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.training.blocks import layer_sequence
from argosy.training.job import Job
from argosy.training.layout import DUALPIPE, GPIPE, INTERLEAVED, ZERO_BUBBLE, Layouts
from argosy.training.pipeline import stage_layers

Array = Any  # float or numpy array


def column(value: Array) -> np.ndarray:
    """A number per layout, (L,) or scalar, as a column (L, 1) beside the stages."""
    return np.asarray(value, float).reshape(-1, 1)


@dataclass(frozen=True)
class Stages:
    """The pipeline ranks looked at: S per layout."""

    kinds: tuple[str, ...]  # K kinds of layers, sorted
    rank: np.ndarray  # (L, S) pipeline rank
    layers: np.ndarray  # (L, S, K) layers of each kind on it
    held: np.ndarray  # (L, S, K) layers whose parameters are on it: DualPipe holds the mirrored stage too
    first: np.ndarray  # (L, S) bool: holds the embedding
    last: np.ndarray  # (L, S) bool: holds the head

    @classmethod
    def of(cls, job: Job, layouts: Layouts) -> Stages:
        """The first, the second, the middle and the last rank of every layout."""
        sequence = layer_sequence(job)
        kinds = tuple(sorted(set(sequence)))
        keys, inverse = np.unique(np.stack([layouts.pp, layouts.vp]), axis=1, return_inverse=True)
        ranks, counts, mirrored = [], [], []
        for pp, vp in keys.T:
            table = stage_layers(sequence, int(pp), int(vp))
            looked_at = np.array([0, min(1, pp - 1), pp // 2, pp - 1])
            ranks.append(looked_at)
            counts.append(table[looked_at])
            mirrored.append(table[pp - 1 - looked_at])
        index = inverse.reshape(-1)
        rank, layers = np.stack(ranks)[index], np.stack(counts)[index]
        both = layouts.schedule[:, None, None] == DUALPIPE
        held = layers + np.where(both, np.stack(mirrored)[index], 0)
        end = layouts.pp[:, None] - 1
        ends = both[..., 0] & ((rank == 0) | (rank == end))
        return cls(kinds, rank, layers, held, (rank == 0) | ends, (rank == end) | ends)

    def total(self, per_layer: dict[str, Array], held: bool = False) -> np.ndarray:
        """Sum over a stage's layers of a number per layer of each kind (L,): (L, S)."""
        layers = self.held if held else self.layers
        terms = [layers[..., k] * column(per_layer[kind]) for k, kind in enumerate(self.kinds)]
        return np.asarray(np.sum(np.broadcast_arrays(*terms), axis=0))

    def largest(self, per_layer: dict[str, Array]) -> np.ndarray:
        """The largest number among the kinds of layers that a stage has, (L, S)."""
        present = [
            np.where(self.layers[..., k] > 0, column(per_layer[kind]), 0.0)
            for k, kind in enumerate(self.kinds)
        ]
        return np.asarray(np.max(np.broadcast_arrays(*present), axis=0))


def in_flight(layouts: Layouts, rank: np.ndarray) -> np.ndarray:
    """Micro-batches whose activations a pipeline rank keeps at its fullest, (L, S) as `rank`.

    - GPipe: all of the step.
    - 1F1B: the pipeline's depth behind the rank, p − r (Narayanan et al. 2021, arXiv:2104.04473, section
      2.2).
    - interleaved: (2 (p − r − 1) + (v − 1) p + 1) / v; on the first rank p (1 + (p − 1)/(p v)) (Korthikanti
      et al. 2022, arXiv:2205.05198, section 4.2.3).
    - zero-bubble H1: p on every rank, because weight gradients are postponed (Qi et al. 2023,
      arXiv:2401.10241).
    - DualPipe: p + 1 (DeepSeek-V3, arXiv:2412.19437, table 2).
    Never more than the step has.
    """
    p, v, m = (column(x) for x in (layouts.pp, layouts.vp, layouts.grad_accumulation))
    schedule = layouts.schedule[:, None]
    depth = np.where(schedule == INTERLEAVED, (2 * (p - rank - 1) + (v - 1) * p + 1) / v, p - rank)
    depth = np.where(schedule == ZERO_BUBBLE, p, depth)
    depth = np.where(schedule == DUALPIPE, p + 1, depth)
    return np.where(schedule == GPIPE, m, np.minimum(depth, m))
