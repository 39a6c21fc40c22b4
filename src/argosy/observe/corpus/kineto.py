"""A rank's run as a file of the PyTorch profiler: three eras of timestamps, NVIDIA's and AMD's kernel names, with or
without what newer versions tell of collectives.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from argosy.observe.corpus.job import Healthy, group_names
from argosy.observe.corpus.replay import RankRun, Slice, Span

ERAS = ("absolute-us", "absolute-float-us", "relative-us")
EPOCH_S = 1_757_000_000.0  # when simulated jobs run: September 2025
_CALL_S = 6e-6  # a launch itself; what comes before is Python and the dispatcher
_BASE_STEP_S = 7_889_238  # Kineto's base is the time floored to this (three months)

_ELEMENTWISE = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)"
)
_ADAM = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
    "FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, "
    "(at::native::ADAM_MODE)1, false> >"
)
COMPUTE = {
    "hopper": {
        "gemm": "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NTT",
        "attention": "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "
        "cutlass::bfloat16_t>, false, true>(flash::Flash_fwd_params)",
    },
    "ampere": {
        "gemm": "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn",
        "attention": "void cutlass::Kernel<fmha_cutlassF_bf16_aligned_64x128_rf_sm80>(Params)",
    },
    "amd": {
        "gemm": "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_LDSB0_AFC1_AFEM1_WS64_WG32_8_1",
        "attention": "void ck_tile::kentry<256, 2, ck_tile::FmhaFwdKernel<ck_tile::BlockFmhaPipelineQRKSVSAsync>>",
    },
}
_NCCL = {
    "all_reduce": ("AllReduce_Sum_bf16_RING_LL", "AllReduce_RING_LL_Sum___nv_bfloat16", "allreduce"),
    "all_gather": ("AllGather_RING_LL", "AllGather_RING_LL_Sum_int8_t", "_allgather_base"),
    "reduce_scatter": (
        "ReduceScatter_Sum_f32_RING_LL",
        "ReduceScatter_RING_LL_Sum_float",
        "_reduce_scatter_base",
    ),
    "send": ("SendRecv", "SendRecv_RING_SIMPLE_Sum_int8_t", "send"),
    "recv": ("SendRecv", "SendRecv_RING_SIMPLE_Sum_int8_t", "recv"),
}
_HOST = {"gemm": "aten::mm", "attention": "aten::_flash_attention_forward", "elementwise": "aten::add",
         "optimizer": "aten::_fused_adamw_", "copy": "aten::copy_"}  # fmt: skip
_DEVICES = {"H100-SXM": "NVIDIA H100 80GB HBM3", "H200-SXM": "NVIDIA H200", "A100-80GB-SXM": "NVIDIA A100-SXM4-80GB",
            "B200-SXM": "NVIDIA B200", "MI300X": "AMD Instinct MI300X"}  # fmt: skip
_COMPUTE_CAPABILITY = {
    "H100-SXM": (9, 0),
    "H200-SXM": (9, 0),
    "A100-80GB-SXM": (8, 0),
    "B200-SXM": (10, 0),
    "MI300X": (9, 4),
}


@dataclass(frozen=True)
class Style:
    """How a profiler wrote: `kernels` (a key of COMPUTE), `era`, whether collectives carry metadata, gzip, what a garbage
    collection is called (None: it leaves no mark), `nccl`: `new` or `old` kernel names.
    """

    kernels: str = "hopper"
    era: str = "relative-us"
    metadata: bool = True
    gz: bool = False
    collection: str | None = "Python GC"
    nccl: str = "new"
    host_in_name: bool = True


def write_trace(path: Path, run: RankRun, job: Healthy, style: Style, offset_s: float, rate: float) -> Path:
    """Write a rank's trace as Kineto does; its clock is off by `offset_s` and runs at `rate`. Returns the path."""
    tell = _Clock(style.era, offset_s, rate)
    events = list(_events(run, job, style, tell))
    head: dict[str, Any] = {
        "schemaVersion": 1,
        "deviceProperties": _devices(job),
        "record_shapes": 1,
        "distributedInfo": _distributed(run.rank, job, style),
    }
    if style.era == "relative-us":
        head |= {"baseTimeNanoseconds": tell.base_ns, "displayTimeUnit": "ms"}
    elif style.era == "absolute-float-us":
        head |= {"displayTimeUnit": "ns"}
    text = json.dumps(head)[:-1] + ', "traceEvents": [\n' + ",\n".join(events)
    text += f'\n],\n  "traceName": "{path.name}"\n}}\n'
    if style.gz:
        path = path.with_name(path.name + ".gz")
        path.write_bytes(gzip.compress(text.encode(), 1, mtime=0))
    else:
        path.write_text(text, encoding="utf-8")
    return path


