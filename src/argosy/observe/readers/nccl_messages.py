"""Logs with messages of NCCL (NCCL_DEBUG=INFO) and of PyTorch's watchdog, with or without a training log around them."""

from __future__ import annotations

import re
from pathlib import Path

from argosy.observe.readers import nccl_lines
from argosy.observe.readers.text import Lines, changed_s, head_text, rank_of
from argosy.observe.records import Batch, Input

KIND = "nccl_messages"
_HINTS = re.compile(r"\bNCCL (?:INFO|WARN|version)\b|ProcessGroupNCCL|WorkNCCL\(|Last enqueued NCCL work")


def looks_like(head: bytes, path: Path) -> bool:
    """Whether the beginning of a file holds a message of NCCL or of PyTorch's watchdog."""
    return _HINTS.search(head_text(head)) is not None


def read(path: Path) -> Batch:
    """Every message of the file, in order. Ranks of channels are those within their communicator."""
    lines = Lines(path)
    messages = nccl_lines.Messages(str(path), changed_s(path))
    for number, raw in lines:
        if nccl_lines.concerns(raw):
            messages.feed(number, *rank_of(raw))
    if messages.dropped:
        lines.problem(
            0, f"{messages.dropped:,} messages beyond the first {nccl_lines.MOST_MESSAGES:,} were left out"
        )
    status = lines.status if messages.found or lines.unreadable else "ignored"
    return Batch(
        Input(str(path), KIND, status, len(messages.found), tuple(lines.problems)),
        messages=tuple(messages.found),
    )
