"""The software stack: what a framework's era decides about a step, as a few named physical parameters.

A step's time depends on the kernels and on the overlap that the framework had when the run was made. That is
an input with presets, not a fit per source. Every number is a `Fact` under `stacks.<preset>.<parameter>`,
with a band, so that it is sampled and overridden like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from argosy.facts.fact import Fact
from argosy.facts.values import Values
from argosy.training import kernels

Array = Any

_TRAINING_DATA = "closed form of 17 parameters fitted to 676 published runs (A100, H100), November 2026"
_ASSUMED = "assumption"
_GROWTH = "growth of 42 series of published steps with the number of accelerators, at constant work on each"

# Parameter → (value, low, high, source). Fractions `*_hidden` say how much of a communication the stack can
# start early enough to run behind compute, given that there is compute to hide it behind.
_GENERIC: dict[str, tuple[float, float, float, str]] = {
    "memory_traffic": (
        1.0,
        0.9,
        1.25,
        _ASSUMED + ": bytes that element-wise kernels move, over one pass per fused operation",
    ),
    "tp_hidden": (
        0.5,
        0.0,
        0.85,
        _ASSUMED + ": collective matrix products (ring-exchange or user-buffer overlap) hide part",
    ),
    "cp_hidden": (
        0.8,
        0.3,
        1.0,
        "Liu et al. 2023, Ring Attention (arXiv:2310.01889): all but the first block's exchange",
    ),
    "ep_hidden": (
        0.0,
        0.0,
        0.5,
        _ASSUMED + ": token dispatch is on the critical path unless batches are interleaved",
    ),
    "pp_hidden": (0.8, 0.3, 1.0, _ASSUMED + ": sends of one chunk behind the compute of the next"),
    "dp_hidden": (0.9, 0.6, 1.0, _ASSUMED + ": all buckets but the last start before the backward pass ends"),
    "fsdp_hidden": (0.77, 0.5, 0.95, _TRAINING_DATA),
    "overlap_drag": (
        0.1,
        0.0,
        0.2,
        _ASSUMED + ": compute lost per second of hidden communication (SMs and memory that it occupies)",
    ),
    "host_layer_s": (
        1.0e-3,
        0.5e-3,
        1.6e-3,
        _TRAINING_DATA + ": 3-4 ms per layer with full recompute, that is two forwards and one backward",
    ),
    "host_experts": (
        2.5,
        1.5,
        4.0,
        _ASSUMED + ": kernels of a mixture layer over those of a dense one (router, permutations, dispatch)",
    ),
    "expert_rate": (
        1.0,
        0.7,
        1.05,
        _ASSUMED + ": the framework's grouped products reach what single kernels were measured to reach",
    ),
    "expert_s": (
        15e-6,
        0.0,
        50e-6,
        _ASSUMED
        + ": each expert's product is a kernel of its own, queued, filled and drained one after the other",
    ),
    "narrow_rate": (
        1.0,
        0.9,
        1.15,
        _ASSUMED
        + ": FP8 and FP4 products of the framework's libraries are as fast as those measured in 2025",
    ),
    "host_norm": (4.0, 3.0, 5.0, _TRAINING_DATA + ": exponent of the soft maximum of device and host time"),
    "step_overhead_s": (
        0.003,
        0.0,
        0.02,
        _ASSUMED + ": a few ms, as two published single-node pairs that differ in micro-batches suggest",
    ),
    "jitter": (
        0.013,
        0.005,
        0.021,
        _GROWTH + " (fitted with the two numbers below; one form of four tried)",
    ),
    "hiccup_s": (0.14, 0.05, 0.28, _GROWTH),
    "hiccup_rate": (
        0.002,
        0.0005,
        0.0077,
        _GROWTH + " (poorly determined: within a factor of four)",
    ),
}


@dataclass(frozen=True)
class Stack:
    """One framework era. Numbers are floats or arrays of draws (n,); see `stack_facts` for their sources.

    `attention`: kernel generation, one of `kernels.ATTENTION_KERNELS`. `fused`: element-wise neighbours in
    one kernel. `dispatcher`: `all-to-all`, or `node-limited` where a token crosses the fabric once per node
    and is copied inside it.
    """

    name: str
    attention: str = "flash3"
    fused: bool = True
    dispatcher: str = "all-to-all"
    schedules: tuple[str, ...] = ("1f1b", "interleaved")  # pipeline schedules that the framework has
    dispatch_bytes: float = 2.0  # per element of the forward dispatch to experts (1: in FP8)
    node_limit: float = float("inf")  # nodes that one token may visit, with the node-limited dispatcher
    fused_accumulation: bool = True  # weight gradients are added to their FP32 sum by the product itself
    weight_traffic: float = 0.0  # byte per parameter and micro-batch moved outside the products
    masked_windows: bool = False  # attention's kernel masks what lies outside a window instead of skipping it
    dropout: bool = (
        False  # hidden states pass through dropout and layer norms of 2021-22 (costs.EARLY_PASSES)
    )
    fused_rotary: bool = True  # rotary positions in one kernel, not in PyTorch's operations
    cast_orientations: int = 1  # 2: operands are converted along rows and along columns (a scale per row)
    tp_gather_bytes: float = 2.0  # per element that tensor-parallel ranks gather (1: converted to FP8 before)
    reserved: float = (
        0.0  # share of the multiprocessors that only exchange tokens while experts' exchange hides
    )
    recomputes_experts: bool = (
        False  # selective recomputation runs the routed feed-forward and its exchange again
    )
    fused_experts: bool = False  # activation and conversion of expert inputs inside the grouped products
    memory_traffic: Array = 1.0  # factor on the bytes of element-wise operations
    tp_hidden: Array = 0.5  # fraction of the tensor-parallel collectives that can hide
    cp_hidden: Array = 0.8
    ep_hidden: Array = 0.0
    pp_hidden: Array = 0.8
    dp_hidden: Array = 0.9  # fraction of the once-per-step gradient and parameter exchange that can hide
    fsdp_hidden: Array = 0.77  # fraction of the per-layer gathers and scatters of ZeRO-2 and 3 that can hide
    overlap_drag: Array = 0.1  # s of compute lost per s of hidden communication
    host_layer_s: Array = 1.0e-3  # s of host time to queue one layer's forward pass
    host_experts: Array = 2.5  # host time of a mixture layer over that of a dense one
    expert_rate: Array = 1.0  # rate of grouped expert products in a step over that of the measured kernels
    expert_s: Array = 15e-6  # s that the device loses per expert and product, where experts are more than one
    narrow_rate: Array = 1.0  # rate of FP8 and FP4 products over that of the measured kernels, on Blackwell
    host_norm: Array = 4.0  # exponent p of (device^p + host^p)^(1/p)
    step_overhead_s: Array = 0.003  # s per step outside the pipeline and the optimizer
    jitter: Array = 0.013  # coefficient of variation of compute between accelerators
    hiccup_s: Array = 0.14  # mean length of a node's delays (garbage collection, loader, network)
    hiccup_rate: Array = 0.002  # delays of a node per s

    @property
    def unfused(self) -> bool:
        """Whether attention writes its scores to memory; `attention` may also be a kernel's numbers."""
        return getattr(self.attention, "name", self.attention) == "unfused"

    @classmethod
    def from_values(cls, values: Values, name: str = "generic") -> Stack:
        """The preset `name`, its numbers read from `values` (scalars or draws) where they hold the stack
        facts.
        """
        if name not in _PRESETS:
            raise KeyError(f"no stack {name!r}; presets are {', '.join(PRESETS)}")
        traits, _ = _PRESETS[name]
        defaults = stack_facts()
        numbers: dict[str, Any] = {}
        for parameter in _GENERIC:
            path = f"stacks.{name}.{parameter}"
            numbers[parameter] = values[path] if path in values else defaults[path].value
        return cls(name, **{**traits, **numbers})

    @classmethod
    def preset(cls, name: str = "generic", **changes: Any) -> Stack:
        """The preset at its central numbers, with changes by field name."""
        return replace(cls.from_values(Values({}), name), **changes)


