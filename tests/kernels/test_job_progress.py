"""A running job's saves: what it waits for."""

from __future__ import annotations

import numpy as np
import pytest

from argosy.kernels.progress import advance
from argosy.kernels.records import JOB, RUN

COMPUTE, COPY, WRITE = 1.0, 0.5, 2.0


def _job(**fields: float) -> np.record:
    job = np.zeros(1, JOB).view(np.recarray)[0]
    for name, value in {
        "work_s": 100.0,
        "interval_s": COMPUTE,
        "blocking_s": COPY,
        "persist_s": WRITE,
        "storage_every": 1,
        **fields,
    }.items():
        job[name] = value
    return job


def _state() -> np.record:
    state = np.zeros(1, RUN).view(np.recarray)[0]
    state["speed"] = state["pace"] = 1.0
    return state


def test_a_save_waits_for_the_one_before_and_then_copies() -> None:
    """Writes longer than the interval: a period is the write and the copy, not the longer of the two."""
    job, state = _job(), _state()
    used, ended = advance(job, state, COMPUTE + COPY + 4 * (WRITE + COPY))
    assert not ended and used == pytest.approx(11.5)
    assert state.now[0] == pytest.approx(5 * COMPUTE)
    assert state.now[1] == pytest.approx(COPY + 4 * (WRITE - COMPUTE + COPY))


def test_a_write_that_is_slowed_while_a_save_waits_for_it_is_waited_for() -> None:
    """Half its pace from the moment that the wait begins: 2 s for what is left of it instead of 1, before the next counts."""
    job, state = _job(), _state()
    advance(
        job, state, COMPUTE + COPY + COMPUTE + 0.1
    )  # the second save has begun; 0.9 s of writing are left
    state["pace"] = 0.5
    advance(job, state, 1.75)
    assert state.stored[0] == 0.0  # as yet nothing is safe
    advance(job, state, 0.1)
    assert state.stored[0] == pytest.approx(COMPUTE)


def test_a_write_shorter_than_the_interval_is_not_waited_for() -> None:
    job, state = _job(persist_s=0.9), _state()
    advance(job, state, 4 * (COMPUTE + COPY))
    assert state.now[0] == pytest.approx(4 * COMPUTE) and state.now[1] == pytest.approx(4 * COPY)
