"""Which uncertain fact moves a service's fleet and price most: `argosy sensitivity` for services.

The fleet is sized once. At other facts its accelerators are those times the fluid need there over the fluid need at central
facts (whole replicas would hide small effects), and money and power are of the same nodes at those facts. Failures and bursts
keep their place: they are in the simulated fleet that is scaled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from argosy import __version__
from argosy.facts import Fact, FactError, Values
from argosy.facts.values import two_piece_normal
from argosy.planning.context import Context, context
from argosy.planning.service import same_option
from argosy.planning.serving import ServicePlan, plan_service, serving_job
from argosy.planning.serving_money import per_gpu_s, power_and_cost, token_prices
from argosy.serving.option import Limits
from argosy.serving.scaled import scaled_option
from argosy.spec import Scenario
from argosy.study.sensitivity import MOST_FACTORS, SCHEMA, need_power_of_two, shares_of, tornado_of

OUTPUTS = {
    "usd_per_million_output_tokens": "usd_per_million_tokens",
    "usd_per_million_input_tokens": "usd_per_million_tokens",
    "gpus": "",
    "usd": "usd",
    "facility_mean_w": "w",
    "facility_peak_w": "w",
    "carbon_kg": "kg",
}
RESIDUAL = "serving.residual"  # the step model's own error, a factor on every iteration
DRAWS, SAMPLES = 128, 32
"""Joint draws, and base samples of the variance shares: each is one fleet's need, without vectors."""


@dataclass(frozen=True)
class ServiceStudy:
    """A sized service as a function of standard normal coordinates of its uncertain facts."""

    setting: Context
    planned: ServicePlan
    output: str

    @property
    def sigma(self) -> float:
        """Spread of the step model's residual at the replica's grade."""
        assert self.planned.found.best is not None
        return float(self.planned.found.best.option.last.provider.residual_sigma)

    @cached_property
    def factors(self) -> dict[str, Fact | None]:
        """Facts with a band that the need, the power or the money reads, and the step model's residual (None)."""
        values = Values(self.setting.values.facts)
        self._at(values, 0.0)
        found: dict[str, Fact | None] = {RESIDUAL: None}
        for path, fact in values.used.items():
            low, high = (fact.value if end is None else end for end in (fact.low, fact.high))
            if low < high:
                found[path] = fact
        return found

    def at(self, coordinates: Mapping[str, np.ndarray]) -> np.ndarray:
        """The output (n,) at `coordinates`: path → standard normal numbers (n,), others central."""
        draws = {
            path: two_piece_normal(fact, coordinates[path])
            for path, fact in self.factors.items()
            if fact is not None and path in coordinates
        }
        count = len(next(iter(coordinates.values())))
        residual = coordinates.get(RESIDUAL, np.zeros(count))
        found = []
        for number in range(count):
            own = {path: column[number] for path, column in draws.items()}
            found.append(self._at(Values(self.setting.values.facts, own), float(residual[number])))
        return np.array(found)

    def _at(self, values: Values, residual_z: float) -> float:
        best, whole = self.planned.found.best, self.planned.whole_gpus
        assert best is not None
        setting = replace(self.setting, values=values)
        option = scaled_option(
            same_option(setting, self.planned.given, best.option), float(np.exp(residual_z * self.sigma))
        )
        need = Limits(option, best.limits.mean, best.limits.tpot_limit_s).gpus(1.0) / self._central_need
        if self.output == "gpus":
            return whole * need
        power, cost = power_and_cost(setting, best, whole, self.planned.given.period)
        if self.output in power:
            return float(power[self.output]) * need
        if self.output == "usd":
            return float(cost["total_usd"]) * need
        price = token_prices(best, self.planned.asked, whole, per_gpu_s(cost, whole))[self.output]
        return float(price) * need

    @cached_property
    def _central_need(self) -> float:
        best = self.planned.found.best
        assert best is not None
        option = same_option(self.setting, self.planned.given, best.option)
        return Limits(option, best.limits.mean, best.limits.tpot_limit_s).gpus(1.0)


def service_study(scenario: Scenario, output: str, name: str | None = None, seed: int = 0) -> ServiceStudy:
    """The study of a service (the first, or that of the name). FactError for an unknown output, and where no fleet is found."""
    if output not in OUTPUTS:
        raise FactError(f"no output {output!r}; write one of {', '.join(OUTPUTS)}")
    setting, given = context(scenario), serving_job(scenario, name)
    planned = plan_service(setting, given, seeds=1, seed=seed)
    if planned.found.best is None:
        raise FactError(f"{given.name}: no fleet is found: {'; '.join(planned.verdict.reasons)}")
    return ServiceStudy(setting, planned, output)


def service_sensitivity(
    scenario: Scenario, output: str = "usd_per_million_output_tokens", draws: int = DRAWS, samples: int = SAMPLES,
    seed: int = 0, name: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The JSON of `argosy sensitivity` for a service: as `sensitivity`, with the service's name; `luck` 0: its fleet is given."""
    need_power_of_two(samples)
    subject = service_study(scenario, output, name, seed)
    central = float(subject.at({RESIDUAL: np.zeros(1)})[0])
    tornado = tornado_of(subject, central)
    stream = np.random.default_rng(seed)
    drawn = subject.at({path: stream.standard_normal(draws) for path in subject.factors})
    low, middle, high = np.quantile(drawn, (0.1, 0.5, 0.9), method="inverted_cdf")
    spread = {"p10": float(low), "p50": float(middle), "p90": float(high)}
    leading = [row["fact"] for row in tornado[: MOST_FACTORS // 2]]
    return {
        "schema": SCHEMA,
        "version": __version__,
        "facts_date": subject.setting.catalog.facts_date,
        "scenario": {"name": scenario.name, "hash": scenario.hash},
        "service": subject.planned.given.name,
        "output": output,
        "unit": OUTPUTS[output],
        "nominal": central,
        **spread,
        "luck": 0.0,
        "tornado": tornado,
        "sobol": shares_of(subject, leading, samples, seed, spread, 0.0) if leading else [],
    }
