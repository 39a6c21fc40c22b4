"""What frameworks print while they train: Megatron-LM of today and of 2022, NeMo, torchtitan, DeepSpeed."""

# ruff: noqa: E501  lines of other programs are as long as they are

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from argosy.observe.corpus.job import Healthy
from argosy.observe.corpus.kineto import EPOCH_S


@dataclass(frozen=True)
class Life:
    """A run as its log tells it: seconds of every iteration (n,), and by iteration what else took time: `saves` s,
    `restarts` {iteration at which it died: (iteration it went on from, seconds until then)}, `collections` and `compilations` s.
    `timers`: name → s of the mean step; `series`: name → s by iteration (n,), beside them; `every`: iterations per line; `recompute`: none, selective or full; `mfu`: what is printed instead of the true one.
    """

    step_s: np.ndarray
    saves: Mapping[int, float] = field(default_factory=dict)
    restarts: Mapping[int, tuple[int, float]] = field(default_factory=dict)
    collections: Mapping[int, float] = field(default_factory=dict)
    compilations: Mapping[int, float] = field(default_factory=dict)
    timers: Mapping[str, float] = field(default_factory=dict)
    series: Mapping[str, np.ndarray] = field(default_factory=dict)
    every: int = 1
    recompute: str = "none"
    mfu: float | None = None


@dataclass(frozen=True)
class Moment:
    """Something that a log reports: `kind` is start, load, step, save, end."""

    kind: str
    time_s: float
    iteration: int
    seconds: float = 0.0


def moments(life: Life) -> Iterator[Moment]:
    """The run in order of time, what was lost to restarts done again."""
    now, iteration, first, line_s, lines = EPOCH_S, 0, 0, 0.0, 0
    died: set[int] = set()
    yield Moment("start", now, 0)
    while iteration < len(life.step_s):
        if iteration in life.restarts and iteration not in died:
            died.add(iteration)
            first, seconds = life.restarts[iteration]
            yield Moment("end", now, iteration)
            now += seconds
            iteration, line_s, lines = first, 0.0, 0
            yield Moment("start", now, iteration)
            yield Moment("load", now, iteration, 0.2 * seconds)
        seconds = float(life.step_s[iteration])
        iteration += 1
        seconds += life.collections.get(iteration, 0.0) + life.compilations.get(iteration, 0.0)
        now += seconds
        line_s, lines = line_s + seconds, lines + 1
        if iteration % life.every == 0:
            yield Moment("step", now, iteration, line_s / lines)
            line_s, lines = 0.0, 0
        if iteration in life.saves:
            yield Moment("save", now, iteration, life.saves[iteration])
            now += life.saves[iteration]


def write_log(framework: str, path: Path, job: Healthy, life: Life, rng: np.random.Generator) -> Path:
    """Write a training log as `framework` prints it."""
    path.write_text("\n".join(_WRITERS[framework](job, life, rng)) + "\n", encoding="utf-8")
    return path


def _stamp(time_s: float, form: str) -> str:
    return datetime.fromtimestamp(time_s, UTC).strftime(form)


def _loss(iteration: int, rng: np.random.Generator) -> float:
    return float(1.8 + 8.6 * (1 + iteration / 20) ** -0.5 + rng.normal(0, 0.01))


def _arguments(job: Healthy, life: Life, modern: bool) -> Iterator[str]:
    work = job.work
    given: dict[str, object] = {
        "bf16": True,
        "data_parallel_size": work.dp,
        "global_batch_size": work.batch,
        "hidden_size": job.hidden,
        "log_interval": life.every,
        "micro_batch_size": work.micro_batch,
        "num_layers": job.layer_count,
        "padded_vocab_size": job.vocabulary,
        "pipeline_model_parallel_size": work.pp,
        "seq_length": work.sequence,
        "tensor_model_parallel_size": work.tp,
        "train_iters": len(life.step_s),
        "virtual_pipeline_model_parallel_size": work.vp if work.vp > 1 else None,
        "world_size": work.gpus,
    }
    if modern:
        given["recompute_granularity"] = None if life.recompute == "none" else life.recompute
        given["recompute_method"] = "uniform" if life.recompute == "full" else None
        given["recompute_num_layers"] = 1 if life.recompute == "full" else None
    else:
        given["checkpoint_activations"] = life.recompute == "full"
    yield "------------------------ arguments ------------------------"
    for name, value in sorted(given.items()):
        yield f"  {name} {'.' * (47 - len(name))} {value}"
    yield "-------------------- end of arguments ---------------------"


