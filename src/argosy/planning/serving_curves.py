"""Curves behind a sized fleet's figures: how its latencies are distributed, and what one replica trades between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.serving.objectives import METRICS, pooled
from argosy.serving.provider import grid
from argosy.serving.sizing import Sized

_SHARES = (*(each / 100.0 for each in range(1, 100)), 0.995, 0.999)


def curves(sized: Sized) -> dict[str, Any]:
    """`latency`: per metric the seconds that a share of all arrivals of all runs stays within; `frontier`: see `_frontier`."""
    return {
        "latency": {f"{metric}_s": _quantiles(pooled(sized.runs, metric)) for metric in METRICS},
        "frontier": _frontier(sized),
    }


def _quantiles(values: np.ndarray) -> list[dict[str, float | None]]:
    """Seconds by share; None where so many were not served that the share's latency is infinite."""
    found = (
        np.quantile(values, _SHARES, method="inverted_cdf") if len(values) else np.full(len(_SHARES), np.nan)
    )
    return [
        {"share": share, "seconds": float(seconds) if np.isfinite(seconds) else None}
        for share, seconds in zip(_SHARES, found, strict=True)
    ]


def _frontier(sized: Sized) -> list[dict[str, Any]]:
    """One replica that only decodes, at the mean context of the traffic, by batch: s per token and tokens/s per accelerator.

    Up to its limit, the batch that keeps the promise among them (`within_promise`): tokens per accelerator-second
    = batch · tokens per step ÷ (step time · accelerators of the replica).
    """
    last, mean = sized.option.last, sized.limits.mean
    provider, kept = last.provider, max(sized.limits.by_pool[-1].batch, 1.0)
    batches = np.unique(np.round(np.append(grid(last.batch), (kept, last.batch))))
    batches = batches[batches <= last.batch]
    steps = np.asarray(provider.decode_s(batches, mean.context), float).reshape(len(batches), -1).mean(axis=1)
    return [
        {
            "batch": float(batch),
            "tpot_s": float(step / provider.tokens_per_step),
            "tokens_per_gpu_s": float(batch * provider.tokens_per_step / (step * provider.gpus)),
            "within_promise": bool(batch <= kept),
        }
        for batch, step in zip(batches, steps, strict=True)
    ]
