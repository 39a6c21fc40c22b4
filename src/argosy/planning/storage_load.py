"""What a scenario's jobs ask of shared storage, before anything is planned."""

from __future__ import annotations

from argosy.fabric.storage import StorageLoad
from argosy.planning.context import Context
from argosy.training.memory_traits import StateBytes
from argosy.workload import count


def storage_load(context: Context) -> StorageLoad:
    """Reads at the devices' peak (6·N FLOPs per token: no job reads faster), and the largest checkpoint.

    Weights, master copy and moments of every parameter make a checkpoint; gradients are left out.
    """
    scenario, values = context.scenario, context.values
    peak = scenario.fleet.count * float(values[f"accelerators.{context.accelerator}.peak_bf16"])
    reads, largest = 0.0, 0.0
    for job in scenario.training:
        parameters, state = count(job.model), StateBytes.of(job.precision)
        tokens_per_s = peak / (6.0 * float(parameters.active))
        reads = max(reads, tokens_per_s * scenario.fleet.storage.bytes_per_token)
        saved = state.weights + state.master + state.moments
        largest = max(largest, float(parameters.total_with_mtp) * saved)
    return StorageLoad(reads, largest)
