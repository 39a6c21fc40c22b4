"""The arrays of a life behind one address: helpers get a record of addresses, and look at the memory they need.

Numba counts references to every array that a call hands over. A life has thirty arrays, and counting them took most of
its time; a record is a plain pointer, for which nothing is counted. Whoever makes the record (`addresses`) keeps the
arrays alive for as long as it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import carray, njit, types  # type: ignore[attr-defined]  # its stubs leave carray out
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def _pointer(typingctx, address):  # type: ignore[no-untyped-def]
    """An address (int64) as a pointer."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


def directory(names: list[str]) -> np.dtype:
    """The record that holds, for each name, the address of an array and its shape of at most two dimensions."""
    parts = [f"{name}{part}" for name in names for part in ("", "_rows", "_columns")]
    return np.dtype([(field, np.int64) for field in parts], align=True)


def addresses(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """The directory (1,) of these arrays, which must outlive it, in C order."""
    record = np.zeros(1, directory(list(arrays)))
    for name, array in arrays.items():
        if not array.flags.c_contiguous:
            raise ValueError(f"{name} is not in C order")
        record[name] = array.ctypes.data
        record[f"{name}_rows"] = len(array)
        record[f"{name}_columns"] = array.shape[1] if array.ndim > 1 else 1
    return record


def line(name: str, dtype: Any) -> Any:
    """A compiled function of the directory that gives its one-dimensional array `name`."""
    rows = f"{name}_rows"

    @njit
    def view(w):  # type: ignore[no-untyped-def]
        return carray(_pointer(w[name]), (w[rows],), dtype)  # type: ignore[call-arg]

    return view


def table(name: str, dtype: Any) -> Any:
    """A compiled function of the directory that gives its two-dimensional array `name`."""
    rows, columns = f"{name}_rows", f"{name}_columns"

    @njit
    def view(w):  # type: ignore[no-untyped-def]
        return carray(_pointer(w[name]), (w[rows], w[columns]), dtype)  # type: ignore[call-arg]

    return view
