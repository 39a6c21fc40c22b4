"""What a launcher must know about a planned training job, taken from the plan once."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

from argosy.fabric.fleet import fleet_protocol
from argosy.facts import FactError
from argosy.planning.context import context
from argosy.planning.job import JobPlan, NothingFitsError, StagePlan, checkpoint_bytes, laid_out
from argosy.planning.life import fleet_life
from argosy.spec import Scenario
from argosy.spec.model import ModelArchitecture
from argosy.spec.training import Offload, Overlap, Precision
from argosy.training.pipeline import chunk_sizes


@dataclass(frozen=True)
class LaunchJob:
    """One stage of a training job, ready to start.

    `layout`: the chosen layout's fields by the contract's names; `steps`: optimizer steps; `checkpoint_steps`:
    steps between checkpoints; `restarts`: stops to survive (expected failures and three standard deviations);
    `nic_rate_bps`: bits per s of one network card; `scale_up`: accelerators of one scale-up domain.
    """

    name: str
    stage: str
    model: ModelArchitecture
    layout: dict[str, Any]
    precision: Precision
    overlap: Overlap
    offload: Offload
    sequence_length: int
    steps: int
    checkpoint_steps: int
    checkpoint_async: bool
    restarts: int
    accelerator: str
    vendor: str
    nodes: int
    spare_nodes: int
    node_size: int
    nics: int
    nic_rate_bps: float
    scale_up: int
    protocol: str
    routing: str
    topology: str

    @property
    def chunks(self) -> int:
        """Model chunks: pipeline stages times virtual stages."""
        return int(self.layout["pp"] * self.layout["vp"])

    @property
    def main_layers(self) -> list[int]:
        """Layers of the main stack in each chunk, as the step model places them."""
        sizes = chunk_sizes(self.model.layers + self.model.mtp_modules, self.chunks).tolist()
        sizes[-1] -= self.model.mtp_modules
        return [int(size) for size in sizes]


def launch_job(scenario: Scenario, job: str | None = None, stage: str | None = None) -> LaunchJob:
    """The chosen layout of one training job and stage of a scenario.

    `job`: by name (default: the first); `stage`: by name (default: the one that trains the most tokens).
    FactError for unknown names, and where no layout fits in memory.
    """
    setting = context(scenario)
    given = {each.name: each for each in scenario.training}
    if not given:
        raise FactError(f"{scenario.name} has no training job to launch: add training:")
    if job is not None and job not in given:
        raise FactError(f"no training job {job!r}; write one of {', '.join(given)}")
    planned = laid_out(setting, given[job] if job is not None else next(iter(given.values())))
    chosen = _stage(planned, stage)
    if not chosen.fits:
        raise NothingFitsError.of(planned.training.name)
    life = fleet_life(setting, checkpoint_bytes(planned), int(chosen.layouts.dp[0])).nominal(planned.work_s)
    step, failures = float(chosen.nominal.step_s[0]), life.failures
    fabric = setting.fleet.fabrics[0]
    protocol = fleet_protocol(setting.fleet, fabric)
    facts, node = setting.values.facts, setting.node
    transport = setting.catalog.entry("transports", protocol).text
    return LaunchJob(
        name=planned.training.name,
        stage=chosen.label,
        model=planned.training.model,
        layout=chosen.layouts.to_dict(0),
        precision=planned.training.precision,
        overlap=planned.training.overlap,
        offload=planned.training.offload,
        sequence_length=chosen.stage.sequence_length,
        steps=ceil(chosen.steps),
        checkpoint_steps=max(1, round(life.interval_s / step)),
        checkpoint_async=scenario.reliability.checkpoint.mode == "async",
        restarts=ceil(failures + 3 * sqrt(failures)),
        accelerator=setting.accelerator,
        vendor=setting.catalog.entry("accelerators", setting.accelerator).text.get("vendor", ""),
        nodes=setting.nodes,
        spare_nodes=setting.spare_nodes,
        node_size=setting.node_size,
        nics=int(facts[f"nodes.{node}.nics"].value),
        nic_rate_bps=facts[f"nodes.{node}.nic_rate"].value,
        scale_up=int(facts[f"accelerators.{setting.accelerator}.scale_up_domain"].value),
        protocol=protocol,
        routing=fabric.routing or transport.get("habit", ""),
        topology=fabric.topology,
    )


def _stage(planned: JobPlan, name: str | None) -> StagePlan:
    if name is None:
        return planned.main
    stages = {each.label: each for each in planned.stages}
    if name not in stages:
        raise FactError(f"no stage {name!r}; write one of {', '.join(stages)}")
    return stages[name]


def chunk_ends(job: LaunchJob) -> tuple[int, int] | None:
    """Layers by which the first and the last chunk are short of all others: (0, 0), (1, 0), (0, 1) or (1, 1).

    The embedding and the output head then stand for a layer each. None where chunks differ otherwise.
    """
    sizes = job.main_layers
    even = max(sizes)
    short = (even - sizes[0], even - sizes[-1]) if len(sizes) > 1 else (0, 0)
    inner = all(size == even for size in sizes[1:-1])
    return short if inner and set(short) <= {0, 1} and not job.model.mtp_modules else None
