"""The environment of NCCL and PyTorch that the fabric and the layout call for, each line with its reason.

What NCCL decides well by itself is left to it. Names and defaults: NVIDIA NCCL user guide, "Environment
Variables" (2.23 and later); PyTorch, torch.distributed documentation.
"""

from __future__ import annotations

from dataclasses import dataclass

from argosy.facts import FactError
from argosy.launch.job import LaunchJob

_LARGE = 1024  # accelerators from which a retransmission in a crowded fabric is met every day: assumption


@dataclass(frozen=True)
class Variable:
    """One environment variable, and why it is set."""

    name: str
    value: str
    reason: str


def environment(job: LaunchJob) -> list[Variable]:
    """The variables of a job; FactError for accelerators that NCCL does not serve."""
    if job.vendor and job.vendor.upper() != "NVIDIA":
        raise FactError(f"NCCL does not run on {job.accelerator} ({job.vendor})")
    found = _fabric(job) + _topology(job) + _layout(job)
    rate = f"{job.nics} × {job.nic_rate_bps / 1e9:g} Gb/s"
    return [
        *found,
        Variable(
            "NCCL_SOCKET_IFNAME",
            "${MANAGEMENT_INTERFACE:-eth0}",
            "ranks find each other over the management network; without it NCCL may take a card of the "
            f"compute fabric ({rate}) or a container bridge: check the name",
        ),
        Variable("NCCL_DEBUG", "WARN", "errors are printed; INFO floods the log of a large job"),
        Variable(
            "TORCH_NCCL_ASYNC_ERROR_HANDLING",
            "1",
            "a failed or timed-out collective ends the process, so that the launcher can restart the job",
        ),
        Variable(
            "TORCH_NCCL_TRACE_BUFFER_SIZE",
            "20000",
            "the flight recorder keeps the last collectives of every rank: which rank is missing in a hang",
        ),
        Variable("TORCH_NCCL_DUMP_ON_TIMEOUT", "1", "and writes them when a collective times out"),
    ]


def _fabric(job: LaunchJob) -> list[Variable]:
    if job.nodes == 1:
        return []
    if job.protocol == "efa":
        return [
            Variable(
                "FI_PROVIDER",
                "efa",
                "libfabric's provider for EFA; the aws-ofi-nccl plugin must be installed",
            ),
        ]
    if job.protocol not in ("infiniband", "roce"):
        return []
    found = [
        Variable(
            "NCCL_IB_HCA",
            "${COMPUTE_HCAS:-mlx5}",
            f"the {job.nics} cards of the compute fabric; list them where the node has storage cards as well "
            "(=mlx5_0,mlx5_1…)",
        ),
    ]
    if job.protocol == "roce" and job.routing == "ecmp":
        found += [
            Variable(
                "NCCL_IB_QPS_PER_CONNECTION",
                "4",
                "routes are chosen by a hash of each flow (ECMP): more queue pairs give more flows to spread",
            ),
            Variable(
                "NCCL_IB_SPLIT_DATA_ON_QPS",
                "1",
                "each message is divided over its queue pairs, so that one large transfer uses all of them",
            ),
        ]
    if job.protocol == "roce" and job.routing in ("adaptive", "spray"):
        found.append(
            Variable(
                "NCCL_IB_ADAPTIVE_ROUTING",
                "1",
                "the fabric routes per packet; on RoCE NCCL assumes that it does not",
            )
        )
    if job.layout["gpus"] >= _LARGE:
        found.append(
            Variable(
                "NCCL_IB_TIMEOUT",
                "22",
                f"{job.layout['gpus']:,} accelerators: a link that retrains for seconds must not end the job "
                "(4.096 µs × 2^22 = 17 s a try)",
            )
        )
    return found


def _topology(job: LaunchJob) -> list[Variable]:
    found = []
    if job.topology in ("rail-optimized", "rail-only"):
        found.append(
            Variable(
                "NCCL_CROSS_NIC",
                "0",
                f"{job.topology}: a ring enters and leaves every node on the same rail, one switch hop away",
            )
        )
    if job.topology == "rail-only":
        found.append(
            Variable(
                "NCCL_PXN_DISABLE",
                "0",
                "rails meet only inside nodes: data for another rail is handed over NVLink first",
            )
        )
    if job.scale_up > job.node_size:
        found.append(
            Variable(
                "NCCL_MNNVL_ENABLE",
                "1",
                f"the NVLink domain of {job.scale_up} spans nodes of {job.node_size}; 1 makes a domain that is "
                "not up an error, not a slow job",
            )
        )
    return found


def _layout(job: LaunchJob) -> list[Variable]:
    layout = job.layout
    if layout["tp"] > 1 or layout["cp"] > 1:
        return [
            Variable(
                "CUDA_DEVICE_MAX_CONNECTIONS",
                "1",
                "kernels start in the order in which they were queued, so that a tensor- or context-parallel "
                "collective begins before the product it hides behind (Megatron-LM asks for it before Blackwell; "
                "torchtitan and FSDP do better without)",
            )
        ]
    return []


def script(job: LaunchJob) -> str:
    """The variables as a shell script to be sourced, the reason above each."""
    lines = [f"# {job.name}, {job.stage}: environment of {job.layout['gpus']:,} × {job.accelerator}"]
    for each in environment(job):
        lines += [f"# {each.reason}", f'export {each.name}="{each.value}"']
    return "\n".join(lines) + "\n"
