"""Which serving measurements the fit may see, decided before any error was looked at: whole accelerators, models and a
whole source are set aside.
"""

from __future__ import annotations

from argosy.validation.rows import Row
from argosy.validation.serving_cases import ServingCase

HELD_OUT_ACCELERATORS = ("H200-SXM", "B300-SXM", "GB200")
HELD_OUT_MODELS = ("minimax-m2.5", "glm-5", "qwen3-235b-a22b", "llama-3.1-405b")
HELD_OUT_SOURCE = (
    "03e27c7d5ff0"  # an edition of TensorRT-LLM's performance overview; its v1.0 edition is fitted
)


def held_out(row: Row, case: ServingCase) -> bool:
    """Whether a row belongs to a group that the fit never sees."""
    model, accelerator, _ = case.group
    return (
        accelerator in HELD_OUT_ACCELERATORS
        or model in HELD_OUT_MODELS
        or HELD_OUT_SOURCE in row.text("source")
    )