_MEGATRON_2021 = (
    "Narayanan et al. 2021 (arXiv:2104.04473), section 4: collectives and point-to-point sends are blocking"
)
_NEVER = {"tp_hidden": (0.0, 0.0, 0.1, _MEGATRON_2021), "pp_hidden": (0.0, 0.0, 0.3, _MEGATRON_2021)}
_NO_DP_OVERLAP = {"dp_hidden": (0.0, 0.0, 0.3, _MEGATRON_2021)}
_FSDP1 = {
    "fsdp_hidden": (0.25, 0.1, 0.45, _TRAINING_DATA),
    "tp_hidden": (0.0, 0.0, 0.1, "FSDP without tensor parallelism"),
}

# What moves per parameter and micro-batch outside the products. Assumptions: counted from how the frameworks
# are known to work, not from reading their code, and kept after seeing published rows. Before Megatron-LM 3 the
# gradient is added to its sum by a kernel of its own, in FP16: 2 + 2 read, 2 written. FSDP1 gathers gradients
# into one flat tensor and divides it: twice 2 + 2. FSDP2 copies gathered weights out in both passes, 2 + 2
# each, and gradients into an FP32 buffer, 2 + 4.
_SEPARATE_SUM = {"fused_accumulation": False, "weight_traffic": 6.0}
_EARLY = {"attention": "unfused", "dropout": True, **_SEPARATE_SUM}
_FLAT = {"fused_accumulation": False, "weight_traffic": 8.0}
# NVIDIA-NeMo/Megatron-Bridge on GitHub, scripts/performance/configs: settings, not measurements.
_RECIPES = "Megatron-Bridge's published recipe files"
_DUALPIPE = {"schedules": ("1f1b", "interleaved", "zero-bubble", "dualpipe")}
_COPIED = {"fused_accumulation": False, "weight_traffic": 14.0}

