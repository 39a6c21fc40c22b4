"""Speculative decoding: what drafting gains."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Speculation:
    """Speculative decoding: `draft_length` tokens drafted per iteration, each accepted with chance `acceptance` (0–1),
    independently; the draft is one more layer per token (multi-token prediction, DeepSeek-V3) and its output projection.
    """

    draft_length: int = 1
    acceptance: float = 0.8

    @property
    def tokens_per_step(self) -> float:
        """(1 − a^(γ+1))/(1 − a), Leviathan et al. 2023, arXiv:2211.17192, equation 1."""
        a, tries = self.acceptance, self.draft_length + 1
        return float(tries) if a >= 1 else (1 - a**tries) / (1 - a)
