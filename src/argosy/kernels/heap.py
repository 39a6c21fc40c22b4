"""A binary heap of (key, item) on two plain arrays, from a place `base` on: the smallest key is at `base`."""

from __future__ import annotations

from argosy.kernels.compiled import compiled


@compiled()
def push(keys, items, base, size, key, item):  # type: ignore[no-untyped-def]
    """Adds `item` with `key` to a heap of `size` entries; returns the new size. The arrays must have room."""
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if keys[base + above] <= key:
            break
        keys[base + at] = keys[base + above]
        items[base + at] = items[base + above]
        at = above
    keys[base + at] = key
    items[base + at] = item
    return size + 1


@compiled()
def _settle(keys, items, base, size, at, key, item):  # type: ignore[no-untyped-def]
    """Puts (key, item) at `at` or below it, where the heap order holds."""
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and keys[base + below + 1] < keys[base + below]:
            below += 1
        if keys[base + below] >= key:
            break
        keys[base + at] = keys[base + below]
        items[base + at] = items[base + below]
        at = below
    keys[base + at] = key
    items[base + at] = item


@compiled()
def pop(keys, items, base, size):  # type: ignore[no-untyped-def]
    """Removes the entry at `base` (read it first) of a heap of `size` ≥ 1 entries; returns the new size."""
    size -= 1
    if size > 0:
        _settle(keys, items, base, size, 0, keys[base + size], items[base + size])
    return size


@compiled()
def heapify(keys, items, base, size):  # type: ignore[no-untyped-def]
    """Orders the `size` entries from `base` on as a heap, in time proportional to their number."""
    for at in range(size // 2 - 1, -1, -1):
        _settle(keys, items, base, size, at, keys[base + at], items[base + at])
