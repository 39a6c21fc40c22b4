"""The cluster's queue: which jobs come, who may use how much, by which policy, and what is worked on when."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from argosy.spec.quantity import (
    Fraction,
    OneOrMany,
    PerSecond,
    Seconds,
    Section,
    Shorthand,
    Unit,
    Word,
    required,
    setting,
)

HELIOS = (
    "Helios, cluster Earth, April to September 2020 (doi:10.1145/3458817.3476223): median 234 s, mean 5,131 s"
)
PHILLY = "Philly's arrivals (arXiv:1901.05758), as Gavel replays them: shares of 1 to 64 GPUs"
TOPOLOGIES = r"any|node|nvlink-domain|leaf|pod|leaves:[1-9]\d*"
DAY_S = 86400.0


def _topology(given: Any) -> Any:
    if isinstance(given, str) and re.fullmatch(TOPOLOGIES, given):
        return given
    raise ValueError(
        f"{given!r} is no topology need; write any, node, nvlink-domain, leaf, pod, or leaves:4 (at most four leaves)"
    )


TopologyNeed = Annotated[str, Shorthand(_topology, {"pattern": TOPOLOGIES, "examples": ["leaf", "leaves:4"]})]
Weight = Annotated[float, Field(ge=0)]
Load = Annotated[float, Field(gt=0, le=10), Unit("1", "80 %", bare=True)]


class Durations(Section):
    """How long jobs run when nothing stops them: lognormal by median and mean, or all alike."""

    median: Seconds = setting(234.0, "half of the jobs are shorter", HELIOS)
    mean: Seconds = setting(5131.0, "mean; equal to the median: all alike", HELIOS)
    least: Seconds = setting(1.0, "shorter ones are drawn as this long", "assumption: one second")
    most: Seconds = setting(30 * DAY_S, "longer ones are drawn as this long", "assumption: 30 days")

    @model_validator(mode="after")
    def _in_order(self) -> Durations:
        if not 0 < self.median <= self.mean:
            raise ValueError(
                f"the mean ({self.mean:g} s) of a lognormal is at least its median ({self.median:g} s), which is above 0; "
                "write for example {median: 10 min, mean: 2 h}"
            )
        if self.least > self.most:
            raise ValueError("least is above most; write the smaller time as least")
        return self


class JobClass(Section):
    """Jobs of one kind within a mix."""

    name: str = required("a name for reports")
    share: Weight = setting(
        1.0, "jobs of this class, in proportion to the other classes' shares", "equal shares"
    )
    kind: Literal["rigid", "moldable", "elastic", "service"] = setting(
        "rigid",
        "rigid: one size; moldable: a size chosen at the start; elastic: changes size while it runs; "
        "service: replicas, of which a floor stays whatever is planned",
        "assumption: a gang of one size",
    )
    sizes: dict[int, Weight] = setting(
        lambda: {1: 0.687, 2: 0.030, 4: 0.134, 8: 0.126, 16: 0.017, 32: 0.006},
        "accelerators of a job: relative frequency",
        PHILLY,
    )
    minimum: Fraction = setting(
        0.5,
        "moldable, elastic, service: least accelerators, as a share of the size",
        "assumption: half",
        gt=0,
    )
    scaling: Fraction = setting(
        0.9,
        "moldable: speed is in proportion to accelerators to this power",
        "assumption: a little less than linear",
    )
    fraction: Fraction | None = setting(
        None,
        "share of one accelerator, in thousandths, for jobs of size 1: small work",
        "whole accelerators",
        gt=0,
        lt=1,
    )
    accelerator: str = setting("", "types that it may run on, `A|B`", "any")
    duration: Durations = setting(Durations, "how long they run", "see its fields")
    time_limit: float = setting(
        2.0,
        "time that the user asks for ÷ the true duration, which backfill goes by",
        "assumption: users ask for twice what they need",
        ge=1,
    )
    priority: int = setting(0, "higher goes first", "assumption: all alike", ge=-1_000_000, le=1_000_000)
    tenants: dict[str, Weight] = setting(dict, "who submits them: relative frequency", "one tenant")
    topology: TopologyNeed = setting(
        "any",
        "how close its nodes must be: any, node, nvlink-domain, leaf, pod, leaves:4",
        "assumption: anywhere",
    )
    deadline: float | None = setting(None, "latest end after submission ÷ duration", "no deadline", ge=1)
    checkpoint_interval: Seconds = setting(
        1800.0, "between checkpoints: what a failure costs at most", "assumption: 30 min"
    )
    checkpoint: Seconds = setting(
        60.0, "writing a checkpoint before it is put off", "assumption: 1 min; 0 for jobs without state"
    )
    restart: Seconds = setting(300.0, "from new nodes to working again", "assumption: 5 min")
    resize: Seconds = setting(60.0, "elastic: pause when its size changes", "assumption: 1 min")
    crashing: Fraction = setting(
        0.0, "share of jobs whose program fails, each time at the same point of its work", "assumption: none"
    )

    @model_validator(mode="after")
    def _sized(self) -> JobClass:
        if not self.sizes or min(self.sizes) < 1 or not sum(self.sizes.values()):
            raise ValueError(
                "sizes need whole numbers of accelerators with weights; write for example {1: 0.7, 8: 0.3}"
            )
        if self.fraction is not None and (self.kind != "rigid" or set(self.sizes) != {1}):
            raise ValueError("a share of an accelerator is for rigid jobs of size 1; write sizes: {1: 1}")
        if self.fraction is not None and round(1000 * self.fraction, 6) % 1:
            raise ValueError(
                f"fraction {self.fraction} is counted in thousandths; write three decimals at most"
            )
        if self.tenants and not sum(self.tenants.values()):
            raise ValueError("all tenants have weight 0; write for example {research: 2, product: 1}")
        return self


class Quota(Section):
    """What a tenant may use."""

    accelerators: int = required("accelerators that are the tenant's own", ge=0)
    cohort: str = setting(
        "all", "tenants of one cohort lend each other what they leave idle", "one cohort of all tenants"
    )
    borrow: Annotated[int | None, Word("unlimited")] = setting(
        None,
        "accelerators beyond its own that it may borrow; or unlimited",
        "unlimited, as Kueue's default",
        ge=0,
    )
    lend: Annotated[int | None, Word("all")] = setting(
        None, "its own accelerators that others may borrow; or all", "all, as Kueue's default", ge=0
    )
    weight: float = setting(1.0, "share of the fleet under fair share, in proportion", "equal", gt=0)


class Work(Section):
    """Planned work on nodes: they are emptied, worked on, and come back."""

    start: Seconds = required("when it begins, from the beginning of the schedule")
    duration: Seconds = required("how long one node is away", gt=0)
    nodes: Annotated[int | None, Word("all")] = setting(
        None, "how many nodes, the first of the fleet", "all", ge=1
    )
    patience: Annotated[Seconds | None, Word("unlimited")] = setting(
        None, "work that still runs after it is evicted; or unlimited", "jobs are waited for"
    )


class Rolling(Section):
    """A rolling upgrade: every node in order, so many at a time that a floor of the fleet stays in service."""

    start: Seconds = required("when it begins, from the beginning of the schedule")
    duration: Seconds = required("how long one node is away", gt=0)
    floor: Fraction = setting(0.9, "share of the nodes that stay in service", "assumption: nine tenths")
    patience: Annotated[Seconds | None, Word("unlimited")] = setting(
        None, "work that still runs after it is evicted; or unlimited", "jobs are waited for"
    )


class MoreNodes(Section):
    """Nodes of another type beside the fleet's, in the same queue."""

    accelerator: str = required("catalog name, or a name of your own with a speed")
    nodes: int = required("how many", gt=0, le=1_000_000)
    accelerators_per_node: int = setting(8, "accelerators of one", "assumption: eight", gt=0, le=1024)
    speed: float | None = setting(
        None, "against the fleet's accelerator", "dense BF16 peaks of the catalog, one by the other", gt=0
    )


