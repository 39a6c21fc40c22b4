"""Requests: made from a rate and lengths, or read (`serving.traces`)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

DAY_S = 86400.0


@dataclass(frozen=True)
class Reuse:
    """What a cache must hold so that a prompt's leading blocks are found: `distance` (tokens, all requests' blocks in a row),
    those of request i being `count[i]` from `first[i]` on, of `block[i]` tokens each. By the whole traffic, as one LRU cache.
    """

    distance: np.ndarray
    first: np.ndarray
    count: np.ndarray
    block: np.ndarray

    def where(self, kept: np.ndarray) -> Reuse:
        """Of the requests that a mask keeps; distances stay those of the whole traffic."""
        return replace(self, first=self.first[kept], count=self.count[kept], block=self.block[kept])


@dataclass(frozen=True)
class Requests:
    """Requests in order of arrival: seconds, tokens of prompt and answer, those of the prompt's prefix that an unlimited
    cache would hold, and the priority class (0 first). `horizon_s`: the time that they stand for. `reuse`: how far apart the uses
    of prefixes are, where that is known; without, no cache gives one up.
    """

    arrival_s: np.ndarray
    input_tokens: np.ndarray
    output_tokens: np.ndarray
    prefix_tokens: np.ndarray
    priority: np.ndarray
    horizon_s: float
    reuse: Reuse | None = None

    def __len__(self) -> int:
        return len(self.arrival_s)

    @property
    def rate_per_s(self) -> float:
        """Mean arrivals per second."""
        return len(self) / self.horizon_s if self.horizon_s else 0.0

    @property
    def arrival_cv(self) -> float:
        """Standard deviation ÷ mean of the time between arrivals; 0 for fewer than three."""
        gaps = np.diff(self.arrival_s)
        mean = float(gaps.mean()) if len(gaps) > 1 else 0.0
        return float(gaps.std()) / mean if mean else 0.0

    def peak_to_mean(self, slot_s: float = 60.0) -> float:
        """Arrivals of the busiest slot ÷ mean over whole slots; 1 for a trace shorter than two."""
        slots = int(self.horizon_s // slot_s)
        if slots < 2 or not len(self):
            return 1.0
        counts = np.bincount((self.arrival_s // slot_s).astype(int), minlength=slots)[:slots]
        return float(counts.max() / max(counts.mean(), 1e-12))

    def where(self, kept: np.ndarray) -> Requests:
        """The requests that a mask keeps."""
        return replace(
            self,
            arrival_s=self.arrival_s[kept], input_tokens=self.input_tokens[kept], output_tokens=self.output_tokens[kept],
            prefix_tokens=self.prefix_tokens[kept], priority=self.priority[kept],
            reuse=None if self.reuse is None else self.reuse.where(kept),
        )  # fmt: skip

    def faster(self, factor: float) -> Requests:
        """The same requests arriving `factor` times as fast."""
        return replace(self, arrival_s=self.arrival_s / factor, horizon_s=self.horizon_s / factor)


@dataclass(frozen=True)
class LengthShape:
    """Tokens of prompts or answers: gamma-like by mean and cv (lognormal), and the part of a mix that it is."""

    mean: float
    cv: float = 1.0
    weight: float = 1.0


@dataclass(frozen=True)
class Synthetic:
    """Traffic by numbers: mean rate and its spread, mixes of prompts and answers, 24 hourly factors, shares of prefixes and
    priorities. `prefix_reuse_s`: mean time between two uses of a prefix (exponential); None: no prefix is given up.
    """

    rate_per_s: float
    cv: float
    inputs: tuple[LengthShape, ...]
    outputs: tuple[LengthShape, ...]
    diurnal: tuple[float, ...] = ()
    prefix_share: float = 0.0
    priorities: tuple[float, ...] = ()
    longest: int = 2**31
    prefix_reuse_s: float | None = None


def made(shape: Synthetic, horizon_s: float, seed: int = 0, most: int | None = None) -> Requests:
    """Synthetic requests of `horizon_s` seconds, at most `most`, the same for the same seed.

    Gaps: gamma for cv ≤ 1 (1: Poisson), balanced hyper-exponential above; the hourly factors stretch the clock, so that a
    factor of zero has no arrivals; the mean rate is over a whole day. Lengths: lognormal by mean and cv, at least one token;
    a mix draws prompt and answer of one part together where both have as many parts; prompt and answer are `longest` at most.
    """
    stream = np.random.default_rng([seed, 1])
    want = shape.rate_per_s * horizon_s
    count = int(want + 6.0 * max(shape.cv, 1.0) * np.sqrt(want) + 16)
    if most is not None:
        count = min(count, most)
    at = np.cumsum(_gaps(stream, count, shape.cv)) / shape.rate_per_s
    at = _stretched(at, shape.diurnal)
    at = at[at < horizon_s]
    parts = [stream.choice(len(each), len(at), p=_weights(each)) for each in (shape.inputs, shape.outputs)]
    if len(shape.inputs) == len(shape.outputs):
        parts[1] = parts[0]
    prompts = _lengths(stream, shape.inputs, parts[0], shape.longest)
    answers = _lengths(stream, shape.outputs, parts[1], shape.longest)
    # the few draws beyond the model's limit are cut: the prompt so that an answer fits, of at least its half
    prompts = np.minimum(prompts, np.maximum(shape.longest - answers, (shape.longest + 1) // 2))
    answers = np.minimum(answers, np.maximum(shape.longest - prompts, 1))
    prefix = np.floor(prompts * shape.prefix_share).astype(np.int64)
    classes = np.zeros(len(at), np.int64)
    if shape.priorities:
        shares = np.asarray(shape.priorities) / sum(shape.priorities)
        classes = stream.choice(len(shares), len(at), p=shares)
    full = most is not None and count == most and len(at) == most
    reuse = _reuse(shape, prompts, answers, prefix, seed)
    return Requests(
        at, prompts, answers, prefix, classes, float(at[-1]) if full and len(at) else horizon_s, reuse
    )


def _reuse(
    shape: Synthetic, prompts: np.ndarray, answers: np.ndarray, prefix: np.ndarray, seed: int
) -> Reuse | None:
    """A prefix is used again after an exponential time, in which others fill the cache with all that is new to it: the
    approximation of Che, Tung and Wang (IEEE JSAC 20, 1305, 2002), a time that every entry of an LRU cache survives.
    """
    if shape.prefix_reuse_s is None or not len(prompts) or not prefix.any():
        return None
    after = np.random.default_rng([seed, 5]).exponential(shape.prefix_reuse_s, len(prompts))
    filled = shape.rate_per_s * float((prompts - prefix + answers).mean())
    once = np.arange(len(prompts))
    return Reuse(after * filled + prefix, once, np.ones_like(once), np.maximum(prefix, 1))


def _gaps(stream: np.random.Generator, count: int, cv: float) -> np.ndarray:
    """Times between arrivals of mean 1 and the given cv."""
    if cv == 0.0:
        return np.ones(count)
    if cv <= 1.0:
        return np.asarray(stream.gamma(1.0 / cv**2, cv**2, count))
    fast = 0.5 * (1.0 + np.sqrt((cv**2 - 1.0) / (cv**2 + 1.0)))  # balanced means (Whitt 1982)
    quick = stream.random(count) < fast
    return np.asarray(stream.exponential(1.0, count) / np.where(quick, 2.0 * fast, 2.0 * (1.0 - fast)))


def _stretched(at: np.ndarray, diurnal: tuple[float, ...]) -> np.ndarray:
    """Operational times as clock times: the hour's factor is how fast operational time runs, its mean over the day 1."""
    if not diurnal:
        return at
    factors = np.asarray(diurnal, float) / np.mean(diurnal)
    passed = np.concatenate([[0.0], np.cumsum(factors) * 3600.0])
    days, rest = np.divmod(at, DAY_S)
    return np.asarray(days * DAY_S + np.interp(rest, passed, np.arange(25) * 3600.0))


def _weights(parts: tuple[LengthShape, ...]) -> np.ndarray:
    given = np.array([each.weight for each in parts])
    return np.asarray(given / given.sum())


def _lengths(
    stream: np.random.Generator, parts: tuple[LengthShape, ...], which: np.ndarray, longest: int
) -> np.ndarray:
    mean, cv = (np.array([getattr(each, name) for each in parts])[which] for name in ("mean", "cv"))
    spread = np.sqrt(np.log1p(cv**2))
    drawn = mean * np.exp(spread * stream.standard_normal(len(which)) - spread**2 / 2.0)
    return np.asarray(np.clip(np.rint(drawn), 1, longest), np.int64)