class _Clock:
    """Times of the simulation as this profiler prints them, µs."""

    def __init__(self, era: str, offset_s: float, rate: float) -> None:
        self.era, self.offset_s, self.rate = era, offset_s, rate
        self.base_ns = int(EPOCH_S) // _BASE_STEP_S * _BASE_STEP_S * 1_000_000_000

    def __call__(self, start: float, end: float) -> tuple[int | float, int | float]:
        """ts and dur."""
        begin_ns = round(EPOCH_S * 1e9) + round((start * self.rate + self.offset_s) * 1e9)
        length_ns = max(round((end - start) * self.rate * 1e9), 0)
        if self.era == "absolute-us":
            return begin_ns // 1000, (begin_ns + length_ns) // 1000 - begin_ns // 1000
        if self.era == "absolute-float-us":
            return begin_ns / 1000, length_ns / 1000
        return round((begin_ns - self.base_ns) / 1000, 3), length_ns / 1000


def _devices(job: Healthy) -> list[dict[str, Any]]:
    major, minor = _COMPUTE_CAPABILITY[job.work.accelerator]
    return [
        {"id": each, "name": _DEVICES[job.work.accelerator], "computeMajor": major, "computeMinor": minor}
        for each in range(job.work.ranks_per_node)
    ]


def _distributed(rank: int, job: Healthy, style: Style) -> dict[str, Any]:
    found: dict[str, Any] = {"backend": "nccl", "rank": rank, "world_size": job.work.gpus}
    if not style.metadata:
        return found
    described = []
    for role, groups in job.groups().items():
        for group in groups:
            if rank in group:
                name = group_names(job.work)[role, group]
                described.append(
                    {
                        "pg_name": name,
                        "pg_desc": _PURPOSE[role],
                        "backend_config": "cuda:nccl",
                        "pg_size": len(group),
                        "ranks": list(group),
                    }
                )
    return found | {"pg_count": len(described), "pg_config": described, "nccl_version": "2.26.2"}


_PURPOSE = {"world": "default_pg", "tensor": "TENSOR_MODEL_PARALLEL_GROUP", "data": "DATA_PARALLEL_GROUP",
            "pipeline": "PIPELINE_MODEL_PARALLEL_GROUP", "embedding": "EMBEDDING_GROUP"}  # fmt: skip


def _event(
    category: str, name: str, pid: Any, tid: Any, at: tuple[int | float, int | float], args: dict[str, Any]
) -> str:
    return json.dumps(
        {
            "ph": "X",
            "cat": category,
            "name": name,
            "pid": pid,
            "tid": tid,
            "ts": at[0],
            "dur": at[1],
            "args": args,
        }
    )


def _events(run: RankRun, job: Healthy, style: Style, tell: _Clock) -> Iterator[str]:
    host, device = 4000 + run.rank, run.rank % job.work.ranks_per_node
    streams = {
        "compute": 7,
        "copy": 7,
        "tensor": 20,
        "data": 24,
        "pipeline": 28,
        "embedding": 32,
        "world": 36,
    }
    runtime = "hipLaunchKernel" if style.kernels == "amd" else "cudaLaunchKernel"
    for span in run.spans:
        yield from _span(span, style, tell, host)
    for number, each in enumerate(run.slices):
        correlation = number + 1
        called = max(each.host_end - _CALL_S, each.launched)
        at = tell(called, each.host_end)
        launch = "hipMemcpyWithStream" if each.lane == "copy" and style.kernels == "amd" else runtime
        launch = "cudaMemcpyAsync" if each.lane == "copy" and style.kernels != "amd" else launch
        yield from _host_side(each, job, style, tell, host, correlation)
        yield _event(
            "cuda_runtime", launch, host, host, at, {"External id": correlation, "correlation": correlation}
        )
        args = {
            "External id": correlation,
            "device": device,
            "stream": streams[each.lane],
            "correlation": correlation,
        }
        if each.lane == "copy":
            size = 2 * job.work.sequence * 8
            yield _event(
                "gpu_memcpy",
                "Memcpy HtoD (Pinned -> Device)",
                device,
                7,
                tell(each.start, each.end),
                args | {"bytes": size},
            )
            continue
        if each.group and style.metadata:
            args |= told(each, job)
        yield _event(
            "kernel", _kernel_name(each, style), device, streams[each.lane], tell(each.start, each.end), args
        )
    meta = {
        "name": "process_name",
        "ph": "M",
        "ts": tell(0.0, 0.0)[0],
        "pid": host,
        "tid": 0,
        "args": {"name": "python3"},
    }
    yield json.dumps(meta)
    yield json.dumps(meta | {"name": "process_labels", "args": {"labels": "CPU"}})
    yield json.dumps(meta | {"name": "process_labels", "pid": device, "args": {"labels": f"GPU {device}"}})