class Scheduling(Section):
    """The load of the cluster's queue, and its rules, for argosy schedule."""

    policy: str = setting("easy", "a policy of argosy schedule --policies", "assumption: EASY backfill")
    trace: str | None = setting(
        None,
        "jobs: a CSV, sacct --parsable2, or a list of Kueue's workloads",
        "none: jobs are drawn from the mix",
    )
    mix: Annotated[tuple[JobClass, ...], OneOrMany] = setting(
        lambda: (JobClass(name="jobs"),), "classes of jobs", "one class with the defaults", min_length=1
    )
    load: Load = setting(
        0.8,
        "accelerator-seconds asked for ÷ those that the fleet has; not with rate",
        "assumption: a busy cluster that is not overloaded",
    )
    rate: PerSecond | None = setting(None, "jobs per second of the whole mix (write 40 /h)", "from load")
    arrivals_cv: float = setting(
        1.0,
        "spread of the time between arrivals, standard deviation ÷ mean",
        "assumption: Poisson arrivals; Philly's virtual clusters had 2.6 to 12",
        gt=0,
        le=50,
    )
    diurnal: tuple[Annotated[float, Field(ge=0)], ...] = setting(
        tuple, "24 hourly factors of the rate", "assumption: flat"
    )
    horizon: Seconds = setting(7 * DAY_S, "jobs arrive within this time", "assumption: a week", gt=0)
    own_jobs: bool = setting(
        False,
        "whether the training and serving jobs of this scenario stand in the queue too",
        "the mix alone",
    )
    own_accelerators: int | None = setting(
        None, "accelerators of each training job of this scenario there", "the whole fleet", gt=0
    )
    own_priority: int = setting(100, "their priority", "assumption: above the mix")
    failures: bool = setting(True, "whether nodes fail, at the rates of reliability", "as in the plan")
    quotas: dict[str, Quota] = setting(dict, "by tenant", "no quotas")
    maintenance: tuple[Work, ...] = setting(tuple, "planned work on nodes", "none")
    upgrades: tuple[Rolling, ...] = setting(tuple, "rolling upgrades", "none")
    more_nodes: tuple[MoreNodes, ...] = setting(tuple, "nodes of other types", "the fleet's alone")
    crash_limit: int | None = setting(
        None, "failures of its own program after which a job is given up", "the policy's", ge=1
    )

    @model_validator(mode="after")
    def _consistent(self) -> Scheduling:
        if self.diurnal and (len(self.diurnal) != 24 or not sum(self.diurnal)):
            raise ValueError(f"diurnal has {len(self.diurnal)} factors; write 24, one per hour, not all 0")
        if not sum(each.share for each in self.mix):
            raise ValueError("all classes have share 0; write for example share: 1")
        if self.rate is not None and "load" in self.model_fields_set:
            raise ValueError("rate and load say the same twice; write one of them")
        names = [each.name for each in self.mix]
        if len(set(names)) < len(names):
            raise ValueError("two classes of the mix have one name; give each its own")
        return self
