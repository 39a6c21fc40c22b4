"""The roofline against counting bytes and FLOPs one by one, and its limits."""

import numpy as np
import pytest

from argosy.laws import iron_law, roofline

R, MEMORY, NETWORK = 4.0e14, 2.0e12, 5.0e10


def test_both_branches_meet_at_the_ridge():
    ridge = roofline.ridge_intensity(R, MEMORY)
    assert roofline.attainable_flops(R, ridge, MEMORY) == pytest.approx(R)
    assert roofline.attainable_flops(R, ridge / 2, MEMORY) == pytest.approx(R / 2)
    assert roofline.attainable_flops(R, ridge * 50, MEMORY) == R


def test_three_ceilings_against_the_slowest_of_three_clocks():
    rng = np.random.default_rng(1)
    for flops, memory, network in rng.uniform([1e12, 1e6, 1e3], [1e15, 1e12, 1e11], (50, 3)):
        clocks = {"compute": flops / R, "memory": memory / MEMORY, "network": network / NETWORK}
        slowest = max(clocks, key=clocks.__getitem__)
        assert roofline.binding_ceiling(flops, memory, network, R, MEMORY, NETWORK) == slowest
        attained = roofline.three_ceiling_flops(flops, memory, network, R, MEMORY, NETWORK)
        assert attained * clocks[slowest] == pytest.approx(flops)


def test_without_network_bytes_the_third_ceiling_never_binds():
    attained = roofline.three_ceiling_flops(1e12, 1e10, 0.0, R, MEMORY, NETWORK)
    assert attained == pytest.approx(roofline.attainable_flops(R, roofline.intensity(1e12, 1e10), MEMORY))


def test_decoding_counted_tensor_by_tensor():
    width, hidden, layers, vocabulary, batch, kv = 64, 256, 3, 1000, 4, 12345.0
    matrices = [(width, width)] * 4 + [(width, hidden)] * 3
    per_layer = sum(rows * columns for rows, columns in matrices)
    parameters = layers * per_layer + 2 * vocabulary * width
    read = (
        sum(rows * columns * 2 for _ in range(layers) for rows, columns in matrices) + vocabulary * width * 2
    )
    read += batch * kv  # the output head is read, the input table is not; each sequence reads its own cache
    assert roofline.decode_bytes(parameters, 2, batch, kv, vocabulary * width) == read
    rate = roofline.decode_tokens_per_s(parameters, 2, MEMORY, batch, kv, vocabulary * width)
    assert rate == pytest.approx(batch / (read / MEMORY))


def test_large_batches_end_at_the_arithmetic_ceiling():
    rate = roofline.decode_tokens_per_s(8e9, 2, MEMORY, 10**6, peak_flops=R)
    assert rate == pytest.approx(R / (2 * 8e9))
    batch = roofline.batch_at_ridge(roofline.ridge_intensity(R, MEMORY))
    assert roofline.decode_intensity(8e9, 2, batch) == pytest.approx(R / MEMORY)


def test_key_value_traffic_bounds_the_intensity():
    assert roofline.decode_intensity(8e9, 2, 1e9, 1e9) < 2 * 8e9 / 1e9 * 1.001


def test_laws_broadcast():
    batches = np.array([1, 8, 64])
    assert roofline.decode_tokens_per_s(8e9, 2, MEMORY, batches).shape == (3,)
    assert list(roofline.binding_ceiling(np.array([1e15, 1.0]), 1e10, 0.0, R, MEMORY, NETWORK)) == [
        "compute",
        "memory",
    ]


def test_no_traffic_is_refused():
    with pytest.raises(ValueError, match="positive"):
        roofline.intensity(1.0, 0.0)


def test_iron_law_lies_above_the_roofline_by_at_most_two():
    rng = np.random.default_rng(2)
    moved, operations = rng.uniform(1, 1e12, 200), rng.uniform(1, 1e15, 200)
    gain = iron_law.overlap_gain(moved, MEMORY, operations, R)
    assert np.all((gain >= 1) & (gain <= 2))
    at_ridge = iron_law.overlap_gain(1e9, MEMORY, 1e9 * R / MEMORY, R)
    assert at_ridge == pytest.approx(2.0)
    assert iron_law.overlapped_time(1e9, MEMORY, 1e9, R) == pytest.approx(
        1e9 / roofline.attainable_flops(R, 1.0, MEMORY)
    )


def test_iron_law_terms_add():
    whole = iron_law.additive_time(3e12, 1e12, 4e14, 1e14, 0.5, 2.0)
    assert whole == pytest.approx(3 + 8 + 2)
    with pytest.raises(ValueError, match="efficiency"):
        iron_law.additive_time(1, 1, 1, 1, 0.0)
