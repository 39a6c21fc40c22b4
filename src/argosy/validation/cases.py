"""From a row to what the step model takes: job, device, network, stack, and the layouts that the row can
mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from argosy.fabric import Network, pairs
from argosy.fabric.build import Outer, tiered_network
from argosy.facts import Fact, Values, load_catalog
from argosy.spec.model import ModelArchitecture
from argosy.training import Device, Job, Layouts, Overlap, Stack, device_facts, exclusions, stack_facts
from argosy.validation import eras
from argosy.validation.models import Skipped, architecture
from argosy.validation.rows import Row, stated_step_time

UNSTATED_MICRO_BATCHES = (1, 2, 4, 8)


@dataclass(frozen=True)
class Case:
    """One row, ready for the step model.

    `layouts`: the layouts that the row can mean, one where it states everything; `modes`: recomputation
    to try in order. `measured_s`: the step time that it states, None where it states none. `remarks`:
    what was assumed and why.
    """

    row: Row
    job: Job
    device: Device
    network: Network
    stack: Stack
    layouts: Layouts
    modes: tuple[str, ...]
    stated_recompute: bool
    measured_s: float | None
    remarks: tuple[str, ...]


@cache
def facts() -> dict[str, Fact]:
    """The catalog's facts with those of the step model."""
    return {**load_catalog().facts, **device_facts(), **stack_facts()}


def case(row: Row) -> Case:
    """The case that a row states. Skipped, with the reason, where the row is incomplete or not modelled."""
    if "lora" in row.text("kind").lower():
        raise Skipped("LoRA: frozen weights take no weight gradients; adapters are not modelled")
    model, remarks = architecture(row)
    sequence, gpus = row.count("seq_len"), row.count("n_gpus")
    if not sequence or not gpus:
        raise Skipped("incomplete: sequence length or accelerator count is not stated")
    name, changes = eras.accelerator(row)
    if name is None or f"accelerators.{name}.memory_bandwidth" not in facts():
        raise Skipped(f"accelerator {row.text('accelerator')!r} is not in the catalog")
    era = eras.era(row)
    if model.moe and (factor := eras.imbalance(row)):
        model = model.model_copy(update={"moe": model.moe.model_copy(update={"imbalance": factor})})
        remarks.append(f"routing not forced to balance: the busiest rank at {factor} times the mean, assumed")
    remarks.append(f"stack {era.stack}: {era.reason}")
    layouts, batch, notes = _layouts(row, era, model, gpus)
    remarks += notes
    modes, stated = eras.recompute_modes(row, era)
    precision = eras.precision(row)
    job = Job(
        model=model,
        sequence_length=sequence,
        global_batch_sequences=batch,
        precision=precision,
        gradient_bytes=eras.gradient_bytes(row, era),
        overlap=_overlap(row, era),
        fused_cross_entropy=eras.fused_loss(row, era),
    )
    valid, reasons = exclusions(model, sequence, batch, layouts)
    if not valid.any():
        raise Skipped("layout cannot run: " + "; ".join(reasons))
    measured, how = stated_step_time(row, model, sequence, batch)
    network, why = _network(row, name, gpus)
    return Case(
        row=row,
        job=job,
        device=_device(name, gpus, changes),
        network=network,
        stack=replace(Stack.from_values(Values(facts()), era.stack), **eras.stack_changes(row, era)),
        layouts=layouts.take(valid),
        modes=modes,
        stated_recompute=stated,
        measured_s=measured,
        remarks=(*remarks, how, why),
    )


def scale_up_domain(name: str, gpus: int) -> int:
    """Accelerators of one scale-up domain that a job uses.

    Jobs that are not whole racks take 64 of the 72 GPUs of an NVL72 rack (16 of 18 trays), so that
    parallel groups of powers of two do not straddle racks.
    """
    domain = int(facts()[f"accelerators.{name}.scale_up_domain"].value)
    return 64 if domain == 72 and gpus % 72 else domain


def _device(name: str, gpus: int, changes: dict[str, float]) -> Device:
    return Device.from_values(Values(facts()), name, node_size=scale_up_domain(name, gpus), **changes)


def _network(row: Row, name: str, gpus: int) -> tuple[Network, str]:
    """A non-blocking tree over the catalog's cards, or over those that a row's words describe.

    The cable list of a published run is not known, so that the network is made from its numbers.
    """
    wires, numbers = eras.wires(row), facts()
    generation = load_catalog().entry("accelerators", name).text.get("generation", "")
    scale_up = numbers[f"accelerators.{name}.scale_up_bandwidth"].value
    measured = pairs.links_of_chip(generation)
    card = wires.card_bytes_per_s or numbers[f"accelerators.{name}.nic_bandwidth"].value / 8
    delivered = wires.delivered or numbers["transports.infiniband.delivered"].value
    network = tiered_network(
        measured or pairs.nearest_generation(scale_up),
        scale_up_domain(name, gpus),
        scale_up,
        [Outer("all", math.inf, card, delivered)],
        numbers["transports.infiniband.latency_scale"].value,
        gpus,
        reduces=measured is not None,
    )
    return network, wires.reason


