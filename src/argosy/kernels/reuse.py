"""How much an LRU cache must hold so that a block of a prompt is still there when it is used again: stack distances."""

from __future__ import annotations

import numpy as np

from argosy.kernels.compiled import compiled


@compiled()
def _add(tree, at, amount):  # type: ignore[no-untyped-def]
    """Adds to entry `at` of a Fenwick tree."""
    at += 1
    while at < tree.shape[0]:
        tree[at] += amount
        at += at & -at


@compiled()
def _until(tree, at):  # type: ignore[no-untyped-def]
    """The sum of the entries up to `at`."""
    total, at = 0.0, at + 1
    while at > 0:
        total += tree[at]
        at -= at & -at
    return total


@compiled()
def reuse_distances(blocks, first, outputs, block_tokens):  # type: ignore[no-untyped-def]
    """Tokens that lie in front of each block, itself included, when it is used again; infinite at its first use.

    `blocks`: numbers from 0 on of the blocks of all prompts, those of request i from `first[i]` to `first[i + 1]`. A request
    leaves its answer (`outputs[i]` tokens, not used again) and its blocks, the first one last: a cache gives up the end of a
    prompt before its beginning. An LRU cache of so many tokens or more finds the block.
    """
    count = first.shape[0] - 1
    tree = np.zeros(blocks.shape[0] + count + 1)
    distances = np.full(blocks.shape[0], np.inf)
    last = np.full(blocks.max() + 1 if blocks.shape[0] > 0 else 0, -1)
    total, at = 0.0, 0
    for i in range(count):
        for k in range(first[i], first[i + 1]):
            before = last[blocks[k]]
            if before >= 0:
                distances[k] = total - _until(tree, before) + block_tokens
        _add(tree, at, float(outputs[i]))
        total += outputs[i]
        at += 1
        for k in range(first[i + 1] - 1, first[i] - 1, -1):
            before = last[blocks[k]]
            if before >= 0:
                _add(tree, before, -block_tokens)
                total -= block_tokens
            _add(tree, at, block_tokens)
            total += block_tokens
            last[blocks[k]] = at
            at += 1
    return distances
