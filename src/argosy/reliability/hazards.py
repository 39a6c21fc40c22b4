"""What fails beyond constant, independent rates: ages, lemons, shared shocks, bursts, slow episodes, corruption.

These are the event engine's inputs, as plain numbers; `reliability.domains` derives them from a fleet, a scenario states them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from argosy.reliability.rates import CategoryRate, FailureRates

Array = Any  # float, or numpy array (n,): one entry per draw
EFFECTS = ("lose", "stop")


@dataclass(frozen=True, slots=True)
class Shock:
    """A shared cause: one domain of `nodes` neighbours (a rack, a leaf switch, a power domain) is struck.

    `rate_per_s`: of one domain. `effect`: `lose`: each of its nodes that work for the job is lost with probability
    `reach`; `stop`: the job stops with probability `reach`, its nodes stay good (shared storage, an operator's mistake).
    As many domains as cover nodes and spares exist. `repair_s`: seconds until lost nodes are back, None for the nodes' own
    repair time (a rack whose breaker tripped is back sooner than a broken node).
    """

    name: str
    nodes: int
    rate_per_s: Array
    reach: float = 1.0
    effect: str = "lose"
    repair_s: Array | None = None

    def __post_init__(self) -> None:
        if self.effect not in EFFECTS or self.nodes < 1 or not 0.0 < self.reach <= 1.0:
            raise ValueError(
                f"{self.name}: a shock has an effect of {EFFECTS}, nodes ≥ 1 and a reach in (0, 1]"
            )

    def count(self, nodes: int) -> int:
        """Domains of this kind in a fleet of `nodes`, spares included."""
        return -(-nodes // self.nodes)


@dataclass(frozen=True, slots=True)
class Slowdown:
    """Episodes that slow the whole job: a fail-slow node, a spine switch down, a flapping link (`by` = 1: it stands still).

    `rate_per_s`: episodes a second in the whole job; each lasts `lasts_s` seconds and takes `by` of the job's speed.
    Where several overlap, the slowest counts. `exchange`: at its end the slow node is found and exchanged: the job saves,
    a spare takes its place, and the job restarts, or goes on under a tolerant policy.
    """

    name: str
    rate_per_s: Array
    lasts_s: Array
    by: Array
    exchange: bool = False


@dataclass(frozen=True, slots=True)
class Racks:
    """Scale-up domains with spares inside: racks of `nodes`, of which the job uses `needed` (16 of 18 trays: 64 of 72 GPUs).

    A lost node is replaced at once, within the restart, by a spare node of its own rack. A rack with fewer than `needed`
    good nodes is exchanged whole for a spare rack; without one the job waits until the rack has enough again. Repaired
    nodes return to their own rack. The fleet then has nodes/needed racks, and spare nodes count as whole racks:
    spares // nodes of them.
    """

    nodes: int
    needed: int

    def __post_init__(self) -> None:
        if not 1 <= self.needed <= self.nodes:
            raise ValueError(f"a rack of {self.nodes} nodes cannot need {self.needed}")


@dataclass(frozen=True, slots=True)
class Hazards:
    """How the event engine departs from memoryless, independent failures; the default does not.

    `shapes`: Weibull shape by category (of nodes); its rate stays the inverse of the mean life. Below one the hazard
    falls with age, above it rises: measured fleets show both, so no default exists. `ages_s`: `stationary` (a fleet in
    service for long), `new`, or seconds, one number a node or one for all; or a mapping of these by category (categories
    left out are stationary). A repaired node's failed part is new.
    `lemon_share` of the nodes fail `lemon_factor` times as often as the others, the fleet's mean unchanged; a node is
    exchanged for a usual one at its `evict_after`-th failure (0: never). `burst_share` of failures are followed by
    another, `burst_delay_s` later in the mean; the sum of both keeps the rates. `slowdowns`: slow episodes. `racks`: spares
    inside scale-up domains. `silent_latency_s`: seconds until silent data corruption is found; `kept` checkpoints are kept.
    `repair_random`: exponential instead of equal repair times; `crews` repair at once (0: no limit). The job gives up after
    `give_up_after` recoveries without a new checkpoint (0: never). `misdiagnosed`: share of lost nodes for which a healthy
    one is taken out first, so that the job fails again as soon as it computes.
    """

    shapes: Mapping[str, float] = field(default_factory=dict)
    ages_s: Any = "stationary"
    lemon_share: float = 0.0
    lemon_factor: float = 1.0
    evict_after: int = 0
    shocks: tuple[Shock, ...] = ()
    burst_share: float = 0.0
    burst_delay_s: float = 600.0
    slowdowns: tuple[Slowdown, ...] = ()
    racks: Racks | None = None
    silent_latency_s: float = 0.0
    kept: float = float("inf")
    repair_random: bool = False
    crews: int = 0
    give_up_after: int = 0
    misdiagnosed: float = 0.0

    def __post_init__(self) -> None:
        for name in ("lemon_share", "burst_share", "misdiagnosed"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(f"{name} is a share below one, not {getattr(self, name)}")
        if any(shape <= 0 for shape in self.shapes.values()) or self.lemon_factor <= 0:
            raise ValueError("Weibull shapes and the lemon factor are positive")

    def beyond_renewal(self) -> list[str]:
        """What of this the closed form and the renewal Monte Carlo cannot express, in words; empty for the default.

        Repair times' distribution does not count: Erlang's loss formula holds for any (Sevastyanov 1957).
        """
        told = {
            "Weibull ages": bool(self.shapes),
            "lemon nodes": self.lemon_share > 0 and self.lemon_factor != 1.0,
            "shared failure domains": bool(self.shocks),
            "bursts": self.burst_share > 0,
            "slow episodes": bool(self.slowdowns),
            "spares inside racks": self.racks is not None and self.racks.needed < self.racks.nodes,
            "latent silent corruption": self.silent_latency_s > 0,
            "limited repair crews": self.crews > 0,
            "giving up": self.give_up_after > 0,
            "misdiagnosis": self.misdiagnosed > 0,
        }
        return [name for name, present in told.items() if present]

    def joint_rates(self, rates: FailureRates, nodes: int) -> FailureRates:
        """`rates` with the shocks as categories: what the closed form and the choice of the interval must count.

        `nodes`: of the fleet, spares included. A shock counts once, however many nodes it takes; one whose `reach` may miss
        every node counts by the probability that it does not.
        """
        for shock in self.shocks:
            hits = 1.0 - (1.0 - shock.reach) ** shock.nodes if shock.effect == "lose" else shock.reach
            scope = "node" if shock.effect == "lose" else "job"
            rates = rates.with_category(
                CategoryRate(
                    shock.name, shock.name, shock.name, scope, shock.count(nodes), shock.rate_per_s * hits
                )
            )
        return rates
