"""The tabulated form of a provider agrees with it between the grid's points."""

from __future__ import annotations

import numpy as np
import pytest

from argosy.kernels.step_table import decode_time, mixed_time
from argosy.serving import ReplicaLayout, roofline, table
from argosy.spec.architectures import resolve

CASES = (
    ("llama-3.1-8b", ReplicaLayout(), "bf16"),
    ("deepseek-v3", ReplicaLayout(tp=8), "fp8_block"),
    ("gpt-oss-120b", ReplicaLayout(tp=2), "mxfp4"),
)


@pytest.mark.parametrize(("model", "layout", "precision"), CASES)
def test_interpolation_is_within_a_few_percent(model: str, layout: ReplicaLayout, precision: str) -> None:
    provider = roofline(resolve(model), "H200", layout, precision=precision, max_batch=512)
    grids = table(provider).grids
    rng = np.random.default_rng(3)
    decode, mixed = [], []
    for _ in range(200):
        batch, context = 2 ** rng.uniform(0, 9), 2 ** rng.uniform(5, 15)
        tokens = 2 ** rng.uniform(5, 13)
        seen = tokens / 2 + rng.integers(0, 20000)
        decode.append(decode_time(grids, batch, context) / provider.decode_s(batch, context) - 1)
        exact = provider.mixed_s(tokens, seen, batch, context)
        mixed.append(mixed_time(grids, tokens, seen, batch, context) / exact - 1)
    assert np.abs(decode).max() < 0.06
    assert np.abs(decode).mean() < 0.015
    assert np.abs(mixed).mean() < 0.04


def test_nothing_takes_no_time_and_beyond_the_grid_the_last_cell_goes_on() -> None:
    provider = roofline(resolve("llama-3.1-8b"), "H100", max_batch=64)
    grids = table(provider, most_context=4096).grids
    assert decode_time(grids, 0.0, 100.0) == mixed_time(grids, 0.0, 1.0, 0.0, 1.0) == 0.0
    assert decode_time(grids, 64.0, 16384.0) == pytest.approx(float(provider.decode_s(64, 16384)), rel=0.02)
