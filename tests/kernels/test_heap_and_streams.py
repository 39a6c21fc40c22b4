"""The heap against Python's own, and the random numbers against what they claim to be."""

import heapq

import numpy as np
import pytest

pytest.importorskip("numba")

from argosy.kernels import heap
from argosy.kernels.streams import exponential, uniform


def test_heap_gives_items_in_order() -> None:
    random = np.random.default_rng(3)
    keys, items, size, twin = np.zeros(400), np.zeros(400, dtype=np.int64), 0, []
    for step in range(3000):
        if size and (random.random() < 0.45 or size == 400):
            assert (keys[0], items[0]) == heapq.heappop(twin)
            size = heap.pop(keys, items, 0, size)
        else:
            key = random.random()
            size = heap.push(keys, items, 0, size, key, step)
            heapq.heappush(twin, (key, step))
    assert size == len(twin) > 0


@pytest.mark.parametrize("count", [0, 1, 2, 3, 100])
def test_heapify(count: int) -> None:
    keys, items = np.random.default_rng(count).random(count + 1), np.arange(count + 1)
    wanted, size = sorted(keys[:count]), count
    heap.heapify(keys, items, 0, count)
    for key in wanted:
        assert keys[0] == key
        size = heap.pop(keys, items, 0, size)


def test_numbers_of_streams_are_uniform_and_unrelated() -> None:
    key = np.uint64(12345)
    numbers = np.array([[uniform(key, stream, index) for index in range(400)] for stream in range(50)])
    # mean of 20,000 uniforms: 1/2 ± 4 · √(1/12/20000); lag-one correlations along both addresses likewise
    assert numbers.mean() == pytest.approx(0.5, abs=4 * np.sqrt(1 / 12 / numbers.size))
    assert numbers.var() == pytest.approx(1 / 12, rel=0.03)
    centred = numbers - 0.5
    for left, right in ((centred[1:], centred[:-1]), (centred[:, 1:], centred[:, :-1])):
        assert abs((left * right).mean() * 12) < 4 / np.sqrt(left.size)
    assert uniform(key, 3, 7) == uniform(key, 3, 7) != uniform(np.uint64(12346), 3, 7)
    assert exponential(key, 3, 7) == pytest.approx(-np.log(uniform(key, 3, 7)))
