"""Parts of a model that `ModelArchitecture` does not describe, each named, so that no answer hides them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any


def foreign(text: Mapping[str, Any]) -> tuple[str, ...]:
    """Parts without which a description would be of another model: state-space layers, latent experts..."""
    found: list[str] = []
    blocks = Counter(_hybrid_blocks(text))
    if blocks.get("mamba"):
        mixers = blocks["mamba"] + blocks["attention"]
        found.append(f"Mamba layers ({blocks['mamba']} of {mixers} mixers)")
    elif any(key in text for key in ("mamba_d_state", "mamba_n_heads", "ssm_state_size", "ssm_cfg")):
        found.append("Mamba layers")
    if text.get("moe_latent_size"):
        found.append(f"experts that work in a latent of width {text['moe_latent_size']} (moe_latent_size)")
    if text.get("compress_ratios"):
        found.append("attention over compressed tokens (compress_ratios)")
    if text.get("o_lora_rank"):
        found.append("a low-rank output projection (o_lora_rank, o_groups)")
    return tuple(found)


def _hybrid_blocks(text: Mapping[str, Any]) -> list[str]:
    """The blocks of a hybrid stack by kind (mamba, attention, mlp, moe), or nothing where it is no hybrid."""
    letters = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
    pattern = text.get("hybrid_override_pattern")
    if isinstance(pattern, str):
        return [letters.get(letter, "other") for letter in pattern]
    return [str(block) for block in _listed(text, "layers_block_type")]


def _listed(text: Mapping[str, Any], key: str) -> list[Any]:
    value = text.get(key)
    return value if isinstance(value, list) else []


def omissions(whole: Mapping[str, Any], text: Mapping[str, Any], family: str, known: bool) -> tuple[str, ...]:
    """What a config.json (`whole`, its language model `text`) has beyond the description made of it."""
    found = [
        *_encoders(whole),
        *_attention(text),
        *_experts(text),
        *_residual(text),
    ]
    if not known:
        found.append(f"the family {family}: not known here, read by its fields as if it were like Llama")
    if family == "gpt_oss":
        found.append("attention sinks (one learned number per head)")
    return tuple(found)


def _encoders(whole: Mapping[str, Any]) -> list[str]:
    return [f"the {kind} encoder" for kind in ("vision", "audio") if whole.get(f"{kind}_config")]


def _attention(text: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    kinds = Counter(str(kind) for kind in _listed(text, "layer_types"))
    layers = text.get("num_hidden_layers")
    linear = kinds.get("linear_attention", 0)
    interval = text.get("full_attention_interval")
    if (
        not kinds
        and text.get("linear_num_key_heads")
        and isinstance(interval, int)
        and isinstance(layers, int)
    ):
        linear = layers - layers // max(interval, 1)  # Qwen3-Next
    if linear:
        found.append(f"linear attention in {linear} of {layers} layers (computed as full attention)")
    lightning = sum(1 for kind in _listed(text, "attn_type_list") if kind == 0)
    if lightning:
        found.append(f"lightning attention in {lightning} of {layers} layers (computed as full attention)")
    if text.get("index_n_heads") and not (text.get("kv_lora_rank") and text.get("q_lora_rank")):
        found.append(
            f"sparse attention's index heads (index_n_heads {text['index_n_heads']}, index_topk "
            f"{text.get('index_topk')}): their parameters, their work and what they save"
        )
    if shared := sum(1 for kind in _listed(text, "indexer_types") if kind == "shared"):
        found.append(f"{shared} layers that use another's index (each is taken to have its own)")
    sparse = text.get("sparse_attention_config")
    if isinstance(sparse, Mapping) and sparse.get("use_sparse_attention"):
        heads = sparse.get("sparse_num_index_heads")
        found.append(f"block-sparse attention with {heads} index heads (attention is computed as full)")
    if text.get("q_lora_rank") and not text.get("kv_lora_rank"):
        found.append("a low-rank query projection without latent keys (q_lora_rank)")
    if text.get("global_head_dim") not in (None, text.get("head_dim")):
        found.append(
            f"another head size in layers of full attention (global_head_dim {text['global_head_dim']})"
        )
    if text.get("attention_k_eq_v"):
        found.append("values that are the keys in layers of full attention (attention_k_eq_v)")
    if text.get("num_kv_shared_layers"):
        found.append(f"{text['num_kv_shared_layers']} layers that use the keys and values of others")
    if _listed(text, "cross_attention_layers"):
        found.append(f"cross-attention in {len(_listed(text, 'cross_attention_layers'))} layers")
    return found


def _experts(text: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    if text.get("residual_moe"):
        found.append("a dense feed-forward beside the experts in every layer (residual_moe)")
    if text.get("num_hash_layers"):
        found.append(f"routing by token hash in {text['num_hash_layers']} layers")
    return found


def _residual(text: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    if text.get("hc_mult"):
        found.append(f"hyper-connections (hc_mult {text['hc_mult']} residual streams)")
    if text.get("hidden_size_per_layer_input"):
        found.append("an embedding per layer (hidden_size_per_layer_input)")
    if text.get("altup_num_inputs"):
        found.append(f"alternating updates over {text['altup_num_inputs']} streams (altup_num_inputs)")
    return found
