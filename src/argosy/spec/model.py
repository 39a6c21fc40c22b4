"""The architecture of a transformer: the fields from which work, memory and parameters are computed."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class ModelError(ValueError):
    """A model cannot be read; the message says why, `not_modelled` the parts that are beyond us."""

    def __init__(self, message: str, not_modelled: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.not_modelled = not_modelled


class MultiHeadLatentAttention(BaseModel):
    """Low-rank attention of DeepSeek V2 and later: queries and keys/values pass through narrow latents."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    q_lora_rank: int | None = Field(
        default=None, description="query latent width; none: queries are projected directly"
    )
    kv_lora_rank: int = Field(description="key/value latent width (what the KV cache stores)")
    qk_nope_head_dim: int = Field(description="per-head query/key width without rotary position")
    qk_rope_head_dim: int = Field(
        description="per-head query/key width with rotary position, shared by all heads for keys"
    )
    v_head_dim: int = Field(description="per-head value width")


class SparseAttention(BaseModel):
    """Attention to the `top_k` keys of each query that an indexer scores highest (DeepSeek-V3.2-Exp, section 2.1).

    The indexer has `heads` query heads made from the query latent, one key and one weight per head from the hidden
    state; it scores every key before the query. Layers without it attend to everything.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    heads: int = Field(gt=0, description="query heads of the indexer")
    head_dim: int = Field(gt=0, description="width of an index query and of the one index key per token")
    top_k: int = Field(gt=0, description="keys that a query attends to at most")


class MixtureOfExperts(BaseModel):
    """Feed-forward experts of which each token visits `top_k`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    experts: int = Field(gt=0, description="routed experts per layer")
    top_k: int = Field(gt=0, description="experts that each token visits")
    expert_ffn: int = Field(gt=0, description="hidden width of one expert")
    shared_experts: int = Field(default=0, ge=0, description="experts that every token visits")
    shared_ffn: int | None = Field(
        default=None,
        description="total hidden width of the shared experts; none: shared_experts × expert_ffn",
    )
    dense_layers: tuple[int, ...] = Field(
        default=(), description="indices of layers whose feed-forward is dense, not routed"
    )
    imbalance: float = Field(
        default=1.0,
        ge=1.0,
        description="tokens of the busiest expert rank over the mean (1 = force-balanced)",
    )
    capacity_factor: float | None = Field(
        default=None, description="expert capacity over the mean; none: dropless"
    )


class ModelArchitecture(BaseModel):
    """A decoder-only transformer. `layers` is the main stack; multi-token-prediction modules come on top."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = "model"
    layers: int = Field(gt=0)
    hidden: int = Field(gt=0)
    heads: int = Field(gt=0, description="query heads")
    kv_heads: int = Field(
        gt=0, description="key/value heads: heads = multi-head, 1 = multi-query, between = grouped"
    )
    head_dim: int = Field(gt=0)
    ffn: int = Field(ge=0, description="hidden width of a dense feed-forward layer (0: the model has none)")
    gated_ffn: bool = Field(
        default=True, description="SwiGLU-like: gate, up and down; otherwise up and down only"
    )
    vocab: int = Field(gt=0)
    tied_embeddings: bool = False
    attention_bias: bool = Field(default=False, description="biases on the query, key, value projections")
    attention_output_bias: bool = False
    ffn_bias: bool = False
    norm: Literal["rmsnorm", "layernorm"] = "rmsnorm"
    qk_norm: Literal["none", "per_head", "full"] = Field(
        default="none",
        description="RMS norm on queries and keys: one weight per head_dim, or over the full width",
    )
    norms_per_layer: int = Field(
        default=2,
        description="2: before attention and feed-forward; 4: also after each (Gemma 2); 1: one for both",
    )
    position: Literal["rope", "learned", "alibi", "none"] = "rope"
    learned_positions: int = Field(default=0, description="rows of a learned position table")
    max_positions: int | None = Field(
        default=None, gt=0, description="longest context that its makers state, in tokens (none: not stated)"
    )
    parallel_block: bool = Field(
        default=False, description="attention and feed-forward read the same input (PaLM, Falcon, NeoX)"
    )
    sliding_window: int | None = Field(default=None, description="tokens that a windowed layer attends to")
    windowed_layers: tuple[int, ...] = Field(
        default=(), description="indices of layers with the window; the others attend to all"
    )
    attention_gate: bool = Field(
        default=False, description="an output gate per head dimension (adds a query-sized projection)"
    )
    mla: MultiHeadLatentAttention | None = None
    sparse_attention: SparseAttention | None = Field(
        default=None, description="an indexer chooses the keys of latent attention (every layer)"
    )
    moe: MixtureOfExperts | None = None
    mtp_modules: int = Field(
        default=0,
        ge=0,
        description="multi-token-prediction modules (each one more layer and a 2·hidden → hidden projection)",
    )
    published_parameters: float | None = Field(
        default=None, description="total parameters as its makers state them, for checks"
    )
    not_modelled: tuple[str, ...] = Field(
        default=(), description="parts of the original that this description leaves out, each named"
    )
    source: str = ""

    @property
    def longest_context(self) -> int | None:
        """Tokens of prompt and answer that the model takes together: stated, or rows of its position table; None: not known."""
        return self.max_positions or self.learned_positions or None
