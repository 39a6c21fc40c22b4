"""What every law shares: the type of its arguments, and how it refuses arguments outside its range."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any  # a float or a NumPy array; arguments broadcast against each other


def require(condition: Array, message: str) -> None:
    """Raise ValueError with `message` unless `condition` (bool or array of bool) holds everywhere."""
    if not np.all(condition):
        raise ValueError(message)


def plain(value: Array) -> Array:
    """A zero-dimensional array as a Python float; anything else unchanged."""
    return float(value) if np.ndim(value) == 0 else value
