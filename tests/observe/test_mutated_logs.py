"""Logs cut, mixed and overwritten at random: whatever comes of it, readers answer."""
# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pytest
import test_log_readers as others
import test_prometheus_readers as metrics
import test_training_logs as training

from argosy.observe.goodput import goodput
from argosy.observe.readers import (
    nccl_messages,
    nccl_tests,
    prometheus_text,
    sacct,
    step_times,
    training_log,
    xid,
)

SEEDS = {
    training_log: [training.MEGATRON, training.OLDER, training.TITAN, training.NEMO, training.DEEPSPEED, training.ATORCH, training.HUGGING_FACE],
    nccl_messages: [others.INFO, others.HANG],
    xid: ["\n".join(others.KERNEL)],
    nccl_tests: list(others.TABLES.values()),
    prometheus_text: [metrics.PAGE],
    sacct: ["JobID|State|Start|End|NodeList|AllocTRES\n1_[1-3]|CANCELLED by 1|2026-03-01T12:00:00|Unknown|n[1-3,7]|gres/gpu=8\n1.batch|FAILED||||\n"],
    step_times: ["iteration,step_time_ms,rank,tokens\n1,100,0,5\n1,120,1,5\n2,110,0,5\n"],
}  # fmt: skip
NASTY = [
    b"\0",
    b"\xff",
    b"\n",
    b"\r",
    b"|",
    b":",
    b"9" * 400,
    b"nan",
    b"-1",
    b"1e999",
    b"\x1b[",
    "²".encode(),
    b"[",
    b"(",
    b'"',
    b"{",
    b"\\",
]
ROUNDS = 60


@pytest.mark.parametrize("reader", SEEDS, ids=lambda reader: reader.KIND)
def test_mutated(reader, tmp_path):
    random = np.random.default_rng(11)
    path = tmp_path / "a"
    for _ in range(ROUNDS):
        data = bytearray(random.choice(np.array(SEEDS[reader], dtype=object)).encode())
        for _ in range(int(random.integers(1, 12))):
            at = int(random.integers(len(data) + 1))
            kind = int(random.integers(4))
            if kind == 0:
                data[at:at] = NASTY[int(random.integers(len(NASTY)))]
            elif kind == 1:
                del data[at : at + int(random.integers(1, 30))]
            elif kind == 2 and len(data):
                data[at : at + 1] = bytes([int(random.integers(256))])
            else:
                lines = bytes(data).split(b"\n")
                random.shuffle(lines)
                data = bytearray(b"\n".join(lines))
        path.write_bytes(bytes(data))
        reader.looks_like(bytes(data[: 64 << 10]), path)
        batch = reader.read(path)
        assert batch.input.kind == reader.KIND and batch.input.events >= 0
        if batch.logs:
            found = goodput(batch.logs)
            assert found is None or 0 <= found.share <= 1 + 1e-9
