"""Pipeline parallelism: which layers a stage holds, and how long a schedule takes over uneven stages.

The formulas are those of Narayanan et al. 2021 (arXiv:2104.04473, section 2.2) for GPipe, 1F1B and
interleaved 1F1B, of Qi et al. 2023 (arXiv:2401.10241) for zero-bubble H1, and of the DeepSeek-V3 report
(arXiv:2412.19437, table 2) for DualPipe, each written for stages that differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from argosy.training.layout import DUALPIPE, INTERLEAVED, ZERO_BUBBLE, Layouts

Array = Any


def chunk_sizes(layers: int, chunks: int) -> np.ndarray:
    """Layers per model chunk (chunks,): even, and what does not divide goes to the middle.

    The end chunks, which also hold the embedding or the output head, are the last to get one more layer
    (Llama 3 405B: 126 layers on 16 stages leave one fewer on the first and on the last, arXiv:2407.21783
    section 3.3.2).
    """
    base, extra = divmod(layers, chunks)
    sizes = np.full(chunks, base)
    middle_first = [*range(1, chunks - 1), 0, chunks - 1] if chunks > 1 else [0]
    sizes[middle_first[:extra]] += 1
    return sizes


@lru_cache(maxsize=4096)
def stage_layers(kinds: tuple[str, ...], pp: int, vp: int) -> np.ndarray:
    """Layers of each kind that every pipeline rank holds, (pp, number of kinds), kinds in sorted order.

    `kinds` names the kind of each layer in order. Chunk i of pp · vp goes to rank i mod pp (interleaving).
    """
    names = sorted(set(kinds))
    codes = np.array([names.index(kind) for kind in kinds])
    counts = np.zeros((pp, len(names)), np.int64)
    ends = np.cumsum(chunk_sizes(len(kinds), pp * vp))
    for chunk, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        counts[chunk % pp] += np.bincount(codes[start:end], minlength=len(names))
    return counts


@dataclass(frozen=True)
class StageClasses:
    """Pipeline ranks that hold the same work, grouped: C classes per layout, padded with multiplicity 0.

    Class 0 is always the first rank (embedding), class 1 the last (head); with one stage, class 0 is both.
    """

    layers: np.ndarray  # (L, C, K) layers of each kind
    first: np.ndarray  # (L, C) 1 where the class is the first stage
    last: np.ndarray  # (L, C) 1 where it is the last
    ranks: np.ndarray  # (L, C) pipeline ranks in the class; sums to pp


@lru_cache(maxsize=4096)
def _classes(kinds: tuple[str, ...], pp: int, vp: int) -> np.ndarray:
    """Rows (first, last, ranks, layers of each kind), the ends first."""
    counts = stage_layers(kinds, pp, vp)
    if pp == 1:
        return np.array([[1, 1, 1, *counts[0]]])
    ends = [[1, 0, 1, *counts[0]], [0, 1, 1, *counts[-1]]]
    inner, ranks = np.unique(counts[1:-1], axis=0, return_counts=True)
    return np.array([*ends, *([0, 0, n, *row] for n, row in zip(ranks, inner, strict=True))])


def stage_classes(kinds: Sequence[str], layouts: Layouts) -> StageClasses:
    """The classes of pipeline ranks of every layout, from the kind of each layer in order."""
    kinds = tuple(kinds)
    keys, inverse = np.unique(np.stack([layouts.pp, layouts.vp]), axis=1, return_inverse=True)
    tables = [_classes(kinds, int(pp), int(vp)) for pp, vp in keys.T]
    padded = np.zeros((len(tables), max(map(len, tables)), tables[0].shape[1]))
    for table, row in zip(tables, padded, strict=True):
        row[: len(table)] = table
    picked = padded[inverse.reshape(-1)]
    return StageClasses(picked[..., 3:], picked[..., 0], picked[..., 1], picked[..., 2])


def schedule_seconds(
    total: Array, slowest: Array, backward: Array, weight_gradient: Array, layouts: Layouts
) -> Array:
    """Seconds that the pipeline takes for one step, from the busy seconds of one micro-batch.

    `total`: forward plus backward of one micro-batch, summed over all stages; `slowest`: the same on the
    slowest stage; `backward`: its backward; `weight_gradient`: the part of that backward which no other
    stage waits for. All in s, shapes (L,) or (n,). Result in s, same shape.

    With m micro-batches, p stages, v chunks per rank, t the slowest stage, T the total, b and w as above:
    - GPipe and 1F1B: m t + (T − t), exact for GPipe, for 1F1B within 10 % where stages differ by half; for
      even stages (m + p − 1) t.
    - interleaved: m t + (T − t) / v.
    - zero-bubble H1: m t + (T − t)(1 − 2 w / t); for even stages the bubble is (p − 1)(t − 2 w).
    - DualPipe: m t + (p/2 − 1)(t + b − 3 w), with forward and backward of opposite streams paired.
    """
    m, p = layouts.grad_accumulation, layouts.pp
    ramp = total - slowest
    bubble = np.where(layouts.schedule == INTERLEAVED, ramp / layouts.vp, ramp)
    zero_bubble = ramp * np.maximum(0.0, 1 - 2 * weight_gradient / slowest)
    bubble = np.where(layouts.schedule == ZERO_BUBBLE, zero_bubble, bubble)
    dualpipe = (p / 2 - 1) * np.maximum(0.0, slowest + backward - 3 * weight_gradient)
    bubble = np.where(layouts.schedule == DUALPIPE, dualpipe, bubble)
    return m * slowest + bubble
