"""A planned job as a torchtitan configuration (TOML), and a reader that gives the layout back.

Names of fields: pytorch/torchtitan, torchtitan/config/job_config.py (2025).
"""

from __future__ import annotations

import tomllib
from typing import Any

from argosy.facts import FactError
from argosy.launch.job import LaunchJob, chunk_ends

_SCHEDULES = {"1f1b": "1F1B", "interleaved": "Interleaved1F1B", "gpipe": "GPipe"}
# Weights stay whole after the forward pass ("never"): what is sharded is gradients and optimizer, ZeRO-2.
_RESHARD = {2: "never", 3: "default"}


def config(job: LaunchJob) -> str:
    """The TOML; FactError with the reason for a layout that torchtitan has not."""
    _refuse(job)
    layout = job.layout
    sharded = layout["zero"] >= 2
    # The sharding group spans replicas and context: torchtitan counts only the replicas in its degree.
    shards = (layout["shard"] // layout["cp"] if layout["shard"] else layout["dp"]) if sharded else 1
    replica_batch = layout["micro_batch"] * (layout["grad_accumulation"] if layout["pp"] > 1 else 1)
    less = chunk_ends(job) or (0, 0)
    sections: dict[str, dict[str, Any]] = {
        "training": {
            "local_batch_size": replica_batch,
            "global_batch_size": layout["global_batch_sequences"],
            "seq_len": job.sequence_length,
            "steps": job.steps,
        },
        "parallelism": {
            "data_parallel_replicate_degree": layout["dp"] // shards,
            "data_parallel_shard_degree": shards,
            "fsdp_reshard_after_forward": _RESHARD.get(layout["zero"], "default"),
            "tensor_parallel_degree": layout["tp"],
            "enable_async_tensor_parallel": job.overlap.tp and layout["tp"] > 1,
            "context_parallel_degree": layout["cp"],
            "pipeline_parallel_degree": layout["pp"],
        },
        "activation_checkpoint": {"mode": layout["recompute"]},
        "compile": {"enable": True},
        "checkpoint": {
            "enable": True,
            "interval": job.checkpoint_steps,
            "async_mode": "async_with_pinned_mem" if job.checkpoint_async else "disabled",
        },
    }
    if layout["pp"] > 1:
        sections["parallelism"] |= {
            "pipeline_parallel_schedule": _SCHEDULES[layout["schedule"]],
            "pipeline_parallel_microbatch_size": layout["micro_batch"],
            "pipeline_parallel_layers_per_stage": max(job.main_layers),
            "pipeline_parallel_first_stage_less_layers": less[0],
            "pipeline_parallel_last_stage_less_layers": less[1],
        }
    if job.model.moe:
        sections["parallelism"] |= {
            "expert_parallel_degree": layout["ep"],
            "expert_tensor_parallel_degree": layout["etp"],
        }
    if layout["recompute"] == "selective":
        sections["activation_checkpoint"]["selective_ac_option"] = "op"
    if job.precision.compute == "fp8":
        sections["float8"] = {"recipe_name": "rowwise", "filter_fqns": ["output"]}
    lines = [
        f"# {job.name}, {job.stage}: torchtitan. Data, tokenizer and learning rate are yours.",
        f"# [model] name and flavor: the registered one with {job.model.layers} layers of width "
        f"{job.model.hidden}, {job.model.heads} heads ({job.model.name})",
    ]
    if layout["recompute"] == "selective":
        lines.append(
            "# selective recomputation is by operation here, and keeps other tensors than Megatron-LM's"
        )
    for name, fields in sections.items():
        lines += ["", f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in fields.items())]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _refuse(job: LaunchJob) -> None:
    layout = job.layout
    if job.offload.optimizer or job.offload.activations:
        raise FactError(
            "torchtitan offloads weights, gradients and optimizer all together or nothing, which this plan is "
            "not; write offload: {optimizer: 0, activations: 0}"
        )
    if layout["zero"] == 1:
        raise FactError(
            "torchtitan has no ZeRO-1 (it shards gradients with the optimizer); write layout: {zero: 2} or 3"
        )
    if layout["pp"] > 1 and layout["schedule"] not in _SCHEDULES:
        raise FactError(
            f"torchtitan has no {layout['schedule']} schedule of one chunk a rank; write schedule: 1f1b"
        )
    if layout["tp"] > 1 and not layout["sequence_parallel"]:
        raise FactError("torchtitan's tensor parallelism is sequence-parallel; write sequence_parallel: true")
    if layout["pp"] > 1 and chunk_ends(job) is None:
        raise FactError(
            f"torchtitan cannot place {job.model.layers} layers on {job.chunks} chunks like the plan"
        )
    if layout["shard"] and layout["shard"] % layout["cp"]:
        raise FactError("torchtitan's sharding group is whole context-parallel groups; write another shard")


def layout_of(text: str, layers: int) -> dict[str, Any]:
    """The layout of a torchtitan TOML, by the contract's names.

    `layers`: of the model's main stack, which the TOML names but does not hold. FactError for text that is no
    such configuration.
    """
    try:
        data = tomllib.loads(text)
        given, batch = data["parallelism"], data["training"]
        recompute = data["activation_checkpoint"]["mode"]
        degrees = {
            "tp": given.get("tensor_parallel_degree", 1),
            "cp": given.get("context_parallel_degree", 1),
            "pp": given.get("pipeline_parallel_degree", 1),
            "ep": given.get("expert_parallel_degree", 1),
            "etp": given.get("expert_tensor_parallel_degree", 1),
        }
        replicate, shards = given["data_parallel_replicate_degree"], given["data_parallel_shard_degree"]
        local, whole = batch["local_batch_size"], batch["global_batch_size"]
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise FactError(f"not a torchtitan configuration: {error}") from None
    dp, pp = replicate * shards, degrees["pp"]
    micro_batch = given.get("pipeline_parallel_microbatch_size", 1) if pp > 1 else local
    vp = 1
    if pp > 1 and "pipeline_parallel_layers_per_stage" in given:
        ends = given.get("pipeline_parallel_first_stage_less_layers", 1)
        ends += given.get("pipeline_parallel_last_stage_less_layers", 1)
        vp = -(-(layers + ends) // given["pipeline_parallel_layers_per_stage"]) // pp
    words = {name: word for word, name in _SCHEDULES.items()}
    sharded = shards > 1 or given.get("fsdp_reshard_after_forward") == "never"
    return {
        **degrees,
        "vp": vp,
        "dp": dp,
        "micro_batch": micro_batch,
        "grad_accumulation": whole // (micro_batch * dp),
        "global_batch_sequences": whole,
        "zero": (2 if given.get("fsdp_reshard_after_forward") == "never" else 3) if sharded else 0,
        "shard": shards * degrees["cp"] if sharded and replicate > 1 else 0,
        "recompute": recompute,
        "sequence_parallel": degrees["tp"] > 1,
        "schedule": words[given.get("pipeline_parallel_schedule", "1F1B")] if pp > 1 else "1f1b",
        "gpus": dp * degrees["tp"] * degrees["cp"] * pp,
    }
