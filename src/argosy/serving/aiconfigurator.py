"""Step times from NVIDIA's aiconfigurator-core, an optional provider (`pip install argosy[aiconfigurator]`).

It interpolates a database of kernels measured per engine release, which covers NVIDIA's accelerators and some fifty
models. Memory is ours: weights, cache and capacity are those of the built-in provider of the same replica.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from argosy.serving.around import Around
from argosy.serving.roofline import Roofline

Array = Any

SYSTEMS = {
    "A100-80GB-SXM": "a100_sxm",
    "H100-SXM": "h100_sxm",
    "H100-PCIe": "h100_pcie",
    "H200-SXM": "h200_sxm",
    "B200-SXM": "b200_sxm",
    "B300-SXM": "b300_sxm",
    "GB200": "gb200",
    "GB300": "gb300",
}
# Its names for our shipped models: Hugging Face paths that it has a config.json for.
MODELS = {
    "llama-3.1-8b": "meta-llama/Meta-Llama-3.1-8B",
    "llama-3.1-70b": "meta-llama/Meta-Llama-3.1-70B",
    "llama-3.1-405b": "meta-llama/Meta-Llama-3.1-405B",
    "deepseek-v3": "deepseek-ai/DeepSeek-V3",
    "kimi-k2": "moonshotai/Kimi-K2.5",
    "qwen3-8b": "Qwen/Qwen3-8B",
    "qwen3-32b": "Qwen/Qwen3-32B",
    "qwen3-30b-a3b": "Qwen/Qwen3-30B-A3B",
    "qwen3-235b-a22b": "Qwen/Qwen3-235B-A22B",
    "gpt-oss-20b": "openai/gpt-oss-20b",
    "gpt-oss-120b": "openai/gpt-oss-120b",
    "minimax-m2.5": "MiniMaxAI/MiniMax-M2.5",
}
_WEIGHTS = {
    "bf16": "bfloat16",
    "fp8": "fp8",
    "fp8_block": "fp8_block",
    "nvfp4": "nvfp4",
    "fp4": "nvfp4",
    "int4": "int4_wo",
}
_EXPERTS = _WEIGHTS | {"mxfp4": "w4a16_mxfp4"}
# Of time per output token on published rows, aiconfigurator 0.12: mean error 14.1 % on Hopper, 24.2 % on B200; a normal
# distribution's standard deviation is 1.25 mean absolute deviations.
_SIGMA = {"hopper": 0.18, "blackwell": 0.30}


class ProviderUnavailable(ImportError):
    """The optional provider cannot be used; the message says what to do."""


def _core() -> Any:
    try:
        return import_module("aiconfigurator_core.sdk")
    except ImportError as why:
        raise ProviderUnavailable(
            "the step-time provider `aiconfigurator` needs aiconfigurator-core, which is not installed; "
            "run `pip install argosy[aiconfigurator]`, or use the built-in provider"
        ) from why


@dataclass(frozen=True)
class Aiconfigurator(Around):
    """aiconfigurator-core's step times for the replica that `base` describes; every query is remembered.

    `model_path`: its name of the model; empty: by MODELS. Batches and lengths are rounded to whole numbers.
    ProviderUnavailable where the package is missing, ValueError where it does not know accelerator or model.
    """

    base: Roofline
    model_path: str = ""
    _seen: dict[tuple[int, ...], float] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def _engine(self) -> Any:
        base, sdk = self.base, _core()
        system = SYSTEMS.get(base.device.name)
        if system is None:
            raise ValueError(f"aiconfigurator has no {base.device.name}; it has {', '.join(SYSTEMS)}")
        path = self.model_path or MODELS.get(base.model.name)
        if not path:
            raise ValueError(
                f"aiconfigurator's name of {base.model.name} is not known; give model_path, such as {MODELS['llama-3.1-8b']}"
            )
        dense = base.attention_precision if base.model.moe else base.precision
        modes = {
            "gemm_quant_mode": _WEIGHTS.get(dense),
            "moe_quant_mode": _EXPERTS.get(base.precision) if base.model.moe else None,
            "kvcache_quant_mode": {"bf16": "bfloat16", "fp8": "fp8"}.get(base.kv_precision),
        }
        lay = base.layout
        return sdk.EngineHandle.compile(
            path,
            system,
            base.engine.name,
            tp_size=lay.tp,
            pp_size=lay.pp,
            attention_dp_size=lay.dp,
            moe_tp_size=lay.moe_tp,
            moe_ep_size=lay.ep,
            **{key: value for key, value in modes.items() if value},
        )

    @property
    def name(self) -> str:
        """As the built-in provider's, by whom."""
        return f"aiconfigurator-core: {self.base.name}"

    @property
    def grade(self) -> str:
        """It interpolates measured kernels, whose composition into iterations is modelled."""
        return "interpolated"

    @property
    def residual_sigma(self) -> float:
        """Standard deviation of ln(measured ÷ predicted), from its errors on published rows by generation."""
        return _SIGMA.get(self.base.device.generation, 0.3)

    def prefill_s(self, tokens: Array, cached_tokens: Array = 0, batch: Array = 1) -> Array:
        """Seconds of one iteration over whole prompts."""
        return self._each(lambda t, c, b: self._prefill(b, t, c), tokens, cached_tokens, batch)

    def decode_s(self, batch: Array, context: Array) -> Array:
        """Seconds of one decode iteration; batches are shared evenly by the attention replicas."""
        return self._each(self._decode, batch, context)

    def mixed_s(
        self, prefill_tokens: Array, prefill_context: Array, decode_batch: Array, decode_context: Array
    ) -> Array:
        """Seconds of one mixed iteration.

        Its mixed iterations have prompts and decodes of one length; decodes of another context are put right by the
        difference of two decode iterations.
        """
        return self._each(self._mixed, prefill_tokens, prefill_context, decode_batch, decode_context)

    def _each(self, one: Any, *arguments: Array) -> Array:
        places = np.broadcast(*arguments)
        return np.array([one(*map(float, each)) for each in places]).reshape(places.shape)[()]

    def _remember(self, key: tuple[int, ...], query: Any) -> float:
        if key not in self._seen:
            try:
                self._seen[key] = float(query()) / 1e3
            except (ValueError, RuntimeError) as why:
                raise ValueError(f"aiconfigurator has no data for {self.base.name}: {why}") from why
        return self._seen[key]

    def _share(self, count: float) -> int:
        """Of one attention replica."""
        return max(round(count / self.layout.dp), 1) if count > 0 else 0

    def _prefill(self, batch: float, tokens: float, cached: float) -> float:
        b, t, c = self._share(batch), max(round(tokens), 1), round(cached)
        if not b or t <= c:
            return 0.0
        return self._remember((0, b, t, c), lambda: self._engine.predict_prefill_latency(b, t, c))

    def _decode(self, batch: float, context: float) -> float:
        b, c = self._share(batch), max(round(context), 1)
        return self._remember((1, b, c), lambda: self._engine.decode_step_latency(b, c, 2)) if b else 0.0

    def _mixed(self, prompt: float, seen: float, batch: float, context: float) -> float:
        if prompt <= 0:
            return self._decode(batch, context)
        p, b = self._share(prompt), self._share(batch)
        # One chunk that sees `seen` keys on average comes after seen − p/2 others; fewer keys mean several prompts.
        prefix = max(round(seen - p / 2), 0)
        length = p if prefix else min(max(round(2 * seen), 1), p)
        if not b:
            prompts = max(round(p / length), 1)
            return self._remember(
                (0, prompts, length + prefix, prefix),
                lambda: self._engine.predict_prefill_latency(prompts, length + prefix, prefix),
            )
        both = self._remember(
            (2, p, b, length, prefix),
            lambda: self._engine.mixed_step_latency(p, b, length + prefix, 2, prefix),
        )
        return both + self._decode(batch, context) - self._decode(batch, length + prefix)
