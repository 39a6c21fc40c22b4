"""Where chunks run: this process, processes of this machine, a Dask cluster, the ranks of an MPI job."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from argosy.facts import FactError

PATIENCE = "20s"  # that a Dask scheduler has to answer
KINDS = "processes, processes:N, none, dask:ADDRESS or mpi"


@contextmanager
def executor(kind: str) -> Iterator[tuple[Executor | None, int]]:
    """The executor that `kind` names, with its number of workers, for as long as the context lasts.

    `processes[:N]`: N new Python processes (default: the cores); `none`: this process; `dask:ADDRESS`: a running
    scheduler, such as dask:tcp://10.0.0.1:8786; `mpi`: the ranks of `mpiexec -n N python -m mpi4py.futures -m argosy
    sweep …`. FactError for other names, and where the library or the cluster is not there.
    """
    name, _, detail = kind.partition(":")
    if kind == "none":
        yield None, 1
    elif name == "processes" and (not detail or (detail.isdecimal() and int(detail) > 0)):
        yield from _processes(int(detail) if detail else os.cpu_count() or 1)
    elif name == "dask" and detail:
        yield from _dask(detail)
    elif kind == "mpi":
        yield from _mpi()
    else:
        raise FactError(f"no executor {kind!r}; write {KINDS}")


def _processes(workers: int) -> Iterator[tuple[Executor, int]]:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # A forked child would share the parent's threads' locks: numerical libraries have threads.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield pool, workers


def _dask(address: str) -> Iterator[tuple[Executor, int]]:
    try:
        from distributed import Client
    except ImportError:
        raise FactError("Dask is not installed: pip install 'argosy[dask]'") from None
    try:
        connect: Any = Client
        client = connect(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise FactError(f"no Dask scheduler answers at {address} ({error})") from None
    with client:
        workers = sum(client.nthreads().values())
        yield client.get_executor(pure=False), max(workers, 1)


def _mpi() -> Iterator[tuple[Executor, int]]:
    try:
        from mpi4py import MPI
        from mpi4py.futures import MPIPoolExecutor
    except (ImportError, RuntimeError):
        raise FactError("MPI is not there: pip install 'argosy[mpi]', and an MPI library") from None
    ranks = MPI.COMM_WORLD.Get_size()
    if ranks < 2:
        raise FactError(
            "one MPI rank has nobody to hand work to: mpiexec -n 3 python -m mpi4py.futures -m argosy sweep …"
        )
    with MPIPoolExecutor() as pool:
        yield pool, ranks - 1
