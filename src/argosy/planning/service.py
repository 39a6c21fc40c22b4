"""A service of the scenario made concrete: its traces, promises, failures, and the ways in which it could be served."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from argosy import serving
from argosy.facts import FactError
from argosy.planning.context import Context
from argosy.planning.spares import failing
from argosy.serving.failures import Failures, Shared
from argosy.serving.fleet import Policy, Pool, fitting
from argosy.serving.objectives import objectives
from argosy.serving.option import Option
from argosy.serving.sizing import ScalingRule, Service
from argosy.serving.traces import read_trace
from argosy.serving.traffic import DAY_S, LengthShape, Requests, Synthetic, made
from argosy.spec import Lengths, Problem, ReplicaShape, ScenarioError, Serving
from argosy.workload import count

AVAILABILITY = 0.999
"""Share of the time in which the needed replicas are up, where the scenario promises nothing: an assumption."""
MOST_SYNTHETIC = 3_000_000
"""Requests of a synthetic trace at most (but a minute of them), where no duration is given."""
SYNTHETIC_REQUESTS = 20_000
"""Requests of a synthetic trace at least, as far as an hour has them: percentiles of one in a hundred rest on two hundred."""


def service(context: Context, given: Serving, seeds: int, seed: int) -> Service:
    """What is asked of a service; `seeds` traces where they are synthetic, the same one otherwise.

    ScenarioError with the faults of a trace.
    """
    numbers = tuple(range(seed, seed + seeds))
    rule = given.autoscaler
    return Service(
        name=given.name,
        traces=tuple(traces(given, numbers)),
        wanted=objectives(given.objectives.latencies),
        availability=given.objectives.availability or AVAILABILITY,
        failures=failures(context, given),
        node_size=context.node_size,
        seeds=numbers,
        scaling=None if rule is None else ScalingRule(rule.target, rule.delay, rule.stay, rule.least),
        spares=given.redundancy.spares,
        accelerators=given.accelerators,
        fixed_first=given.disaggregation.prefill_replicas if given.disaggregation else None,
        hits=1.0 if given.router == "prefix-aware" else given.prefix_cache.everywhere,
    )


def traces(given: Serving, seeds: tuple[int, ...]) -> list[Requests]:
    """The requests of a service, for each seed."""
    traffic = given.traffic
    if traffic.trace is not None:
        named = read_trace(Path(traffic.trace), given.name, given.longest)
        if not given.prefix_cache.eviction:
            named = replace(named, reuse=None)
        return [named.faster(traffic.speed)] * len(seeds)
    assert traffic.rate is not None and traffic.input is not None and traffic.output is not None
    shape = Synthetic(
        traffic.rate, traffic.cv, _shapes(traffic.input), _shapes(traffic.output), traffic.diurnal,
        traffic.prefix_share, traffic.priorities, longest=given.longest or 2**31,
        prefix_reuse_s=traffic.prefix_reuse if given.prefix_cache.eviction else None,
    )  # fmt: skip
    horizon = traffic.duration
    if horizon is None:
        enough = SYNTHETIC_REQUESTS / traffic.rate
        horizon = DAY_S if traffic.diurnal else min(max(enough, 600.0), 3600.0)
        horizon = horizon if traffic.diurnal else max(min(horizon, MOST_SYNTHETIC / traffic.rate), 60.0)
    found = [made(shape, horizon, each) for each in seeds]
    if not all(len(each) for each in found):
        message = f"a rate of {traffic.rate:g} req/s has no request in {horizon:g} s"
        raise ScenarioError([Problem(given.name, 0, 0, "traffic.rate", message, "write traffic.duration")])
    return found


def _shapes(parts: tuple[Lengths, ...]) -> tuple[LengthShape, ...]:
    return tuple(LengthShape(each.mean, each.cv, each.weight) for each in parts)


def failures(context: Context, given: Serving) -> Failures:
    """What fails, from the reliability room: failures that take a node away, per accelerator, and the shared domains."""
    settings, wanted = context.scenario.reliability, given.redundancy
    found = failing(context.scenario, context.fleet, context.values, context.node_size, 0)
    rate = float(found.rates.node_per_s) / context.fleet.count if wanted.mtbf is None else 1.0 / wanted.mtbf
    repair = settings.repair.time if wanted.repair is None else wanted.repair
    shared = tuple(
        Shared(
            shock.name, shock.nodes * context.node_size, float(shock.rate_per_s) * shock.reach,
            repair if shock.repair_s is None else float(shock.repair_s),
            shock.count(-(-context.fleet.count // context.node_size)),
        )
        for shock in found.hazards.shocks
        if shock.effect == "lose"
    )  # fmt: skip
    plan = given.upgrades
    return Failures(rate, repair, shared, plan.every or 0.0, plan.duration, plan.together)


# --- the ways of serving ----------------------------------------------------------------


def options(context: Context, given: Serving) -> list[Option]:
    """Layouts, precisions, and one pool or two, as far as the scenario leaves them open.

    FactError with what every layout breaks, where none is possible.
    """
    found: list[Option] = []
    faults: dict[str, None] = {}
    for precision in _precisions(context, given):
        split = given.disaggregation
        if split is None:
            for layout in _layouts(context, given, given.replica):
                _add(found, faults, lambda p=precision, x=layout: _option(context, given, p, x, None))
            continue
        first = split.prefill if split.prefill.given else given.replica
        second = split.decode if split.decode.given else given.replica
        for prompts in _layouts(context, given, first):
            for answers in _layouts(context, given, second):
                _add(
                    found, faults, lambda p=precision, x=prompts, y=answers: _option(context, given, p, x, y)
                )
    if not found:
        raise FactError(*(f"serving.{given.name}: {fault}" for fault in faults))
    return found


def _add(found: list[Option], faults: dict[str, None], make: Any) -> None:
    try:
        found.append(make())
    except ValueError as error:
        faults[str(error)] = None


def _precisions(context: Context, given: Serving) -> list[str]:
    if given.precision is not None:
        return [given.precision]
    narrow = f"accelerators.{context.accelerator}.peak_fp8" in context.values
    return ["bf16", "fp8"] if narrow else ["bf16"]


def _layouts(context: Context, given: Serving, shape: ReplicaShape) -> list[serving.ReplicaLayout]:
    """The layouts of a replica that the given fields leave open: tensor parallelism within the scale-up domain, pipelines beyond,
    and for mixtures attention replicas with as many expert ranks.
    """
    fixed, model = shape.given, given.model
    domain = context.scale_up_domain
    most = min(context.fleet.count, given.accelerators or context.fleet.count)
    powers = [2**each for each in range(10)]
    degrees = [each for each in powers if each <= domain and model.heads % each == 0]
    if fixed:
        tp = fixed.get("tp", 1 if "dp" in fixed else None)
        dp = fixed.get("dp", 1)
        return [
            serving.ReplicaLayout(
                each, fixed.get("pp", 1), dp, fixed.get("ep", each * dp if model.moe and dp > 1 else 1)
            )
            for each in ([tp] if tp else degrees)
        ]
    plain = [serving.ReplicaLayout(tp=tp) for tp in degrees if tp <= most]
    plain += [serving.ReplicaLayout(tp=max(degrees), pp=pp) for pp in (2, 4) if max(degrees) * pp <= most]
    if model.moe is None:
        return plain
    spread = [
        serving.ReplicaLayout(tp=tp, ep=tp)
        for tp in degrees
        if 1 < tp <= most and model.moe.experts % tp == 0
    ]
    spread += [
        serving.ReplicaLayout(dp=dp, ep=dp)
        for dp in powers[3:]
        if dp <= min(most, 320) and model.moe.experts % dp == 0
    ]
    return plain + spread


def _provider(
    context: Context, given: Serving, precision: str, layout: serving.ReplicaLayout
) -> serving.Roofline:
    """The step times of one replica; the engine's own limits are per attention replica."""
    engine, draft = given.engine, given.speculative
    changes: dict[str, Any] = {}
    if engine.memory_fraction is not None:
        changes["memory_fraction"] = engine.memory_fraction
    provider = serving.roofline(
        given.model, context.accelerator, layout, values=context.values, precision=precision,
        kv_precision=given.kv_precision, engine_name=engine.name,
        speculation=serving.Speculation(draft.draft_length, draft.acceptance) if draft else None, **changes,
    )  # fmt: skip
    batch = (engine.max_batch or provider.engine.max_batch) * (layout.dp if engine.max_batch is None else 1)
    tokens = (engine.chunk or provider.engine.max_tokens) * layout.dp
    own = replace(provider.engine, max_batch=batch, max_tokens=tokens)
    return replace(provider, engine=own)


