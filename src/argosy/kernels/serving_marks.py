"""The books of an inference fleet at a moment of its run, what is under way included."""

from __future__ import annotations

from argosy.kernels import serving_views as v
from argosy.kernels.compiled import compiled
from argosy.kernels.serving_records import (
    BOOK,
    DECODE_S,
    DECODING,
    IDLE,
    INSIDE_SECONDS,
    OUTPUT_TOKENS,
    PREFILL_S,
)
from argosy.kernels.serving_replica import _steps_at


@compiled()
def mark(w, number, now):  # type: ignore[no-untyped-def]
    """Copies the books as they are at `now`: states, iterations and answers up to then; prompts up to the last boundary."""
    pools = v.settings(w)[0].pools
    for p in range(pools):
        row, pool = v.marked(w)[number * pools + p], v.pools(w)[p]
        for place in range(BOOK):
            row[place] = v.book(w)[p, place]
        row[INSIDE_SECONDS] += pool.inside * (now - pool.inside_since)
    for r in range(w.replicas_rows):
        one = v.replicas(w)[r]
        row, gain = v.marked(w)[number * pools + one.pool], v.pools(w)[one.pool].tokens_per_step
        row[one.state] += now - one.since
        if one.phase == DECODING:
            row[DECODE_S] += now - one.start
            row[OUTPUT_TOKENS] += max(_steps_at(one, now) - 1, 0) * one.running * gain
        elif one.phase != IDLE:
            share = min(one.share, now - one.start)
            row[DECODE_S] += share
            row[PREFILL_S] += now - one.start - share