def _host_side(
    each: Slice, job: Healthy, style: Style, tell: _Clock, host: int, number: int
) -> Iterator[str]:
    at = tell(each.launched, each.host_end)
    args: dict[str, Any] = {"External id": number, "Ev Idx": number}
    if each.group:
        name = "nccl:" + {"send": "send", "recv": "recv"}.get(each.kind, each.kind)
        yield _event(
            "user_annotation", name, host, host, at, args | (told(each, job) if style.metadata else {})
        )
        return
    if each.flops:  # one product that stands for a few: tokens × hidden × whatever makes the FLOPs
        tokens = job.work.micro_batch * job.work.sequence
        columns = max(round(each.flops / (2 * tokens * job.hidden)), 1)
        args |= {
            "Input Dims": [[tokens, job.hidden], [job.hidden, columns]],
            "Input type": ["c10::BFloat16", "c10::BFloat16"],
        }
    yield _event("cpu_op", _HOST[each.kind], host, host, at, args)


def _span(span: Span, style: Style, tell: _Clock, host: int) -> Iterator[str]:
    at = tell(span.start, span.end)
    if span.kind == "step":
        yield _event("user_annotation", f"ProfilerStep#{span.step + 10}", host, host, at, {"External id": 0})
    elif span.kind == "data":
        name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
        yield _event("user_annotation", name, host, host, at, {"External id": 0})
    elif span.kind == "gc":
        if style.collection:
            yield _event("python_function", style.collection, host, host, at, {})
    elif span.kind == "recompile":
        for name in ("_compile.compile_inner (dynamo_timed)", "backend_compile (dynamo_timed)"):
            yield _event("cpu_op", name, host, host, at, {"External id": 0})


def told(each: Slice, job: Healthy) -> dict[str, Any]:
    """What newer profilers write beside a collective."""
    ranks, width = each.group, 4 if each.kind in ("all_reduce", "reduce_scatter") else 2
    whole = max(round(each.bytes / width), 1)
    part = max(round(whole / len(ranks)), 1)
    sizes = {"all_gather": (part, whole), "reduce_scatter": (whole, part)}.get(each.kind, (whole, whole))
    line = next(g for g in job.groups()["pipeline"] if ranks[0] in g) if each.lane == "pipeline" else ranks
    name = group_names(job.work)[each.lane, line]
    return {
        "Collective name": _NCCL[each.kind][2],
        "In msg nelems": sizes[0],
        "Out msg nelems": sizes[1],
        "Group size": len(line),
        "dtype": "Float" if width == 4 else "BFloat16",
        "In split size": "[]",
        "Out split size": "[]",
        "Process Group Name": name,
        "Process Group Description": _PURPOSE[each.lane],
        "Process Group Ranks": str(list(line)),
    } | ({"Seq": each.sequence} if each.sequence >= 0 else {"Src Rank": ranks[0], "Dst Rank": ranks[1]})


def _kernel_name(each: Slice, style: Style) -> str:
    if each.group:
        if style.kernels == "amd":
            return "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)"
        if style.nccl == "old":
            return f"ncclKernel_{_NCCL[each.kind][1]}(ncclDevComm*, unsigned long, ncclWork*)"
        return f"ncclDevKernel_{_NCCL[each.kind][0]}(ncclDevKernelArgsStorage<4096ul>)"
    if each.kind == "elementwise":
        return _ELEMENTWISE
    if each.kind == "optimizer":
        return _ADAM
    return COMPUTE[style.kernels][each.kind]
