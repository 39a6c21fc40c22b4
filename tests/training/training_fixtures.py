"""A device and a network with numbers written here: tests stand on nothing but the code under test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.training import Device


@dataclass(frozen=True)
class PlainNetwork:
    """Ring collectives over one bandwidth inside a node and one outside: α-β, nothing shared with the fabric
    room.
    """

    node: int = 8
    inside: Any = 360e9  # byte/s
    outside: Any = 40e9  # byte/s
    latency: float = 5e-6

    def collective(self, kind: str, bytes: Any, size: Any, stride: Any) -> Any:
        size, stride = np.asarray(size, float), np.asarray(stride, float)
        local = size * stride <= self.node
        passes = 2.0 if kind == "all_reduce" else 1.0
        members = np.maximum(self.node // stride, 1)  # all of a node's members send over their own card
        bandwidth = np.where(local, self.inside, self.outside * (1 if kind == "all_to_all" else members))
        return passes * (size - 1) / size * bytes / bandwidth + passes * (size - 1) * self.latency

    def point_to_point(self, bytes: Any, stride: Any) -> Any:
        return bytes / np.where(np.asarray(stride) < self.node, self.inside, self.outside) + self.latency


def h100(**changes: Any) -> Device:
    """An H100 with its data-sheet numbers."""
    numbers = {
        "name": "H100-SXM",
        "generation": "hopper",
        "peak_flops": {"bf16": 989.4e12, "fp8": 1978.9e12},
        "memory_bandwidth": 3.35e12,
        "memory_bytes": 80e9,
        "sustained_clock": 0.855,
    }
    return Device(**{**numbers, **changes})
