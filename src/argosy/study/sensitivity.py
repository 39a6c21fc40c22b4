"""Which uncertain fact moves the answer most: a tornado, variance shares, and what measuring one would be worth.

Tornado: each fact at the ends of its band (central 90 %), all others at their central values. Sobol' indices: shares
of the answer's variance over joint draws (I. M. Sobol', Math. Comput. Simul. 55, 271 (2001); estimators of A. Saltelli
et al., Comput. Phys. Commun. 181, 259 (2010), by scipy.stats.sobol_indices). Both run the plan's own composition at the
chosen layout, vectorised over facts; failures enter by the closed form, and the luck of one life apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from argosy import __version__
from argosy.fabric import plan_fabric
from argosy.facts import Fact, FactError, Values
from argosy.facts.values import two_piece_normal
from argosy.planning.closed import closed_run
from argosy.planning.context import Context, context
from argosy.planning.job import JobPlan, NothingFitsError, laid_out
from argosy.planning.run import DAY, FleetRun, drawn_run
from argosy.planning.site import NetworkAccount, network_account
from argosy.spec import Scenario
from argosy.training import residual_draws, residual_sigma

SCHEMA = "argosy.sensitivity/1"
OUTPUTS = {
    "days": "days",
    "usd": "usd",
    "usd_per_million_tokens": "usd_per_million_tokens",
    "mfu": "fraction",
    "facility_mean_w": "w",
    "facility_peak_w": "w",
    "carbon_kg": "kg",
}
RESIDUAL = "training.residual"  # the step model's own error, a factor beside the facts
END_OF_BAND = 1.6448536269514722  # of a standard normal: a band is the central 90 %
MOST_FACTORS = 12  # whose joint variance is split; the others' share is told as one
_CHUNK = 4096  # draws at a time: keeps memory at a few hundred megabytes

# Which measurement tells about a fact, by the beginning of its path.
_MEASUREMENTS = (
    ("serving.residual", "a load test of your own engine, as step_times: FILE.csv"),
    (RESIDUAL, "steps of your own job on your own machines: argosy calibrate MEASUREMENTS"),
    ("training.", "a few measured steps at different layouts: argosy calibrate MEASUREMENTS"),
    ("stacks.", "a few measured steps at different layouts: argosy calibrate MEASUREMENTS"),
    ("memory.", "peak memory of a run (max_memory_reserved): argosy calibrate MEASUREMENTS"),
    ("transports.", "an all-reduce benchmark over the fabric, by message size"),
    ("routing.", "an all-reduce benchmark across leaves and across pods"),
    ("reliability.checkpoint", "one checkpoint: what it blocks, when it is safe, what steps lose meanwhile"),
    ("reliability.recovery", "a recovery drill: from failure to the next step"),
    ("reliability.", "a failure log of the fleet with its population: argosy fit-failures LOG"),
    ("accelerators.", "the device's data sheet for your order, or a measurement of it"),
    ("nodes.", "a metered node under the job"),
    ("facility.money", "quotes and contracts"),
    ("facility.embodied", "the makers' product carbon footprints"),
    ("facility.activity", "a metered node through one step's phases"),
    ("facility.", "a year of the hall's meters"),
    ("cooling.", "a year of the hall's meters"),
    ("power.", "the electrical plant's acceptance test"),
    ("regions.", "the utility's and the grid operator's own figures"),
    ("prices.", "a quote"),
    ("optics.", "a quote for the cables"),
    ("switches.", "a quote, and the maker's power sheet"),
)


class Subject(Protocol):
    """What is looked at, as a function of standard normal coordinates of what is uncertain; `sigma`: of the model's residual."""

    @property
    def factors(self) -> dict[str, Fact | None]:
        """Facts with a band by path, and the model's residual (None) under RESIDUAL."""

    @property
    def sigma(self) -> float:
        """Standard deviation of ln(measured ÷ predicted) of the step model."""

    def at(self, coordinates: Mapping[str, np.ndarray]) -> np.ndarray:
        """The output (n,) at `coordinates`: path → standard normal numbers (n,), others central."""