def _megatron(job: Healthy, life: Life, rng: np.random.Generator) -> Iterator[str]:
    modern = True
    yield from _megatron_of(job, life, rng, modern)


def _megatron_2022(job: Healthy, life: Life, rng: np.random.Generator) -> Iterator[str]:
    yield from _megatron_of(job, life, rng, False)


def _megatron_of(job: Healthy, life: Life, rng: np.random.Generator, modern: bool) -> Iterator[str]:
    work, total = job.work, len(life.step_s)
    attention = 12 * job.layer_count * job.hidden * work.sequence / (2 if modern else 1)
    flops = (6 * job.parameters + attention) * job.tokens / work.gpus
    flops *= 1 if modern or life.recompute == "none" else 4 / 3
    for at in moments(life):
        if at.kind == "start":
            yield f"using world size: {work.gpus}, data-parallel-size: {work.dp}, tensor-model-parallel size: {work.tp}, pipeline-model-parallel size: {work.pp} "
            yield from _arguments(job, life, modern)
            yield f"training ...\n[before the start of training step] datetime: {_stamp(at.time_s, '%Y-%m-%d %H:%M:%S')} "
        elif at.kind == "load":
            yield f" loading distributed checkpoint from /checkpoints at iteration {at.iteration}"
            yield f"  successfully loaded checkpoint from /checkpoints [ t 1/{work.tp}, p 1/{work.pp} ] at iteration {at.iteration}"
        elif at.kind == "save":
            yield f"saving checkpoint at iteration {at.iteration:7d} to /checkpoints" + (
                " in torch_dist format" if modern else ""
            )
            yield f"  successfully saved checkpoint from iteration {at.iteration:7d} to /checkpoints" + (
                f" [ t 1/{work.tp}, p 1/{work.pp} ]" if modern else ""
            )
            if modern:
                yield "(min, max) time across ranks (ms):"
                yield f"    save-checkpoint ................................: ({at.seconds * 1e3 - 3:.2f}, {at.seconds * 1e3:.2f})"
            else:
                yield f"time (ms) | save-checkpoint: {at.seconds * 1e3:.2f}"
        elif at.kind == "step":
            stamp = f" [{_stamp(at.time_s, '%Y-%m-%d %H:%M:%S')}]" if modern else ""
            rate = f" throughput per GPU (TFLOP/s/GPU): {flops / at.seconds / 1e12:.1f} |" if modern else ""
            yield (
                f"{stamp} iteration {at.iteration:8d}/{total:8d} | consumed samples: {at.iteration * work.batch:12d} | "
                f"elapsed time per iteration (ms): {at.seconds * 1e3:.1f} |{rate} learning rate: 1.500E-04 | "
                f"global batch size: {work.batch:5d} | lm loss: {_loss(at.iteration, rng):.6E} | loss scale: 1.0 | "
                f"grad norm: {rng.uniform(0.5, 1.5):.3f} | number of skipped iterations: {0:3d} | number of nan iterations: {0:3d} |"
            )
            if life.timers or life.series:
                scale = at.seconds / float(np.mean(life.step_s))
                timers = {name: value * scale * 1e3 for name, value in life.timers.items()}
                timers |= {name: float(value[at.iteration - 1]) * 1e3 for name, value in life.series.items()}
                if modern:
                    yield "(min, max) time across ranks (ms):"
                    for name, ms in timers.items():
                        yield f"    {name} {'.' * (47 - len(name))}: ({ms * 0.98:.2f}, {ms:.2f})"
                else:
                    yield "time (ms) | " + " | ".join(f"{name}: {ms:.2f}" for name, ms in timers.items())


