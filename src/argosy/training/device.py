"""The accelerator as the step model sees it, read from facts."""

from __future__ import annotations

from dataclasses import dataclass, replace
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

# The board of each generation to which its sustained clock refers; others by their power limit.
REFERENCE = {"ampere": "A100-80GB-SXM", "hopper": "H100-SXM", "blackwell": "GB200"}
_EXPONENT = "training.power_exponent."
_POWER_EXPONENT = {
    "blackwell": Fact(
        1.8,
        "",
        1.2,
        3.0,
        "dimensionless",
        "matrix products of a GB300 at 500 and at 1,400 W (facebookexperimental/triton, pull request 2023), a "
        "quarter of the power static",
    )
}
_CUBE = Fact(
    3.0,
    "",
    1.8,
    3.0,
    "dimensionless",
    "assumption: voltage falls with the clock; at its floor the power is linear",
)
_STATIC_SHARE = "cap.model.static_share"  # of the catalog: of a board's limit, in dense work
_STATIC = 0.25  # where the values do not hold the catalog's


def device_facts() -> dict[str, Fact]:
    """Facts of the step model about devices and their hosts, to be joined with the catalog's:
    `training.sustained_clock.<generation>`, of the board REFERENCE; `training.power_exponent.<generation>`, by which
    a board's clock follows from its power limit; and those of `host_facts`. A device may have a clock of its own.
    """
    own = {
        path: Fact(unit="", kind=kind, **found)
        for prefix, kind in ((_CLOCK, "fraction"), (_EXPONENT, "dimensionless"))
        for path, found in kernels.fitted_under(prefix).items()
    }
    generations = sorted({*_GENERATIONS.values(), "other"})
    clocks = {f"{_CLOCK}{g}": _SUSTAINED_CLOCK.get(g, _UNMEASURED_CLOCK) for g in generations}
    exponents = {f"{_EXPONENT}{g}": _POWER_EXPONENT.get(g, _CUBE) for g in generations}
    return clocks | exponents | own | host_facts()


@dataclass(frozen=True)
class Device(kernels.Device):
    """A `kernels.Device` with the size of its scale-up domain. Numbers are floats or arrays of draws (n,).

    `node_size`: accelerators that share the scale-up network (NVLink domain). Per accelerator: `host_link`,
    byte/s one way to the host; `host_memory_bandwidth`, byte/s; `host_memory_bytes`. `power_room`: dynamic power
    at the board's limit over that of its generation's reference board; `reference_rate`: best matrix-product rate of
    that board over this one's.
    """

    node_size: int = 8
    power_room: Array = 1.0
    reference_rate: Array = 1.0
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
        family = generation(accelerator) or "other"
        facts = device_facts()
        exponent = values.get(f"{_EXPONENT}{family}", facts[f"{_EXPONENT}{family}"].value)
        fields: dict[str, Any] = {
            "name": accelerator,
            "generation": generation(accelerator),
            "peak_flops": peaks,
            "memory_bandwidth": values[f"{prefix}memory_bandwidth"],
            "memory_bytes": values[f"{prefix}memory_capacity"],
            "power_exponent": exponent,
            "node_size": node_size,
        }
        power = changes.pop("power", values.get(f"{prefix}power_cap"))
        device = cls(**{**fields, **changes})
        if "sustained_clock" in changes:
            return device
        own = f"{_CLOCK}{accelerator}"
        if own in facts or own in values:
            clock = values.get(own, facts[own].value if own in facts else 1.0)
            return replace(device, sustained_clock=np.minimum(clock, 1.0))
        clock = values.get(f"{_CLOCK}{family}", facts[f"{_CLOCK}{family}"].value)
        return device.beside_reference(values, power).at(clock, exponent)

    def beside_reference(self, values: Values, power: Array | None) -> Device:
        """The device with `power_room` and `reference_rate` for a board limit of `power` watts.

        Unchanged where its generation has no reference board, or a number of either board is missing.
        """
        board = REFERENCE.get(self.generation, "")
        limit, peak = (values.get(f"accelerators.{board}.{name}") for name in ("power_cap", "peak_bf16"))
        if power is None or limit is None or peak is None or "bf16" not in self.peak_flops:
            return self
        static = values.get(_STATIC_SHARE, _STATIC) * limit
        room = np.maximum(power - static, 0.01 * limit) / (limit - static)
        ceiling = kernels.curves_for(board, self.generation).gemm["bf16"].ceiling
        best = self.peak_flops["bf16"] * self.curves.gemm["bf16"].ceiling
        return replace(self, power_room=room, reference_rate=peak * ceiling / best)

    def at(self, clock: Array, exponent: Array) -> Device:
        """The device where the reference board sustains `clock` and power goes with the clock to the `exponent`.

        A board of dynamic power p sustains products at R · (p/p_ref)^(1/exponent), R being the reference board's
        rate (`laws.power_cap`); over its own best rate that is its clock, at most 1.
        """
        sustained = clock * self.power_room ** (1.0 / exponent) * self.reference_rate
        return replace(self, sustained_clock=np.minimum(sustained, 1.0), power_exponent=exponent)


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