def _measured_by(given: Serving, built_in: serving.Roofline) -> serving.StepTimeProvider:
    """The provider of step times that the scenario names, around the built-in one."""
    if given.step_times == "roofline":
        return built_in
    if given.step_times == "aiconfigurator":
        from argosy.serving.aiconfigurator import Aiconfigurator, ProviderUnavailable

        try:
            provider = Aiconfigurator(built_in)
            provider.decode_s(1.0, 1.0)
        except ProviderUnavailable as error:
            raise FactError(f"serving.{given.name}.step_times: {error}") from None
        return provider
    if given.step_times.endswith(".csv"):
        from argosy.serving.measured import Measured, read_load_test

        return Measured(built_in, read_load_test(Path(given.step_times)))
    known = "write roofline, aiconfigurator, or a CSV of a load test"
    raise FactError(f"serving.{given.name}.step_times: no provider {given.step_times!r}; {known}")


def _pool(given: Serving, built_in: serving.Roofline, prompts_only: bool = False) -> Pool:
    engine = built_in.engine
    return Pool(
        _measured_by(given, built_in),
        1,
        evicts=not engine.reserve_output,
        chunk=engine.max_tokens,
        mixed=engine.mixed,
        prefill_only=prompts_only,
    )


def _option(
    context: Context,
    given: Serving,
    precision: str,
    layout: serving.ReplicaLayout,
    answers: serving.ReplicaLayout | None,
) -> Option:
    first = _provider(context, given, precision, layout)
    second = None if answers is None else _provider(context, given, precision, answers)
    fmt = next((name for name in (precision, "bf16") if name in first.device.peak_flops), "bf16")
    active = count(given.model).active
    return Option(
        _pool(given, first, prompts_only=second is not None),
        None if second is None else _pool(given, second),
        2.0 * float(active),
        float(np.mean(first.device.nameplate(fmt))),
        precision,
        policy(context, given, first),
    )


