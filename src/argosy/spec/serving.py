"""Serving: traffic, objectives, replicas, routing, redundancy, autoscaling."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import model_validator

from argosy.spec.model import ModelArchitecture
from argosy.spec.quantity import (
    ByName,
    BytesPerSecond,
    Fraction,
    OneOrMany,
    RequestsPerSecond,
    Seconds,
    Section,
    Shorthand,
    Word,
    required,
    setting,
)
from argosy.spec.training import Format

_AUTO = Shorthand(lambda given: {} if given == "auto" else given, {"const": "auto"})
Degree = Annotated[int | None, Word("auto")]


class Lengths(Section):
    """How many tokens requests have (lognormal), or one part of a mix of such."""

    mean: float = required("mean tokens", gt=0)
    cv: float = setting(1.0, "standard deviation ÷ mean", "assumption: as spread as an exponential", ge=0)
    weight: float = setting(1.0, "share of the requests, where several are given", "equal shares", gt=0)


Mix = Annotated[tuple[Lengths, ...], OneOrMany]


MOST_PER_S = 50_000
MOST_REQUESTS = 20_000_000


class Traffic(Section):
    """Requests, from a trace or from a rate and lengths."""

    trace: str | None = setting(
        None,
        "CSV with arrival_s, input_tokens, output_tokens, or a trace of Azure or Mooncake",
        "no trace: rate and lengths",
    )
    speed: float = setting(1.0, "a trace's requests arrive so many times as fast", "as recorded", gt=0)
    rate: RequestsPerSecond | None = setting(None, "mean requests per second", "from the trace")
    cv: float = setting(
        1.0,
        "spread of the time between arrivals, standard deviation ÷ mean",
        "assumption: Poisson arrivals",
        ge=0,
        le=100,
    )
    input: Mix | None = setting(
        None, "prompt tokens, one kind or a list of kinds (those of output go with them)", "from the trace"
    )
    output: Mix | None = setting(None, "generated tokens, one kind or a list", "from the trace")
    diurnal: tuple[float, ...] = setting(tuple, "24 hourly factors of the rate", "assumption: flat")
    duration: Seconds | None = setting(
        None, "time that is simulated", "a day with diurnal, else 10 min to 1 h, of 20,000 requests at least"
    )
    prefix_share: Fraction = setting(
        0.0,
        "share of a prompt that an unlimited prefix cache would hold",
        "assumption: no prefixes are shared",
    )
    prefix_reuse: Seconds | None = setting(
        None,
        "mean time between two uses of a prefix, in which others fill the cache (a trace with hash_ids says it itself)",
        "assumption: no prefix has to make room",
        gt=0,
    )
    priorities: tuple[float, ...] = setting(
        tuple, "shares of the priority classes, the most urgent first", "one class"
    )

    @model_validator(mode="after")
    def _trace_or_rate(self) -> Traffic:
        if self.trace is None and None in (self.rate, self.input, self.output):
            raise ValueError(
                "has neither a trace nor rate, input and output; "
                "write for example {rate: 10 req/s, input: {mean: 1000}, output: {mean: 250}}"
            )
        if self.diurnal and len(self.diurnal) != 24:
            raise ValueError(f"diurnal has {len(self.diurnal)} factors; write 24, one per hour")
        if self.diurnal and (min(self.diurnal) < 0 or sum(self.diurnal) <= 0):
            raise ValueError(
                "diurnal has a negative factor, or none above 0; write 24 factors such as 0.4 or 1.6"
            )
        if self.priorities and min(self.priorities) <= 0:
            raise ValueError("priorities has a share that is not above 0; write shares such as [0.8, 0.2]")
        return self

    @model_validator(mode="after")
    def _simulable(self) -> Traffic:
        """As many requests as a run can have."""
        factor = max(self.diurnal) * 24 / sum(self.diurnal) if self.diurnal else 1.0
        if self.rate is not None and self.rate * factor > MOST_PER_S:
            raise ValueError(
                f"{self.rate * factor:,.0f} requests a second are more than the {MOST_PER_S:,} that are simulated; "
                "give a part of the traffic, and multiply the fleet"
            )
        day = 86_400.0 if self.diurnal else 0.0
        if self.rate is not None and self.rate * (self.duration or day) > MOST_REQUESTS:
            raise ValueError(
                f"{self.rate * (self.duration or day):,.0f} requests are more than the {MOST_REQUESTS:,} that a trace "
                f"may have; write duration: {MOST_REQUESTS / self.rate:.0f} s or less"
            )
        return self


def _promise(what: str, share: str) -> Seconds | None:
    kept: Seconds | None = setting(None, f"{what}, {share}", "no promise", gt=0)
    return kept


_SHARES = {"p50": "median", "p90": "90th percentile", "p95": "95th percentile", "p99": "99th percentile"}
_TTFT, _TPOT, _E2E = "time to first token", "time per output token", "time from arrival to the last token"


class Objectives(Section):
    """What the service promises, over all arrivals: a request that is not served counts as infinitely late."""

    ttft_p50: Seconds | None = _promise(_TTFT, _SHARES["p50"])
    ttft_p90: Seconds | None = _promise(_TTFT, _SHARES["p90"])
    ttft_p95: Seconds | None = _promise(_TTFT, _SHARES["p95"])
    ttft_p99: Seconds | None = _promise(_TTFT, _SHARES["p99"])
    tpot_p50: Seconds | None = _promise(_TPOT, _SHARES["p50"])
    tpot_p90: Seconds | None = _promise(_TPOT, _SHARES["p90"])
    tpot_p95: Seconds | None = _promise(_TPOT, _SHARES["p95"])
    tpot_p99: Seconds | None = _promise(_TPOT, _SHARES["p99"])
    e2e_p50: Seconds | None = _promise(_E2E, _SHARES["p50"])
    e2e_p90: Seconds | None = _promise(_E2E, _SHARES["p90"])
    e2e_p95: Seconds | None = _promise(_E2E, _SHARES["p95"])
    e2e_p99: Seconds | None = _promise(_E2E, _SHARES["p99"])
    availability: Fraction | None = setting(
        None,
        "share of the time in which the replicas that are needed are up",
        "assumption: 99.9 %",
        gt=0,
        lt=1,
    )

    @property
    def latencies(self) -> dict[str, float]:
        """The promises given, by field, in seconds."""
        return {name: value for name, value in self if name != "availability" and value is not None}


class Autoscaler(Section):
    """When replicas are added and how long that takes."""

    target: Fraction = setting(0.7, "utilisation that the autoscaler holds", "assumption", gt=0)
    delay: Seconds = setting(60.0, "from crossing the target to the decision", "assumption")
    cold_start: Seconds = setting(240.0, "from the decision to a serving replica", "assumption")
    stay: Seconds = setting(
        300.0,
        "time below the target before replicas are drained",
        "Kubernetes (--horizontal-pod-autoscaler-downscale-stabilization)",
    )
    least: int = setting(1, "replicas that always run", "assumption", ge=1)


class ReplicaShape(Section):
    """The layout of one replica: tp · pp · dp accelerators. A field left out (or `auto`) is searched."""

    tp: Degree = setting(None, "tensor-parallel ranks of attention", "searched", gt=0)
    pp: Degree = setting(None, "pipeline stages", "searched", gt=0)
    dp: Degree = setting(None, "attention replicas that share the experts", "searched", gt=0)
    ep: Degree = setting(None, "ranks over which whole experts are spread", "searched", gt=0)

    @property
    def given(self) -> dict[str, int]:
        """The fields that are fixed, by name."""
        return {name: value for name, value in self if value is not None}


Shape = Annotated[ReplicaShape, _AUTO]


class Engine(Section):
    """The serving engine of a replica."""

    name: Literal["vllm", "trtllm", "sglang"] = setting("vllm", "whose settings and costs", "assumption")
    max_batch: Degree = setting(None, "most sequences at once", "searched, up to the engine's default", gt=0)
    chunk: int | None = setting(None, "tokens of one iteration", "the engine's default", gt=0)
    memory_fraction: Fraction | None = setting(
        None, "memory that the engine takes", "the engine's default", gt=0
    )


class Speculative(Section):
    """Speculative decoding."""

    draft_length: int = setting(1, "tokens drafted in one iteration", "DeepSeek-V3's one module", gt=0, le=16)
    acceptance: Fraction = setting(
        0.8, "chance that a drafted token is accepted", "assumption: DeepSeek-V3 reports 85 to 90 %"
    )


class PrefixCache(Section):
    """How prefixes are kept and found again."""

    everywhere: Fraction = setting(
        0.0, "share of a prefix that every replica holds, such as a system prompt", "assumption: none"
    )
    eviction: bool = setting(
        True,
        "prefixes make room where the KV memory that running requests leave over is full, the least recently used first",
        "as engines do",
    )
    affinity: float = setting(
        2.0,
        "how much busier than the idlest the home of a prefix may be (prefix-aware router)",
        "assumption",
        ge=1,
    )


class Disaggregation(Section):
    """Prompts and answers on pools of their own."""

    prefill: Shape = setting(ReplicaShape, "layout of a replica that sees prompts", "the replica's own")
    decode: Shape = setting(ReplicaShape, "layout of a replica that generates", "the replica's own")
    prefill_replicas: Degree = setting(None, "replicas that see prompts", "the fewest by search", gt=0)
    transfer_bandwidth: BytesPerSecond | None = setting(
        None, "rate at which one replica's KV cache travels", "the network cards of its accelerators"
    )
    exposed: Fraction = setting(
        1.0, "share of the transfer that the prompt's work does not hide", "assumption: none is hidden"
    )


class Retries(Section):
    """What a client does whose request was lost."""

    most: int = setting(3, "times that a lost request is sent again", "assumption", ge=0, le=100)
    after: Seconds = setting(1.0, "pause before, spread by half of it", "assumption", gt=0)


class Shedding(Section):
    """Requests that are turned away or given up."""

    queue: Annotated[int | None, Word("none")] = setting(
        None, "requests waiting at a replica beyond which more are turned away", "none are turned away", gt=0
    )
    timeout: Annotated[Seconds | None, Word("none")] = setting(
        None, "time without a first token after which a client leaves", "clients wait"
    )


class HealthChecks(Section):
    """How the router learns that a replica is dead; until then it sends requests there, which are refused and tried again."""

    interval: Seconds = setting(
        2.0, "time between two checks of a replica; 0: a failure is known at once", "HAProxy (inter)"
    )
    fall: int = setting(
        3, "failed checks after which a replica gets no more requests", "HAProxy (fall)", gt=0
    )

    @property
    def unnoticed_s(self) -> float:
        """Seconds until a failure right after a check is noticed, the longest that it takes: interval × fall."""
        return self.interval * self.fall


class Redundancy(Section):
    """Replicas beyond those that are needed, because machines fail."""

    spares: Degree = setting(
        None, "spare replicas", "the fewest with which those needed are up at `objectives.availability`", ge=0
    )
    mtbf: Seconds | None = setting(
        None, "mean time between failures of one accelerator with its share of the node",
        "the failures of reliability that take a node away", gt=0,
    )  # fmt: skip
    repair: Seconds | None = setting(
        None, "mean time until a failed machine is back", "reliability.repair.time"
    )


class Upgrades(Section):
    """Rolling upgrades: replicas are drained, restarted and brought back in waves, the next when the last is back."""

    every: Seconds | None = setting(None, "time between upgrades", "none happen while it is simulated")
    duration: Seconds = setting(600.0, "time that one replica is down for it", "assumption: 10 min")
    together: int = setting(1, "replicas at once", "assumption: one by one", ge=1)


class Serving(Section):
    """One service."""

    name: str = setting("serving", "a name for reports and assertions", "the kind of job")
    model: Annotated[ModelArchitecture, ByName] = required(
        "a catalog name, a path of a config.json, or the fields of an architecture"
    )
    traffic: Traffic = required("the requests")
    objectives: Objectives = setting(Objectives, "latency and availability promised", "see its fields")
    precision: Annotated[Format | None, Word("auto")] = setting(
        "bf16", "format of the weights and matrix products; auto: searched", "assumption: as trained"
    )
    kv_precision: Format = setting("bf16", "format of the KV cache", "assumption: as trained")
    context: int | None = setting(
        None,
        "longest prompt and answer together, in tokens",
        "the model's own limit, where it is known",
        gt=0,
    )
    accelerators: Annotated[int | None, Word("auto")] = setting(
        None, "accelerators for this service", "as many as the objectives need", gt=0
    )
    replica: Shape = setting(ReplicaShape, "`auto`, or the fixed fields of a replica's layout", "searched")
    engine: Engine = setting(Engine, "the serving engine", "see its fields")
    step_times: str = setting(
        "roofline", "roofline, aiconfigurator, or a CSV of a load test", "the calibrated roofline"
    )
    speculative: Speculative | None = setting(None, "speculative decoding", "none")
    disaggregation: Annotated[Disaggregation | None, Word("none")] = setting(
        None, "prompts and answers on pools of their own", "both on every replica"
    )
    router: Literal["round-robin", "least-work", "power-of-two", "prefix-aware"] = setting(
        "power-of-two", "which replica takes a request", "assumption: the less loaded of two at random"
    )
    prefix_cache: PrefixCache = setting(PrefixCache, "prefixes kept and found again", "see its fields")
    retries: Retries = setting(Retries, "what clients do whose request was lost", "see its fields")
    shedding: Shedding = setting(Shedding, "requests turned away", "none")
    redundancy: Redundancy = setting(Redundancy, "spare replicas", "see its fields")
    upgrades: Upgrades = setting(Upgrades, "rolling upgrades", "none")
    detection: Seconds = setting(
        10.0,
        "from a replica's failure to its replacement or repair",
        "assumption: a health check",
    )
    health_checks: HealthChecks = setting(
        HealthChecks, "how the router learns that a replica is dead", "see its fields"
    )
    autoscaler: Autoscaler | None = setting(None, "adding replicas by load", "a fixed number of replicas")
    period: Seconds = setting(
        31_557_600.0,
        "time that energy and cost are told for, where there is no training",
        "assumption: a year",
        gt=0,
    )

    @property
    def longest(self) -> int | None:
        """Tokens of prompt and answer together that are served: as the scenario says, or the model's limit; None: not known."""
        return self.context or self.model.longest_context

    @model_validator(mode="after")
    def _fits_the_model(self) -> Serving:
        prompts, answers, most = self.traffic.input, self.traffic.output, self.longest
        if prompts is None or answers is None or most is None:
            return self
        pairs = (
            zip(prompts, answers, strict=True)
            if len(prompts) == len(answers)
            else ((p, a) for p in prompts for a in answers)
        )
        for prompt, answer in pairs:
            if prompt.mean + answer.mean > most:
                raise ValueError(
                    f"traffic.input and output of {prompt.mean:,.0f} + {answer.mean:,.0f} tokens exceed the "
                    f"{'context' if self.context else 'model'}'s {most:,}; shorten them, or raise context"
                )
        return self


Services = Annotated[tuple[Serving, ...], OneOrMany]
