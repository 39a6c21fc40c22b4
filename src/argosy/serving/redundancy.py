"""Spare replicas by failure domain: how many must stand so that those needed are up."""

from __future__ import annotations

import numpy as np


def replica_availability(mtbf_s: float, repair_s: float) -> float:
    """A = MTBF ÷ (MTBF + MTTR); `mtbf_s` of one replica of g accelerators is that of one accelerator ÷ g."""
    return mtbf_s / (mtbf_s + repair_s) if np.isfinite(mtbf_s) else 1.0


def replicas_for(needed: int, availability: float, share: float, together: int = 1) -> int:
    """The fewest N with P(at least `needed` of N up) ≥ `share`: N + k redundancy.

    `availability` (0–1) of one replica; domains of `together` replicas fail as one, independently of each other: then N is the
    fewest with P(together · Bin(N ÷ together, A) ≥ needed) ≥ share. ValueError where the availability is not above 0.
    """
    from scipy.stats import binom

    if needed <= 0:
        return 0
    if availability <= 0.0:
        raise ValueError("replicas that are never up cannot be made redundant")
    if availability >= 1.0:
        return needed
    groups_needed = -(-needed // together)
    low, groups = groups_needed - 1, groups_needed
    step = 1

    def enough(many: int) -> bool:
        return bool(binom.sf(groups_needed - 1, many, availability) >= share)

    while not enough(groups):
        low, groups, step = groups, groups + step, step * 2
    while groups - low > 1:
        middle = (low + groups) // 2
        low, groups = (low, middle) if enough(middle) else (middle, groups)
    return max(groups * together - (groups_needed * together - needed), needed) if together > 1 else groups
