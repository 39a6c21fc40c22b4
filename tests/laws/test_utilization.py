"""MFU and HFU against FLOPs counted product by product, and against a published run."""

import numpy as np
import pytest

from argosy.laws import utilization

LAYERS, WIDTH, SEQUENCE, VOCABULARY = 96, 12288, 2048, 51200  # GPT-3 175B


def product(rows: int, inner: int, columns: int) -> int:
    """FLOPs of one matrix product: a multiplication and an addition per term."""
    return 2 * rows * inner * columns


def forward_flops_of_one_sequence(with_attention: bool) -> int:
    """Every product of a GPT-3 forward pass, counted one by one."""
    per_layer = product(SEQUENCE, WIDTH, 3 * WIDTH) + product(SEQUENCE, WIDTH, WIDTH)
    per_layer += product(SEQUENCE, WIDTH, 4 * WIDTH) + product(SEQUENCE, 4 * WIDTH, WIDTH)
    if with_attention:
        per_layer += 2 * product(SEQUENCE, WIDTH, SEQUENCE)
    return LAYERS * per_layer + product(SEQUENCE, WIDTH, VOCABULARY)


PARAMETERS = LAYERS * 12 * WIDTH**2 + WIDTH * VOCABULARY


@pytest.mark.parametrize(("convention", "with_attention"), [("none", False), ("full", True)])
def test_flops_per_token_against_counting(convention: str, with_attention: bool):
    counted = 3 * forward_flops_of_one_sequence(with_attention) / SEQUENCE
    law = utilization.model_flops_per_token(PARAMETERS, LAYERS, WIDTH, SEQUENCE, convention)
    assert law == pytest.approx(counted, rel=1e-12)


def test_full_recomputation_repeats_the_forward_pass():
    counted = 4 * forward_flops_of_one_sequence(True) / SEQUENCE
    law = utilization.hardware_flops_per_token(PARAMETERS, LAYERS, WIDTH, SEQUENCE, "full", "full")
    assert law == pytest.approx(counted, rel=1e-12)
    products_alone = counted / 4 * 3 + 2 * product(SEQUENCE, WIDTH, SEQUENCE) * LAYERS / SEQUENCE
    law = utilization.hardware_flops_per_token(PARAMETERS, LAYERS, WIDTH, SEQUENCE, "full", "attention")
    assert law == pytest.approx(products_alone, rel=1e-12)


def test_megascale_prints_a_convention_with_attention():
    run = utilization.mfu_conventions(1984.0e3, 12288, 312e12, 175e9, LAYERS, WIDTH, SEQUENCE)
    assert run["parameters_only"] == pytest.approx(0.5434, abs=1e-4)
    assert run["parameters_only"] < run["attention_causal"] < run["attention_full"]
    assert run["attention_causal"] == pytest.approx(0.552, abs=0.002)  # the paper's table 2
    assert run["hfu"] == run["attention_causal"]  # nothing is computed twice


def test_sparse_peaks_are_caught():
    assert utilization.dense_peak(1979e12, "sparse") == 989.5e12
    assert utilization.dense_peak(989e12, "dense") == 989e12
    with pytest.raises(utilization.SparsePeakError, match="unknown kind"):
        utilization.dense_peak(989e12, "")
    with pytest.raises(utilization.SparsePeakError, match="dense peak"):
        utilization.utilization(1.0, 1.0, 1, 1.0, "sparse")


def test_more_than_everything_is_refused():
    tokens_per_hour = 586_074.0
    with pytest.raises(ValueError, match="above 1"):
        utilization.utilization(tokens_per_hour, 6 * 405e9, 1, 989e12)


def test_utilization_broadcasts():
    shares = utilization.utilization(np.array([49.0e3, 95.1e3]), 6 * 175e9, np.array([256, 512]), 312e12)
    assert shares == pytest.approx([0.6441556, 0.6250939], rel=1e-6)
