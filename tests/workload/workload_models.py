"""Architectures for these tests, as their makers publish them."""

from argosy.spec.model import MixtureOfExperts, ModelArchitecture, MultiHeadLatentAttention


def llama(
    name: str, layers: int, hidden: int, heads: int, ffn: int, kv_heads: int = 8, **more: object
) -> ModelArchitecture:
    """A Llama 3 model (arXiv:2407.21783, table 3)."""
    fields: dict[str, object] = dict(  # noqa: C408
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=hidden // heads,
        ffn=ffn,
        vocab=128256,
    )
    return ModelArchitecture(name=name, **{**fields, **more})


LLAMA_8B = llama("llama-3.1-8b", 32, 4096, 32, 14336)
LLAMA_70B = llama("llama-3.1-70b", 80, 8192, 64, 28672)
LLAMA_405B = llama("llama-3.1-405b", 126, 16384, 128, 53248)

# Llama 3.2 model card: 16 layers, tied embeddings.
LLAMA_1B = llama("llama-3.2-1b", 16, 2048, 32, 8192, head_dim=64, tied_embeddings=True)

GPT_3 = ModelArchitecture(  # arXiv:2005.14165, table 2.1
    name="gpt-3",
    layers=96,
    hidden=12288,
    heads=96,
    kv_heads=96,
    head_dim=128,
    ffn=49152,
    vocab=50257,
    gated_ffn=False,
    tied_embeddings=True,
    attention_bias=True,
    attention_output_bias=True,
    ffn_bias=True,
    norm="layernorm",
    position="learned",
    learned_positions=2048,
)

MIXTRAL = ModelArchitecture(  # arXiv:2401.04088, table 1
    name="mixtral-8x7b",
    layers=32,
    hidden=4096,
    heads=32,
    kv_heads=8,
    head_dim=128,
    ffn=0,
    vocab=32000,
    moe=MixtureOfExperts(experts=8, top_k=2, expert_ffn=14336),
)

DEEPSEEK_V3 = ModelArchitecture(  # arXiv:2412.19437, section 4.2
    name="deepseek-v3",
    layers=61,
    hidden=7168,
    heads=128,
    kv_heads=128,
    head_dim=128,
    ffn=18432,
    vocab=129280,
    mla=MultiHeadLatentAttention(
        q_lora_rank=1536, kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128
    ),
    moe=MixtureOfExperts(experts=256, top_k=8, expert_ffn=2048, shared_experts=1, dense_layers=(0, 1, 2)),
    mtp_modules=1,
)

QWEN3_30B = ModelArchitecture(  # arXiv:2505.09388, table 2
    name="qwen3-30b-a3b",
    layers=48,
    hidden=2048,
    heads=32,
    kv_heads=4,
    head_dim=128,
    ffn=6144,
    vocab=151936,
    qk_norm="per_head",
    moe=MixtureOfExperts(experts=128, top_k=8, expert_ffn=768),
)

# Falcon-40B (arXiv:2311.16867): parallel block with one norm each for attention and feed-forward.
FALCON_40B = ModelArchitecture(
    name="falcon-40b",
    layers=60,
    hidden=8192,
    heads=128,
    kv_heads=8,
    head_dim=64,
    ffn=32768,
    vocab=65024,
    gated_ffn=False,
    tied_embeddings=True,
    norm="layernorm",
    parallel_block=True,
)

# Multi-query attention: PaLM 8B (arXiv:2204.02311, table 1).
PALM_8B = ModelArchitecture(
    name="palm-8b",
    layers=32,
    hidden=4096,
    heads=16,
    kv_heads=1,
    head_dim=256,
    ffn=16384,
    vocab=256000,
    tied_embeddings=True,
    parallel_block=True,
    norms_per_layer=1,
)

ALL = (LLAMA_1B, LLAMA_8B, LLAMA_70B, LLAMA_405B, GPT_3, MIXTRAL, DEEPSEEK_V3, QWEN3_30B, FALCON_40B, PALM_8B)
