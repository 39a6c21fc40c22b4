"""From a row of published serving measurements to the provider, the engine and the load that it states."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from argosy.facts import FactError, load_catalog
from argosy.serving import ReplicaLayout, Roofline, roofline
from argosy.serving.build import check_layout
from argosy.serving.formats import weight_bytes
from argosy.serving.steady import largest_batch
from argosy.spec.architectures import resolve
from argosy.spec.model import ModelArchitecture, ModelError
from argosy.validation.models import Skipped
from argosy.validation.rows import Row

KINDS = ("closed_loop_concurrency", "max_throughput_offline")
MODELS = (  # what a name contains → the shipped architecture
    (r"llama[- ]?3\.[13].*70b", "llama-3.1-70b"),
    (r"llama[- ]?3\.1.*405b", "llama-3.1-405b"),
    (r"llama[- ]?3\.1.*8b", "llama-3.1-8b"),
    (r"deepseek.*(v3|r1)", "deepseek-v3"),
    (r"kimi-?k2", "kimi-k2"),
    (r"qwen3-235b", "qwen3-235b-a22b"),
    (r"qwen3-30b", "qwen3-30b-a3b"),
    (r"qwen3-32b", "qwen3-32b"),
    (r"qwen3-8b", "qwen3-8b"),
    (r"gpt-?oss[- ]?120b", "gpt-oss-120b"),
    (r"gpt-?oss[- ]?20b", "gpt-oss-20b"),
    (r"minimax-m2", "minimax-m2.5"),
    (r"glm-5", "glm-5"),
    (r"llama 4 scout", "llama-4-scout"),
    (r"llama 4 maverick", "llama-4-maverick"),
)
NOT_MODELLED = {
    r"qwen3\.5": "Qwen3.5 mixes linear attention (gated delta networks) with full attention: not modelled"
}
# Formats of published checkpoints: block-wise FP8 where the makers' own, NVFP4 with the attention block left in BF16
# (config.json and hf_quant_config.json of the named checkpoints).
BLOCK_FP8 = (
    "deepseek-v3",
    "kimi-k2",
    "qwen3-235b-a22b",
    "qwen3-32b",
    "qwen3-8b",
    "qwen3-30b-a3b",
    "minimax-m2.5",
    "glm-5",
)
WIDE_ATTENTION = ("deepseek-v3", "kimi-k2", "minimax-m2.5", "glm-5", "gpt-oss-120b", "gpt-oss-20b")
NVIDIA_FP8 = ("qwen3-235b-a22b", "qwen3-30b-a3b", "qwen3-32b", "qwen3-8b")
WIDE_CACHE = ("llama-4-scout", "llama-4-maverick")
# Most sequences of trtllm-bench, which runs the offline maxima (TensorRT-LLM, bench/build/tuning.py).
OFFLINE_BATCH = 4096
# Requests of those runs by prompt and answer, which all queue at once (TensorRT-LLM, performance overview, "Preparing a
# Dataset", of both editions; lengths without spread).
OFFLINE_REQUESTS = {
    (128, 128): 30_000,
    (128, 2048): 3000,
    (128, 4096): 1500,
    (500, 2000): 3000,
    (1000, 1000): 3000,
    (1000, 2000): 1500,
    (1024, 1024): 3000,
    (1024, 8192): 1500,
    (1024, 32768): 1000,
    (2048, 128): 3000,
    (2048, 2048): 1500,
    (5000, 500): 1500,
    (8192, 1024): 1500,
    (20000, 2000): 1000,
    (32768, 1024): 1000,
}
REPLICATED = "attention replicated and experts spread, as the source runs mixtures (enable_attention_dp)"
NODE = 8  # accelerators of one host: an aggregated replica of the benchmark does not leave it
SQUARE = "parallel degrees multiply to more than the row's replica: read as {layout}, whose product the columns repeat"


@dataclass(frozen=True)
class ServingCase:
    """One row, ready to be predicted.

    `max_tokens` of one iteration; `input`, `output` tokens; `concurrency`: clients in a closed loop, infinite for an
    offline maximum; `requests`: of an offline maximum, all queued at once, infinite for a closed loop; `measured`: by key of
    the contract (`tpot_ms`, `ttft_ms`, `output_tok_s_per_gpu`); `group`: model, accelerator and kind of test.
    """

    provider: Roofline
    max_tokens: int
    input: float
    output: float
    concurrency: float
    measured: dict[str, float]
    remarks: tuple[str, ...]
    group: tuple[str, str, str]
    requests: float = math.inf


def serving_case(row: Row) -> ServingCase:
    """The case that a row states. Skipped, with the reason, where the row is incomplete or not modelled."""
    kind = row.text("kind") or KINDS[0 if row.number("concurrency") else 1]
    if kind not in KINDS:
        raise Skipped(f"{kind}: neither lengths, load nor layout are stated")
    if "disagg" in row.text("engine"):
        raise Skipped("disaggregated: the sizes and layouts of the two pools are not stated")
    model = _model(row)
    if not row.text("parallel"):
        raise Skipped("layout not stated, and neither total nor per-accelerator throughput to infer it from")
    input, output = row.number("isl"), row.number("osl")
    if not input or not output:
        raise Skipped("incomplete: prompt or output length is not stated")
    concurrency = row.number("concurrency")
    if kind == "closed_loop_concurrency" and not concurrency:
        raise Skipped("incomplete: concurrency is not stated")
    layout, remarks = _layout(row.text("parallel"))
    engine = _engine(row)
    offline = kind == "max_throughput_offline"
    if offline and model.moe and layout.tp > 1:
        layout, remarks = ReplicaLayout(dp=layout.tp, ep=layout.tp), [REPLICATED]
    precision, attention, notes = _formats(row, model, offline)
    try:
        entry = load_catalog().entry("accelerators", row.text("gpu").replace("_", "-"))
        accelerator = entry.name
        check_layout(model, layout)
    except FactError:
        raise Skipped(f"accelerator {row.text('gpu')!r} is not in the catalog") from None
    except ValueError as why:
        raise Skipped(f"layout cannot run: {why}") from None
    cache = _cache_format(model, precision, entry.text.get("generation", ""))
    provider = _provider(model, accelerator, layout, engine, precision, attention, cache, offline)
    return ServingCase(
        provider,
        _offline_tokens(provider, input, output) if offline else provider.engine.max_tokens,
        input,
        output,
        concurrency or math.inf,
        _measured(row),
        (*remarks, *notes, *model.not_modelled),
        (model.name, accelerator, kind),
        OFFLINE_REQUESTS.get((int(input), int(output)), math.inf) if offline else math.inf,
    )


def _offline_tokens(provider: Roofline, input: float, output: float) -> int:
    """Tokens of one iteration as trtllm-bench sets them on every attention replica: batch · (1 + ISL/OSL), the batch that of
    the whole replica and at most 4,096, between 2,048 and 32,768.
    """
    batch = min(float(largest_batch(provider, provider.engine, input, output)), OFFLINE_BATCH)
    return int(min(max(batch * (1 + input / output), 2048), 32768)) * provider.layout.dp


@cache
def _provider(
    model: ModelArchitecture,
    accelerator: str,
    layout: ReplicaLayout,
    engine: str,
    precision: str,
    attention: str,
    cache: str,
    offline: bool,
) -> Roofline:
    changes: dict[str, Any] = {"max_batch": OFFLINE_BATCH} if offline else {}
    return roofline(
        model,
        accelerator,
        layout,
        precision=precision,
        attention_precision=attention,
        kv_precision=cache,
        engine_name=engine,
        **changes,
    )


def _model(row: Row) -> ModelArchitecture:
    name = row.text("model").lower()
    for pattern, reason in NOT_MODELLED.items():
        if re.search(pattern, name):
            raise Skipped(reason)
    for pattern, shipped in MODELS:
        if re.search(pattern, name):
            try:
                return resolve(shipped)
            except ModelError as why:
                raise Skipped(str(why)) from None
    raise Skipped(f"model {row.text('model')!r} is not known")


def _layout(text: str) -> tuple[ReplicaLayout, list[str]]:
    """The layout that the column means, and remarks.

    `TP4`, `DEP4` (attention replicated, experts spread over four) as printed. `tp8.0 pp1.0 adp1.0 moe_tp1.0 moe_ep8.0`
    gives tensor, pipeline and attention-data parallelism and the experts' two; some rows give tp or adp as the square of
    the accelerators (64 = 8 · 8 for a single host), which is told by moe_tp = moe_ep, or tp = adp, beyond 1.
    """
    if short := re.fullmatch(r"(TP|DEP)(\d+)", text):
        size = int(short[2])
        return (ReplicaLayout(tp=size), []) if short[1] == "TP" else (ReplicaLayout(dp=size, ep=size), [])
    found = {name: int(float(value)) for name, value in re.findall(r"([a-z_]+)(\d+(?:\.\d+)?)", text)}
    if missing := {"tp", "adp", "moe_tp", "moe_ep"} - found.keys():
        raise Skipped(f"layout {text!r} does not say {', '.join(sorted(missing))}")
    tp, pp, dp = max(found["tp"], 1), max(found.get("pp", 1), 1), max(found["adp"], 1)
    moe_tp, ep = max(found["moe_tp"], 1), max(found["moe_ep"], 1)
    if moe_tp == ep > 1:
        layout = ReplicaLayout(tp=ep, ep=ep, pp=pp) if dp == 1 else ReplicaLayout(dp=ep, ep=ep, pp=pp)
        return layout, [SQUARE.format(layout=layout)]
    if tp == dp > 1:
        layout = ReplicaLayout(dp=dp, ep=dp, pp=pp)
        return layout, [SQUARE.format(layout=layout)]
    if tp * dp * pp > NODE:
        raise Skipped(f"layout {text!r} takes more than the {NODE} accelerators of one host")
    return ReplicaLayout(tp=tp, pp=pp, dp=dp, ep=ep if tp * dp % ep == 0 else 1), []


def _engine(row: Row) -> str:
    """vllm, trtllm or sglang: from the engine's column, else from the test's name in the source."""
    words = f"{row.text('engine')} {row.text('source')}".lower().replace("tensorrt-llm", "trtllm")
    stated = re.search(r"vllm|trtllm|sglang", words)
    if stated is None:
        raise Skipped(f"engine {row.text('engine')!r} is not modelled")
    return stated[0]


def _formats(row: Row, model: ModelArchitecture, offline: bool) -> tuple[str, str, list[str]]:
    """Formats of the weights and of the attention block's, and remarks on what was assumed.

    TensorRT-LLM's performance overview (the offline maxima) names NVIDIA's own checkpoints, whose FP8 is per tensor; the
    makers' is block-wise.
    """
    stated = row.text("precision").lower()
    precision = stated or "bf16"
    notes = [] if stated else ["precision not stated: BF16, as the checkpoint is published"]
    if model.name.startswith("gpt-oss"):
        precision = "mxfp4"  # as published, whatever the activations
    elif precision == "fp4":
        precision = "nvfp4"
    elif precision == "fp8" and model.name in BLOCK_FP8 and not (offline and model.name in NVIDIA_FP8):
        precision = "fp8_block"
    wide = precision in ("nvfp4", "mxfp4", "int4") and model.name in WIDE_ATTENTION
    return precision, "bf16" if wide else precision, notes


def _cache_format(model: ModelArchitecture, precision: str, generation: str) -> str:
    """Format of the KV cache, which no row states.

    All three engines keep it in BF16 unless the checkpoint or an argument says otherwise. NVIDIA's NVFP4 and per-tensor
    FP8 checkpoints say FP8 (hf_quant_config.json); on Blackwell every fitted group of closed-loop rows is told better by
    FP8, whatever the checkpoint; Llama 4's FP8 rows on Hopper by BF16 (of the fitted ones, both models).
    """
    if weight_bytes(precision) > weight_bytes("mxfp8") or (precision == "fp8" and model.name in WIDE_CACHE):
        return "bf16"
    return "fp8" if precision in ("nvfp4", "fp8") or generation.startswith("blackwell") else "bf16"


def _measured(row: Row) -> dict[str, float]:
    found = {}
    for key in ("tpot_ms", "ttft_ms", "output_tok_s_per_gpu"):
        value = row.number(key)
        if value is not None and value > 0:
            found[key] = value
    return found
