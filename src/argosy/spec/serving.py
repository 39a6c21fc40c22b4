"""Serving: traffic, objectives, replicas, autoscaling."""

from __future__ import annotations

from typing import Annotated

from pydantic import model_validator

from argosy.spec.model import ModelArchitecture
from argosy.spec.quantity import (
    ByName,
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
from argosy.spec.training import Format, Layout


class Lengths(Section):
    """How many tokens requests have."""

    mean: float = required("mean tokens", gt=0)
    cv: float = setting(1.0, "standard deviation ÷ mean", "assumption: as spread as an exponential", ge=0)


class Traffic(Section):
    """Requests, from a trace or from a rate and lengths."""

    trace: str | None = setting(
        None, "CSV with arrival_s, input_tokens, output_tokens", "no trace: rate and lengths"
    )
    rate: RequestsPerSecond | None = setting(None, "mean requests per second", "from the trace")
    cv: float = setting(
        1.0,
        "spread of the time between arrivals, standard deviation ÷ mean",
        "assumption: Poisson arrivals",
        ge=0,
    )
    input: Lengths | None = setting(None, "prompt tokens", "from the trace")
    output: Lengths | None = setting(None, "generated tokens", "from the trace")
    diurnal: tuple[float, ...] = setting(tuple, "24 hourly factors of the rate", "assumption: flat")

    @model_validator(mode="after")
    def _trace_or_rate(self) -> Traffic:
        if self.trace is None and None in (self.rate, self.input, self.output):
            raise ValueError(
                "has neither a trace nor rate, input and output; "
                "write for example {rate: 10 req/s, input: {mean: 1000}, output: {mean: 250}}"
            )
        if self.diurnal and len(self.diurnal) != 24:
            raise ValueError(f"diurnal has {len(self.diurnal)} factors; write 24, one per hour")
        return self


class Objectives(Section):
    """What the service promises."""

    ttft_p50: Seconds | None = setting(None, "time to first token, median", "no promise")
    ttft_p95: Seconds | None = setting(None, "time to first token, 95th percentile", "no promise")
    ttft_p99: Seconds | None = setting(None, "time to first token, 99th percentile", "no promise")
    tpot_p50: Seconds | None = setting(None, "time per output token, median", "no promise")
    tpot_p95: Seconds | None = setting(None, "time per output token, 95th percentile", "no promise")
    tpot_p99: Seconds | None = setting(None, "time per output token, 99th percentile", "no promise")
    availability: Fraction | None = setting(None, "share of requests served", "no promise")


class Autoscaler(Section):
    """When replicas are added and how long that takes."""

    target: Fraction = setting(0.7, "utilisation that the autoscaler holds", "assumption")
    delay: Seconds = setting(60.0, "from crossing the target to the decision", "assumption")
    cold_start: Seconds = setting(240.0, "from the decision to a serving replica", "assumption")


class Serving(Section):
    """One service."""

    name: str = setting("serving", "a name for reports and assertions", "the kind of job")
    model: Annotated[ModelArchitecture, ByName] = required(
        "a catalog name, a path of a config.json, or the fields of an architecture"
    )
    traffic: Traffic = required("the requests")
    objectives: Objectives = setting(Objectives, "latency and availability promised", "see its fields")
    precision: Format = setting("bf16", "format of the weights and matrix products", "assumption: as trained")
    kv_precision: Format = setting("bf16", "format of the KV cache", "assumption: as trained")
    accelerators: Annotated[int | None, Word("auto")] = setting(
        None, "accelerators for this service", "as many as the objectives need"
    )
    replica: Annotated[
        Layout, Shorthand(lambda given: {} if given == "auto" else given, {"const": "auto"})
    ] = setting(Layout, "`auto`, or the fixed fields of a replica's layout", "searched")
    autoscaler: Autoscaler | None = setting(None, "adding replicas by load", "a fixed number of replicas")


Services = Annotated[tuple[Serving, ...], OneOrMany]
