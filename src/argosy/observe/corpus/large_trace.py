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
    """The events of one step, all but the first preceded by a comma."""
    host = number * 100_000.0
    yield (
        f'  {{\n    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#{number}", "pid": 1000, "tid": 1000,\n'
        f'    "ts": {host:.3f}, "dur": 99990.000,\n    "args": {{\n      "External id": {number},"Ev Idx": 0\n    }}\n  }}'
    )
    device = host + 40.0
    for layer in range(LAYERS):
        for operator in range(OPERATORS):
            at = host + 10.0 + layer * 2000.0 + operator * 60.0 + 0.125 * (rank % 8)
            call = (number * LAYERS + layer) * (OPERATORS + 1) + operator
            device = max(device, at + 9.0)
            yield _operator(at, call, operator % 4)
            yield _launch(at + 5.0, call)
            yield _kernel(device, 70.0, call, _KERNELS[operator % 4], 7, "")
            device += 71.5
        call += 1
        yield _launch(host + 1500.0 + layer * 2000.0, call)
        told = (
            f', "Collective name": "allreduce", "In msg nelems": 4194304, "Out msg nelems": 4194304, "Group size": 8, '
            f'"dtype": "BFloat16", "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]", '
            f'"Seq": {number * LAYERS + layer}'
        )
        yield _kernel(device - 60.0, 300.0, call, _NCCL, 20, told)


def _operator(at: float, call: int, kind: int) -> str:
    dims = "[[4096, 8192], [8192, 1024]]" if kind == 0 else "[[4096, 1, 8192], []]"
    return (
        f',\n  {{\n    "ph": "X", "cat": "cpu_op", "name": "{_OPERATORS[kind]}", "pid": 1000, "tid": 1000,\n    "ts": {at:.3f}, '
        f'"dur": 48.250,\n    "args": {{\n      "External id": {call},'
        f'"Input type": ["c10::BFloat16", ""], "Input Dims": {dims}, "Ev Idx": {call}\n    }}\n  }}'
    )


def _launch(at: float, call: int) -> str:
    return (
        f',\n  {{\n    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1000, "tid": 1000,\n    "ts": {at:.3f}, '
        f'"dur": 4.125,\n    "args": {{\n      "External id": {call}, "cbid": 211, "correlation": {call}\n    }}\n  }}'
        f',\n  {{\n    "ph": "s", "id": {call}, "pid": 1000, "tid": 1000, "ts": {at:.3f},\n    "cat": "ac2g", "name": "ac2g"\n  }}'
    )


def _kernel(at: float, seconds: float, call: int, name: str, stream: int, told: str) -> str:
    return (
        f',\n  {{\n    "ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": {stream},\n    "ts": {at:.3f}, "dur": {seconds:.3f},\n'
        f'    "args": {{\n      "External id": {call}, "queued": 0, "device": 0, "context": 1, "stream": {stream}, '
        f'"correlation": {call}, "grid": [132, 1, 1], "block": [384, 1, 1]{told}\n    }}\n  }}'
        f',\n  {{\n    "ph": "f", "id": {call}, "pid": 0, "tid": {stream}, "ts": {at:.3f},\n    "cat": "ac2g", "name": "ac2g", "bp": "e"\n  }}'
    )


def write(path: Path, size: int, rank: int = 0, world: int = 8) -> int:
    """Writes whole steps until the trace has at least `size` bytes of text; gzip where the name ends so. The number of events."""
    opened = gzip.open(path, "wb", 1) if path.suffix == ".gz" else path.open("wb", 1 << 20)
    events, written, number = 0, 0, 0
    with opened as file:
        written += _put(file, head(rank, world))
        while written < size:
            parts = list(step(number, rank))
            events += sum(part.count('"ph"') for part in parts)
            written += _put(file, (",\n" if number else "") + "".join(parts))
            number += 1
        _put(file, '\n  ],\n  "traceName": "large.pt.trace.json"\n}\n')
    return events


def _put(file: IO[bytes], text: str) -> int:
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
