"""How far the step model is off: a residual by grade, and which grade a prediction deserves."""

from __future__ import annotations

import numpy as np

from argosy.facts.fact import Fact
from argosy.training import kernels
from argosy.training.device import Device
from argosy.training.job import Job
from argosy.training.stack import Stack
from argosy.training.step import Steps

GRADES = ("measured-like", "interpolated", "extrapolated")

# Standard deviation of ln(measured / predicted) step time. The first two come from leaving one source out of
# a closed form with 17 parameters (A100 and H100, dense, 676 rows): a mean absolute error of 6.2 % with the
# stack known and of 7.9 % with a generic one; for a normal residual σ = 1.25 times the mean absolute error.
_RESIDUALS = {
    "measured-like": Fact(
        0.078, "", kind="σ of ln step time", source="leave-one-source-out error 6.2 %, stack known"
    ),
    "interpolated": Fact(
        0.099, "", kind="σ of ln step time", source="leave-one-source-out error 7.9 %, generic stack"
    ),
    "extrapolated": Fact(0.15, "", kind="σ of ln step time", source="assumption: 12 % mean absolute error"),
}
# Two runs with equal visible settings differ by this much (median of published pairs): no model ranks
# layouts finer.
NOISE_FLOOR = Fact(
    0.055, "", kind="relative, median", source="published training runs with equal visible settings"
)


def residual_sigma(grade: str) -> float:
    """Standard deviation of ln(measured / predicted) step time for predictions of a grade (GRADES)."""
    return residual_facts()[f"training.residual.{grade}"].value


def residual_facts() -> dict[str, Fact]:
    """The residuals as facts under `training.residual.<grade>`."""
    assumed = {f"training.residual.{grade}": fact for grade, fact in _RESIDUALS.items()}
    found = kernels.fitted_under("training.residual.")
    return assumed | {
        path: Fact(unit="", kind="σ of ln step time", **numbers) for path, numbers in found.items()
    }


def residual_draws(grade: str, count: int, seed: int = 0) -> np.ndarray:
    """`count` factors on the step time (n,): log-normal, median 1."""
    return np.exp(residual_sigma(grade) * np.random.default_rng([seed, 0x57E9]).standard_normal(count))


def ceiling_seconds(device: Device, steps: Steps) -> np.ndarray:
    """Seconds below which no step with the products and the attention of `steps` can fall, (L,) or (n,).

    All FLOPs, repeated ones too, at the nameplate peak of their format over the highest of the device's kernel
    ceilings, with nothing else in the step: no run gets past what its kernels reach alone.
    """
    at_peak = ("useful_at_peak", "products_beyond_6n", "attention_beyond_6n", "recompute_at_peak")
    ideal = sum(steps.compute_parts[name] for name in at_peak)
    curves = device.curves
    ceilings = [c.ceiling for c in (*curves.gemm.values(), *curves.grouped.values())]
    ceilings += [max(c.ceiling) for c in curves.attention.values()]
    return np.asarray(ideal / max(ceilings))


def bounded_residual(residual: np.ndarray, device: Device, steps: Steps) -> np.ndarray:
    """Residual factors (n,) on `steps.step_s`, raised where a step would beat the kernels' ceilings."""
    return np.asarray(np.maximum(residual, ceiling_seconds(device, steps) / steps.step_s))


# Accelerators of the largest unflagged run in the measurements that the step model was fitted to.
LARGEST_MEASURED = 3072


def grade(job: Job, device: Device, stack: Stack, gpus: int = 1) -> tuple[str, list[str]]:
    """The grade of a prediction, with the reasons that lower it.

    measured-like: dense, BF16 or FP16, an accelerator whose kernels were measured, a stack that is named.
    interpolated: one of these is off: a generic stack, a narrower format, more accelerators (`gpus`) than any
    measured run.
    extrapolated: no kernel measurements of the accelerator, or routed experts, whose step times fit less well
    (each model predicted from the others sets this grade's residual).
    """
    curves = device.curves
    severe, mild = [], []
    if curves.relative_of:
        severe.append(f"{device.name} has no kernel measurements; those of {curves.relative_of} stand in")
    if job.model.moe:
        severe.append("mixtures of experts fit their measurements less well than dense models")
    if stack.name == "generic":
        mild.append("the software stack is not named")
    if job.precision not in ("bf16", "fp16"):
        mild.append(f"{job.precision} matrix products fit their measurements less well than BF16")
    if gpus > LARGEST_MEASURED:
        mild.append(
            f"{gpus:,} accelerators are more than the {LARGEST_MEASURED:,} of the largest run in the fit"
        )
    if severe:
        return "extrapolated", severe + mild
    return ("interpolated" if mild else "measured-like"), mild
