"""What machines say: the kernel's log, Slurm's accounting, DCGM's metrics, nccl-tests."""

# ruff: noqa: E501  lines of other programs are as long as they are

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from argosy.observe.corpus.families import Family
from argosy.observe.corpus.job import Healthy
from argosy.observe.corpus.kineto import EPOCH_S

_BENIGN = (
    "systemd[1]: Started Session 214 of User train.",
    "kernel: mlx5_core 0000:5e:00.0 ibp94s0: link up",
    "kernel: perf: interrupt took too long (2518 > 2500), lowering kernel.perf_event_max_sample_rate to 79000",
)
XIDS = {
    79: "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    94: "pid=41023, name=python3, Contained: CE User Channel (0x9). RST: No, D-RST: No",
    48: "pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 3, subpartition 0.",
    119: "pid=41023, name=python3, Timeout after 6s of waiting for RPC response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL) (0x2080a0d1 0x4).",
}


def _pci(local: int) -> str:
    return f"0000:{0x1A + local * 0x11:02x}:00"


def write_journal(
    path: Path, family: Family, xid: int | None = None, rank: int = 0, after_s: float = 4000.0
) -> Path:
    """The journal of one node: what is usual, and an Xid of the GPU of `rank`."""
    lines = []
    for number, text in enumerate(_BENIGN):
        lines.append((EPOCH_S + 900.0 * number, text))
    if xid is not None:
        local = rank % family.work.ranks_per_node
        lines.append((EPOCH_S + after_s, f"kernel: NVRM: Xid (PCI:{_pci(local)}): {xid}, {XIDS[xid]}"))
    node = family.node_of(rank)
    told = [
        f"{datetime.fromtimestamp(at, UTC).strftime('%b %d %H:%M:%S')} {node} {said}"
        for at, said in sorted(lines)
    ]
    path.write_text("\n".join(told) + "\n", encoding="utf-8")
    return path


