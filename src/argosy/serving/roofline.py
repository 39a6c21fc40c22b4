"""The built-in step-time provider: a roofline per operation, calibrated on measured serving.

One iteration of T tokens (prompt tokens and one per running sequence) takes, on the accelerator of a replica that has
most to do,
    Σ layers [ Σ products max(compute(T), bytes(T)/(BW·e)) + element-wise + exchanges + kernels·t_k ]
      + attention over the cache + output projection + sequences·t_q + t_0,
with compute from the kernel curves that training uses (`training.kernels`), collectives from the fabric, and the
efficiencies e, t_k, t_q, t_0 fitted to published serving measurements (`serving/data/engines.json`). A mixture reads
the experts that its tokens touch, E·(1 − (1 − k/E)^T) were routing uniform; popular experts make them fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from argosy.fabric import Network
from argosy.serving.engine import Engine, engines_table
from argosy.serving.experts import busiest_rank, grouped_tile_share, tile_share
from argosy.serving.floor import floor_s
from argosy.serving.formats import compute_format, kv_bytes, weight_bytes
from argosy.serving.indexer import HEAD_TILE, attended, index_key_bytes, index_s
from argosy.serving.layout import ReplicaLayout
from argosy.serving.speculation import Speculation
from argosy.serving.work import ACTIVATION_BYTES, LayerKind, Product, layer_shapes
from argosy.spec.model import ModelArchitecture
from argosy.training.kernels import Device, attention_time, cast_time
from argosy.training.kernels.gemm import grouped_product_time, product_curve, product_time
from argosy.workload import count

Array = Any

# Bytes of activations and buffers that an engine keeps, assumed: two iterations' widest tensors and the CUDA context.
CONTEXT_BYTES = 2.0e9
NORM_SUM_BYTES = 2 * 4.0  # FP32 sums of squares of a token's queries and keys
# Within a host engines gather all tokens on every rank and scatter the sums by default, whatever ranks a token needs (vLLM,
# all2all_backend allgather_reducescatter; TensorRT-LLM and SGLang without all-to-all kernels); beyond it, copies go all-to-all.
HOST = 8
HOPPER_ON = ("hopper", "blackwell")


@dataclass(frozen=True)
class Roofline:
    """The calibrated roofline of one model on one layout; `serving.roofline(...)` makes one.

    `precision`: format of the weights; `attention_precision`: of the attention block's, where it differs;
    `kv_precision`: of the cache. The device's and the engine's numbers may be arrays of draws (n,).
    """

    model: ModelArchitecture
    device: Device
    network: Network
    layout: ReplicaLayout
    engine: Engine
    precision: str = "bf16"
    attention_precision: str = "bf16"
    kv_precision: str = "bf16"
    speculation: Speculation | None = None

    @property
    def name(self) -> str:
        """Model, accelerator, layout, engine and formats in one line."""
        return (
            f"{self.model.name} on {self.device.name}, {self.layout}, {self.engine.name}, "
            f"{self.precision} weights, {self.kv_precision} cache"
        )

    @property
    def gpus(self) -> int:
        """Accelerators of one replica."""
        return self.layout.gpus

    @cached_property
    def kinds(self) -> tuple[LayerKind, ...]:
        """The layers by kind, as one accelerator sees them."""
        return layer_shapes(self.model, self.layout)

    @cached_property
    def weight_bytes(self) -> float:
        """Bytes of weights on the fullest accelerator: its share of the layers, embedding and output projection."""
        counted, lay = count(self.model), self.layout
        routed, dense, attention = weight_bytes(self.precision), 0.0, 0.0
        experts = 0.0
        for kind, of_kind in counted.layers.items():
            n = counted.layer_counts[kind]
            on_rank = of_kind.dense_on_rank(lay.tp)
            share = self._attention_share(kind)
            attention += n * on_rank * share
            dense += n * on_rank * (1 - share)
            experts += n * of_kind.experts_on_rank(lay.ep, lay.moe_tp)
        layers = (dense + experts) * routed + attention * weight_bytes(self.attention_precision)
        ends = (counted.embedding + counted.head) * 2.0 / lay.tp
        return float(layers / lay.pp + ends / (2 if lay.pp > 1 else 1))

    def _attention_share(self, kind: str) -> float:
        """Share of a layer's dense parameters on a rank that belong to the attention block."""
        products = next(
            k for k, name in zip(self.kinds, count(self.model).layers, strict=True) if name == kind
        ).products
        sizes = [(p.n * p.k, p.attention) for p in products if not p.experts]
        total = sum(size for size, _ in sizes)
        return sum(size for size, own in sizes if own) / total if total else 0.0

    @cached_property
    def kv_layer_bytes(self) -> float:
        """KV-cache bytes of one token in one layer on one accelerator: 2·max(1, ⌈H_kv/tp⌉)·d·b, or the latent's."""
        b, mla = kv_bytes(self.kv_precision), self.model.mla
        if mla:
            return (mla.kv_lora_rank + mla.qk_rope_head_dim) * b
        return 2.0 * max(1, -(-self.model.kv_heads // self.layout.tp)) * self.model.head_dim * b

    @property
    def kv_bytes_per_token(self) -> float:
        """KV-cache bytes of one token on one accelerator that holds it, in layers that keep everything."""
        full = sum(kind.count for kind in self.kinds if self._keeps_all(kind)) or self.model.layers
        return (self.kv_layer_bytes + index_key_bytes(self.model)) * full / self.layout.pp

    def _keeps_all(self, kind: LayerKind) -> bool:
        return kind.window is None or self.engine.full_cache

    def window_tokens(self, context: Array) -> Array:
        """What the windowed layers hold of a sequence of `context` tokens, in tokens' worth of `kv_bytes_per_token`."""
        held = sum(
            (
                kind.count * np.minimum(context, kind.window)
                for kind in self.kinds
                if kind.window is not None and not self.engine.full_cache
            ),
            0.0,
        )
        return held * self.kv_layer_bytes / self.layout.pp / self.kv_bytes_per_token

    @property
    def kv_capacity_tokens(self) -> int:
        """Tokens that the replica's memory holds: per attention replica, times their number; 0 where weights do not fit.

        vLLM-like: f·M − weights − buffers; TensorRT-LLM-like: f·(M − weights − buffers).
        """
        memory, used = float(np.mean(self.device.memory_bytes)), self.weight_bytes + self.buffer_bytes
        f = self.engine.memory_fraction
        room = f * (memory - used) if self.engine.fraction_of_free else f * memory - used
        return max(int(room / self.kv_bytes_per_token), 0) * self.layout.dp

    @property
    def buffer_bytes(self) -> float:
        """Activations of the largest iteration and the device's context, bytes."""
        widest = max(
            self.model.ffn / self.layout.tp * 2, self.model.hidden * 4, self.model.vocab / self.layout.tp / 8
        )
        return float(CONTEXT_BYTES + self.engine.max_tokens * widest * ACTIVATION_BYTES)

    @property
    def max_batch(self) -> int:
        """Most sequences that the engine runs at once."""
        return self.engine.max_batch

    @property
    def tokens_per_step(self) -> float:
        """Tokens that a sequence gains per decode iteration."""
        return self.speculation.tokens_per_step if self.speculation else 1.0

    @property
    def kind(self) -> str:
        """Kind of model, as the fit knows them: dense or mixture, with latent attention or without."""
        return ("mla " if self.model.mla else "") + ("mixture" if self.model.moe else "dense")

    @cached_property
    def grade(self) -> str:
        """`measured-like` where model, accelerator and engine were fitted; `interpolated` where the kind of model, the
        accelerator's generation and the engine were; else `extrapolated`.
        """
        fitted = engines_table()["fitted"]

        def among(name: str, value: str) -> bool:
            return value in fitted.get(name, ())

        if self.speculation or not among("engines", self.engine.name):
            return "extrapolated"
        if among("models", self.model.name) and among("accelerators", self.device.name):
            return "measured-like"
        near = among("kinds", self.kind) and among("generations", self.device.generation)
        return "interpolated" if near else "extrapolated"

    @property
    def residual_sigma(self) -> float:
        """Standard deviation of ln(measured ÷ predicted) of an iteration at this grade."""
        return float(engines_table()["residuals"].get(self.grade, {}).get("decode", 0.3))

    def prefill_s(self, tokens: Array, cached_tokens: Array = 0, batch: Array = 1) -> Array:
        """One iteration over whole prompts; a replica with several attention replicas gives each its own prompts."""
        tokens, cached, batch = (np.asarray(x, float) for x in (tokens, cached_tokens, batch))
        new = np.maximum(tokens - cached, 0.0)
        busiest = np.ceil(batch / self.layout.dp)  # prompts of the attention replica that has most
        return self._iteration(new * batch, cached + new / 2, 0.0, 1.0, batch, new * busiest)

    def decode_s(self, batch: Array, context: Array) -> Array:
        """One iteration that gives every sequence a token, or with speculation drafts and verifies several."""
        return self._iteration(0.0, 1.0, batch, context, 0.0, None)

    def mixed_s(
        self, prefill_tokens: Array, prefill_context: Array, decode_batch: Array, decode_context: Array
    ) -> Array:
        """One iteration over prompt tokens, spread evenly over the attention replicas, and decodes."""
        prompts = np.minimum(np.asarray(prefill_tokens, float), 1.0)
        return self._iteration(prefill_tokens, prefill_context, decode_batch, decode_context, prompts, None)

    def _iteration(
        self, prompt: Array, seen: Array, batch: Array, context: Array, prompts: Array, busiest: Array | None
    ) -> Array:
        """Seconds of an iteration; `busiest`: prompt tokens of the attention replica that has most (None: an even share)."""
        prompt, seen, batch, context, prompts = (
            np.asarray(x, float) for x in (prompt, seen, batch, context, prompts)
        )
        lay, eng = self.layout, self.engine
        tries = self.speculation.draft_length + 1 if self.speculation else 1
        # A pipeline works on pp micro-batches at once, one on each stage.
        p, b = prompt / lay.pp, batch / lay.pp
        own_prompt = p / lay.dp if busiest is None else np.asarray(busiest, float) / lay.pp
        own_batch = np.where(b * lay.pp > 0, np.maximum(b / lay.dp, np.minimum(b, 1.0)), 0.0)
        tokens, own = p + b * tries, own_prompt + own_batch * tries
        seconds = self.head_s(own_batch * tries + prompts / lay.dp) + self._pipeline_s(own)
        for kind in self.kinds:
            seconds = seconds + kind.count * (
                self.layer_s(kind, tokens, own)
                + self.cache_read_s(kind, own_batch, context, tries)
                + self.prompt_attention_s(kind, own_prompt, seen)
            )
        # Iterations with prompts run outside captured graphs: the host launches each kernel; its work on sequences follows.
        launches = sum(kind.count * self.kernels(kind) for kind in self.kinds) * eng.launch_s
        launches = np.where(prompt > 0, launches, 0.0)
        seconds = np.maximum(seconds, launches) + eng.sequence_s * own_batch * lay.pp + eng.step_s
        if self.speculation:
            drafted = self.layer_s(self.kinds[-1], b, own_batch) + self.head_s(own_batch)
            seconds = seconds + np.where(batch > 0, self.speculation.draft_length * drafted, 0.0)
        return np.where(prompt + batch > 0, seconds, 0.0)[()]

    def layer_s(self, kind: LayerKind, tokens: Array, own: Array) -> Array:
        """One layer without attention over the cache: `tokens` in the replica, `own` on one attention replica."""
        eng = self.engine
        seconds = self.kernels(kind) * eng.kernel_s + kind.element_bytes * own / (
            self.device.memory_bandwidth * eng.weight_efficiency
        )
        for product in kind.products:
            seconds = seconds + (
                self._experts_s(product, tokens) if product.experts else self._product_s(product, own)
            )
        moved = own * self.model.hidden * ACTIVATION_BYTES
        if kind.reductions:
            reduce = self.network.collective("all_reduce", moved, self._reduction_size(kind), 1)
            seconds = seconds + kind.reductions * eng.collective_factor * reduce
        if kind.norm_reductions:
            sums = self.network.collective("all_reduce", own * NORM_SUM_BYTES, self.layout.tp, 1)
            seconds = seconds + kind.norm_reductions * eng.collective_factor * sums
        if kind.exchanges and self.model.moe:
            ranks = self.layout.tp * self.layout.dp
            copies = (
                self.layout.dp
                if ranks <= HOST
                else min(self.model.moe.top_k, self.layout.ep) / self.layout.tp
            )
            exchange = self.network.collective("all_to_all", moved * copies, ranks, 1)
            seconds = seconds + kind.exchanges * eng.exchange_factor * exchange
        return seconds

    def kernels(self, kind: LayerKind) -> float:
        """Kernels of one layer, with those that convert the inputs of narrow products.

        Per-tensor FP8 has static scales, so that engines convert in the kernel before (norm, activation, attention).
        """
        narrow = (self.attention_precision, self.precision)
        casts = sum(
            n
            for n, fmt in zip(kind.quantised, narrow, strict=True)
            if compute_format(self.device, fmt) not in ("bf16", "fp8")
        )
        return kind.kernels + casts

    def _reduction_size(self, kind: LayerKind) -> int:
        return self.layout.tp if self.layout.tp > 1 else self.layout.tp * self.layout.dp

    def product_format(self, product: Product) -> tuple[str, float]:
        """Compute format and bytes per weight of a product."""
        stored = "bf16"
        if product.quantised:
            stored = self.attention_precision if product.attention else self.precision
        return compute_format(self.device, stored), weight_bytes(stored)

    def _format_rate(self, stored: str) -> Array:
        """Rate of products whose format has kernels of its own, over the others'."""
        e = self.engine
        own = {"int4": e.widening_efficiency, "fp8_block": e.block_efficiency, "nvfp4": e.fp4_efficiency}
        return own.get(stored, 1.0)

    def _product_s(self, product: Product, rows: Array) -> Array:
        """A dense product: the larger of compute (kernel curve, rows in tiles of 16 to 128) and bytes."""
        fmt, stored = self.product_format(product)
        compute = self._fastest(product_time, fmt, False, rows, product.n, product.k)
        compute = compute * tile_share(rows) / self.engine.compute_efficiency
        moved = (
            np.minimum(rows, 1.0) * product.n * product.k * stored
            + rows * (product.n + product.k) * ACTIVATION_BYTES
        )
        seconds = np.maximum(compute, moved / (self.device.memory_bandwidth * self.engine.weight_efficiency))
        if fmt not in ("bf16", "fp8"):
            seconds = seconds + cast_time(self.device, rows * product.k, fmt)
        return seconds / self._format_rate(fmt)

    def _experts_s(self, product: Product, tokens: Array) -> Array:
        """A grouped product over the experts that the tokens touch, on the busiest expert rank."""
        moe = self.model.moe
        assert moe is not None
        fmt, stored = self.product_format(product)
        rates = self.engine.rates(self.device.generation)
        touched, rows = busiest_rank(moe, product.experts, self.layout.ep, tokens, self.engine.routing_skew)
        each = rows / np.maximum(touched, 1e-9)
        compute = self._fastest(grouped_product_time, fmt, True, each, product.n, product.k, touched)
        compute = compute * grouped_tile_share(each) / rates.expert_compute
        if fmt == "bf16" and self.precision == "mxfp4":  # widened as read: hidden where reading takes longer
            compute = compute / self.engine.older_widening_efficiency
        moved = touched * product.n * product.k * stored + rows * (product.n + product.k) * ACTIVATION_BYTES
        seconds = np.maximum(compute, moved / (self.device.memory_bandwidth * rates.expert))
        return seconds / (1.0 if fmt == "nvfp4" else self._format_rate(self.precision))

    def _fastest(self, law: Callable[..., Array], fmt: str, grouped: bool, *shape: Array) -> Array:
        """Compute seconds of a product in its format, not slower than in BF16.

        The curves of narrow formats were fitted to products with k of 1,024 and more; at the small k that parallelism
        leaves, their start-up would have them slower than BF16, which no library takes.
        """
        times = []
        for each in dict.fromkeys((fmt, "bf16")):
            curve = replace(product_curve(self.device.curves, each, grouped), overhead_s=0.0)
            times.append(law(curve, self.device.peak(each), np.inf, *shape))
        return np.minimum.reduce(times)

    def head_s(self, rows: Array) -> Array:
        """The output projection for `rows` tokens, in BF16."""
        head = Product(self.model.vocab / self.layout.tp, self.model.hidden, quantised=False)
        return self._product_s(head, np.asarray(rows, float))

    def cache_read_s(self, kind: LayerKind, batch: Array, context: Array, tries: int = 1) -> Array:
        """Attention of one layer over the caches of `batch` sequences, `tries` queries each."""
        keys = attended(self.model, kind.window, context)
        moved = batch * keys * self.kv_layer_bytes
        read = moved / (self.device.memory_bandwidth * self.engine.rates(self.device.generation).kv)
        mla, heads = self.model.mla, self._attention_heads
        width = 2.0 * mla.kv_lora_rank + mla.qk_rope_head_dim if mla else 2.0 * self.model.head_dim
        curve = self.device.curves.attention["bf16"]
        work = 2.0 * batch * keys * heads * width * tries
        rate = self.device.peak("bf16") * max(curve.ceiling) * self.engine.compute_efficiency
        return np.maximum(read, work / rate) + index_s(
            self.model, self.device, self.engine, batch * tries, context, batch
        )

    @property
    def _attention_heads(self) -> float:
        """Query heads that attention computes on one accelerator: whole tiles where it is sparse."""
        heads = self.model.heads / self.layout.tp
        return max(heads, HEAD_TILE) if self.model.sparse_attention else heads

    def prompt_attention_s(self, kind: LayerKind, tokens: Array, seen: Array) -> Array:
        """Attention of one layer over `tokens` prompt tokens that see `seen` keys on average."""
        keys = np.maximum(attended(self.model, kind.window, seen), 0.5)
        mla, lay = self.model.mla, self.layout
        heads = self.model.heads / lay.tp
        kv_heads = heads if mla else max(1.0, self.model.kv_heads / lay.tp)
        qk = float(mla.qk_nope_head_dim + mla.qk_rope_head_dim if mla else self.model.head_dim)
        v = float(mla.v_head_dim if mla else self.model.head_dim)
        seconds = self._fused_s(tokens, keys, heads, kv_heads, qk, v)
        if mla and (indexer := self.model.sparse_attention):
            # Chosen keys differ from query to query, so that heads share the latent as in decoding. Prompts whose keys
            # are all chosen are computed densely (SGLang: up to top_k tokens).
            sparse = self._fused_s(
                tokens, keys, self._attention_heads, 1.0, float(mla.kv_lora_rank + mla.qk_rope_head_dim),
                float(mla.kv_lora_rank),
            )  # fmt: skip
            sparse = sparse + index_s(self.model, self.device, self.engine, tokens, seen, 1.0)
            seconds = np.where(2.0 * seen > indexer.top_k, sparse, seconds)
        return np.where(tokens > 0, seconds, 0.0)

    def _fused_s(
        self, tokens: Array, keys: Array, heads: float, kv_heads: float, qk: float, v: float
    ) -> Array:
        """Fused causal attention of `tokens` queries over `keys` on average; kernels' starts are counted per layer."""
        generation = "flash3" if self.device.generation.startswith(HOPPER_ON) else "flash2"
        seconds = attention_time(
            self.device, 1.0, tokens, 2.0 * keys, heads, kv_heads, qk, v, kernel_generation=generation
        )
        seconds = seconds - self.device.curves.gemm["bf16"].overhead_s
        return np.maximum(seconds, 0.0) / self.engine.compute_efficiency

    def _pipeline_s(self, own: Array) -> Array:
        """Handing hidden states through the stages once."""
        lay = self.layout
        if lay.pp == 1:
            return 0.0
        moved = own * self.model.hidden * ACTIVATION_BYTES / lay.tp
        return lay.pp * self.network.point_to_point(moved, lay.tp * lay.dp)

    def floor_s(self, tokens: Array, batch: Array, context: Array) -> Array:
        """Seconds that no engine can beat; see `serving.floor`."""
        return floor_s(self, tokens, batch, context)
