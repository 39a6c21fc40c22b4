"""FLOPs of matrix products and attention from the shapes that a profiler records of an operator's inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

Dims = Sequence[Sequence[int]]


def _mm(at: int) -> Callable[[Dims], int]:
    """Matrices at argument `at` and the next: 2·m·k·n, times the batch."""

    def flops(dims: Dims) -> int:
        left, right = dims[at], dims[at + 1]
        if not 2 <= len(left) <= 3 or len(left) != len(right) or left[-1] != right[-2]:
            return 0
        return 2 * math.prod(left) * right[-1]

    return flops


def _attention(factor: int, first: int) -> Callable[[Dims], int]:
    """Query, key, value of shape (batch, heads, sequence, width) from argument `first`.

    Two products forward, five of the same size backward (one is the recomputation inside the fused kernel); nothing is
    taken off for causal masks, as they are not recorded.
    """

    def flops(dims: Dims) -> int:
        query, key, values = dims[first : first + 3]
        if not len(query) == len(key) == len(values) == 4:
            return 0
        batch, heads, length, width = query
        return factor * batch * heads * length * key[2] * (width + values[3])

    return flops


# Operators whose kernels do the work themselves; what calls them (aten::linear, aten::matmul) is not counted again.
PRODUCTS: dict[str, Callable[[Dims], int]] = {
    "aten::mm": _mm(0),
    "aten::bmm": _mm(0),
    "aten::_scaled_mm": _mm(0),
    "aten::addmm": _mm(1),
    "aten::baddbmm": _mm(1),
    "aten::_addmm_activation": _mm(1),
    "aten::_scaled_dot_product_flash_attention": _attention(2, 0),
    "aten::_scaled_dot_product_efficient_attention": _attention(2, 0),
    "aten::_scaled_dot_product_cudnn_attention": _attention(2, 0),
    "aten::_scaled_dot_product_flash_attention_backward": _attention(5, 1),
    "aten::_scaled_dot_product_efficient_attention_backward": _attention(5, 1),
    "aten::_scaled_dot_product_cudnn_attention_backward": _attention(5, 1),
}
_LARGEST = 10**18  # FLOPs of one operator: a whole fleet's second; more is a broken shape


def flops(name: str, dims: Any) -> int:
    """FLOPs of one call of operator `name` with inputs of shapes `dims`; 0 where the shapes do not fit it."""
    if not isinstance(dims, list):
        return 0
    shapes = [
        list(each) if isinstance(each, list) and all(type(size) is int and size >= 0 for size in each) else []
        for each in dims
    ]
    try:
        found = PRODUCTS[name](shapes)
    except (KeyError, IndexError, ValueError):
        return 0
    return found if found < _LARGEST else 0