def _nemo(job: Healthy, life: Life, rng: np.random.Generator) -> Iterator[str]:
    work, total = job.work, len(life.step_s)
    flops = (6 * job.parameters + 6 * job.layer_count * job.hidden * work.sequence) * job.tokens / work.gpus
    yield f"[NeMo I {_stamp(EPOCH_S, '%Y-%m-%d %H:%M:%S')} megatron_init:310] Rank 0 has data parallel group: {list(range(0, work.dp * work.tp, work.tp))}"
    settings = {"tensor_model_parallel_size": work.tp, "pipeline_model_parallel_size": work.pp,
                "virtual_pipeline_model_parallel_size": work.vp if work.vp > 1 else None,
                "global_batch_size": work.batch, "micro_batch_size": work.micro_batch, "seq_length": work.sequence,
                "num_layers": job.layer_count, "hidden_size": job.hidden}  # fmt: skip
    yield "[NeMo I config] " + ", ".join(f"{name}={value}" for name, value in settings.items())
    for at in moments(life):
        stamp = _stamp(at.time_s, "%Y-%m-%d %H:%M:%S")
        if at.kind == "save":
            yield f"[NeMo I {stamp} nemo_logging:393] Global Checkpoint Save : Rank: 0 : Iteration: {at.iteration} : Start time: {at.time_s:.3f}s : Save duration: {at.seconds:.3f}s"
        elif at.kind == "load":
            yield f"[NeMo I {stamp} nemo_logging:393] Global Checkpoint Load : Rank : 0 : Start time : {at.time_s:.3f}s : Time spent in load_checkpoint: {at.seconds:.3f}s"
        elif at.kind == "step":
            yield (
                f"Training epoch 0, iteration {at.iteration - 1}/{total - 1} | lr: 1.5e-04 | global_batch_size: {work.batch} | "
                f"global_step: {at.iteration - 1} | reduced_train_loss: {_loss(at.iteration, rng):.3f} | "
                f"train_step_timing in s: {at.seconds:.4g} | TFLOPS_per_GPU: {flops / at.seconds / 1e12:.3e} | "
                f"consumed_samples: {at.iteration * work.batch}"
            )


def _torchtitan(job: Healthy, life: Life, rng: np.random.Generator) -> Iterator[str]:
    work = job.work
    per_token = 6 * job.parameters + 12 * job.layer_count * job.hidden * work.sequence

    def said(time_s: float, text: str) -> str:
        return f"[rank0]:[titan] {_stamp(time_s, '%Y-%m-%d %H:%M:%S')},{int(time_s * 1000) % 1000:03d} - root - INFO - {text}"

    for at in moments(life):
        if at.kind == "start":
            yield said(at.time_s, f"Starting job: {work.model} training")
            mesh = {"pp": work.pp, "dp_shard": work.dp, "tp": work.tp}
            mesh = {name: size for name, size in mesh.items() if size > 1}
            yield said(
                at.time_s, f"Building {len(mesh)}-D device mesh with {list(mesh)}, {list(mesh.values())}"
            )
            yield said(
                at.time_s,
                f"\x1b[34mModel llama3 {work.model} \x1b[31msize: {job.parameters + job.vocabulary * job.hidden:,.0f} total parameters\x1b[39m",
            )
            yield said(
                at.time_s,
                f"Trainer is initialized with local batch size {work.micro_batch}, global batch size {work.batch}, gradient accumulation steps {work.micro_batches}, sequence length {work.sequence}, total steps {len(life.step_s)} (warmup 200)",
            )
            yield said(at.time_s, f"Training starts at step {at.iteration + 1}")
        elif at.kind == "save":
            yield said(at.time_s, "Saving the checkpoint (or staging if async is enabled).")
            yield said(at.time_s + at.seconds, f"[GC] GC collection for checkpoint. took {0.02:.2f} seconds")
            yield said(
                at.time_s + at.seconds,
                f"Finished saving the checkpoint (or staging if async is enabled)in {at.seconds:.2f} seconds.",
            )
        elif at.kind == "load":
            yield said(at.time_s, f"Loading the checkpoint from /checkpoints/step-{at.iteration}.")
            yield said(
                at.time_s + at.seconds, f"Finished loading the checkpoint in {at.seconds:.2f} seconds."
            )
        elif at.kind == "step":
            tps = job.tokens / at.seconds / work.gpus
            tflops = tps * per_token / 1e12
            mfu = tps * per_token / job.peak_flops * 100 if life.mfu is None else 100 * life.mfu
            if at.iteration in life.collections:
                yield said(
                    at.time_s,
                    f"[GC] Performing periodic GC collection took {life.collections[at.iteration]:.2f} seconds",
                )
            if at.iteration in life.compilations:
                yield f"W{_stamp(at.time_s, '%m%d %H:%M:%S')}.123000 4021 site-packages/torch/_dynamo/convert_frame.py:861] [0/8] torch._dynamo hit config.recompile_limit (8)"
            yield said(
                at.time_s,
                f"\x1b[31mstep: {at.iteration:2}  \x1b[32mloss: {_loss(at.iteration, rng):7.4f}  \x1b[38;2;180;60;0mgrad_norm: "
                f"{rng.uniform(0.5, 1.5):7.4f}  \x1b[38;2;54;234;195mmemory: 59.68GiB(62.82%)  \x1b[34mtps: {round(tps):,}  "
                f"\x1b[36mtflops: {tflops:,.2f}  \x1b[35mmfu: {mfu:.2f}%\x1b[39m",
            )
    yield said(at.time_s, "Training completed")


