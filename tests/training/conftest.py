"""Models, and the machine of `training_fixtures`, as fixtures."""

from __future__ import annotations

import pytest
from training_fixtures import PlainNetwork, h100

from argosy.spec.model import MixtureOfExperts, ModelArchitecture, MultiHeadLatentAttention
from argosy.training import Device, Stack


@pytest.fixture(scope="session")
def network() -> PlainNetwork:
    return PlainNetwork()


@pytest.fixture(scope="session")
def device() -> Device:
    return h100()


@pytest.fixture(scope="session")
def stack() -> Stack:
    return Stack.preset("megatron-core")


@pytest.fixture(scope="session")
def small() -> ModelArchitecture:
    """A dense model of 8 layers."""
    return ModelArchitecture(
        name="small", layers=8, hidden=4096, heads=32, kv_heads=8, head_dim=128, ffn=14336, vocab=32000
    )


@pytest.fixture(scope="session")
def llama3_405b() -> ModelArchitecture:
    return ModelArchitecture(
        name="llama3-405b",
        layers=126,
        hidden=16384,
        heads=128,
        kv_heads=8,
        head_dim=128,
        ffn=53248,
        vocab=128256,
    )


@pytest.fixture(scope="session")
def deepseek_v3() -> ModelArchitecture:
    return ModelArchitecture(
        name="deepseek-v3",
        layers=61,
        hidden=7168,
        heads=128,
        kv_heads=128,
        head_dim=128,
        ffn=18432,
        vocab=129280,
        mtp_modules=1,
        mla=MultiHeadLatentAttention(
            q_lora_rank=1536, kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128
        ),
        moe=MixtureOfExperts(experts=256, top_k=8, expert_ffn=2048, shared_experts=1, dense_layers=(0, 1, 2)),
    )
