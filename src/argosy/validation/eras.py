"""What a row's words mean: its accelerator, its framework's stack, its fabric, formats, sharding and
recomputation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from argosy.validation.rows import Row

# Accelerator texts → catalog names, first match wins.
_ACCELERATORS = (
    (r"gb300", "GB300"),
    (r"gb200", "GB200"),
    (r"b300", "B300-SXM"),
    (r"b200", "B200-SXM"),
    (r"h200", "H200-SXM"),
    (r"h800", "H800-SXM"),
    (r"h20\b", "H20-96GB"),
    (r"h100.*pcie", "H100-PCIe"),
    (r"h100", "H100-SXM"),
    (r"a100.*40 ?g", "A100-40GB-SXM"),
    (r"a100", "A100-80GB-SXM"),
    (r"mi300x", "MI300X"),
    (r"mi325x", "MI325X"),
    (r"mi355x", "MI355X"),
    (r"tpu ?v4", "TPU v4"),
    (r"tpu ?v5p", "TPU v5p"),
)


# torchtitan's H100 boards have HBM2e and "a lower TDP" (its benchmarks); Meta's own tools hold its H100 at 500 W, "the
# card's rated power" (facebookexperimental/triton, denoise.sh, pull request 2023).
META_H100_WATTS = 500.0


def accelerator(row: Row) -> tuple[str | None, dict[str, float]]:
    """The catalog name that a row's accelerator text means (None: unknown), and what the text says it
    differs in.

    A bandwidth ("2.4TB/s") or capacity ("96GB") in the text replaces the catalog's number, in byte/s and
    byte; `power` is its limit in W where it is another one.
    """
    text = row.text("accelerator").lower()
    name = next((name for pattern, name in _ACCELERATORS if re.search(pattern, text)), None)
    changes = {}
    if name == "H100-SXM" and "non-standard" in text:
        changes["power"] = META_H100_WATTS
    if found := re.search(r"([\d.]+) ?tb/s", text):
        changes["memory_bandwidth"] = float(found[1]) * 1e12
        if capacity := re.search(r"(\d+) ?gb\b", text):
            changes["memory_bytes"] = float(capacity[1]) * 1e9
    return name, changes


@dataclass(frozen=True)
class Era:
    """The stack preset of a framework and why, with the formats and defaults that the framework has."""

    stack: str
    reason: str
    zero: int  # where the row does not say
    gradient_bytes: float  # per element of the exchange, where the row does not say
    recompute: tuple[str, ...]  # what the framework tries in order, where the row does not say
    fused_cross_entropy: bool = False  # the loss in one kernel, without a second copy of the logits


# Megatron-Bridge's MXFP8 recipes since the container of June 2026. The recipe files capture whole iterations on
# GB200 and GB300, and of B300 only for some models.
_FUSED_ROWS = r"megatron-bridge.* 26\.(0[6-9]|1\d)[^|]*\|mxfp8\|(gb[23]00|b300\|qwen3)"
_FUSED = Era(
    "megatron-bridge-fused",
    "Megatron-Bridge since 26.06 with MXFP8: grouped products with activation and conversion inside, "
    "the iteration in one CUDA graph, the experts' exchange behind the neighbouring micro-batch",
    1,
    2.0,
    ("none", "selective", "full"),
    True,
)

# Megatron-Bridge's mixtures on H100: the recipe files capture no layers in CUDA graphs there (but one in BF16).
_UNCAPTURED_ROWS = r"megatron-bridge[^|]*\|[^|]*\|h100[^|]*\|(qwen3|deepseek|gpt.?oss)"
_UNCAPTURED = Era(
    "megatron-core",
    "Megatron-Bridge on H100: as Megatron-Core, because its recipes capture no layers in CUDA graphs",
    1,
    2.0,
    ("none", "selective", "full"),
    True,
)

# Framework texts → era, first match wins.
_ERAS = (
    (
        r"megatron-bridge",
        Era(
            "megatron-bridge",
            "Megatron-Bridge: Megatron-Core with the newest recipes for mixtures of experts",
            1,
            2.0,
            ("none", "selective", "full"),
            True,
        ),
    ),
    (
        r"llama ?3|meta",
        Era(
            "llama3",
            "Meta's stack for Llama 3: as Megatron-Core, keys and values gathered before attention",
            1,
            4.0,
            ("none", "full"),
        ),
    ),
    (
        r"nemo",
        Era(
            "megatron-core",
            "Megatron-Core with Transformer Engine: fused attention of the device's generation, "
            "collectives overlapped",
            1,
            2.0,
            ("none", "selective", "full"),
            True,
        ),
    ),
    (
        r"megatron-lm 0\.1\d|megatron-core|megatron core",
        Era(
            "megatron-core",
            "Megatron-Core with Transformer Engine: gradients reduced in FP32, the loss not fused by its "
            "defaults",
            1,
            4.0,
            ("none", "selective", "full"),
        ),
    ),
    (
        r"megatron-deepspeed|deepspeed",
        Era(
            "megatron-deepspeed",
            "Megatron-DeepSpeed of 2021-22: unfused attention, blocking collectives",
            0,
            2.0,
            ("full",),
        ),
    ),
    (
        r"megatron",
        Era(
            "megatron-2021",
            "Megatron-LM before Megatron-Core: unfused attention, blocking collectives",
            0,
            2.0,
            ("full",),
        ),
    ),
    (
        r"llm-foundry|composer|mosaic",
        Era(
            "llm-foundry",
            "llm-foundry on PyTorch FSDP1 with the Triton attention kernel",
            3,
            2.0,
            ("full", "none"),
        ),
    ),
    (r"torchtitan|fsdp2", Era("fsdp2", "torchtitan on PyTorch FSDP2", 3, 4.0, ("selective", "full"))),
    (
        r"maxtext|pax|jax|xla",
        Era("fsdp2", "JAX: no preset of its own, taken as FSDP2", 3, 2.0, ("none", "selective", "full")),
    ),
    (r"fsdp|pytorch", Era("fsdp1", "PyTorch FSDP1", 3, 2.0, ("full", "none"))),
)
GENERIC = Era("generic", "framework not recognised: the generic stack", 1, 4.0, ("none", "selective", "full"))


def era(row: Row) -> Era:
    """The era of a row's framework."""
    words = "|".join(
        row.text(column) for column in ("framework", "precision", "accelerator", "model")
    ).lower()
    if re.search(_FUSED_ROWS, words):
        return _FUSED
    if re.search(_UNCAPTURED_ROWS, words):
        return _UNCAPTURED
    text = row.text("framework").lower()
    return next((found for pattern, found in _ERAS if re.search(pattern, text)), GENERIC)