@dataclass(frozen=True)
class Study:
    """A scenario at its chosen layout, as a function of standard normal coordinates of its uncertain facts."""

    setting: Context
    jobs: list[JobPlan]
    network: NetworkAccount
    output: str

    @cached_property
    def factors(self) -> dict[str, Fact | None]:
        """Facts with a band that the run reads, in order of reading, and the model's residual (None)."""
        values = Values(self.setting.values.facts)
        closed_run(replace(self.setting, values=values), self.jobs, self.network)
        found: dict[str, Fact | None] = {RESIDUAL: None}
        for path, fact in values.used.items():
            low, high = (fact.value if end is None else end for end in (fact.low, fact.high))
            if low < high:
                found[path] = fact
        return found

    @property
    def sigma(self) -> float:
        """Spread of the step model's residual at the job's grade."""
        return residual_sigma(self.jobs[0].grade)

    def at(self, coordinates: Mapping[str, np.ndarray]) -> np.ndarray:
        """The output at `coordinates`: path → standard normal numbers (n,), others central; result (n,)."""
        count = len(next(iter(coordinates.values())))
        parts = [
            self._chunk({path: z[start : start + _CHUNK] for path, z in coordinates.items()})
            for start in range(0, count, _CHUNK)
        ]
        return np.concatenate(parts)

    def _chunk(self, coordinates: Mapping[str, np.ndarray]) -> np.ndarray:
        count = len(next(iter(coordinates.values())))
        draws = {
            path: two_piece_normal(fact, coordinates[path])
            for path, fact in self.factors.items()
            if fact is not None and path in coordinates
        }
        residual_z = coordinates.get(RESIDUAL, np.zeros(count))
        values = Values(self.setting.values.facts, draws, count)
        run = closed_run(replace(self.setting, values=values), self.jobs, self.network, residual_z)
        return np.broadcast_to(np.asarray(output_of(run, self.output), float), (count,)).copy()


def output_of(run: FleetRun, output: str) -> Any:
    """One of OUTPUTS of a run, a float or draws (n,)."""
    if output == "days":
        return run.wall_s / DAY
    if output == "mfu":
        return max(run.jobs, key=lambda job: job.tokens).mfu
    if output == "usd":
        return run.cost["total_usd"]
    if output == "usd_per_million_tokens":
        return run.cost["total_usd"] / sum(job.tokens for job in run.jobs) * 1e6
    return run.facility[output]


def study(scenario: Scenario, output: str = "days") -> Study:
    """The study of a scenario. FactError for an unknown output, and where no layout divides the fleet or fits."""
    if output not in OUTPUTS:
        raise FactError(f"no output {output!r}; write one of {', '.join(OUTPUTS)}")
    if not scenario.training:
        raise FactError(f"{scenario.name} has no training job; add training:")
    setting = context(scenario)
    jobs = [laid_out(setting, given) for given in scenario.training]
    if lacking := [job.training.name for job in jobs if not job.fits]:
        raise NothingFitsError.of(lacking[0])
    return Study(setting, jobs, network_account(plan_fabric(setting.fleet, setting.values)), output)


