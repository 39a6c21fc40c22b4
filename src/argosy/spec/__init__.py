"""The scenario: what an answer depends on, as frozen values."""

from argosy.spec.model import MixtureOfExperts, ModelArchitecture, MultiHeadLatentAttention

__all__ = ["MixtureOfExperts", "ModelArchitecture", "MultiHeadLatentAttention"]
