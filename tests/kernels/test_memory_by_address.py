"""Arrays reached by address are the arrays themselves."""

import numba
import numpy as np
import pytest

from argosy.kernels.memory import addresses, line, table

POINT = np.dtype([("x", np.float64), ("n", np.int64)], align=True)
points, grid = line("points", POINT), table("grid", np.float64)


@numba.njit
def _visit(directory):  # type: ignore[no-untyped-def]
    w = directory[0]
    for row in range(w.grid_rows):
        for column in range(w.grid_columns):
            points(w)[row].x += grid(w)[row, column]
        points(w)[row].n = w.points_rows
    grid(w)[0, 1] = -1.0


def test_compiled_code_reads_and_writes_the_arrays_themselves() -> None:
    arrays = {"points": np.zeros(3, POINT), "grid": np.arange(6.0).reshape(3, 2)}
    _visit(addresses(arrays))
    assert list(arrays["points"]["x"]) == [1.0, 5.0, 9.0]
    assert list(arrays["points"]["n"]) == [3, 3, 3]
    assert arrays["grid"][0, 1] == -1.0


def test_arrays_out_of_order_are_refused() -> None:
    with pytest.raises(ValueError, match="C order"):
        addresses({"grid": np.zeros((4, 4))[:, ::2]})
