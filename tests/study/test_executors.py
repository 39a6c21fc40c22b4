"""The same study over processes, a real Dask cluster and a real MPI job: the same bytes; workers and jobs killed."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sweep_cases import STRUCTURE, content, study_file

from argosy.cli.main import run as command
from argosy.facts import FactError
from argosy.study.axes import read_study
from argosy.study.executors import executor
from argosy.study.sweep import sweep

PATIENCE = 180  # s: what a loaded machine may need for a cluster to start and to finish


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Path:
    return study_file(tmp_path_factory.mktemp("study"), STRUCTURE)


@pytest.fixture(scope="module")
def truth(study) -> bytes:
    sweep(read_study(study), study.parent / "truth")
    return content(study.parent / "truth")


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def stop(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=30)
    assert process.stdout is not None
    process.stdout.close()


def argosy(*words: str) -> list[str]:
    return ["-m", "argosy", "sweep", *words]


def chunks(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.glob("chunk-*.parquet")}


def wait_for(condition, what: str, of: subprocess.Popen[str] | None = None) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen"
        assert of is None or of.poll() is None or condition(), f"it ended before {what}"
        time.sleep(0.02)


def test_processes_give_the_bytes_of_one_process(study, truth, tmp_path):
    assert command(["sweep", str(study), "--executor", "processes:2", "--output", str(tmp_path / "r")]) == 0
    assert content(tmp_path / "r") == truth


def test_a_dask_worker_killed_in_the_middle_loses_nothing(study, truth, tmp_path):
    scheduler = start(
        "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1"
    )
    workers: list[subprocess.Popen[str]] = []
    try:
        address = None
        assert scheduler.stdout is not None
        for line in scheduler.stdout:
            if found := re.search(r"Scheduler at:\s*(tcp://\S+)", line):
                address = found[1]
                break
        assert address
        for _ in range(2):
            workers.append(
                start(
                    "-m",
                    "distributed.cli.dask_worker",
                    address,
                    "--no-nanny",
                    "--no-dashboard",
                    "--nthreads",
                    "1",
                )
            )
        folder = tmp_path / "r"
        running = start(*argosy(str(study), "--executor", f"dask:{address}", "--output", str(folder)))
        try:
            wait_for(lambda: chunks(folder), "the first chunk", running)
            kept = chunks(folder)
            stop(workers.pop())
            assert running.wait(timeout=PATIENCE) == 0
        finally:
            stop(running)
        assert content(folder) == truth
        assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
    finally:
        for process in (*workers, scheduler):
            stop(process)


def mpi(study: Path, folder: Path, *more: str) -> subprocess.Popen[str]:
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if mpiexec is None:
        pytest.skip("no mpiexec on this machine (pip install mpich)")
    words = [*argosy(str(study), "--executor", "mpi", "--output", str(folder)), *more]
    return subprocess.Popen(
        [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", *words],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip


def test_an_mpi_job_killed_continues_with_resume(study, truth, tmp_path):
    folder = tmp_path / "r"
    first = mpi(study, folder)
    try:
        wait_for(lambda: chunks(folder), "the first chunk", first)
    finally:
        stop(first)
    kept = chunks(folder)
    assert kept
    again = mpi(study, folder, "--resume")
    try:
        told, _ = again.communicate(timeout=PATIENCE)
    finally:
        stop(again)
    assert again.returncode == 0, told
    assert content(folder) == truth
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())


def test_executors_that_are_not_there_are_told(monkeypatch):
    monkeypatch.setattr("argosy.study.executors.PATIENCE", "1s")
    for kind, words in (
        ("dask:tcp://127.0.0.1:9", "no Dask scheduler answers"),
        ("mpi", "one MPI rank"),
        ("x", "write"),
    ):
        with pytest.raises(FactError, match=words), executor(kind):
            pass


@pytest.mark.slow
def test_killed_at_random_200_times_it_ends_with_the_same_bytes(study, truth, tmp_path):
    """kill −9 at random moments, then --resume, until 200 kills are done: every start ends with whole chunks only."""
    chance = random.Random(0)
    kills, rounds = 0, 0
    while kills < 200:
        folder = tmp_path / f"r{rounds}"
        rounds += 1
        while True:
            process = start(*argosy(str(study), "--executor", "none", "--resume", "--output", str(folder)))
            try:
                process.wait(timeout=chance.uniform(0.2, 6.0))
            except subprocess.TimeoutExpired:
                kills += 1
            else:
                assert process.returncode == 0
                break
            finally:
                stop(process)
        assert content(folder) == truth
        shutil.rmtree(folder)
