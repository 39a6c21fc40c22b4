"""Rows of the answer: what must be exactly so of samples and losses, and goodput against what was simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from argosy.testbed import comparison

CLOSED_BAR = 0.15  # a run of some 35 failures against a long run's mean: its own spread is a third of that
ALIKE_BAR = 0.1
ROUNDING = 1e-9  # of losses in float64 whose terms were added in another order


def sample_rows(name: str, found: Mapping[str, Any], steps: int, epoch_steps: int) -> list[dict[str, Any]]:
    """Samples: every one of its step once, every epoch whole."""
    faults = found["missing"] + found["twice"] + found["wrong"]
    return [
        comparison.counted(
            f"{name}: samples of committed steps missing, twice or of another step", 0, faults
        ),
        comparison.counted(f"{name}: whole epochs", steps // epoch_steps, found["epochs"]),
    ]


def loss_rows(
    name: str, found: Sequence[float | None], undisturbed: Sequence[float | None], bits: bool
) -> list[dict[str, Any]]:
    """Losses beside the undisturbed run's: bit for bit where the same ranks add in the same order, else to rounding."""
    if bits:
        same = sum(a == b and a is not None for a, b in zip(found, undisturbed, strict=True))
        return [
            comparison.counted(
                f"{name}: steps with the undisturbed loss, bit for bit", len(undisturbed), same
            )
        ]
    worst = max(
        1.0 if a is None or b is None else abs(a - b) / abs(b)
        for a, b in zip(found, undisturbed, strict=True)
    )
    return [comparison.bounded(f"{name}: largest difference of a loss", None, ROUNDING, worst, "")]


def goodput_rows(
    name: str, predicted: Mapping[str, Any], measured: float, judged: bool
) -> list[dict[str, Any]]:
    """Goodput against all simulated lives, against those that had as much luck, and against the closed form; the last two
    are judged only in a run with many failures (`judged`).
    """
    good, alike = predicted["goodput"], predicted["as_many_failures"]
    alike_bar, closed_bar = (ALIKE_BAR, CLOSED_BAR) if judged else (None, None)
    what = f"{name}: goodput"
    return [
        comparison.bounded(
            f"{what}, in 95 % of the simulated lives", good["low"], good["high"], measured, "", good["mean"]
        ),
        comparison.compared(f"{what}, lives with as many failures", alike["mean"], measured, "", alike_bar),
        comparison.compared(f"{what}, closed form", predicted["closed_form"], measured, "", closed_bar),
    ]
