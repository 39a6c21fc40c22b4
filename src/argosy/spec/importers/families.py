"""What a Hugging Face `model_type` implies and its config.json does not say."""

from __future__ import annotations

from typing import Any

# Fields of ModelArchitecture, as the family's code in huggingface/transformers (models/) has them.
_BIASED: dict[str, Any] = {"attention_bias": True, "attention_output_bias": True, "ffn_bias": True}
_GPT: dict[str, Any] = {"norm": "layernorm", "gated_ffn": False, **_BIASED}


def _alike(names: str, **traits: Any) -> dict[str, dict[str, Any]]:
    return {name: dict(traits) for name in names.split()}


FAMILIES: dict[str, dict[str, Any]] = {
    # RMS norm, gated feed-forward, rotary positions, no biases unless the file says so
    **_alike("llama mistral ministral mixtral internlm2 baichuan yi exaone smollm3 llama4_text phi3 dots1"),
    **_alike(
        "deepseek deepseek_v2 deepseek_v3 deepseek_v32 deepseek_v4 kimi_k2 glm_moe_dsa glm4_moe_lite glm4_moe"
    ),
    **_alike("minimax_m3 bailing_moe bailing_moe_v2 step3p7 chatglm"),
    **_alike("qwen2 qwen2_moe mimo qwen2_vl qwen2_5_vl qwen2_5_vl_text", attention_bias=True),
    **_alike("qwen3 qwen3_moe qwen3_next qwen3_vl_text qwen3_vl_moe_text", qk_norm="per_head"),
    **_alike("qwen3_5_text qwen3_5_moe_text", qk_norm="per_head"),
    **_alike("olmo2 olmo3 olmoe minimax_m2", qk_norm="full"),
    "gemma": {"tied_embeddings": True},
    "gemma2": {"tied_embeddings": True, "norms_per_layer": 4},
    "gemma3_text": {"tied_embeddings": True, "norms_per_layer": 4, "qk_norm": "per_head"},
    "gemma4_text": {"tied_embeddings": True, "norms_per_layer": 4, "qk_norm": "per_head"},
    "gpt_oss": {"attention_bias": True, "attention_output_bias": True, "ffn_bias": True},
    "glm": {"attention_bias": True},
    "glm4": {"attention_bias": True, "norms_per_layer": 4},
    "olmo": {"norm": "layernorm"},
    "grok-1": {"norms_per_layer": 4, "tied_embeddings": True},
    "phimoe": {"norm": "layernorm", "attention_bias": True, "attention_output_bias": True},
    "phi": {**_GPT, "parallel_block": True, "norms_per_layer": 1},
    "dbrx": {"norm": "layernorm"},
    **_alike(
        "cohere cohere2", norm="layernorm", parallel_block=True, norms_per_layer=1, tied_embeddings=True
    ),
    "nemotron": {"norm": "layernorm", "gated_ffn": False},
    "nemotron_h": {"gated_ffn": False, "position": "none"},
    "gpt2": {**_GPT, "position": "learned", "tied_embeddings": True},
    "gpt_bigcode": {**_GPT, "position": "learned", "tied_embeddings": True},
    "opt": {**_GPT, "position": "learned", "tied_embeddings": True},
    "gpt_neox": {**_GPT, "parallel_block": True},
    "gptj": {
        "norm": "layernorm",
        "gated_ffn": False,
        "ffn_bias": True,
        "parallel_block": True,
        "norms_per_layer": 1,
    },
    "bloom": {**_GPT, "position": "alibi", "tied_embeddings": True},
    "falcon": {"norm": "layernorm", "gated_ffn": False, "tied_embeddings": True},
    "mpt": {"norm": "layernorm", "gated_ffn": False, "tied_embeddings": True, "position": "alibi"},
    "starcoder2": {**_GPT, "tied_embeddings": True},
}
# Families whose feed-forward is four times as wide as the hidden state where the file does not say.
FOUR_TIMES = {"gpt2", "gpt_bigcode", "gpt_neox", "gptj", "bloom", "falcon", "mpt", "phi"}
NOT_DECODERS = {
    "bert",
    "roberta",
    "deberta-v2",
    "t5",
    "mt5",
    "bart",
    "whisper",
    "clip",
    "vit",
    "mamba",
    "mamba2",
}
NESTED = ("text_config", "llm_config", "language_config", "language_model_config", "thinker_config")

# Other names of a field, the usual one first. A null counts as absent.
NAMES: dict[str, tuple[str, ...]] = {
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers"),
    "hidden": ("hidden_size", "n_embd", "d_model", "dim", "model_dim"),
    "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "kv_heads": (
        "num_key_value_heads",
        "num_kv_heads",
        "n_head_kv",
        "n_kv_heads",
        "kv_n_heads",
        "num_query_groups",
    ),
    "head_dim": ("head_dim", "attention_head_dim", "kv_channels", "attention_hidden_size_per_head"),
    "ffn": (
        "dense_intermediate_size",
        "intermediate_size_mlp",
        "intermediate_size",
        "ffn_hidden_size",
        "n_inner",
        "ffn_dim",
    ),
    "vocab": ("padded_vocab_size", "vocab_size", "n_vocab"),
    "learned_positions": ("n_positions", "max_position_embeddings", "n_ctx"),
    "max_positions": ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length"),
    "experts": ("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts", "n_experts"),
    "top_k": (
        "num_experts_per_tok",
        "num_experts_per_token",
        "experts_per_token",
        "num_selected_experts",
        "top_k_experts",
        "moe_top_k",
        "moe_topk",
        "moe_k",
    ),
    "expert_ffn": (
        "moe_intermediate_size",
        "expert_intermediate_size",
        "moe_ffn_hidden_size",
        "intermediate_size",
        "ffn_hidden_size",
    ),
    "shared_ffn": (
        "shared_expert_intermediate_size",
        "moe_shared_expert_intermediate_size",
        "share_expert_dim",
        "shared_intermediate_size",
    ),
    "shared_experts": ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts"),
    "mtp_modules": ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"),
    "first_moe_layer": ("first_k_dense_replace", "moe_layer_start_index"),
    "moe_step": ("decoder_sparse_step", "interleave_moe_layer_step"),
    "tied": ("tie_word_embeddings", "tie_embeddings"),
    "attention_bias": ("attention_bias", "qkv_bias", "add_qkv_bias"),
    "ffn_bias": ("mlp_bias", "use_bias_in_mlp"),
}
