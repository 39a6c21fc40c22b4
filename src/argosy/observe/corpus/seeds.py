"""One small file of every kind that the readers take: what fuzzing and mutation tests begin with."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from argosy.observe.corpus import library, logs, machines
from argosy.observe.corpus.families import FAMILIES, Family
from argosy.observe.corpus.faults import Fault, Pause
from argosy.observe.corpus.job import healthy
from argosy.observe.corpus.kineto import ERAS, write_trace
from argosy.observe.corpus.logs import Life
from argosy.observe.corpus.replay import Replay
from argosy.observe.corpus.table import write_table

_STEP_TIMES = "step,step_time_s\n1,2.01\n2,1.99\n3,2.02\n4,2.00\n5,2.01\n"


def small_family() -> Family:
    """Eight ranks in two stages, on two nodes."""
    large = FAMILIES["megatron-3d"]
    work = replace(large.work, tp=1, pp=2, dp=4, micro_batches=2, ranks_per_node=4, segments=1)
    return replace(large, work=work, steps=2)


def write_seeds(folder: Path) -> list[Path]:
    """Write the files; each is a few kB to 100 kB."""
    folder.mkdir(parents=True, exist_ok=True)
    family, rng = small_family(), np.random.default_rng(7)
    job = healthy(family.work)
    pauses = (Pause(0, 0, 0.5, 0.3, "gc"), Pause(1, 1, 0.5, 0.9, "recompile"))
    fault = replace(Fault.none(family.work.gpus, family.work.pp), pauses=pauses)
    runs = Replay(job, fault, family.noise, rng, family.steps).run()
    found = []
    for run, era in zip(runs[:3], ERAS, strict=True):
        style = replace(family.style, era=era, gz=False, metadata=era != "absolute-us")
        found.append(write_trace(folder / f"trace_rank_{run.rank}.json", run, job, style, 1e-3, 1.0))
    packed = folder / "trace_rank_3.json.gz"
    packed.write_bytes(gzip.compress(found[0].read_bytes(), 6, mtime=0))
    found += [packed, write_table(folder / "operations.parquet", job, runs)]
    text = folder / "operations.csv"
    text.write_text(
        "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,gmc,mb_id\n0,0,0,1,forward-compute,0.01,0.2,0,0,0,0\n0,1,1,1,backward-compute,0.3,0.4,0,0,1,0\n"
    )
    found.append(text)
    life = Life(np.full(12, 2.0), saves={6: 3.0}, restarts={9: (6, 60.0)}, timers={"forward-compute": 0.5})
    for framework in ("megatron", "megatron-2022", "nemo", "torchtitan", "deepspeed"):
        found.append(logs.write_log(framework, folder / f"{framework}.log", job, life, rng))
    found.append(library.write_nccl(folder / "nccl.log", family, (1,)))
    waiting = dict.fromkeys((0, *range(2, family.work.gpus)), 41)
    found.append(
        library.write_watchdog(
            folder / "train.err", waiting, 40, dict.fromkeys(waiting, "ALLREDUCE"), waiting
        )
    )
    library.write_recordings(folder, job, family, 40, (1,), {}, {2: "_all_gather_base"})
    found += sorted(folder.glob("nccl_trace_rank_*"))
    found.append(machines.write_journal(folder / "journal.txt", family, 79, 1))
    found.append(
        machines.write_sacct(
            folder / "sacct.txt", family, [(0.0, 9000.0, "NODE_FAIL"), (9600.0, 200000.0, "COMPLETED")]
        )
    )
    found.append(machines.write_dcgm(folder / "dcgm.prom", family, rng, 1, 0.7))
    found.append(machines.write_nccl_tests(folder / "all_reduce.txt", family, job, 0.5))
    times = folder / "steps.csv"
    times.write_text(_STEP_TIMES)
    return [*found, times, _nsight(folder / "profile.sqlite")]


def _nsight(path: Path) -> Path:
    """The tables of an Nsight Systems export that name kernels, calls and steps."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as base:
        base.executescript(
            "CREATE TABLE StringIds (id INTEGER, value TEXT);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,"
            " correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,"
            " nameId INTEGER);"
            "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER,"
            " globalTid INTEGER);"
        )
        names = ["sm90_xmma_gemm_bf16", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "cudaLaunchKernel"]
        base.executemany("INSERT INTO StringIds VALUES (?, ?)", list(enumerate(names)))
        process, ms = 77 << 24, 1_000_000
        kernels = [(ms * k, ms * k + 900_000, 0, 7, k, process, k % 2, k % 2) for k in range(40)]
        calls = [(ms * k - 9000, ms * k - 4000, process + 1, k, 2) for k in range(40)]
        steps = [(10 * ms * k, 10 * ms * k + 9_990_000, 59, f"step {k}", None, process + 1) for k in range(4)]
        base.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?, ?, ?, ?)", kernels)
        base.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)", calls)
        base.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?)", steps)
        base.commit()
    return path