def fused_loss(row: Row, found: Era) -> bool:
    """Whether the loss is one kernel: the framework's default, or what the row or its source's recipes say."""
    stated = "cef" in row.text("recompute").lower() or "modelzoo" in row.text("source").lower()
    return found.fused_cross_entropy or stated


def zero_stage(row: Row, found: Era) -> int:
    """Sharding stage 0–3 that a row states, else its framework's default."""
    text = row.text("zero_fsdp").lower()
    if not text:
        return found.zero
    if re.search(r"fsdp=0|zero-?1|dist", text):
        return 1
    if re.search(r"none|zero-?0", text):
        return 0
    if re.search(r"zero-?2|grad_op", text):
        return 2
    return 3 if re.search(r"fsdp|zero-?3|full_shard", text) else found.zero


def shard_size(row: Row) -> int | None:
    """Ranks that share one copy of the weights in hybrid sharding, where the row names a number smaller
    than the fleet.
    """
    found = re.search(r"shard=(\d+)|^fsdp(\d+)$", row.text("zero_fsdp").lower())
    return int(found[1] or found[2]) if found else None


def recompute_modes(row: Row, found: Era) -> tuple[tuple[str, ...], bool]:
    """Recomputation to try in order (the first that fits is taken), and whether the row states it.

    Recomputing only norms and activations costs a few per cent of the memory-bound time and is taken as none.
    """
    text = row.text("recompute").lower()
    if not text:
        return found.recompute, False
    if text.startswith("full"):
        return ("full",), True
    if recomputes_experts(row):
        return ("selective",), True
    if text.startswith("none") or re.search(r"norm|act\b", text):
        return ("none",), True
    return ("selective",), True


def asynchronous_tp(row: Row, found: Era) -> bool:
    """Whether tensor-parallel collectives overlap with products. In PyTorch only where a run asks for
    asynchronous tensor parallelism (torchtitan, docs: off by default).
    """
    if found.stack != "fsdp2":
        return True
    return re.search(r"async ?tp", row.text("notes").lower()) is not None


# Recipes that set the experts' tensor parallelism to one in their published files.
_ONE_EXPERT_RANK = ("megatron-bridge", "modelzoo")


def expert_tensor_parallel(row: Row, tp: int, divides: bool) -> tuple[int, str]:
    """Expert tensor parallelism of a row that does not state it, and why."""
    words = f"{row.text('framework')} {row.text('source')}".lower()
    if any(name in words for name in _ONE_EXPERT_RANK):
        return 1, "1, as the recipes' published files set"
    return (tp if divides else 1), "Megatron-Core's default where it divides"


