"""What a failure log says: rates with intervals, shapes, bursts, repair; as overrides of facts and as part of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from argosy.facts import FactError, Values, load_catalog
from argosy.reliability import fit
from argosy.reliability.failure_log import FailureLog, known_kind
from argosy.reliability.rates import SECTION, categories, presets

_DAY, _HOUR = 86400.0, 3600.0
SURE = 0.01  # probability by chance below which bursts and places are believed


def fit_log(
    log: FailureLog, source: str, parts: Mapping[str, float], new: bool = False, preset: str = "llama3-table5"
) -> dict[str, Any]:
    """{overrides, scenario, before, after, tests, warnings}; rates per hour of one part, with central 90 % intervals.

    `parts`: how many of each part were watched: `node`, `gpu`, and others that the log names (`nvswitch`, `leaf-switch`).
    `overrides`: facts of `preset`, as `assumptions.overrides` reads them. `scenario`: what a scenario extends: those, the
    failures that the preset has no category for, shapes where they are surely not one, bursts where they are beyond chance,
    repair times, and on what all this was observed. Raises FactError for an unknown preset and for parts without a count.
    """
    values = Values(load_catalog().facts)
    if preset not in presets(values):
        raise FactError(f"unknown preset {preset!r}; known: {', '.join(presets(values))}")
    counts = {"job": 1.0, **parts}
    after, warnings = {}, _limits(log, parts)
    for name in sorted({each.category for each in log.failures}):
        own = [each for each in log.failures if each.category == name]
        per = part_of(name)
        if per not in counts:
            raise FactError(f"{name}: how many of {per} were watched is not known; write --parts {per}=COUNT")
        rate, low, high = fit.rate_interval(len(own), log.window_s * counts[per])
        after[name] = {
            "count": len(own), "per": per, "rate_per_h": rate * _HOUR, "low": low * _HOUR, "high": high * _HOUR,
            **_shape(own, log.window_s, int(parts["node"]), new),
        }  # fmt: skip
        if len(own) < 5:
            warnings.append(
                f"{name}: {len(own)} failures: known within a factor of {high / rate:.1f} at best"
            )
    facts = {name: f"{SECTION}.{preset}.{name}" for name in after if f"{SECTION}.{preset}.{name}" in values}
    unseen = [
        name
        for name, kind in categories().items()
        if f"{SECTION}.{preset}.{name}" in values and not {name, kind.component} & after.keys()
    ]
    if unseen:
        warnings.append(f"never seen here, so left at the preset's rates: {', '.join(unseen)}")
    tests = {
        "burstiness": fit.burstiness([each.at_s for each in log.failures], log.window_s),
        "location": fit.location([each.node for each in log.failures], int(parts["node"])),
    }
    seen = f"{source}: {{}} in {log.window_s / _DAY:.3g} days on {parts['node']:,.0f} nodes"
    overrides = {facts[name]: _override(after[name], seen) for name in facts}
    scenario, told = _scenario(log, after, facts, tests, overrides, preset, parts, seen)
    return {
        "overrides": overrides,
        "scenario": scenario,
        "before": {
            name: {"per": part_of(name), "rate_per_h": float(values[path]) * _HOUR}
            for name, path in facts.items()
        },
        "after": after,
        "tests": tests,
        "repair": _repair(log),
        "warnings": [*warnings, *_verdicts(tests), *told],
    }


def part_of(name: str) -> str:
    """What a rate of this category or domain is per; unknown names are failures of nodes."""
    known = categories().get(name)
    if known is not None:
        return known.per
    return name if known_kind(name) else "node"


def burst_share(dispersion: float) -> float:
    """The share of failures that light another, from the index of dispersion D of counts: (D − 1)/(D + 1), at least 0.

    Failures in chains, each lighting at most one more with probability s, have geometric chains, whose counts in bins much
    longer than the delay have D = E[N²]/E[N] = (1 + s)/(1 − s). Source: compound Poisson counts (Feller 1968, XII.2).
    """
    return max(0.0, (dispersion - 1.0) / (dispersion + 1.0))


def _override(found: Mapping[str, Any], seen: str) -> dict[str, str]:
    written = {
        key: f"{found[name]:.6g} /h"
        for key, name in (("value", "rate_per_h"), ("low", "low"), ("high", "high"))
    }
    return {**written, "source": seen.format(found["count"])}


def _shape(own: list[fit.LoggedFailure], window_s: float, nodes: int, new: bool) -> dict[str, Any]:
    """The Weibull shape where the log can tell it, else why not."""
    complete, censored = fit.lifetimes(own, window_s, nodes, new)
    if len(complete) < fit.FEWEST_GAPS or len(set(complete)) < 2:
        reason = f"{len(complete)} lifetimes seen to their end; {fit.FEWEST_GAPS} are needed"
        return {"weibull": None, "weibull_reason": reason}
    return {"weibull": fit.weibull_fit(complete, censored)}


def _repair(log: FailureLog) -> dict[str, Any] | None:
    """Mean time of a repair (s) and how their spread compares with the mean, from the log's ends."""
    if not log.repairs_s:
        return None
    times = np.array(log.repairs_s)
    mean = float(times.mean())
    return {
        "count": len(times),
        "mean_s": mean,
        "stderr_s": float(times.std(ddof=1) / np.sqrt(len(times))) if len(times) > 1 else None,
        "spread": float(times.std() / mean) if mean > 0 else 0.0,
    }


