"""How large a batch pays: the critical batch of a job, and the tokens that another batch would need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from argosy.laws.batch import critical_batch_at_loss, data_efficiency, loss, tokens_at_batch
from argosy.spec import Training
from argosy.workload import count

# Kaplan et al. measured on their own data and tokenizer; losses of another corpus shift the critical batch by
# dL/L ÷ 0.21. A factor of two each way is what a fifth of a nat does.
_BAND = 2.0


@dataclass(frozen=True)
class CriticalBatch:
    """`tokens`: B_crit at the loss that the run ends with, its largest; with `low` and `high`. `loss`: nats per token."""

    tokens: float
    low: float
    high: float
    loss: float

    def efficiency(self, batch: float) -> float:
        """Share of the data that a batch of so many tokens does not waste against a very small one (0–1)."""
        return float(data_efficiency(batch, self.tokens))

    def tokens_at(self, tokens: float, batch: float, new_batch: float) -> float:
        """Tokens that reach the same loss with `new_batch` as `tokens` with `batch` (tokens each)."""
        return float(tokens_at_batch(tokens, batch, new_batch, self.tokens))

    def note(self, batch: float) -> str:
        """What to know of a batch (tokens) above the critical one; empty below."""
        if batch <= self.tokens:
            return ""
        more = self.tokens_at(1.0, batch, 2 * batch)
        return (
            f"a batch of {batch / 1e6:.3g} Mtok is {batch / self.tokens:.2g} times the critical batch at the final loss "
            f"({self.tokens / 1e6:.2g} Mtok, within a factor of two): twice the batch would save {1 - more / 2:.0%} of "
            f"the steps for {more - 1:.0%} more tokens"
        )

    def to_dict(self, batch: float) -> dict[str, Any]:
        """JSON-ready, for a batch of so many tokens."""
        doubled = self.tokens_at(1.0, batch, 2 * batch)
        return {
            "tokens": batch,
            "critical_tokens": {"nominal": self.tokens, "low": self.low, "high": self.high},
            "final_loss": self.loss,
            "data_efficiency": self.efficiency(batch),
            "tokens_if_doubled": doubled,
            "steps_if_doubled": doubled / 2,
        }


def critical_batch(job: Training) -> CriticalBatch:
    """The critical batch of a job at its final loss, by published laws for language models.

    The loss is Besiroglu et al.'s (arXiv 2404.10102) for the active parameters and all tokens; the critical batch
    Kaplan et al.'s for that loss (arXiv 2001.08361). Both are extrapolated for large runs and another corpus: a
    bound of what a larger batch may buy, not a recommendation.
    """
    final = float(loss(count(job.model).active, job.tokens))
    tokens = float(critical_batch_at_loss(final))
    return CriticalBatch(tokens, tokens / _BAND, tokens * _BAND, final)
