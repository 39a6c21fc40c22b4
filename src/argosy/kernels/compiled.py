"""How the kernels are compiled: helpers without reference counts, and the copies that slices would do.

A helper gets a life as a tuple of thirty arrays; counting references to them at every call would take longer than the
work (measured: twenty times). Helpers neither make nor keep arrays, so that nothing needs counting; the outermost
function, which Python calls, holds the references. Compiled code is cached beside the source: the first use on a
machine takes some twenty seconds. The cache sees changes of the outermost function's file alone; after editing a helper,
remove `src/argosy/kernels/__pycache__`.
"""

from __future__ import annotations

from typing import Any

from numba import njit

_compile: Any = njit  # its type stubs do not know all of its options
_INSIDE = {"cache": True, "forceinline": True, "_nrt": False}
small = _compile(**_INSIDE)
"""For helpers that tests call from Python too."""
helper = _compile(**_INSIDE, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""For helpers that only kernels call: no wrapper for Python is compiled."""


@helper
def copy(to, source):  # type: ignore[no-untyped-def]
    """Copies `source` (n,) into `to` (n,)."""
    for at in range(len(to)):
        to[at] = source[at]


@helper
def set_all(to, value):  # type: ignore[no-untyped-def]
    """Sets all entries of `to` (n,) to `value`."""
    for at in range(len(to)):
        to[at] = value