def same_option(context: Context, given: Serving, like: Option) -> Option:
    """The option `like` at the numbers of `context`: layouts, format and batch limit as they are."""
    answers = None if like.decode is None else like.decode.provider.layout
    found = _option(context, given, like.precision, like.replica.provider.layout, answers)
    return found if like.last.max_batch is None else found.with_batch(like.last.max_batch)


def policy(context: Context, given: Serving, first: serving.Roofline) -> Policy:
    """How requests are handled; the KV cache travels over the cards of the accelerators that hold it, each its own part."""
    split, shed, rule = given.disaggregation, given.shedding, given.autoscaler
    per_token = 0.0
    if split is not None:
        own = context.values[f"nodes.{context.node}.nics"] * context.values[f"nodes.{context.node}.nic_rate"]
        card = float(own) / context.node_size / 8.0
        whole = first.kv_bytes_per_token * first.layout.tp * first.layout.pp
        per_token = first.kv_bytes_per_token / card
        if split.transfer_bandwidth is not None:
            per_token = whole / split.transfer_bandwidth
    return Policy(
        router=given.router,
        retries=given.retries.most,
        retry_s=given.retries.after,
        timeout_s=np.inf if shed.timeout is None else shed.timeout,
        queue_limit=np.inf if shed.queue is None else float(shed.queue),
        cold_start_s=240.0 if rule is None else rule.cold_start,
        detection_s=given.detection,
        unnoticed_s=given.health_checks.unnoticed_s,
        everywhere=given.prefix_cache.everywhere,
        affinity=given.prefix_cache.affinity,
        transfer_s_per_token=per_token * (split.exposed if split else 1.0),
        request_s=float(np.mean(first.engine.request_s)),
    )


def unfit(context: Context, asked: Service, found: list[Option]) -> int:
    """Requests of the first trace that no way of serving has the memory for."""
    trace = asked.traces[0]
    able = np.zeros(len(trace), bool)
    for option in found:
        able |= fitting(trace, option.kinds)
    return int((~able).sum())