# Preset → (traits, numbers that differ from the generic stack).
_PRESETS: dict[str, tuple[dict[str, Any], dict[str, tuple[float, float, float, str]]]] = {
    "generic": ({"attention": "flash2"}, {}),
    "megatron-2021": (_EARLY, {**_NEVER, **_NO_DP_OVERLAP}),
    "megatron-deepspeed": (_EARLY, {**_NEVER, **_NO_DP_OVERLAP}),
    "megatron-core": ({"attention": "flash3"}, {}),
    "megatron-bridge": (
        {"attention": "flash3", "dispatcher": "node-limited"},
        {
            "ep_hidden": (
                0.0,
                0.0,
                0.5,
                _RECIPES + " leave moe_a2a_overlap off with the HybridEP dispatcher",
            ),
            "host_layer_s": (
                0.8e-3,
                0.3e-3,
                1.7e-3,
                _ASSUMED + ": half of Megatron-Core's, because recipes capture layers in CUDA graphs",
            ),
        },
    ),
    "megatron-bridge-fused": (
        {"attention": "flash3", "dispatcher": "node-limited", "fused_experts": True},
        {
            "ep_hidden": (
                0.8,
                0.3,
                0.95,
                _RECIPES
                + " of MXFP8 in 2026 put the exchange behind the neighbouring micro-batch; the share is assumed",
            ),
            "expert_s": (0.0, 0.0, 10e-6, _RECIPES + " of MXFP8 in 2026: one grouped kernel for all experts"),
            "host_layer_s": (
                0.05e-3,
                0.0,
                0.3e-3,
                _RECIPES
                + " of MXFP8 in 2026 capture the whole iteration in a CUDA graph; the rest is assumed",
            ),
        },
    ),
    "fsdp1": ({"attention": "flash2", **_FLAT}, _FSDP1),
    "llm-foundry": ({"attention": "triton", **_FLAT}, _FSDP1),
    # torchtitan rotates complex numbers (models/llama3/model.py, apply_rotary_emb), which its compiler does not
    # fuse.
    "fsdp2": ({"attention": "flash2", "fused": False, "fused_rotary": False, **_COPIED}, {}),
    "llama3": (
        {"attention": "flash3"},
        {
            "cp_hidden": (
                0.0,
                0.0,
                0.2,
                "Llama 3 (arXiv:2407.21783), section 3.3.2: keys and values are gathered before attention",
            )
        },
    ),
    "deepseek": (
        {
            "attention": "flash3",
            "dispatcher": "node-limited",
            "node_limit": 4.0,
            "dispatch_bytes": 1.0,
            "reserved": 20
            / 132,  # DeepSeek-V3, sections 3.2.2 and 3.5.1: 20 of 132 multiprocessors communicate
            "cast_orientations": 2,  # section 3.3.2: tiles of 1 × 128 forward, of 128 × 1 for weight gradients
            **_DUALPIPE,
        },
        {
            "expert_s": (
                0.0,
                0.0,
                15e-6,
                "DeepGEMM (github.com/deepseek-ai/DeepGEMM): one grouped kernel for all experts of a rank",
            ),
            "ep_hidden": (
                0.95,
                0.8,
                1.0,
                "DeepSeek-V3 (arXiv:2412.19437), section 3.2.1: DualPipe hides all-to-all and pipeline sends",
            ),
            "overlap_drag": (
                0.0,
                0.0,
                0.1,
                _ASSUMED
                + ": multiprocessors that communicate are reserved and counted apart; what is left is memory",
            ),
        },
    ),
}
PRESETS = tuple(_PRESETS)


@lru_cache(maxsize=1)
def stack_facts() -> dict[str, Fact]:
    """Every parameter of every preset as a fact under `stacks.<preset>.<parameter>`, to be joined with the
    catalog's.
    """
    facts = {}
    for name, (_, changes) in _PRESETS.items():
        for parameter, (value, low, high, source) in {**_GENERIC, **changes}.items():
            unit = "s" if parameter.endswith("_s") else "1/s" if parameter.endswith("_rate") else ""
            facts[f"stacks.{name}.{parameter}"] = Fact(value, unit, low, high, "framework era", source)
    for path, found in kernels.fitted_under("stacks.").items():
        facts[path] = Fact(unit=facts[path].unit, kind="framework era", **found)
    return facts


_NUMBERS = {f.name for f in fields(Stack)} - {
    "name",
    "attention",
    "fused",
    "dispatcher",
    "node_limit",
    "schedules",
    "dispatch_bytes",
    "fused_accumulation",
    "weight_traffic",
    "masked_windows",
    "dropout",
    "fused_rotary",
    "cast_orientations",
    "tp_gather_bytes",
    "reserved",
    "recomputes_experts",
    "fused_experts",
}
assert set(_GENERIC) == _NUMBERS, "every number of a stack has a fact"
