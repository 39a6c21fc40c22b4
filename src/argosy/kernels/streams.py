"""Random numbers by address: the i-th number of stream s under key k, without a state to carry.

Two systems that are compared draw the same luck for the same node and the same failure, whatever happened between:
common random numbers, which make small differences visible. The hash is splitmix64's finaliser (Steele, Lea, Flood
2014), applied twice.
"""

from __future__ import annotations

import numpy as np

from argosy.kernels.compiled import compiled

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_A, _B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_ODD = np.uint64(0xD6E8FEB86659FD93)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_SCALE = 1.0 / 9007199254740992.0  # 2^-53


@compiled(inline="always")
def _mix(x):  # type: ignore[no-untyped-def]
    x = (x ^ (x >> _S30)) * _A
    x = (x ^ (x >> _S27)) * _B
    return x ^ (x >> _S31)


@compiled(inline="always")
def uniform(key, stream, index):  # type: ignore[no-untyped-def]
    """A number in (0, 1): `key` a np.uint64, `stream` and `index` non-negative integers."""
    inner = _mix(np.uint64(stream) * _ODD + np.uint64(index) * _GOLDEN + _GOLDEN)
    return (np.float64(_mix(key + inner * _ODD) >> _S11) + 0.5) * _SCALE


@compiled(inline="always")
def exponential(key, stream, index):  # type: ignore[no-untyped-def]
    """An exponential number of mean 1; arguments as `uniform`."""
    return -np.log(uniform(key, stream, index))
