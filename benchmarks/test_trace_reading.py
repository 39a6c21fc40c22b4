"""A Kineto trace read and reduced, against `json.load` of the same file, which only parses it: time and memory.

Run `make benchmark`. At full size (471 MB, about 2.1 million events; 1,024 ranks of 20 MB): `python tools/measure_traces`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from argosy.observe.corpus.large_trace import write

SIZE = 60_000_000  # bytes
_MEASURE = """
import json, sys, time
def peak():  # of this program alone: ru_maxrss begins at the size of the process that started it
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
{before}
began, start = peak(), time.process_time()
{work}
print(json.dumps([time.process_time() - start, peak() - began]))
"""
_OURS = (
    "from pathlib import Path; from argosy.observe.readers import kineto; kineto.read(Path(sys.argv[2]))",
    "found = kineto.read(Path(sys.argv[1])); assert found.input.status == 'read'",
)
_PEER = ("pass", "found = json.load(open(sys.argv[1], 'rb'))")


def measured(before: str, work: str, *paths: Path) -> tuple[float, float]:
    """CPU seconds and bytes of memory above what the interpreter and the compiled code take."""
    code = _MEASURE.format(before=before, work=work)
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, paths)], capture_output=True, text=True, check=True
    )
    seconds, size = json.loads(done.stdout)
    return seconds, size


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("traces")
    write(folder / "large.json", SIZE)
    write(folder / "small.json", 1)
    return folder / "large.json", folder / "small.json"


def test_a_trace_against_json(benchmark, traces):
    ours = benchmark.pedantic(measured, (*_OURS, *traces), rounds=1)
    peer = measured(*_PEER, *traces)
    ours = (
        ours[0],
        max(ours[1], 1e6),
    )  # what fits into memory that the interpreter already had counts as a megabyte
    benchmark.extra_info |= {
        "megabytes": SIZE / 1e6,
        "times faster": peer[0] / ours[0],
        "times less memory": peer[1] / ours[1],
    }
    assert peer[0] / ours[0] > 2
    assert peer[1] / ours[1] > 4
