"""Which accelerators are taken: nodes' counts, the totals of what is idle, and the times until which the taken ones are."""

from __future__ import annotations

from argosy.kernels.compiled import compiled
from argosy.kernels.reservation import give_back, hold

UP, DRAINING, AWAY, DOWN = range(4)
FREE, WASTED, DRAINED, LOST = TOTALS = range(4)
"""Totals of idle accelerators: to be had, of these useless to the mix, on nodes that are drained, on nodes that are down."""


@compiled()
def change(idle, free, state, types, waste, totals, nodes, amounts, sign):  # type: ignore[no-untyped-def]
    """`amounts` accelerators of `nodes` become idle (sign 1) or taken (-1); `waste` (types, free + 1)."""
    for at in range(len(nodes)):
        node = nodes[at]
        before = idle[node]
        idle[node] = before + sign * amounts[at]
        if state[node] == UP:
            free[node] = idle[node]
            totals[FREE] += sign * amounts[at]
            totals[WASTED] += waste[types[node], idle[node]] - waste[types[node], before]
        elif state[node] == DOWN:
            totals[LOST] += sign * amounts[at]
        else:
            totals[DRAINED] += sign * amounts[at]


@compiled()
def take(idle, free, state, types, waste, totals, until, nodes, amounts, end):  # type: ignore[no-untyped-def]
    """Takes `amounts` idle accelerators of `nodes` until `end` (an empty `until` keeps no times)."""
    change(idle, free, state, types, waste, totals, nodes, amounts, -1)
    if len(until) > 0:
        hold(until, nodes, amounts, end)


@compiled()
def give(idle, free, state, types, waste, totals, until, nodes, amounts, end):  # type: ignore[no-untyped-def]
    """Gives them back; `end` as when they were taken."""
    change(idle, free, state, types, waste, totals, nodes, amounts, 1)
    if len(until) > 0:
        give_back(until, nodes, amounts, end)
