"""The smallest of many numbers that change one at a time: a tree of winners over plain arrays.

`keys` has a power of two of places, those not used holding infinity; `winners` as many. Equal keys: the first place wins.
"""

from __future__ import annotations

from argosy.kernels.compiled import compiled


@compiled()
def settle(keys, winners):  # type: ignore[no-untyped-def]
    """Plays all matches anew."""
    places = keys.shape[0]
    for node in range(places - 1, 0, -1):
        _play(keys, winners, places, node)


@compiled()
def change(keys, winners, place, key):  # type: ignore[no-untyped-def]
    """Gives `place` another key and plays its matches, up to where neither winner nor loser is this place."""
    keys[place] = key
    places = keys.shape[0]
    node = (places + place) >> 1
    while node > 0:
        before = winners[node]
        now = _play(keys, winners, places, node)
        if before != place and now != place:
            return
        node >>= 1


@compiled(inline="always")
def _play(keys, winners, places, node):  # type: ignore[no-untyped-def]
    left, right = 2 * node, 2 * node + 1
    if left >= places:
        a, b = left - places, right - places
    else:
        a, b = winners[left], winners[right]
    winner = a if keys[a] <= keys[b] else b
    winners[node] = winner
    return winner


@compiled(inline="always")
def first(winners):  # type: ignore[no-untyped-def]
    """The place of the smallest key (at least two places)."""
    return winners[1]
