"""Files that are cut, spoilt or meant to do harm: nothing crashes, hangs, fills memory or runs."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile import survives

from argosy.observe.corpus.seeds import write_seeds


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_seeds(tmp_path_factory.mktemp("seeds"))


def test_every_seed_is_taken_as_what_it_is(seeds: list[Path]) -> None:
    kinds = {Path(batch.input.path).name: batch.input for batch in survives(seeds)}
    assert {name: each.status for name, each in kinds.items()} == dict.fromkeys(kinds, "read")
    assert all(each.events for each in kinds.values())
    assert len({each.kind for each in kinds.values()}) >= 10


def _cut(share: float) -> Callable[[bytes], bytes]:
    return lambda data: data[: int(len(data) * share)]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda data: b"",
    "one byte": lambda data: data[:1],
    "cut at a third": _cut(1 / 3),
    "cut at two thirds": _cut(2 / 3),
    "cut before its last byte": lambda data: data[:-1],
    "without its beginning": lambda data: data[len(data) // 3 :],
    "zeros in the middle": lambda data: data[: len(data) // 3] + b"\0" * 5000 + data[len(data) // 2 :],
    "bad UTF-8": lambda data: data.replace(b"e", b"\xff\xfe", 50),
    "a byte in ten flipped": lambda data: bytes(b ^ (0x55 if i % 10 == 9 else 0) for i, b in enumerate(data)),
    "lines of Windows": lambda data: data.replace(b"\n", b"\r\n"),
    "one line": lambda data: data.replace(b"\n", b" "),
    "twice": lambda data: data + data,
    "huge numbers": lambda data: data.replace(b"1", b"9" * 25, 200),
    "negative numbers": lambda data: data.replace(b" 1", b" -1").replace(b":1", b":-1"),
    "NaN and infinity": lambda data: data.replace(b"2", b"NaN", 50).replace(b"3", b"Infinity", 50),
    "gzip of a half": lambda data: gzip.compress(data)[: len(gzip.compress(data)) // 2],
    "gzip with a wrong checksum": lambda data: (
        gzip.compress(data)[:-8] + b"\1\2\3\4" + gzip.compress(data)[-4:]
    ),
    "gzip of gzip": lambda data: gzip.compress(gzip.compress(data)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_of_every_kind(seeds: list[Path], tmp_path: Path, damage: str) -> None:
    for seed in seeds:
        (tmp_path / seed.name).write_bytes(DAMAGE[damage](seed.read_bytes()))
    survives([tmp_path])


def test_a_cut_file_still_counts_as_far_as_it_goes(seeds: list[Path], tmp_path: Path) -> None:
    for name in ("trace_rank_2.json", "trace_rank_3.json.gz", "megatron.log"):
        seed = next(each for each in seeds if each.name == name)
        (tmp_path / name).write_bytes(seed.read_bytes()[: int(seed.stat().st_size * 0.8)])
    for batch in survives([tmp_path]):
        assert batch.input.events > 0, batch.input


@pytest.mark.parametrize("size", [1 << 20, pytest.param(300 << 20, marks=pytest.mark.slow)])
def test_decompression_bombs_are_refused(tmp_path: Path, size: int) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = b'{"traceEvents": ['
    with (tmp_path / "bomb.json.gz").open("wb") as file:
        file.write(packer.compress(head))
        for _ in range(size >> 20):
            file.write(packer.compress(b" " * (1 << 20)))
        file.write(packer.flush())
    (batch,) = survives([tmp_path])
    assert batch.input.status in ("partial", "unreadable")
    if size > 256 << 20:
        assert "bomb" in batch.input.problems[0].message


@pytest.mark.parametrize(
    "opening", ["[", '{"a":', '{"traceEvents":[', '{"traceEvents":[{"args":', '{"entries":[{"frames":[']
)
def test_deep_nesting(tmp_path: Path, opening: str) -> None:
    (tmp_path / "deep.json").write_text(opening * 100_000)
    survives([tmp_path])


def test_numbers_that_no_integer_holds(tmp_path: Path) -> None:
    told = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7}
    args = {"stream": 7, "correlation": 2**70, "device": -(2**63), "External id": 10**40}
    times = [1e308, -1e308, 2**63, -(2**63), 2**64, 1e-300, 0, -0.0, 1e19]
    events = [{**told, "ts": ts, "dur": dur, "args": args} for ts in times for dur in times]
    (tmp_path / "huge.json").write_text(
        json.dumps({"baseTimeNanoseconds": 2**80, "distributedInfo": {"rank": 2**70}, "traceEvents": events})
    )
    (tmp_path / "words.json").write_text(
        '{"distributedInfo": {"rank": "zero"}, "traceEvents": [{"ph": "X", "cat": "kernel", "name": 3, "ts": NaN}, '
        '{"ph": "X", "cat": "kernel", "ts": [], "dur": {}, "args": "x"}, 7, null, "x", [], {}]}'
    )
    survives([tmp_path])


def test_a_table_of_one_operation_in_each_replica(tmp_path: Path) -> None:
    """What the fuzzer found: replicas without a time of their own scatter by nothing."""
    (tmp_path / "operations.csv").write_text(
        "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,gmc,mb_id\n"
        "5,0,0,1,forward-compute,0.01,0.2,0,0,0,0\n0,1,1,1,backward-compute,0.3,0.4,0,0,1,0\n"
    )
    survives([tmp_path])


class Runs:
    """A pickle that wants to leave a mark."""

    def __init__(self, way: str) -> None:
        self.way = way

    def __reduce__(self) -> object:
        if self.way == "system":
            return os.system, ("touch /tmp/argosy-pickle-ran",)
        if self.way == "eval":
            return eval, ("__import__('os').environ.__setitem__('ARGOSY_RAN', '1')",)
        return __import__, ("antigravity",)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("way", ["system", "eval", "import"])
def test_pickles_never_run(tmp_path: Path, way: str, protocol: int) -> None:
    mark = Path("/tmp/argosy-pickle-ran")
    mark.unlink(missing_ok=True)
    dump = {
        "version": "2.5",
        "entries": [Runs(way)],
        "pg_config": {},
        "pg_status": {"0": Runs(way)},
        "collective_seq_id": Runs(way),
    }
    (tmp_path / "nccl_trace_rank_0").write_bytes(pickle.dumps(dump, protocol=protocol))
    survives([tmp_path])
    assert not mark.exists() and "ARGOSY_RAN" not in os.environ and "antigravity" not in sys.modules


@pytest.mark.parametrize(
    "stream",
    [
        b"\x80\x02" + b"(" * 200_000 + b".",  # marks without end
        b"\x80\x02]" + b"q\x00h\x00a" * 50_000 + b".",  # a list in itself
        b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.",  # a frame of 8 EiB
        b"\x80\x02B\xff\xff\xff\x7fcollective_seq_id.",  # bytes longer than the file
        b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".",  # a list 100,000 deep
        b"\x80\x02\x8a\xff" + b"\xff" * 255 + b"collective_seq_id.",  # an integer of 255 bytes
        b"\x80\x02cos\nsystem\ncollective_seq_id.",
    ],
)
def test_pickles_that_are_no_data(tmp_path: Path, stream: bytes) -> None:
    (tmp_path / "nccl_trace_rank_0").write_bytes(
        stream[:2] + b"X\x11\x00\x00\x00collective_seq_id0" + stream[2:]
    )
    (tmp_path / "nccl_trace_rank_1").write_bytes(stream)
    survives([tmp_path])


HEADS = {
    "zeros": b"",
    "trace": b'{"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "',
    "log": b" iteration        5/     100 | consumed samples:         1280 | elapsed time per iteration (ms): 5512.3 |\n",
    "metrics": b"# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n",
    "pickle": b"\x80\x02}q\x00X\x11\x00\x00\x00collective_seq_id",
    "sacct": b"JobID|JobName|State|ExitCode|Elapsed|NodeList\n1|a|COMPLETED|0:0|00:06:43|n1\n",
    "csv": b"step,step_time_s\n1,2.0\n",
    "parquet": b"PAR1",
}
_MEASURED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from hostile import survives
from argosy.observe.corpus.seeds import write_seeds
def most():  # of this program alone: ru_maxrss begins at the size of the process that started it
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) >> 10
survives(write_seeds(Path(sys.argv[1], "warm")))
before = most()
for path in sorted(Path(sys.argv[1], "huge").iterdir()):
    survives([path])
    print(path.name, most() - before)
"""


@pytest.mark.parametrize("size", [64 << 20, pytest.param(10 << 30, marks=pytest.mark.slow)])
def test_sparse_files_fill_no_memory(tmp_path: Path, size: int) -> None:
    """Files of 10 GB (64 MB in the quick suite, held to four times their size) that are all zeros behind a good beginning."""
    (tmp_path / "huge").mkdir()
    for kind, head in HEADS.items():
        with (tmp_path / "huge" / kind).open("wb") as file:
            file.write(head)
            file.truncate(size)
    command = [sys.executable, "-c", _MEASURED, str(tmp_path), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    grown = {kind: int(megabytes) for kind, megabytes in (line.split() for line in done.stdout.splitlines())}
    assert len(grown) == len(HEADS)
    assert max(grown.values()) < min(400, size >> 18), f"MB more than before: {grown}"
