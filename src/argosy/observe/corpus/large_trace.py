"""Large Kineto traces for measuring readers: `python -m argosy.observe.corpus.large_trace FOLDER --megabytes 471`, or
`--ranks 1024 --megabytes 20`. The mix of events and their text are a PyTorch profiler's (218 bytes an event): operators
with shapes, launches, flows, kernels, one all-reduce per layer.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

LAYERS, OPERATORS = 48, 24  # of a step; operators of a layer, each with one kernel
_BASE = 1_759_536_000_000_000_000
_KERNELS = (
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize2x1x1_execute_kernel__5x_cublas",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int)",
    "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t> >(Flash_fwd_params)",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float> > >()",
)
_OPERATORS = ("aten::mm", "aten::add", "flash_attn::_flash_attn_forward", "aten::mean")
_NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def head(rank: int, world: int) -> str:
    """The members before `traceEvents`."""
    group = {
        "pg_name": "0",
        "pg_desc": "default_pg",
        "backend_config": "cuda:nccl",
        "pg_size": world,
        "ranks": [*range(world)],
    }
    info = {"backend": "nccl", "rank": rank, "world_size": world, "pg_count": 1, "pg_config": [group]}
    device = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 84942979072, "computeMajor": 9}
    members = {"schemaVersion": 1, "deviceProperties": [device], "distributedInfo": info, "record_shapes": 1}
    text = ",\n  ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in members.items())
    return f'\n{{\n  {text},\n  "displayTimeUnit": "ms",\n  "baseTimeNanoseconds": {_BASE},\n  "traceEvents": [\n'


def step(number: int, rank: int) -> Iterator[str]:
    """The events of one step, each with the comma that parts it from the one before."""
    host = number * 100_000.0
    yield _slice(
        "user_annotation",
        f"ProfilerStep#{number}",
        1000,
        1000,
        host,
        99990.0,
        f'"External id": {number},"Ev Idx": 0',
    )
    device = host + 40.0
    for layer in range(LAYERS):
        call = (number * LAYERS + layer) * (OPERATORS + 1)
        for operator in range(OPERATORS):
            at = host + 10.0 + layer * 2000.0 + operator * 60.0 + 0.125 * (rank % 8)
            device = max(device, at + 9.0)
            yield _operator(at, call, operator % 4)
            yield _launch(at + 5.0, call)
            yield _kernel(device, 70.0, call, _KERNELS[operator % 4], 7, "")
            device += 71.5
            call += 1
        told = (
            ', "Collective name": "allreduce", "In msg nelems": 4194304, "Out msg nelems": 4194304, "Group size": 8, '
            '"dtype": "BFloat16", "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]", '
            f'"Seq": {number * LAYERS + layer}'
        )
        yield _launch(host + 1500.0 + layer * 2000.0, call)
        yield _kernel(device - 60.0, 300.0, call, _NCCL, 20, told)


def _slice(category: str, name: str, process: int, thread: int, at: float, duration: float, told: str) -> str:
    return (
        f',\n  {{\n    "ph": "X", "cat": "{category}", "name": "{name}", "pid": {process}, "tid": {thread},\n'
        f'    "ts": {at:.3f}, "dur": {duration:.3f},\n    "args": {{\n      {told}\n    }}\n  }}'
    )


def _flow(phase: str, call: int, process: int, thread: int, at: float, bound: str = "") -> str:
    where = f'"pid": {process}, "tid": {thread}, "ts": {at:.3f}'
    return f',\n  {{\n    "ph": "{phase}", "id": {call}, {where},\n    "cat": "ac2g", "name": "ac2g"{bound}\n  }}'


def _operator(at: float, call: int, kind: int) -> str:
    dims = "[[4096, 8192], [8192, 1024]]" if kind == 0 else "[[4096, 1, 8192], []]"
    told = (
        f'"External id": {call},"Input type": ["c10::BFloat16", ""], "Input Dims": {dims}, "Ev Idx": {call}'
    )
    return _slice("cpu_op", _OPERATORS[kind], 1000, 1000, at, 48.25, told)


def _launch(at: float, call: int) -> str:
    told = f'"External id": {call}, "cbid": 211, "correlation": {call}'
    return _slice("cuda_runtime", "cudaLaunchKernel", 1000, 1000, at, 4.125, told) + _flow(
        "s", call, 1000, 1000, at
    )


def _kernel(at: float, duration: float, call: int, name: str, stream: int, more: str) -> str:
    told = (
        f'"External id": {call}, "queued": 0, "device": 0, "context": 1, "stream": {stream}, '
        f'"correlation": {call}, "grid": [132, 1, 1], "block": [384, 1, 1]{more}'
    )
    slice_ = _slice("kernel", name, 0, stream, at, duration, told)
    return slice_ + _flow("f", call, 0, stream, at, ', "bp": "e"')


def write(path: Path, size: int, rank: int = 0, world: int = 8) -> int:
    """Writes whole steps until the trace has `size` bytes of text, gzip where the name ends so; the number of events."""
    events, written, number = 0, 0, 0
    with gzip.open(path, "wb", 1) if path.suffix == ".gz" else path.open("wb", 1 << 20) as file:
        written += _put(file, head(rank, world))
        while written < size:
            text = "".join(step(number, rank))
            events += text.count('"ph"')
            written += _put(file, text if number else text.removeprefix(",\n"))
            number += 1
        _put(file, '\n  ],\n  "traceName": "large.pt.trace.json"\n}\n')
    return events


def _put(file: IO[bytes] | gzip.GzipFile, text: str) -> int:
    return file.write(text.encode())


def main(arguments: list[str] | None = None) -> None:
    """Writes rank0.pt.trace.json … into a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split(":")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--megabytes", type=float, default=471.0, help="of each trace")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--gzip", action="store_true")
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    for rank in range(given.ranks):
        name = f"rank{rank}.pt.trace.json" + (".gz" if given.gzip else "")
        events = write(given.folder / name, int(given.megabytes * 1e6), rank, max(given.ranks, 8))
        print(f"{given.folder / name}: {events:,} events", file=sys.stderr)


if __name__ == "__main__":
    main()