def _deepspeed(job: Healthy, life: Life, rng: np.random.Generator) -> Iterator[str]:
    work = job.work

    def said(time_s: float, where: str, text: str) -> str:
        return (
            f"[{_stamp(time_s, '%Y-%m-%d %H:%M:%S')},{int(time_s * 1000) % 1000:03d}] [INFO] [{where}] {text}"
        )

    for at in moments(life):
        if at.kind == "start":
            yield said(at.time_s, "comm.py:652:init_distributed", "cdb=None")
            for name, value in {"train_batch_size": work.batch, "train_micro_batch_size_per_gpu": work.micro_batch,
                                "gradient_accumulation_steps": work.micro_batches, "world_size": work.gpus,
                                "zero_optimization_stage": work.zero}.items():  # fmt: skip
                yield said(at.time_s, "config.py:997:print", f"  {name} {'.' * (30 - len(name))} {value}")
        elif at.kind == "save":
            yield said(
                at.time_s,
                "logging.py:96:log_dist",
                f"[Rank 0] [Torch] Checkpoint global_step{at.iteration} is about to be saved!",
            )
            yield said(
                at.time_s + at.seconds,
                "torch_checkpoint_engine.py:33:commit",
                f"[Torch] Checkpoint global_step{at.iteration} is ready now!",
            )
        elif at.kind == "load":
            yield said(
                at.time_s,
                "torch_checkpoint_engine.py:27:load",
                f"[Torch] Loading checkpoint from /checkpoints/global_step{at.iteration}/mp_rank_00_model_states.pt...",
            )
            yield said(
                at.time_s + at.seconds,
                "torch_checkpoint_engine.py:29:load",
                f"[Torch] Loaded checkpoint from /checkpoints/global_step{at.iteration}/mp_rank_00_model_states.pt.",
            )
        elif at.kind == "step":
            rate = work.batch / at.seconds
            yield said(
                at.time_s,
                "logging.py:96:log_dist",
                f"[Rank 0] step={at.iteration}, skipped=0, lr=[0.00015], mom=[(0.9, 0.95)]",
            )
            yield f"steps: {at.iteration} loss: {_loss(at.iteration, rng):.4f} iter time (s): {at.seconds:.3f} samples/sec: {rate:.3f}"
            yield said(
                at.time_s,
                "timer.py:260:stop",
                f"epoch=0/micro_step={at.iteration * work.micro_batches}/global_step={at.iteration}, RunningAvgSamplesPerSec={rate:.6f}, "
                f"CurrSamplesPerSec={rate:.6f}, MemAllocated=31.21GB, MaxMemAllocated=62.4GB",
            )


_WRITERS: dict[str, Callable[[Healthy, Life, np.random.Generator], Iterator[str]]] = {
    "megatron": _megatron,
    "megatron-2022": _megatron_2022,
    "nemo": _nemo,
    "torchtitan": _torchtitan,
    "deepspeed": _deepspeed,
}
