"""A Hugging Face `config.json` as a `ModelArchitecture`, as found: renamed, nested and null fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from argosy.spec.importers.families import FAMILIES, FOUR_TIMES, NAMES, NESTED, NOT_DECODERS
from argosy.spec.importers.omissions import foreign, omissions
from argosy.spec.model import (
    MixtureOfExperts,
    ModelArchitecture,
    ModelError,
    MultiHeadLatentAttention,
    SparseAttention,
)

# Beyond any model, so that a damaged file cannot ask for endless lists.
_LARGEST = {"layers": 10_000, "": 1_000_000_000}
# Families whose code gives the output projection the bias of the query, key and value projections.
_ALSO_OUTPUT = ("llama", "gpt_oss", "phimoe")
MAX_BYTES = 4_000_000  # of a config.json; the longest published ones are a few hundred kB


def read(path: str | Path) -> ModelArchitecture:
    """The architecture in a config.json; ModelError, with line and column where it is cut off."""
    file = Path(path)
    try:
        if file.stat().st_size > MAX_BYTES:
            raise ModelError(f"{file}: is larger than {MAX_BYTES // 1_000_000} MB, which no config.json is")
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ModelError(f"{file}: is not text; name a config.json") from None
    except OSError as error:
        raise ModelError(f"{file}: cannot be read ({error.strerror}); check the path") from None
    try:
        config = json.loads(text)
    except json.JSONDecodeError as error:
        at_end = error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated")
        cut = "is cut off" if at_end else "is not valid JSON"
        place = f"{file}:{error.lineno}:{error.colno}"
        raise ModelError(f"{place}: {cut} ({error.msg}); fetch the file again") from None
    except RecursionError:
        raise ModelError(f"{file}: is nested too deeply for a config.json") from None
    name = file.stem.removesuffix("_config").replace("--", "/") if file.stem != "config" else file.parent.name
    return from_config(config, name or "model", str(file))


def from_config(config: Any, name: str = "model", where: str = "config.json") -> ModelArchitecture:
    """The architecture that the parsed `config` describes; `not_modelled` names what it has besides.

    Raises ModelError for what is no decoder (or no architecture at all), for missing or impossible fields,
    and for hybrids of which a description as a transformer would be another model.
    """
    if not isinstance(config, Mapping):
        raise ModelError(f"{where}: is not a JSON object; name a model's config.json")
    if "quantization" in config and not any(key in config for key in NAMES["hidden"]):
        algorithm = (
            config["quantization"].get("quant_algo") if isinstance(config["quantization"], Mapping) else None
        )
        what = (
            f"describes a quantisation ({algorithm}), not an architecture"
            if algorithm
            else "describes a quantisation"
        )
        raise ModelError(f"{where}: {what}; name the config.json beside it")
    fields = _Fields(config, where)
    if fields.family in NOT_DECODERS or config.get("is_encoder_decoder"):
        raise ModelError(
            f"{where}: {fields.family} is not a decoder-only transformer; only those are modelled"
        )
    missing = foreign(fields.text)
    if missing:
        every = (*missing, *omissions(config, fields.text, fields.family, fields.family in FAMILIES))
        raise ModelError(f"{where}: not modelled: {'; '.join(every)}", every)
    return fields.architecture(name)


class _Fields:
    """The fields of the language model inside a config.json, under whatever names."""

    def __init__(self, config: Mapping[str, Any], where: str) -> None:
        self.whole = config
        self.where = where
        nested: Mapping[str, Any] = next(
            (config[key] for key in NESTED if isinstance(config.get(key), Mapping)), {}
        )
        if isinstance(nested.get("text_config"), Mapping):  # one level deeper: thinker_config
            nested = nested["text_config"]
        flat = {key: value for key, value in config.items() if key not in ("vision_config", *NESTED)}
        self.text: dict[str, Any] = {
            **flat,
            **{key: value for key, value in nested.items() if value is not None},
        }
        for group in ("attn_config", "ffn_config"):  # MPT and DBRX
            inner = self.text.get(group)
            if isinstance(inner, Mapping):
                self.text |= {key: value for key, value in inner.items() if key not in self.text}
        self.family = str(nested.get("model_type") or config.get("model_type") or _guess(config))
        self.traits = FAMILIES.get(self.family, {})

    def get(self, field: str, default: Any = None) -> Any:
        """The first of the field's names with a value that is not null."""
        for key in NAMES.get(field, (field,)):
            if self.text.get(key) is not None:
                return self.text[key]
        return default

    def whole_number(self, field: str, default: int | None = None) -> int:
        """A positive whole number; ModelError where it is missing or something else."""
        value = self.get(field, default)
        keys = NAMES.get(field, (field,))
        if value is None:
            raise ModelError(
                f"{self.where}: has no {keys[0]} (or {', '.join(keys[1:3])}); name a model's config.json"
            )
        whole = isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0
        if not whole or not 0 < value <= _LARGEST.get(field, _LARGEST[""]):
            raise ModelError(
                f"{self.where}: {self._key(field)} is {value!r}; it must be a positive whole number"
            )
        return int(value)

    def optional(self, field: str, default: int = 0) -> int:
        """A whole number of at least 0; the default where it is missing, null or false."""
        return self.whole_number(field) if self.get(field) not in (None, 0, False) else default

    def listed(self, key: str) -> list[Any]:
        """A list; empty where it is missing, null or a single number (which some of these fields may be)."""
        value = self.text.get(key)
        if value is not None and not isinstance(value, list | int):
            raise ModelError(f"{self.where}: {key} is {value!r}; it must be a list")
        return value if isinstance(value, list) else []

    def _key(self, field: str) -> str:
        return next((key for key in NAMES.get(field, (field,)) if self.text.get(key) is not None), field)

    def architecture(self, name: str) -> ModelArchitecture:
        """Everything together."""
        layers, hidden = self.whole_number("layers"), self.whole_number("hidden")
        heads = self.whole_number("heads")
        moe = self._mixture(layers)
        latent = self._latent()
        window, windowed = self._windows(layers)
        learned = self.traits.get("position") == "learned"
        given: dict[str, Any] = {
            **self.traits,
            "name": name,
            "layers": layers,
            "hidden": hidden,
            "heads": heads,
            "kv_heads": heads if latent else self._kv_heads(heads),
            "head_dim": latent.qk_nope_head_dim + latent.qk_rope_head_dim
            if latent
            else self._head_dim(hidden, heads),
            "ffn": 0 if moe and not moe.dense_layers else self._ffn(hidden),
            "vocab": self.whole_number("vocab"),
            "moe": moe,
            "mla": latent,
            "sparse_attention": self._indexer(latent),
            "sliding_window": window,
            "windowed_layers": windowed,
            "learned_positions": self.whole_number("learned_positions") if learned else 0,
            "max_positions": self._longest(),
            "mtp_modules": self.optional("mtp_modules") if self.get("use_mtp", True) else 0,
            "attention_gate": bool(self.text.get("attn_output_gate", False)),
            "not_modelled": omissions(self.whole, self.text, self.family, self.family in FAMILIES),
            "source": f"config.json of {name}",
        }
        tied = self.get("tied")
        if tied is not None:
            given["tied_embeddings"] = bool(tied)
        given |= self._biases() | self._block() | self._norms()
        try:
            return ModelArchitecture.model_validate(given)
        except ValueError as error:
            raise ModelError(f"{self.where}: {str(error).splitlines()[0]}") from None

    def _kv_heads(self, heads: int) -> int:
        if self.family == "falcon" and not self.text.get("new_decoder_architecture"):
            return 1 if self.text.get("multi_query", True) else heads
        if self.text.get("multi_query") and self.family == "gpt_bigcode":
            return 1
        if self.text.get("multi_query_attention"):  # ChatGLM
            return self.whole_number("multi_query_group_num", 1)
        return self.whole_number("kv_heads", heads)

    def _head_dim(self, hidden: int, heads: int) -> int:
        given = self.get("head_dim")
        if given is not None:
            return self.whole_number("head_dim")
        if hidden % heads:
            raise ModelError(
                f"{self.where}: hidden size {hidden} does not divide by {heads} heads; give head_dim"
            )
        return hidden // heads

    def _ffn(self, hidden: int) -> int:
        if self.get("ffn") is None:
            if self.text.get("expansion_ratio"):  # MPT
                return self.whole_number("expansion_ratio") * hidden
            if self.family in FOUR_TIMES:
                return 4 * hidden
        if isinstance(self.get("ffn"), list):
            raise ModelError(
                f"{self.where}: {self._key('ffn')} differs from layer to layer, which is not modelled"
            )
        return self.whole_number("ffn")

    def _latent(self) -> MultiHeadLatentAttention | None:
        if not self.text.get("kv_lora_rank"):
            return None
        return MultiHeadLatentAttention(
            q_lora_rank=self.optional("q_lora_rank") or None,
            kv_lora_rank=self.whole_number("kv_lora_rank"),
            qk_nope_head_dim=self.whole_number("qk_nope_head_dim"),
            qk_rope_head_dim=self.whole_number("qk_rope_head_dim"),
            v_head_dim=self.whole_number("v_head_dim"),
        )

    def _indexer(self, latent: MultiHeadLatentAttention | None) -> SparseAttention | None:
        if not latent or not latent.q_lora_rank or not self.text.get("index_n_heads"):
            return None
        return SparseAttention(
            heads=self.whole_number("index_n_heads"),
            head_dim=self.whole_number("index_head_dim"),
            top_k=self.whole_number("index_topk"),
        )

    def _mixture(self, layers: int) -> MixtureOfExperts | None:
        experts = self.get("experts")
        if not experts or experts == 1:
            return None
        shared_ffn = self.optional("shared_ffn")
        if self.text.get("enable_moe_block"):  # Gemma 4: a dense feed-forward beside the experts
            shared_ffn = self._ffn(self.whole_number("hidden"))
        if self.family == "llama4_text":  # one shared expert of a routed one's width
            shared_ffn = self.whole_number("expert_ffn")
        shared = self.optional("shared_experts", 1 if shared_ffn else 0)
        return MixtureOfExperts(
            experts=self.whole_number("experts"),
            top_k=self.whole_number("top_k"),
            expert_ffn=self.whole_number("expert_ffn"),
            shared_experts=shared,
            shared_ffn=shared_ffn if shared and shared_ffn else None,
            dense_layers=tuple(i for i in range(layers) if not self._routed(i)),
        )

    def _routed(self, layer: int) -> bool:
        """Whether a layer's feed-forward is a mixture of experts."""
        for key, word in (("mlp_layer_types", "sparse"), ("moe_layer_freq", 1)):
            pattern = self.listed(key)
            if pattern:
                return layer < len(pattern) and pattern[layer] == word
        if self.listed("moe_layers"):
            return layer in self.listed("moe_layers")
        if layer < self.optional("first_moe_layer") or layer in self.listed("mlp_only_layers"):
            return False
        step = self.optional("moe_step", 1)
        if step > 1:
            return (layer + 1) % step == 0
        return layer % self.optional("moe_layer_freq", 1) == 0

    def _windows(self, layers: int) -> tuple[int | None, tuple[int, ...]]:
        """The sliding window and the layers that have it."""
        window = self.optional("sliding_window")
        if not window or self.text.get("use_sliding_window") is False:
            return None, ()
        types = self.listed("layer_types")
        every = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(self.family, 0)
        if types:
            sliding = tuple(i for i, kind in enumerate(types[:layers]) if kind == "sliding_attention")
        elif self.optional("sliding_window_pattern", every):  # every n-th layer attends to all
            every = self.optional("sliding_window_pattern", every)
            sliding = tuple(i for i in range(layers) if (i + 1) % every)
        elif self.text.get("use_sliding_window"):  # Qwen 2: the layers from max_window_layers on
            sliding = tuple(range(self.optional("max_window_layers"), layers))
        else:
            sliding = tuple(range(layers))
        return (window, sliding) if sliding else (None, ())

    def _biases(self) -> dict[str, Any]:
        given: dict[str, Any] = {}
        if self.get("attention_bias") is not None:
            given["attention_bias"] = bool(self.get("attention_bias"))
            if self.family in _ALSO_OUTPUT:
                given["attention_output_bias"] = given["attention_bias"]
        if self.get("ffn_bias") is not None:
            given["ffn_bias"] = bool(self.get("ffn_bias"))
        if self.family == "falcon":
            given |= dict.fromkeys(
                ("attention_bias", "attention_output_bias", "ffn_bias"), bool(self.text.get("bias"))
            )
        if self.family == "mpt":
            biased = self.text.get("no_bias") is False
            given |= dict.fromkeys(("attention_bias", "attention_output_bias", "ffn_bias"), biased)
        return given

    def _block(self) -> dict[str, Any]:
        """Parallel blocks and positions where the file decides."""
        given: dict[str, Any] = {}
        if self.family == "falcon":
            new = bool(self.text.get("new_decoder_architecture"))
            given["parallel_block"] = new or bool(self.text.get("parallel_attn", True))
            both = new and self.text.get("num_ln_in_parallel_attn") != 1
            given["norms_per_layer"] = 2 if both or not given["parallel_block"] else 1
            given["position"] = "alibi" if self.text.get("alibi") else "rope"
        if self.family == "gpt_neox":
            given["parallel_block"] = bool(self.text.get("use_parallel_residual", True))
        if self.family == "mpt":
            alibi = bool(self.text.get("alibi", True))
            given |= {"position": "alibi" if alibi else "learned"}
            if not alibi:
                given["learned_positions"] = self.whole_number("max_seq_len")
        return given

    def _longest(self) -> int | None:
        """The stated context: positions, stretched where YaRN is switched on; None where the file has no sensible number."""
        scaling = self.text.get("rope_scaling") or self.text.get("rope_parameters")
        found = [self.get("max_positions")]
        if isinstance(scaling, Mapping) and "yarn" in (scaling.get("type"), scaling.get("rope_type")):
            before, factor = scaling.get("original_max_position_embeddings"), scaling.get("factor")
            if isinstance(before, int) and isinstance(factor, int | float):
                found.append(before * factor)
        numbers = [each for each in found if isinstance(each, int | float) and not isinstance(each, bool)]
        known = [each for each in numbers if 1 <= each <= _LARGEST[""]]
        return int(max(known)) if known else None

    def _norms(self) -> dict[str, Any]:
        """Norms on queries and keys, where the file says so."""
        if self.text.get("use_qk_norm") is False:
            return {"qk_norm": "none"}
        if self.text.get("use_qk_norm"):
            return {"qk_norm": "full" if self.text.get("qk_norm_type") == "per_layer" else "per_head"}
        return {}


def _guess(config: Mapping[str, Any]) -> str:
    """The family from the architecture's class name, without model_type: LlamaForCausalLM → llama."""
    named = config.get("architectures")
    name = str(named[0]) if isinstance(named, list) and named else "unknown"
    return name.split("For")[0].removesuffix("LMHeadModel").removesuffix("Model").lower()
