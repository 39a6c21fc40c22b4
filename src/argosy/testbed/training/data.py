"""Samples by number: the same number gives the same tokens on every rank, in every run, whoever asks. No torch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

NOISE = 0.1  # share of tokens that follow no rule, so that the loss has a floor above 0


def sample(number: int, length: int, vocab: int, seed: int = 0) -> np.ndarray:
    """Tokens (length,) of sample `number`: each is 3 times the last plus 1 modulo `vocab`, from a random first one, but for
    a tenth that is drawn at random. Depends on (seed, number) alone.
    """
    draw = np.random.Generator(np.random.Philox(key=[seed, number]))
    tokens = np.empty(length, dtype=np.int64)
    odd = draw.random(length) < NOISE
    drawn = draw.integers(0, vocab, length)
    tokens[0] = drawn[0]
    for place in range(1, length):
        tokens[place] = drawn[place] if odd[place] else (3 * tokens[place - 1] + 1) % vocab
    return tokens


def batch(numbers: Sequence[int], length: int, vocab: int, seed: int = 0) -> np.ndarray:
    """Tokens (samples, length + 1) of these samples: inputs and, one place on, targets."""
    if not len(numbers):
        return np.empty((0, length + 1), dtype=np.int64)
    return np.stack([sample(number, length + 1, vocab, seed) for number in numbers])


def numbers_of_step(step: int, global_batch: int) -> range:
    """The samples of a step (from 0): no sample is used twice, whatever the number of ranks."""
    return range(step * global_batch, (step + 1) * global_batch)


def share(numbers: Sequence[int], rank: int, ranks: int) -> Sequence[int]:
    """A rank's part of them: neighbours together, sizes that differ by at most one, all of them used exactly once."""
    count = len(numbers)
    return numbers[count * rank // ranks : count * (rank + 1) // ranks]