def write_sacct(path: Path, family: Family, jobs: Iterable[tuple[float, float, str]]) -> Path:
    """`sacct --parsable2`: (start, end in s after the epoch, state) of the job's allocations."""
    first, last = family.node_of(0), family.node_of(family.work.gpus - 1)
    head = "JobID|JobName|User|Partition|Submit|Start|End|State|ExitCode|Elapsed|NNodes|AllocTRES|NodeList"
    rows = [head]
    for number, (start, end, state) in enumerate(jobs):
        days, left = divmod(int(end - start), 86400)
        elapsed = (f"{days}-" if days else "") + f"{left // 3600:02d}:{left % 3600 // 60:02d}:{left % 60:02d}"
        times = [
            datetime.fromtimestamp(EPOCH_S + t, UTC).strftime("%Y-%m-%dT%H:%M:%S")
            for t in (start - 60, start, end)
        ]
        code = "0:0" if state == "COMPLETED" else "1:0"
        tres = f"billing={family.work.gpus},gres/gpu={family.work.gpus},node={family.nodes}"
        row = [
            str(88100 + number),
            "pretrain",
            "train",
            "gpu",
            *times,
            state,
            code,
            elapsed,
            str(family.nodes),
            tres,
            f"{first},{last}",
        ]
        rows.append("|".join(row))
        rows.append(
            "|".join(
                [f"{88100 + number}.batch", "batch", "", "", *times, state, code, elapsed, "1", tres, first]
            )
        )
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def write_dcgm(
    path: Path,
    family: Family,
    rng: np.random.Generator,
    hot: int | None = None,
    clock: float = 1.0,
    silent: bool = False,
) -> Path:
    """Half an hour of DCGM's metrics in Prometheus' text form, with stamps. `hot`: the rank whose GPU is throttled to
    `clock` of its clock; `silent`: profiling metrics read 0 while the utilisation reads 100.
    """
    names = {
        "DCGM_FI_DEV_SM_CLOCK": "SM clock frequency (in MHz).",
        "DCGM_FI_DEV_GPU_TEMP": "GPU temperature (in C).",
        "DCGM_FI_DEV_POWER_USAGE": "Power draw (in W).",
        "DCGM_FI_DEV_GPU_UTIL": "GPU utilization (in %).",
        "DCGM_FI_DEV_XID_ERRORS": "Value of the last XID error encountered.",
        "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": "Throttle reasons bitmask.",
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE": "Ratio of time the graphics engine is active.",
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": "Ratio of cycles the tensor (HMMA) pipe is active.",
    }
    lines = []
    for name, told in names.items():
        lines += [f"# HELP {name} {told}", f"# TYPE {name} gauge"]
        for rank in range(family.work.gpus):
            local, node = rank % family.work.ranks_per_node, family.node_of(rank)
            labels = (
                f'gpu="{local}",UUID="GPU-{rank:08x}-7d1c-4f3a-9b1e-{rank:012x}",pci_bus_id="0000{_pci(local)}.0",device="nvidia{local}",'
                f'modelName="NVIDIA H100 80GB HBM3",Hostname="{node}"'
            )
            for minute in range(30):
                value = _metric(name, rank == hot and minute >= 4, clock, silent, rng)
                lines.append(f"{name}{{{labels}}} {value:g} {int((EPOCH_S + 60 * minute) * 1000)}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _metric(name: str, hot: bool, clock: float, silent: bool, rng: np.random.Generator) -> float:
    if name.endswith("SM_CLOCK"):
        return round(float(1755 * (clock if hot else 1) + rng.normal(0, 8)))
    if name.endswith("GPU_TEMP"):
        return round(float((87 if hot else 61) + rng.normal(0, 1)))
    if name.endswith("POWER_USAGE"):
        return round(float((520 if hot else 640) + rng.normal(0, 12)), 3)
    if name.endswith("GPU_UTIL"):
        return 100
    if name.endswith("THROTTLE_REASONS"):
        return 0x20 | 0x40 if hot else 0  # slow-down by temperature, in software and hardware
    if name.endswith(("GR_ENGINE_ACTIVE", "TENSOR_ACTIVE")):
        high = 0.95 if "ENGINE" in name else 0.42
        return 0.0 if silent else round(float(high + rng.normal(0, 0.01)), 6)
    return 0


# Bus bandwidth of an all-reduce over two nodes of eight, byte/s: H100 as reported in NVIDIA/nccl-tests issue 309; the others
# 0.92 of eight NICs' rate, as large clusters reach.
_BUS = {"H100-SXM": 470e9, "H200-SXM": 470e9, "A100-80GB-SXM": 0.92 * 8 * 25e9, "MI300X": 0.92 * 8 * 50e9}


def write_nccl_tests(path: Path, family: Family, job: Healthy, fraction: float) -> Path:
    """all_reduce_perf over two nodes of 8, at a `fraction` of what their NICs allow."""
    ranks = 16
    top = _BUS[family.work.accelerator] * fraction
    lines = [
        "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0",
        "#",
        "# Collective test starting: all_reduce_perf",
        "# Using devices",
    ]
    for rank in range(ranks):
        node = family.node.format(rank // 8)
        device = {
            "A100-80GB-SXM": "NVIDIA A100-SXM4-80GB",
            "MI300X": "AMD Instinct MI300X",
            "H200-SXM": "NVIDIA H200",
        }.get(family.work.accelerator, "NVIDIA H100 80GB HBM3")
        lines.append(
            f"#  Rank {rank:2d} Group  0 Pid {9000 + rank} on {node} device {rank % 8:2d} [{_pci(rank % 8)}] {device}"
        )
    lines += [
        "#",
        "#                                                              out-of-place                       in-place          ",
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong",
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       ",
    ]
    total = 0.0
    sizes = [1 << power for power in range(20, 34)]
    for size in sizes:
        seconds = 4e-5 + size * 2 * (ranks - 1) / ranks / top
        algorithm = size / seconds / 1e9
        bus = algorithm * 2 * (ranks - 1) / ranks
        total += bus
        cell = f"{seconds * 1e6:8.1f}  {algorithm:6.2f}  {bus:6.2f}      0"
        lines.append(f"{size:12d}  {size // 4:12d}     float     sum      -1 {cell} {cell}")
    lines += ["# Out of bounds values : 0 OK", f"# Avg bus bandwidth    : {total / len(sizes):g} ", "#"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