def _overlap(row: Row, era: eras.Era) -> Overlap:
    """Overlap switches that the row's notes state, or its framework's default."""
    notes = row.text("notes").lower()
    if "overlap off" in notes:
        return Overlap(tp=False, dp=False, pp=False, ep=False, cp=False)
    if "no gradient buckets" in notes:
        return Overlap(dp=False)
    return Overlap(tp=eras.asynchronous_tp(row, era))


def _layouts(row: Row, era: eras.Era, model: ModelArchitecture, gpus: int) -> tuple[Layouts, int, list[str]]:
    """The layouts that a row can mean, the batch in sequences, and what was assumed."""
    notes: list[str] = []
    zero = eras.zero_stage(row, era)
    tp, pp = (row.count(column) for column in ("tp", "pp"))
    if (tp is None or pp is None) and zero < 3:
        raise Skipped("incomplete: neither the layout nor full sharding is stated")
    tp, pp, cp = tp or 1, pp or 1, row.count("cp") or 1
    if gpus % (tp * pp * cp):
        raise Skipped(f"inconsistent: {gpus} accelerators do not divide by tp·pp·cp = {tp * pp * cp}")
    dp = gpus // (tp * pp * cp)
    micro, batch = row.count("mbs"), row.count("gbs_seqs")
    if micro and pp > 1 and "local batch" in row.text("notes").lower():
        batch = batch or micro * dp
        micro = max(micro // pp, 1)
        notes.append("micro-batch = local batch ÷ stages, torchtitan's default")
    if batch is None:
        if micro is None:
            raise Skipped("incomplete: neither global batch nor micro-batch is stated")
        batch = micro * dp * (row.count("grad_accum") or 1)
        notes.append("global batch = micro-batch · dp · accumulation")
    if batch % dp:
        raise Skipped(f"inconsistent: global batch {batch} does not divide by dp = {dp}")
    tuned = micro is None
    micros = [b for b in (UNSTATED_MICRO_BATCHES if micro is None else (micro,)) if batch % (dp * b) == 0]
    if not micros:
        raise Skipped(
            f"inconsistent: global batch {batch} is not micro-batch {micro} · dp {dp} · a whole number"
        )
    chunks = _virtual_stages(row, model.layers, pp, tuned)
    if pp * max(chunks) > model.layers >= pp:
        notes.append("chunks without a layer (embedding and head count as layers): fewer, even chunks")
        chunks = [model.layers // pp]
    if tuned:
        notes.append("micro-batch not stated: the fastest of those that fit, as a tuned run would take")
    grid = np.array([(b, v) for b in micros for v in chunks])
    ep = row.count("ep") or 1
    etp = row.count("etp") or 1
    if model.moe and row.count("etp") is None and tp > 1:
        etp, why = eras.expert_tensor_parallel(row, tp, dp * cp % ep == 0)
        notes.append(f"expert tensor parallelism not stated: {etp}, {why}")
    layouts = Layouts.one(
        tp=tp, pp=pp, cp=cp, dp=dp, ep=ep, etp=etp, vp=grid[:, 1], micro_batch=grid[:, 0],
        grad_accumulation=batch // (dp * grid[:, 0]), zero=zero,
        sequence_parallel=_sequence_parallel(row, era, tp), shard=_shard(row, dp * cp),
    )  # fmt: skip
    return layouts, batch, notes


def _shard(row: Row, replicas: int) -> int:
    """Ranks of one sharding group where the row names fewer than there are replicas (hybrid sharding),
    else 0: all.
    """
    size = eras.shard_size(row) or 0
    return size if 0 < size < replicas and replicas % size == 0 else 0


def _virtual_stages(row: Row, layers: int, pp: int, tuned: bool) -> list[int]:
    """Chunks per pipeline rank: as stated, else 1, or any that divides where the row leaves its tuning
    open.
    """
    if pp == 1:
        return [1]
    if (stated := row.count("vpp")) is not None:
        return [max(stated, 1)]
    return [v for v in range(1, max(layers // pp, 1) + 1) if layers % (pp * v) == 0] or [1] if tuned else [1]


def _sequence_parallel(row: Row, era: eras.Era, tp: int) -> bool:
    """Sequence parallelism: with tensor parallelism in Megatron-Core and torchtitan, before only where
    the row says so.
    """
    if tp == 1:
        return False
    if era.stack in ("megatron-2021", "megatron-deepspeed"):
        return "sequence parallel" in row.text("recompute").lower()
    return True


def with_recompute(layouts: Layouts, mode: str) -> Layouts:
    """The layouts with one recomputation mode."""
    from argosy.training import RECOMPUTE

    return replace(layouts, recompute=np.full(len(layouts), RECOMPUTE.index(mode)))


def settings_of(case: Case) -> dict[str, Any]:
    """The layout of a case as JSON-ready data."""
    return case.layouts.to_dict(0)
