"""A serving engine as the step model sees it: its settings, and what its iterations cost besides the roofline."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class Rates(NamedTuple):
    """Shares of bandwidth for experts and for keys and values, and of the kernels' curves for grouped products."""

    expert: Any
    expert_compute: Any
    kv: Any


@dataclass(frozen=True)
class Engine:
    """One engine. The first group are its own settings (defaults as documented), the second were fitted.

    `memory_fraction`: share of memory (of what the weights leave, if `fraction_of_free`) for the KV cache;
    `max_batch`: most sequences at once; `max_tokens`: most tokens of one iteration (the chunk of chunked prefill);
    `mixed`: prompts and decodes share iterations, otherwise prompts go first, alone;
    `reserve_output`: admission reserves the whole output (no preemption), else only the prompt's blocks;
    `full_cache`: layers with a window keep all tokens in the cache, not the window's alone.

    `step_s`: s that an iteration costs besides its kernels (scheduling, graph launch, sampling); `sequence_s`: s per
    running sequence (detokenising, bookkeeping); `kernel_s`: s that starting and draining one kernel takes inside a
    captured graph; `weight_efficiency`, `expert_efficiency`, `kv_efficiency`: share of memory bandwidth that reading
    dense weights, experts, keys and values gets; `compute_efficiency`: rate of prompt products and attention over
    that of the kernels' own curves; `collective_factor`, `exchange_factor`: time of an all-reduce, and of an exchange of
    tokens between expert ranks, over that of NCCL;
    `request_s`: s before a request's first iteration (HTTP, tokenising); `launch_s`: s of the host per kernel of an
    iteration with prompts, which runs outside captured graphs; `widening_efficiency`: rate of expert products whose INT4
    weights are widened to BF16 as they are read, over the others'; `expert_compute_efficiency`:
    rate of grouped products over the kernels' curves; `block_efficiency`, `fp4_efficiency`: rate of products with
    block-scaled FP8, and of dense ones in NVFP4, over the roofline's; `older_expert_efficiency`,
    `older_expert_compute_efficiency`, `older_kv_efficiency`: three of them on generations before Blackwell, whose kernels
    are others; `routing_skew`: exponent of the power law of the experts' popularity; `older_widening_efficiency`: rate of
    computing expert products whose MXFP4 weights are widened to BF16 before Blackwell, over that of BF16's.
    """

    name: str = "vllm"
    memory_fraction: float = 0.9
    fraction_of_free: bool = False
    max_batch: int = 1024
    max_tokens: Any = 8192  # int, or an array where many loads are asked at once
    mixed: bool = True
    reserve_output: bool = False
    full_cache: bool = False

    step_s: Any = 1e-3
    sequence_s: Any = 0.0
    kernel_s: Any = 2e-6
    weight_efficiency: Any = 0.8
    expert_efficiency: Any = 0.7
    kv_efficiency: Any = 0.7
    compute_efficiency: Any = 0.8
    collective_factor: Any = 1.0
    request_s: Any = 0.02
    launch_s: Any = 5e-6
    widening_efficiency: Any = 0.8
    expert_compute_efficiency: Any = 0.6
    block_efficiency: Any = 0.9
    exchange_factor: Any = 1.0
    fp4_efficiency: Any = 0.9
    older_expert_efficiency: Any = 0.78
    older_expert_compute_efficiency: Any = 0.7
    older_kv_efficiency: Any = 0.7
    routing_skew: Any = 0.0
    older_widening_efficiency: Any = 0.7

    def rates(self, generation: str) -> Rates:
        """Shares of the rates that experts and attention over the cache get on an accelerator's generation."""
        if generation.startswith("blackwell"):
            return Rates(self.expert_efficiency, self.expert_compute_efficiency, self.kv_efficiency)
        return Rates(
            self.older_expert_efficiency, self.older_expert_compute_efficiency, self.older_kv_efficiency
        )


FITTED = tuple(f.name for f in fields(Engine))[8:]

SETTINGS: dict[str, dict[str, Any]] = {
    # docs.vllm.ai, engine arguments: gpu_memory_utilization 0.9 of all memory; V1 on GPUs of 70 GB and more:
    # max_num_seqs 1024, max_num_batched_tokens 8192 (API server); preempts by recomputation.
    "vllm": {},
    # nvidia.github.io/TensorRT-LLM, KvCacheConfig: free_gpu_memory_fraction 0.9 of what is left after the weights;
    # max_batch_size 2048, max_num_tokens 8192; scheduler policy GUARANTEED_NO_EVICT reserves the output;
    # max_attention_window is None by default, so that layers with a window keep the whole sequence.
    "trtllm": {"fraction_of_free": True, "max_batch": 2048, "reserve_output": True, "full_cache": True},
    # docs.sglang.ai, server arguments: mem_fraction_static 0.88 by default on large GPUs, chunked_prefill_size 8192,
    # prefill before decode unless enable_mixed_chunk.
    "sglang": {"memory_fraction": 0.88, "max_batch": 2048, "mixed": False},
}


@cache
def engines_table() -> dict[str, Any]:
    """The shipped table that `python -m argosy.validation.fit_serving` regenerates: parameters, errors, groups."""
    text = (files("argosy.serving") / "data" / "engines.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def engine(name: str, **changes: Any) -> Engine:
    """The engine `name` (vllm, trtllm, sglang) with its fitted numbers; `changes` replaces fields.

    ValueError for another name.
    """
    if name not in SETTINGS:
        raise ValueError(f"no engine {name!r}; write one of {', '.join(SETTINGS)}")
    table = engines_table()["parameters"]
    shared = {field: table[f"any.{field}"]["value"] for field in FITTED if f"any.{field}" in table}
    own = {field: table[f"{name}.{field}"]["value"] for field in FITTED if f"{name}.{field}" in table}
    return replace(Engine(name=name, **SETTINGS[name]), **(shared | own | changes))
