"""The accelerator as the step model sees it, read from facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.facts.fact import Fact
from argosy.facts.values import Values
from argosy.training import kernels
from argosy.training.host import host_facts

Array = Any

_FORMATS = ("fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "int8")

# Catalog names begin with what tells their generation; by it a device without kernel measurements finds its
# relative.
_GENERATIONS = {
    "A100": "ampere", "A800": "ampere", "A40": "ampere",
    "H100": "hopper", "H800": "hopper", "H200": "hopper", "H20": "hopper", "GH200": "hopper",
    "B200": "blackwell", "B300": "blackwell", "GB200": "blackwell", "GB300": "blackwell",
    "MI2": "cdna2", "MI3": "cdna3", "TPU": "tpu", "Ascend": "ascend",
    "Trainium": "trainium", "Gaudi": "gaudi",
}  # fmt: skip


_HOST_FIELDS = ("host_link", "host_memory_bandwidth", "host_memory_bytes")
_CLOCK = "training.sustained_clock."
_STEP_FIT = "closed form of 17 parameters fitted to 676 published runs (A100, H100), November 2026"

# Rate of matrix products held over a whole step under the board's power limit, over that of a kernel
# benchmark. By generation: the limit and the silicon set it, not the run. What was never measured takes the
# nearest with a wide band.
_SUSTAINED_CLOCK = {
    "ampere": Fact(0.95, "", 0.91, 0.99, "fraction", _STEP_FIT),
    "hopper": Fact(0.855, "", 0.80, 0.91, "fraction", _STEP_FIT),
}
_UNMEASURED_CLOCK = Fact(
    0.87, "", 0.78, 0.96, "fraction", "assumption: between Ampere and Hopper, whose step runs were fitted"
)


def device_facts() -> dict[str, Fact]:
    """Facts of the step model about devices and their hosts, `training.sustained_clock.<generation>` and those
    of `host_facts`, to be joined with the catalog's. A device whose power limit sets it apart from its
    generation has a fact of its own.
    """
    own = {
        path: Fact(unit="", kind="fraction", **found) for path, found in kernels.fitted_under(_CLOCK).items()
    }
    generations = {*_GENERATIONS.values(), "other"}
    clocks = {f"{_CLOCK}{g}": _SUSTAINED_CLOCK.get(g, _UNMEASURED_CLOCK) for g in sorted(generations)}
    return clocks | own | host_facts()


@dataclass(frozen=True)
class Device(kernels.Device):
    """A `kernels.Device` with the size of its scale-up domain. Numbers are floats or arrays of draws (n,).

    `node_size`: accelerators that share the scale-up network (NVLink domain). Per accelerator: `host_link`,
    byte/s one way to the host; `host_memory_bandwidth`, byte/s; `host_memory_bytes`.
    """

    node_size: int = 8
    host_link: Array = 0.0
    host_memory_bandwidth: Array = 0.0
    host_memory_bytes: Array = 0.0

    @classmethod
    def from_values(cls, values: Values, accelerator: str, node_size: int = 8, **changes: Any) -> Device:
        """The device `accelerator` (a catalog name), from `accelerators.<name>.*`; arrays where `values`
        holds draws.

        `changes` replaces fields by name. KeyError where the catalog lacks its bandwidth or capacity.
        """
        prefix = f"accelerators.{accelerator}."
        peaks = {
            dtype: values[f"{prefix}peak_{dtype}"] for dtype in _FORMATS if f"{prefix}peak_{dtype}" in values
        }
        clock = f"{_CLOCK}{accelerator}"
        if clock not in device_facts():
            clock = f"{_CLOCK}{generation(accelerator) or 'other'}"
        fields: dict[str, Any] = {
            "name": accelerator,
            "generation": generation(accelerator),
            "peak_flops": peaks,
            "memory_bandwidth": values[f"{prefix}memory_bandwidth"],
            "memory_bytes": values[f"{prefix}memory_capacity"],
            "sustained_clock": np.minimum(values.get(clock, device_facts()[clock].value), 1.0),
            "node_size": node_size,
        }
        return cls(**{**fields, **changes})


def host_numbers(values: Values, accelerator: str) -> dict[str, Array]:
    """The host fields of a `Device` (byte/s, byte/s, byte), for jobs that offload; others do not read them."""
    known = host_facts()
    places = (accelerator, generation(accelerator), "other")
    host = next(place for place in places if f"training.host_link.{place}" in known)
    paths = {name: f"training.{name}.{host}" for name in _HOST_FIELDS}
    return {name: values.get(path, known[path].value) for name, path in paths.items()}


def generation(accelerator: str) -> str:
    """The generation that a catalog name tells, or an empty string."""
    longest_first = sorted(_GENERATIONS, key=len, reverse=True)
    return next((_GENERATIONS[prefix] for prefix in longest_first if accelerator.startswith(prefix)), "")