def _scenario(
    log: FailureLog,
    after: Mapping[str, Any],
    facts: Mapping[str, str],
    tests: Mapping[str, Any],
    overrides: Mapping[str, Any],
    preset: str,
    parts: Mapping[str, float],
    seen: str,
) -> tuple[dict[str, Any], list[str]]:
    """What a scenario extends, and what was done to make it."""
    told: list[str] = []
    section: dict[str, Any] = {"preset": preset}
    own = {name: found for name, found in after.items() if name not in facts}
    named = {name: found for name, found in own.items() if name in categories()}
    domains = {name: found for name, found in own.items() if name not in categories() and known_kind(name)}
    strange = [name for name in own if name not in named and name not in domains]
    if strange:
        count = sum(own[name]["count"] for name in strange)
        rate = sum(own[name]["rate_per_h"] for name in strange)
        named["node"] = {
            "rate_per_h": rate + named.get("node", {"rate_per_h": 0.0})["rate_per_h"],
            "count": count,
        }
        told.append(
            f"{', '.join(strange)}: no kind of failure known here; the scenario carries them as failures of the category "
            "node, the overrides leave them out"
        )
    if named:
        section["overrides"] = {name: _rate(found, seen) for name, found in named.items()}
    if domains:
        section["domains"] = {name: _rate(found, seen) for name, found in domains.items()}
    shapes = {
        name: round(found["weibull"]["shape"], 3)
        for name, found in after.items()
        if name in categories() and categories()[name].scope == "node" and _surely_not_one(found["weibull"])
    }
    if shapes:
        section["ages"] = {"shapes": shapes}
    burst = tests["burstiness"]
    if burst and burst["p"] < SURE:
        section["bursts"] = {"share": round(burst_share(burst["dispersion"]), 3)}
    repair = _repair(log)
    if repair and repair["mean_s"] > 0:
        spread = "exponential" if repair["spread"] > 0.5 else "fixed"
        section["repair"] = {"time": f"{repair['mean_s'] / _HOUR:.4g} h", "spread": spread}
    section["observed"] = {
        "accelerators": int(parts["gpu"]), "time": f"{log.window_s / _DAY:.6g} days", "source": seen.split(":")[0],
    }  # fmt: skip
    return {"assumptions": {"overrides": dict(overrides)}, "reliability": section}, told


def _rate(found: Mapping[str, Any], seen: str) -> dict[str, str]:
    return {"rate": f"{found['rate_per_h']:.6g} /h", "source": seen.format(found["count"])}


def _surely_not_one(weibull: Mapping[str, float] | None) -> bool:
    return weibull is not None and (weibull["high"] < 1.0 or weibull["low"] > 1.0)


def _limits(log: FailureLog, parts: Mapping[str, float]) -> list[str]:
    """Where the fit must not be carried to."""
    days = log.window_s / _DAY
    told = [
        f"seen: {days:.3g} days of {parts['node']:,.0f} nodes. These rates hold for fleets of this kind, age and size; "
        f"nothing here tells of lifetimes beyond {days:.3g} days, of other hardware, or of failures that only larger jobs meet"
    ]
    if log.guessed:
        told.append(
            "the watch is taken to begin or end with a failure of the log, which overstates rates; say --start and --end"
        )
    if not any(each.node for each in log.failures):
        told.append("no node column: neither lifetimes nor places can be told")
    return told


def _verdicts(tests: Mapping[str, Any]) -> list[str]:
    told = []
    burst, place = tests["burstiness"], tests["location"]
    if burst and burst["p"] < SURE:
        told.append(
            f"failures come in bursts (index of dispersion {burst['dispersion']:.1f}, p = {burst['p']:.2g}): intervals of "
            "rates are too narrow, and spares are needed sooner than independent failures say"
        )
    if place and place["p"] < SURE:
        told.append(
            f"failures gather at few nodes (p = {place['p']:.2g}); {', '.join(place['top3'])} had "
            f"{place['top3_share']:.0%} of them: look at these before buying spares"
        )
    return told
