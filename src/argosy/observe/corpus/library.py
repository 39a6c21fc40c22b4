"""What NCCL and PyTorch's watchdog say, and what the flight recorder dumps: of a job that runs, or of one that hangs."""

# ruff: noqa: E501  lines of other programs are as long as they are

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from argosy.observe.corpus.families import Family
from argosy.observe.corpus.job import Healthy, group_names
from argosy.observe.corpus.kineto import EPOCH_S

TIMEOUT_MS = 600_000
NUMEL = 4_194_304


def write_nccl(path: Path, family: Family, sockets: Iterable[int] = ()) -> Path:
    """NCCL_DEBUG=INFO of the start: who is where, and over what channels run. `sockets`: nodes that found no InfiniBand."""
    path.write_text("\n".join(_nccl(family, set(sockets))) + "\n", encoding="utf-8")
    return path


def _nccl(family: Family, sockets: set[int]) -> Iterator[str]:
    gpus, per_node = family.work.gpus, family.work.ranks_per_node
    for rank in range(gpus):
        node, local = divmod(rank, per_node)
        tag = f"{family.node_of(rank)}:{4000 + rank}:{4000 + rank} [{local}] NCCL INFO "
        if local == 0:
            yield tag + "NCCL version 2.26.2+cuda12.8"
        if node in sockets:
            yield tag + "NET/IB : No device found."
            yield tag + "NET/Socket : Using [0]eth0:10.0.0.4<0>"
            yield tag + "Using network Socket"
        else:
            yield tag + f"NET/IB : Using [0]mlx5_{local}:1/IB [RO]; OOB eth0:10.0.0.{node + 4}<0>"
            yield tag + "Using network IB"
        yield tag + (
            f"ncclCommInitRankConfig comm 0x55{rank:06x}d0 rank {rank} nranks {gpus} cudaDev {local} nvmlDev {local} "
            f"busId {0x1A000 + local * 0x1000:x} commId 0xc1a7f5c1e1c5a7f - Init COMPLETE"
        )
        after = (rank + 1) % gpus
        across = after // per_node != node
        how = "P2P/CUMEM"
        if across:
            how = "NET/Socket/0" if {node, after // per_node} & sockets else f"NET/IB/{local}/GDRDMA"
        sends = " [send]" if across else ""
        yield tag + f"Channel 00/0 : {rank}[{local}] -> {after}[{after % per_node}]{sends} via {how}"
        yield tag + f"Connected all rings, use ring PXN {int(not sockets)} GDR {int(not sockets)}"


def write_watchdog(
    path: Path, ranks: Iterable[int], sequence: int, operations: dict[int, str], enqueued: dict[int, int]
) -> Path:
    """The watchdogs of ranks whose collective `sequence` did not end. `operations`: what each calls;
    `enqueued`: the last work it has queued."""
    lines = []
    for rank in ranks:
        micro = 61_447 + 331 * rank
        stamp = datetime.fromtimestamp(EPOCH_S + 4000, UTC).strftime("%m%d %H:%M:%S")
        tag = f"[rank{rank}]:[E{stamp}.{micro:06d}123 ProcessGroupNCCL.cpp"
        work = f"WorkNCCL(SeqNum={sequence}, OpType={operations[rank]}, NumelIn={NUMEL}, NumelOut={NUMEL}, Timeout(ms)={TIMEOUT_MS})"
        lines.append(
            f"{tag}:632] [Rank {rank}] Watchdog caught collective operation timeout: {work} ran for {TIMEOUT_MS + 3 + rank} milliseconds before timing out."
        )
        lines.append(
            f"{tag}:2271] [PG ID 0 PG GUID 0(default_pg) Rank {rank}]  failure detected by watchdog at work sequence id: {sequence} PG status: last enqueued work: {enqueued[rank]}, last completed work: {sequence - 1}"
        )
        lines.append(
            f"{tag}:684] [Rank {rank}] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data."
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_recordings(
    folder: Path,
    job: Healthy,
    family: Family,
    stuck: int,
    missing: Iterable[int],
    behind: dict[int, int],
    wrong: dict[int, str],
) -> None:
    """One dump per rank, but for `missing`: all-reduces of the world up to number `stuck`, which does not end.

    `behind`: ranks that had queued only so many; `wrong`: ranks whose last one is of another operation.
    """
    world = tuple(range(family.work.gpus))
    for rank in world:
        if rank in set(missing):
            continue
        last = behind.get(rank, stuck + 1)
        entries = [
            _entry(rank, number, stuck, wrong.get(rank) if number == stuck else None)
            for number in range(max(1, last - 20), last + 1)
        ]
        pg = {
            group_names(job.work)["world", world]: {
                "name": "0",
                "desc": "default_pg",
                "ranks": str(list(world)),
            }
        }
        status = {
            "0": {
                "last_enqueued_collective": last,
                "last_started_collective": min(last, stuck),
                "last_completed_collective": min(last, stuck - 1),
            }
        }
        dump = {"version": "2.5", "entries": entries, "pg_config": pg, "pg_status": status}
        (folder / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(dump, protocol=2))


def _entry(rank: int, number: int, stuck: int, other: str | None) -> dict[str, Any]:
    done = number < stuck
    created = int((EPOCH_S + 3300 + number * 0.8) * 1e9) + 1000 * rank
    return {
        "frames": [{"name": "step", "filename": "train.py", "line": 214}],
        "record_id": number,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "collective_seq_id": number,
        "p2p_seq_id": 0,
        "op_id": number,
        "profiling_name": f"nccl:{other or 'all_reduce'}",
        "time_created_ns": created,
        "input_sizes": [[1024, 1024]] if other else [[4096, 1024]],
        "input_dtypes": ["BFloat16"],
        "output_sizes": [[1024, 1024]] if other else [[4096, 1024]],
        "output_dtypes": ["BFloat16"],
        "state": "completed" if done else ("started" if number == stuck else "scheduled"),
        "time_discovered_started_ns": created + 90_000 if done else None,
        "time_discovered_completed_ns": created + 5_000_000 if done else None,
        "retired": done,
        "timeout_ms": TIMEOUT_MS,
        "is_p2p": False,
    }
