"""The few physical numbers of the step model that are fitted to measured steps, and which sources the fit never sees."""

from __future__ import annotations

from dataclasses import dataclass

# Whole sources that the fit never sees: their rows say what the numbers are worth elsewhere.
ASIDE = (
    "vTrain validation ground truth multi-node",
    "BigScience BLOOM",
    "Korthikanti",
    "Megatron-LM SC21",
    "Megatron-LM README",
    "Megatron-Bridge",
    "torchtitan",
)

MEGATRON_2021 = ("megatron-2021", "megatron-deepspeed")
BRIDGE = ("megatron-bridge", "megatron-bridge-fused")
MEGATRON_CORE = ("megatron-core", *BRIDGE)
FSDP1 = ("fsdp1", "llm-foundry")


@dataclass(frozen=True)
class Parameter:
    """One number of the step model.

    `where`: what it belongs to, as a path: `device.<field>.<generation>`, `stack.<field>` (of `stacks`),
    `attention.<field>.<kernel>.<generation>`. `start` is its prior, `width` one standard deviation of it,
    `low` and
    `high` its bounds.
    """

    where: str
    start: float
    width: float
    low: float
    high: float
    meaning: str
    stacks: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """A name for the report."""
        return f"{self.where} ({', '.join(self.stacks)})" if self.stacks else self.where

    @property
    def paths(self) -> list[str]:
        """Its paths in the shipped table (`training.kernels.fitted`)."""
        part, field, *rest = self.where.split(".")
        if part == "device":
            return [f"training.{field}.{rest[0]}"]
        if part == "attention":
            return [f"attention.{rest[0]}.{rest[1]}.{field}"]
        return [f"stacks.{stack}.{field}" for stack in self.stacks]


_CLOCK = "rate of matrix products over a whole step, over that of a short benchmark"
_MEMORY = "share of nameplate memory bandwidth that streaming kernels reach"
_TRITON = "share of peak that Triton's attention reaches forward on long sequences"
_FLASH3 = "share of peak that fused attention of training libraries reaches forward on long sequences"
_BACKWARD = "FLOP/s of attention's backward over its forward"
_HOST = "s of host time to queue one layer's forward pass"
_TRAFFIC = "bytes that element-wise kernels move over one pass per fused operation"

PARAMETERS = (
    Parameter("device.sustained_clock.ampere", 0.95, 0.04, 0.7, 1.0, _CLOCK),
    Parameter("device.sustained_clock.hopper", 0.87, 0.05, 0.7, 1.0, _CLOCK),
    Parameter("device.sustained_clock.blackwell", 0.87, 0.06, 0.6, 1.0, _CLOCK),
    Parameter(
        "device.power_exponent.blackwell",
        1.8,
        0.4,
        1.0,
        3.0,
        "power to which a board's clock goes with its dynamic power (500 against 1,400 W on GB300)",
    ),
    Parameter("device.memory_efficiency.ampere", 0.85, 0.05, 0.6, 0.92, _MEMORY),
    Parameter("device.memory_efficiency.hopper", 0.85, 0.05, 0.6, 0.92, _MEMORY),
    Parameter(
        "attention.score_traffic.unfused.ampere",
        1.0,
        0.15,
        0.5,
        2.0,
        "bytes moved per attention score over those counted",
    ),
    Parameter("attention.forward_ceiling.triton.ampere", 0.325, 0.08, 0.1, 0.6, _TRITON),
    Parameter("attention.forward_ceiling.triton.hopper", 0.25, 0.08, 0.1, 0.6, _TRITON),
    Parameter("attention.forward_ceiling.flash3.hopper", 0.655, 0.05, 0.5, 0.75, _FLASH3),
    Parameter("attention.backward_ratio.flash3.hopper", 0.80, 0.07, 0.4, 1.1, _BACKWARD),
    Parameter("attention.backward_ratio.flash3.blackwell", 0.80, 0.07, 0.4, 1.1, _BACKWARD),
    Parameter("stack.host_layer_s", 0.95e-3, 0.1e-3, 0.05e-3, 3e-3, _HOST, MEGATRON_2021),
    Parameter("stack.host_layer_s", 0.8e-3, 0.4e-3, 0.05e-3, 3e-3, _HOST, ("megatron-core",)),
    Parameter(
        "stack.host_norm",
        5.0,
        2.0,
        2.0,
        16.0,
        "exponent of the soft maximum of device and host time",
        MEGATRON_2021,
    ),
    Parameter("stack.memory_traffic", 1.0, 0.15, 0.5, 2.0, _TRAFFIC, MEGATRON_2021),
    Parameter("stack.memory_traffic", 1.0, 0.15, 0.5, 2.0, _TRAFFIC, MEGATRON_CORE),
    Parameter("stack.memory_traffic", 1.0, 0.15, 0.5, 2.0, _TRAFFIC, FSDP1),
    Parameter(
        "stack.tp_hidden",
        0.5,
        0.25,
        0.0,
        1.0,
        "share of tensor-parallel communication that hides",
        MEGATRON_CORE,
    ),
    Parameter(
        "stack.fsdp_hidden", 0.25, 0.15, 0.0, 1.0, "share of sharded weights' communication that hides", FSDP1
    ),
    Parameter(
        "stack.overlap_drag",
        0.1,
        0.05,
        0.0,
        0.5,
        "s of compute lost per s of hidden communication",
        (*MEGATRON_CORE, *FSDP1),
    ),
    Parameter(
        "stack.step_overhead_s",
        0.003,
        0.003,
        0.0,
        0.1,
        "s per step outside pipeline and optimizer",
        MEGATRON_2021,
    ),
)

# Containers of Megatron-Bridge that the second stage sees; its other containers stay aside.
FITTED_CONTAINERS = ("25.09", "26.02", "26.06")

_CAPTURED = "host time of a mixture layer over that of a dense one"

# Fitted after, and apart from, the dense numbers: see fit_mixtures.
MIXTURES = (
    Parameter(
        "stack.expert_s",
        15e-6,
        10e-6,
        0.0,
        80e-6,
        "s that the device loses per expert and product (launch, fill and drain of its own kernel)",
        ("megatron-core", "megatron-bridge"),
    ),
    Parameter("stack.host_experts", 2.5, 0.8, 1.0, 6.0, _CAPTURED, ("megatron-core",)),
    Parameter("stack.host_experts", 2.5, 0.8, 1.0, 6.0, _CAPTURED, ("megatron-bridge",)),
    Parameter(
        "stack.ep_hidden",
        0.8,
        0.15,
        0.0,
        1.0,
        "share of the experts' exchange that hides behind the neighbouring micro-batch",
        ("megatron-bridge-fused",),
    ),
    Parameter(
        "stack.narrow_rate",
        1.0,
        0.1,
        0.7,
        1.5,
        "rate of FP8 and FP4 products on Blackwell over that of kernels measured in 2025",
        BRIDGE,
    ),
)