def sensitivity_of(
    scenario: Scenario, output: str | None = None, service: str | None = None, draws: int = 2000,
    samples: int | None = None, seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """`sensitivity` of the training, or of a service: where one is named, where there is no training, or for what services
    alone have. `output` None: days, or the price of a million output tokens; `samples` None: 256, or 32.
    """
    if scenario.serving:
        from argosy.study import serving_sensitivity as of_service  # compiled: only for those who serve

        own = output is not None and output in of_service.OUTPUTS and output not in OUTPUTS
        if service is not None or not scenario.training or own:
            asked, count = output or "usd_per_million_output_tokens", samples or of_service.SAMPLES
            return of_service.service_sensitivity(
                scenario, asked, min(draws, of_service.DRAWS), count, seed, service
            )
    elif service is not None:
        raise FactError(f"{scenario.name} has no service; add serving:")
    return sensitivity(scenario, output or "days", draws, samples or 256, seed)


def sensitivity(
    scenario: Scenario, output: str = "days", draws: int = 2000, samples: int = 256, seed: int = 0
) -> dict[str, Any]:
    """The JSON of `argosy sensitivity`.

    `output`: one of OUTPUTS; `draws`: joint draws behind the quantiles; `samples`: base samples of the Sobol' indices,
    a power of two (samples × (factors + 2) evaluations). `tornado`: every fact that moves the output, by its effect at
    the ends of its band; `sobol`: first-order and total variance shares of the leading ones with their 90 % intervals,
    and what knowing the fact exactly would leave of the P10–P90 range; `luck`: share of the variance that is one life's
    failures. FactError as `study`.
    """
    need_power_of_two(samples)
    subject = study(scenario, output)
    central = float(subject.at({RESIDUAL: np.zeros(1)})[0])
    tornado = tornado_of(subject, central)
    leading = [row["fact"] for row in tornado[:MOST_FACTORS]]
    spread, luck = _spread(subject, draws, seed)
    return {
        "schema": SCHEMA,
        "version": __version__,
        "facts_date": subject.setting.catalog.facts_date,
        "scenario": {"name": scenario.name, "hash": scenario.hash},
        "output": output,
        "unit": OUTPUTS[output],
        "nominal": central,
        **spread,
        "luck": luck,
        "tornado": tornado,
        "sobol": shares_of(subject, leading, samples, seed, spread, luck) if leading else [],
    }


def tornado_of(subject: Subject, central: float) -> list[dict[str, Any]]:
    """One row per factor that moves the output, the widest first; two evaluations each, all in one run."""
    paths = list(subject.factors)
    ends = {path: np.zeros(2 * len(paths)) for path in paths}
    for i, path in enumerate(paths):
        ends[path][2 * i : 2 * i + 2] = (-END_OF_BAND, END_OF_BAND)
    found = subject.at(ends).reshape(-1, 2) - central
    rows = []
    for path, (low, high) in zip(paths, found.tolist(), strict=True):
        fact = subject.factors[path]
        if max(abs(low), abs(high)) > 1e-9 * abs(central):
            bounds = (
                np.exp(subject.sigma * END_OF_BAND * np.array([-1.0, 1.0])).tolist() if fact is None else None
            )
            rows.append(
                {
                    "fact": path,
                    "value": 1.0 if fact is None else fact.value,
                    "unit": "" if fact is None else fact.unit,
                    "low": bounds[0] if bounds else _bound(fact, "low"),
                    "high": bounds[1] if bounds else _bound(fact, "high"),
                    "effect_low": low,
                    "effect_high": high,
                    "source": "error of the validated step model" if fact is None else fact.source,
                    "assumption": fact is not None and fact.is_assumption,
                    "measurement": measurement(path),
                }
            )
    return sorted(rows, key=lambda row: -(abs(row["effect_high"] - row["effect_low"])))


def _bound(fact: Fact | None, end: str) -> float:
    assert fact is not None
    bound = getattr(fact, end)
    return float(fact.value if bound is None else bound)


def need_power_of_two(samples: int) -> None:
    """FactError where the samples of Sobol' indices are no power of two."""
    if samples < 2 or samples & (samples - 1):
        raise FactError(f"{samples} samples; write a power of two, such as 256")


def measurement(path: str) -> str:
    """The measurement that tells about a fact."""
    return next((words for start, words in _MEASUREMENTS if path.startswith(start)), "a better source")


def _spread(subject: Study, draws: int, seed: int) -> tuple[dict[str, float], float]:
    """P10, P50 and P90 over facts, residual and failures, and the failures' share of the variance.

    The same draws are run with lives and with the closed form; what the lives add to the variance is their luck.
    """
    lived = drawn_run(subject.setting, subject.jobs, subject.network, draws, seed)
    grade = subject.jobs[0].grade
    residual_z = np.log(residual_draws(grade, draws, seed)) / residual_sigma(grade)
    closed = closed_run(subject.setting.drawn(draws, seed), subject.jobs, subject.network, residual_z)
    drawn, without = (
        np.broadcast_to(np.asarray(output_of(run, subject.output), float), (draws,))
        for run in (lived, closed)
    )
    low, middle, high = np.quantile(drawn, (0.1, 0.5, 0.9), method="inverted_cdf")
    total = float(np.var(drawn))
    luck = max(0.0, 1.0 - float(np.var(without)) / total) if total > 0 and np.isfinite(total) else 0.0
    return {"p10": float(low), "p50": float(middle), "p90": float(high)}, luck


def shares_of(
    subject: Subject, paths: list[str], samples: int, seed: int, spread: Mapping[str, float], luck: float
) -> list[dict[str, Any]]:
    """First-order and total shares of the variance over `paths`, with bootstrapped 90 % intervals."""
    from scipy.stats import norm, sobol_indices

    def outputs(points: np.ndarray) -> np.ndarray:
        return subject.at(dict(zip(paths, points, strict=True)))

    if len(paths) == 1:  # all of the variance; scipy's indices need two
        row = {"fact": paths[0], "first_order": 1.0, "first_order_interval": [1.0, 1.0], "total": 1.0}
        left = (spread["p90"] - spread["p10"]) * float(np.sqrt(luck))
        rest = {
            "total_interval": [1.0, 1.0],
            "range_left_if_known": left,
            "measurement": measurement(paths[0]),
        }
        return [row | rest]
    normals: Any = [norm()] * len(paths)
    found: Any = sobol_indices(func=outputs, n=samples, dists=normals, rng=np.random.default_rng(seed))
    interval = found.bootstrap(confidence_level=0.9, n_resamples=200)
    width = spread["p90"] - spread["p10"]
    rows = []
    for i, path in enumerate(paths):
        first = float(np.clip(found.first_order[i], 0.0, 1.0))
        rows.append(
            {
                "fact": path,
                "first_order": float(found.first_order[i]),
                "first_order_interval": [float(end[i]) for end in interval.first_order.confidence_interval],
                "total": float(found.total_order[i]),
                "total_interval": [float(end[i]) for end in interval.total_order.confidence_interval],
                "range_left_if_known": width * float(np.sqrt(1.0 - first * (1.0 - luck))),
                "measurement": measurement(path),
            }
        )
    return sorted(rows, key=lambda row: -row["total"])