def recomputes_experts(row: Row) -> bool:
    """Whether the row recomputes whole mixture layers (Megatron-Core's module `moe`), their exchange too."""
    return re.search(r"\bmoe\b", row.text("recompute").lower()) is not None


# Load of the busiest rank of experts over the mean where the router is not forced to balance. Read from two pairs of
# published runs that differ in nothing else (Qwen3 235B on 256 H100 at 32 Ki and 64 Ki tokens): their times are 1.21
# and 1.15 apart, which the model gives at 1.6 in both.
UNFORCED_IMBALANCE = 1.6


def imbalance(row: Row) -> float | None:
    """The experts' imbalance that the row's words mean; None where they say nothing, or that it is forced."""
    return UNFORCED_IMBALANCE if "unforced" in row.text("notes").lower() else None


def stack_changes(row: Row, found: Era) -> dict[str, Any]:
    """Traits of the stack that the row's words change: its dispatcher, what it recomputes, its attention.

    gpt-oss attends with a learned sink in every softmax, and every second layer over a window; its rotary
    positions are not fused (Megatron-Bridge, models/gpt_oss). That the fused kernel masks the window instead of
    skipping what lies outside is a supposition: without it, and with what the biases cost, its rows lack time
    in proportion to the whole context. DeepSeek-V3's router picks four of eight groups of experts
    (arXiv:2412.19437, section 2.1.2), which lie on nodes of their own.
    """
    words = row.text("notes").lower()
    changes: dict[str, Any] = {}
    if "dispatcher deepep" in words or found is _UNCAPTURED:
        changes["dispatcher"] = "node-limited"
    if "dispatcher a2a" in words:
        changes["dispatcher"] = "all-to-all"
    if recomputes_experts(row):
        changes["recomputes_experts"] = True
    model = row.text("model").lower()
    if re.search(r"gpt.?oss", model):
        changes |= {"masked_windows": True, "fused_rotary": False}
        if found.stack != "megatron-bridge-fused":
            changes["dispatcher"] = "all-to-all"
    if re.search(r"deepseek.?v3", model):
        changes["node_limit"] = 4.0
    if found.stack == "fsdp2" and "fp8" in row.text("precision").lower():
        changes |= _float8(row.text("precision").lower())
    return changes


def _float8(words: str) -> dict[str, Any]:
    """What torchao's scaling means: one scale per row converts operands along rows and columns and gathers
    activations in BF16; one per tensor lets tensor-parallel ranks gather what is already converted.
    """
    return {"cast_orientations": 2} if "row" in words else {"tp_gather_bytes": 1.0}


def precision(row: Row) -> str:
    """The format of the quantised products, as training names it."""
    text = row.text("precision").lower()
    if "nvfp4" in text:
        return "nvfp4"
    if "mx" in text:
        return "mxfp8"
    if "block" in text or "granularity" in text:
        return "fp8_block"
    if "fp8" in text or "float8" in text:
        return "fp8"
    return "fp16" if re.search(r"fp16|float16", text) and "bf16" not in text else "bf16"


def gradient_bytes(row: Row, found: Era) -> float:
    """Bytes per element of the gradient exchange: what the row says, else the framework's default."""
    if "fp32 grad" in row.text("precision").lower() or "DEFAULT" in row.text("zero_fsdp"):
        return 4.0
    return found.gradient_bytes


@dataclass(frozen=True)
class Wires:
    """Fabric of a row where its words say more than the catalog: byte/s one way per accelerator, and its
    delivered share.
    """

    card_bytes_per_s: float | None
    delivered: float | None
    reason: str


# Share of their nameplate that BLOOM's Omni-Path links gave to data parallelism: 10 of 50 GB/s per node.
OMNI_PATH_DELIVERED = 0.2


def wires(row: Row) -> Wires:
    """What a row's words say about the fabric between nodes."""
    words = f"{row.text('accelerator')} {row.text('notes')}".lower()
    if "omnipath" in words or "omni-path" in words:
        return Wires(
            4 * 100e9 / 8 / 8,
            OMNI_PATH_DELIVERED,
            "four 100 Gb/s Omni-Path links per node of eight; they deliver a fifth",
        )
    if found := re.search(r"inter-node (\d+) gb/s", words):
        return Wires(float(found[1]) * 1e9 / 8 / 8, None, f"{found[1]} Gb/s per node, as the row says")
    if found := re.search(r"(\d+) ?x ?(\d+) ?gb/s", words):
        return Wires(float(found[2]) * 1e9, None, "cards as the row says")
    return Wires(None, None, "the catalog's cards")


def describe(value: Any) -> str:
    """A value for a remark."""
    return f"{value:g}" if isinstance(value, float) else str(value)
