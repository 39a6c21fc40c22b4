"""What a job of the testbed leaves behind for `argosy diagnose`: profiler traces of all ranks, a log as Megatron writes it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


class Recorder:
    """Profiles the steps of one rank after the first, and notes their forward and backward seconds.

    `folder` None: nothing is profiled.
    """

    def __init__(self, folder: Path | None, rank: int, steps: int) -> None:
        self.forward_s: list[float] = []
        self.backward_s: list[float] = []
        self.ended: list[float] = []
        self._profiler: Any = None
        if folder is None:
            return
        from torch.profiler import ProfilerActivity, profile, schedule

        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"rank-{rank}.pt.trace.json.gz"
        self._profiler = profile(
            activities=[ProfilerActivity.CPU],
            schedule=schedule(wait=0, warmup=1, active=steps - 1, repeat=1),
            on_trace_ready=lambda found: found.export_chrome_trace(str(path)),
            record_shapes=True,
        )
        self._profiler.start()

    def step(self, forward_s: float, backward_s: float) -> None:
        """A step has ended."""
        self.forward_s.append(forward_s)
        self.backward_s.append(backward_s)
        self.ended.append(time.time())
        if self._profiler is not None:
            self._profiler.step()

    def end(self) -> dict[str, Any]:
        """Close the profile; what the log needs of this rank."""
        if self._profiler is not None:
            self._profiler.stop()
        return {"forward_s": self.forward_s, "backward_s": self.backward_s, "ended_s": self.ended}


def write_log(path: Path, case: Mapping[str, Any], every: Sequence[Mapping[str, Any]]) -> None:
    """A log in Megatron-LM's words, its timers over all ranks (`--timing-log-option all`), of what all ranks noted."""
    told = {
        "world_size": len(every),
        "data_parallel_size": 1 if case["kind"] == "pipeline" else len(every),
        "pipeline_model_parallel_size": len(every) if case["kind"] == "pipeline" else 1,
        "tensor_model_parallel_size": 1,
        "num_layers": case["shape"]["layers"],
        "hidden_size": case["shape"]["hidden"],
        "num_attention_heads": case["shape"]["heads"],
        "seq_length": case["shape"]["context"],
        "global_batch_size": case["batch"],
        "micro_batch_size": case["batch"] // case.get("micro_batches", len(every)),
    }
    lines = [
        "------------------------ arguments ------------------------",
        *(f"  {name} {'.' * (48 - len(name))} {value}" for name, value in told.items()),
        "-------------------- end of arguments ---------------------",
    ]
    first, steps = every[0], len(every[0]["losses"])
    for step in range(1, steps):
        seconds = first["ends_s"][step + 1] - first["ends_s"][step]
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(first["record"]["ended_s"][step]))
        lines.append(
            f" [{stamp}] iteration {step + 1:8d}/{steps:8d} | consumed samples: {(step + 1) * case['batch']:12d} | "
            f"elapsed time per iteration (ms): {1e3 * seconds:.1f} | learning rate: 1.000000E-03 | "
            f"global batch size: {case['batch']:5d} | lm loss: {first['losses'][step]:.6E} |"
        )
        lines.append("times across ranks (ms):")
        for name, key in (("forward-compute", "forward_s"), ("backward-compute", "backward_s")):
            lines.append(f"  {name}:")
            lines += [
                f"     rank {rank:2d}: {1e3 * one['record'][key][step]:.2f}" for rank, one in enumerate(every)
            ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
