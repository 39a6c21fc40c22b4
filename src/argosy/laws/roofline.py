"""The roofline: what a kernel can reach at most under its arithmetic, memory and network ceilings.

Source: S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for
multicore architectures", Communications of the ACM 52(4), 2009. The network ceiling is the same law with
the bytes that cross the fabric. The roofline assumes full overlap of arithmetic and traffic (`iron_law` has
the additive form).
"""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array, plain, require

CEILINGS = ("compute", "memory", "network")


def intensity(flops: Array, bytes_moved: Array) -> Array:
    """Arithmetic intensity I = FLOPs / bytes, in FLOP/byte; `flops` in FLOP, `bytes_moved` in bytes (>
    0).
    """
    require(
        np.asarray(bytes_moved) > 0,
        "bytes_moved must be positive: without traffic the intensity is unbounded",
    )
    return flops / bytes_moved


def ridge_intensity(peak_flops: Array, bandwidth: Array) -> Array:
    """Intensity at which both ceilings meet, I = R / BW, in FLOP/byte.

    `peak_flops` in FLOP/s (dense, of the dtype in use), `bandwidth` in byte/s (per direction for a
    network).
    """
    return peak_flops / bandwidth


def attainable_flops(peak_flops: Array, kernel_intensity: Array, bandwidth: Array) -> Array:
    """R = min(R_peak, I × BW), in FLOP/s; arguments in FLOP/s, FLOP/byte, byte/s. Continuous at the
    ridge.
    """
    return plain(np.minimum(peak_flops, np.multiply(kernel_intensity, bandwidth)))


def ceiling_times(
    flops: Array,
    memory_bytes: Array,
    network_bytes: Array,
    peak_flops: Array,
    memory_bandwidth: Array,
    network_bandwidth: Array,
) -> Array:
    """Seconds under each of the three ceilings, shape (3, ...), in the order of `CEILINGS`.

    `flops` in FLOP; `memory_bytes`, `network_bytes` in bytes (0 allowed); `peak_flops` in FLOP/s;
    bandwidths in byte/s.
    """
    times = (
        np.divide(flops, peak_flops),
        np.divide(memory_bytes, memory_bandwidth),
        np.divide(network_bytes, network_bandwidth),
    )
    return np.stack(np.broadcast_arrays(*times))


def three_ceiling_flops(
    flops: Array,
    memory_bytes: Array,
    network_bytes: Array,
    peak_flops: Array,
    memory_bandwidth: Array,
    network_bandwidth: Array,
) -> Array:
    """FLOP/s under the lowest of the three ceilings, min(R, I_memory BW_memory, I_network BW_network).

    Units as in `ceiling_times`; `flops` must be positive.
    """
    require(np.asarray(flops) > 0, "flops must be positive")
    times = ceiling_times(flops, memory_bytes, network_bytes, peak_flops, memory_bandwidth, network_bandwidth)
    return plain(np.divide(flops, times.max(axis=0)))


def binding_ceiling(
    flops: Array,
    memory_bytes: Array,
    network_bytes: Array,
    peak_flops: Array,
    memory_bandwidth: Array,
    network_bandwidth: Array,
) -> Array:
    """Which ceiling binds: "compute", "memory" or "network" (a string, or an array of them). Units as in
    `ceiling_times`.
    """
    times = ceiling_times(flops, memory_bytes, network_bytes, peak_flops, memory_bandwidth, network_bandwidth)
    names = np.array(CEILINGS)[times.argmax(axis=0)]
    return str(names) if names.ndim == 0 else names


def decode_bytes(
    parameters: Array,
    bytes_per_parameter: Array,
    batch: Array = 1,
    kv_bytes_per_sequence: Array = 0.0,
    embedding_parameters: Array = 0.0,
) -> Array:
    """Bytes that one decoding step reads from memory: every weight once per batch, each sequence's own KV
    cache.

    `parameters` (count, input embedding included), `bytes_per_parameter` (2 for BF16), `batch` (sequences),
    `kv_bytes_per_sequence` in bytes, `embedding_parameters` (count of an untied input embedding: a one-row
    look-up per sequence, not a full read; leave 0 when tied to the output layer, which is read whole).
    """
    return (parameters - embedding_parameters) * bytes_per_parameter + batch * kv_bytes_per_sequence


def decode_intensity(
    parameters: Array, bytes_per_parameter: Array, batch: Array = 1, kv_bytes_per_sequence: Array = 0.0
) -> Array:
    """Intensity of a decoding step, 2 N b / bytes read, in FLOP/byte: 1 at batch 1 in BF16 without a KV
    cache.
    """
    return (
        2.0 * parameters * batch / decode_bytes(parameters, bytes_per_parameter, batch, kv_bytes_per_sequence)
    )


def decode_tokens_per_s(
    parameters: Array,
    bytes_per_parameter: Array,
    memory_bandwidth: Array,
    batch: Array = 1,
    kv_bytes_per_sequence: Array = 0.0,
    embedding_parameters: Array = 0.0,
    peak_flops: Array = np.inf,
) -> Array:
    """Upper bound of decoding throughput of one accelerator, in tokens/s over the whole batch.

    b / max(bytes / BW, 2 (N - E) b / R): weights and KV cache read once per step, arithmetic hidden behind
    it. `memory_bandwidth` in byte/s, `peak_flops` in FLOP/s (infinite: the memory bound alone); others as
    in `decode_bytes`.
    """
    bytes_read = decode_bytes(
        parameters, bytes_per_parameter, batch, kv_bytes_per_sequence, embedding_parameters
    )
    arithmetic = 2.0 * (parameters - embedding_parameters) * batch / peak_flops
    return plain(np.divide(batch, np.maximum(bytes_read / memory_bandwidth, arithmetic)))


def batch_at_ridge(ridge: Array, bytes_per_parameter: Array = 2.0) -> Array:
    """Sequences in a batch that bring weight traffic alone to the ridge: 2 b / bytes_per_parameter = ridge.

    `ridge` in FLOP/byte. KV-cache traffic grows with the batch, so that with long contexts no batch reaches
    it.
    """
    return ridge * bytes_per_parameter / 2.0
