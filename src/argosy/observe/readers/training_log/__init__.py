"""Training logs of Megatron-LM, BigScience, NeMo, torchtitan, DeepSpeed, AtorchTrainer and the Hugging Face Trainer.

One pass takes what any of them printed; messages of NCCL and of the kernel in the same file are read by their own readers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from argosy.observe.readers import nccl_lines
from argosy.observe.readers.text import USUAL_LINE, Lines, changed_s, head_text, rank_of, stamp_s
from argosy.observe.readers.training_log import troubles
from argosy.observe.readers.training_log.collect import Collector
from argosy.observe.readers.training_log.frameworks import Frameworks
from argosy.observe.readers.training_log.megatron import Megatron
from argosy.observe.readers.training_log.torchtitan import Torchtitan
from argosy.observe.records import Batch, Input, TrainingLog

KIND = "training_log"
_TAGS = "[ 0123456789"
_HINTS = re.compile(
    r"\biteration\s{1,20}\d{1,17}\s{0,20}/\s{0,20}\d{1,17}\s{0,20}\||elapsed time per iteration"
    r"|\bstep:\s{0,20}\d{1,17}\s{1,20}loss:|train_step_timing in s"
    r"|RunningAvgSamplesPerSec|samples/sec: |\[\w*[Tt]rainer\w*\] \[#\w+\] \[|using world size: \d{1,17}"
    r"|-{3,} arguments -{3,}|\[config\.py:\d{1,17}:print\]|Starting job: |\*{5} Running training \*{5}"
    r"|torch\.distributed\.(?:run|launch)|Setting OMP_NUM_THREADS|DeepSpeed"
    r"|[Mm]egatron|torchtitan|'train_runtime':|\d{1,17}/\d{1,17} \[[\d:]{1,12}<[\d:?]{1,12}, {0,8}[\d.?]{1,20}(?:s/it|it/s)"
)


def looks_like(head: bytes, path: Path) -> bool:
    """Whether the beginning of a file holds lines that only a training job prints."""
    text = head_text(head)
    return text.lstrip()[:1] not in ("", "{", "<") and _HINTS.search(text) is not None


def read(path: Path) -> Batch:
    """Iterations, timers, settings and events of every job in the file. `Input.events` counts iterations and events."""
    lines = Lines(path)
    collector = Collector(str(path))
    megatron, titan, frameworks = Megatron(collector), Torchtitan(collector), Frameworks(collector)
    messages = nccl_lines.Messages(str(path), changed_s(path))
    for number, raw in _written(lines):
        if "NCCL INFO" in raw:
            continue
        rank, whole = rank_of(raw) if raw[:1] in _TAGS else (None, raw)
        if not whole:
            continue
        text = whole[:USUAL_LINE]
        if "20" in text[:40]:
            collector.seen(stamp_s(text[:64]), number)
        if "ProcessGroupNCCL" in text:  # its stamps have no year
            troubles.feed(collector, number, text, messages.moment_s(text))
        else:
            (
                megatron.feed(number, text)
                or titan.feed(number, rank, whole if "Running with" in text[:400] else text)
                or frameworks.feed(number, text)
                or troubles.feed(collector, number, text)
            )
    if collector.dropped:
        lines.problem(0, f"{collector.dropped:,} lines beyond the most that are kept were left out")
    logs = collector.logs()
    for log in logs:
        _doubtful(lines, log)
    events = sum(len(log.iteration) + len(log.events) for log in logs)
    status = lines.status if events or lines.unreadable else "ignored"
    return Batch(Input(str(path), KIND, status, events, tuple(lines.problems)), logs=logs)


def _written(lines: Lines) -> Iterator[tuple[int, str]]:
    """The lines, those that a progress bar wrote over itself one by one."""
    for number, line in lines:
        if "\r" in line:
            for part in line.split("\r"):
                yield number, part
        else:
            yield number, line


def _doubtful(lines: Lines, log: TrainingLog) -> None:
    """What a log cannot mean: steps without time, a utilisation above one."""
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero(log.step_time_s <= 0)
        above = np.flatnonzero(log.mfu > 1)
    if len(wrong):
        lines.problem(int(log.line[wrong[0]]), f"{len(wrong):,} steps of no time: their times do not count")
        log.step_time_s[wrong] = np.nan
    if len(above):
        lines.problem(
            int(log.line[above[0]]),
            f"an MFU above 100 % is printed ({log.mfu[above[0]]:.0%}): what peak is that of?",
        )
