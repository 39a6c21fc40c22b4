"""Which few facts explain measurements that a model misses, and by how much: Bayesian, with the facts' bands as priors.

In units z of a fact's band (a standard normal before the measurements), predictions f(z) of ln measurements y
with relative noise σ give
    −2 ln posterior = |y − f(z)|² ÷ σ² + |z|².
A fact enters only where the evidence for the larger set exceeds that for the smaller one: with f linearised at
z*, y is normal with covariance σ²I + J Jᵀ, whose density is the evidence (MacKay 1992, "Bayesian Interpolation";
a set of facts that could have predicted anything predicts nothing well, so that few enter).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

LEAST_GAIN = (
    1.0  # ln of a Bayes factor; below it "not worth more than a bare mention" (Kass and Raftery 1995)
)
MOST_FACTS = 5
STEP = 0.25  # of a band's unit, for slopes: wide enough to cross the kink of a two-piece band
_ITERATIONS = 30
_SETTLED = 1e-3  # of a band's unit: a thousandth of what the bands leave open

_STILL = 1e-6  # of a prediction: less is no change

Predict = Callable[[Mapping[str, float]], np.ndarray]


@dataclass(frozen=True)
class Fit:
    """Facts that moved, by z units of their bands, their standard deviations after, and the evidence.

    `z` and `sigma` map a path to its posterior mode and standard deviation (1 before the measurements).
    `gain`: ln evidence over that of moving nothing. `instead`: for a fact, others that would explain the
    measurements as well in its place (evidence within LEAST_GAIN).
    """

    z: dict[str, float]
    sigma: dict[str, float]
    gain: float
    instead: dict[str, tuple[str, ...]]


def slopes(predict: Predict, z: Mapping[str, float], paths: Sequence[str]) -> np.ndarray:
    """∂ predictions / ∂ z at `z`, by central differences, (n, len(paths))."""
    columns = []
    for path in paths:
        here = z.get(path, 0.0)
        above, below = predict({**z, path: here + STEP}), predict({**z, path: here - STEP})
        columns.append((above - below) / (2 * STEP))
    return np.array(columns).T


def log_evidence(residual: np.ndarray, jacobian: np.ndarray, sigma: np.ndarray) -> float:
    """ln density of `residual` (n,) = J z + noise, z standard normal, noise of deviations `sigma` (n,)."""
    covariance = np.diag(sigma**2) + jacobian @ jacobian.T
    _, determinant = np.linalg.slogdet(covariance)
    quadratic = residual @ np.linalg.solve(covariance, residual)
    return float(-0.5 * (quadratic + determinant + len(residual) * np.log(2 * np.pi)))


def mode(
    predict: Predict,
    measured: np.ndarray,
    sigma: np.ndarray,
    paths: Sequence[str],
    start: Mapping[str, float] | None = None,
) -> tuple[dict[str, float], dict[str, float]]:
    """The most probable z of the facts `paths`, and their standard deviations: Gauss–Newton, halving steps that rise.

    `start`: z to begin at (default: 0, the facts' values).
    """

    def cost(z: np.ndarray) -> float:
        residual = (measured - predict(dict(zip(paths, z, strict=True)))) / sigma
        return float(residual @ residual + z @ z)

    z = np.array([(start or {}).get(path, 0.0) for path in paths])
    current = cost(z)
    information = np.eye(len(paths))
    for _ in range(_ITERATIONS):
        at = dict(zip(paths, z, strict=True))
        scaled = slopes(predict, at, paths) / sigma[:, None]
        residual = (measured - predict(at)) / sigma
        information = scaled.T @ scaled + np.eye(len(paths))
        step = np.linalg.solve(information, scaled.T @ residual - z)
        while np.abs(step).max(initial=0.0) > _SETTLED and cost(z + step) > current:
            step = step / 2
        if np.abs(step).max(initial=0.0) <= _SETTLED:
            break
        z = z + step
        current = cost(z)
    spread = np.sqrt(np.diag(np.linalg.inv(information)))
    return dict(zip(paths, z.tolist(), strict=True)), dict(zip(paths, spread.tolist(), strict=True))


def fit(
    predict: Predict, measured: np.ndarray, sigma: np.ndarray, candidates: Sequence[str], most: int
) -> Fit:
    """The few of `candidates` that explain `measured` (n,), ln, of relative noise `sigma` (n,).

    Facts enter one at a time, the one with the greatest gain in evidence first, and leave again where others
    have taken over what they explained; predictions are linearised anew about the mode each time. At most
    `most` (as many as there are different settings) and MOST_FACTS.
    """
    chosen: list[str] = []
    z: dict[str, float] = {}
    spread: dict[str, float] = {}
    gain, instead = 0.0, dict[str, tuple[str, ...]]()
    gone: set[str] = set()  # what has left stays out, so that the search ends
    candidates = list(candidates)
    while True:
        jacobian = slopes(predict, z, candidates)
        columns = {path: jacobian[:, i] for i, path in enumerate(candidates)}
        residual = (
            measured - predict(z) + sum((columns[path] * z[path] for path in chosen), np.zeros(len(measured)))
        )

        def evidence(
            paths: Sequence[str],
            columns: Mapping[str, np.ndarray] = columns,
            residual: np.ndarray = residual,
        ) -> float:
            matrix = (
                np.array([columns[path] for path in paths]).reshape(len(paths), -1).T
                if paths
                else np.zeros((len(residual), 0))
            )
            return log_evidence(residual, matrix, sigma)

        base = evidence(chosen)
        idle = [path for path in chosen if base - evidence([p for p in chosen if p != path]) < LEAST_GAIN]
        if idle:  # what entered early may be explained better by what came after
            least = min(idle, key=lambda path: base - evidence([p for p in chosen if p != path]))
            chosen.remove(least)
            gone.add(least)
            z, spread = mode(predict, measured, sigma, chosen)
            continue
        gain, instead = base - evidence([]), _instead(chosen, candidates, evidence, base)
        moving = [path for path in candidates if path not in gone and path not in chosen]
        moving = [path for path in moving if np.any(np.abs(columns[path]) > _STILL)]
        if len(chosen) >= min(most, MOST_FACTS) or not moving:
            break
        best = max(moving, key=lambda path: evidence([*chosen, path]))
        if evidence([*chosen, best]) - base < LEAST_GAIN:
            break
        trial = mode(predict, measured, sigma, [*chosen, best], z)
        if _pinned(predict, trial[0], best):
            candidates.remove(best)  # it cannot go the way in which the measurements pull it
            continue
        chosen.append(best)
        z, spread = trial
    return Fit(z, spread, gain, instead)


def _pinned(predict: Predict, z: Mapping[str, float], path: str) -> bool:
    """Whether a fact stands at the end of what it can be: at its mode it changes no prediction."""
    without = {other: value for other, value in z.items() if other != path}
    return bool(np.all(np.abs(predict(z) - predict(without)) < _STILL))


def _instead(
    chosen: Sequence[str], candidates: Sequence[str], evidence: Callable[[Sequence[str]], float], base: float
) -> dict[str, tuple[str, ...]]:
    found = {}
    for path in chosen:
        rest = [other for other in chosen if other != path]
        as_good = [c for c in candidates if c not in chosen and evidence([*rest, c]) > base - LEAST_GAIN]
        if as_good:
            found[path] = tuple(as_good)
    return found
