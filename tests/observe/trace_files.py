"""Small Kineto traces for tests: the same events in every era of the format."""

from __future__ import annotations

import json
from typing import Any

BASE_NS = 1_759_536_000_000_000_000


def event(category: str, name: str, start: float, duration: float, **arguments: Any) -> dict[str, Any]:
    """A slice; times are µs since BASE_NS; `thread` among the arguments is its tid."""
    thread = arguments.pop("thread", 1)
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 0,
        "tid": thread,
        "ts": start,
        "dur": duration,
        "args": {key.replace("_", " "): value for key, value in arguments.items()},
    }


def kernel(
    name: str, start: float, duration: float, call: int, stream: int = 7, **more: Any
) -> dict[str, Any]:
    return event(
        "kernel", name, start, duration, device=0, stream=stream, correlation=call, thread=stream, **more
    )


def launch(start: float, call: int) -> dict[str, Any]:
    return event("cuda_runtime", "cudaLaunchKernel", start, 2, correlation=call)


def step(number: int, start: float, duration: float) -> dict[str, Any]:
    return event("user_annotation", f"ProfilerStep#{number}", start, duration)


def trace(events: list[dict[str, Any]], era: str = "relative-us", **members: Any) -> bytes:
    """The bytes of a trace in one of the eras, laid out as Kineto lays it out."""
    lines = []
    for each in events:
        text = json.dumps(each)
        if "ts" in each:
            ns = BASE_NS + round(each["ts"] * 1000)
            times = {
                "absolute-us": f"{ns // 1000}",
                "absolute-float-us": f"{ns // 1000}.{ns % 1000:03d}",
                "relative-us": f"{each['ts']:.3f}",
            }
            text = text.replace(f'"ts": {json.dumps(each["ts"])}', f'"ts": {times[era]}')
        lines.append(text.replace('"tid"', '\n    "tid"').replace('"args": {', '\n    "args": {\n      '))
    head = {"schemaVersion": 1, **members}
    if era == "relative-us":
        head["baseTimeNanoseconds"] = BASE_NS
    told = ",\n  ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items())
    body = ",\n  ".join(lines)
    return f'\n{{\n  {told},\n  "traceEvents": [\n  {body}\n  ],\n  "traceName": "t.json"\n}}\n'.encode()


ERAS = ("absolute-us", "absolute-float-us", "relative-us")
GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64"
ADD = "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float> >(int)"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def small() -> list[dict[str, Any]]:
    """Two steps of 1,000 µs: a product, an all-reduce half hidden behind an addition, a copy, a launch that comes late."""
    found = []
    for number in range(2):
        at, call = 1000 * number, 10 * number
        found += [
            step(number + 5, at, 990),
            launch(at + 10, call + 1),
            launch(at + 12, call + 2),
            launch(at + 14, call + 3),
            launch(at + 16, call + 4),
            launch(at + 600, call + 5),
            event(
                "cpu_op",
                "aten::mm",
                at + 9,
                5,
                **{"Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"]},
            ),
            kernel(GEMM, at + 20, 180, call + 1),
            kernel(ALL_REDUCE, at + 200, 200, call + 2, stream=20),
            kernel(ADD, at + 300, 150, call + 3),
            event(
                "gpu_memcpy",
                "Memcpy HtoD (Pinned -> Device)",
                at + 440,
                60,
                device=0,
                stream=7,
                correlation=call + 4,
            ),
            kernel(ADD, at + 610, 90, call + 5),
        ]
    return found
