"""A binary heap of (key, item) on two plain arrays: the smallest key is at index 0."""

from __future__ import annotations

from argosy.kernels.compiled import small


@small
def push(keys, items, size, key, item):  # type: ignore[no-untyped-def]
    """Adds `item` with `key` to a heap of `size` entries; returns the new size. The arrays must have room."""
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if keys[above] <= key:
            break
        keys[at] = keys[above]
        items[at] = items[above]
        at = above
    keys[at] = key
    items[at] = item
    return size + 1


@small
def _settle(keys, items, size, at, key, item):  # type: ignore[no-untyped-def]
    """Puts (key, item) at `at` or below it, where the heap order holds."""
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and keys[below + 1] < keys[below]:
            below += 1
        if keys[below] >= key:
            break
        keys[at] = keys[below]
        items[at] = items[below]
        at = below
    keys[at] = key
    items[at] = item


@small
def pop(keys, items, size):  # type: ignore[no-untyped-def]
    """Removes the entry at index 0 (read it first) of a heap of `size` ≥ 1 entries; returns the new size."""
    size -= 1
    if size > 0:
        _settle(keys, items, size, 0, keys[size], items[size])
    return size


@small
def heapify(keys, items, size):  # type: ignore[no-untyped-def]
    """Orders the first `size` entries as a heap, in time proportional to their number."""
    for at in range(size // 2 - 1, -1, -1):
        _settle(keys, items, size, at, keys[at], items[at])
