"""Lines that any framework's log may hold: errors, lack of memory, time-outs, signals, Slurm's ends, recompilation, waits."""

from __future__ import annotations

import math
import re

from argosy.observe.readers.text import stamp_s
from argosy.observe.readers.training_log.collect import Collector

_CANCELLED = re.compile(
    r"(?:JOB|STEP) (\d{1,12})\S{0,60} ON (\S{1,253}) CANCELLED AT (\S+?)(?: DUE TO ([A-Z ]+?))?(?:,| \*\*\*|$)",
    re.I,
)
_ENDED = re.compile(
    r"srun: error: (\S+?): tasks? [\d,-]+: (Killed|Out Of Memory|Exited with exit code \d+|Segmentation fault|Aborted)"
)
_RAISED = re.compile(
    r"^\s*(?:\[\w+\]:?\s*)?((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt))(?::|\s*$)(.*)"
)
_LEAD = re.compile(r"^\s*\[?\d{4}-\d\d-\d\d[ T][\d:.,]{8,18}(?:Z|[+-]\d\d:?\d\d)?\]?(?: - root - \w+ - )?\s*")
_MEMORY = re.compile(
    r"CUDA out of memory|OutOfMemoryError|HIP out of memory|oom[-_]kill|Out of memory: Kill", re.I
)
_SIGNAL = re.compile(r"\b(?:received|Received|got) (?:SIG\w{3,6}|signal \d{1,2})|signal: SIG\w{3,6}")
_RECOMPILE = re.compile(
    r"hit config\.\w*(?:recompile_limit|cache_size_limit)|torch\._dynamo.{0,200}Recompiling function|__recompiles\b"
)
_DATA = re.compile(
    r"dataloader.{0,200}(?:bottleneck|slow|stall|timed out)|data loader (?:is|was) (?:slow|waiting)|waiting for (?:data|batch)",
    re.I,
)
_WORDS = re.compile(
    r"Error|Exception|Interrupt|CANCELLED|srun: error|out of memory|oom[-_]|signal|SIG|ynamo|recompile|[Dd]ata ?[Ll]oader"
    r"|[Ww]aiting for|Watchdog|Out of [Mm]emory|Traceback"
)
_QUOTED = ("'", '"', "#", "raise ", "except ", "File ")  # a line of code in a traceback is no error


def feed(to: Collector, line: int, text: str, moment_s: float = math.nan) -> bool:
    """Read one line; whether it tells of trouble. `moment_s`: when it was printed, where that is known better."""
    if _WORDS.search(text) is None:
        return False
    if "Watchdog caught collective operation timeout" in text and "terminated" not in text:
        to.event("timeout", line, stamp_s(text) if math.isnan(moment_s) else moment_s, text=text)
    elif "CANCELLED" in text.upper() and (found := _CANCELLED.search(text)):
        why = (found[4] or "").strip().upper()
        kind = {"TIME LIMIT": "time-limit", "PREEMPTION": "preempted"}.get(why)
        kind = kind or ("node-fail" if "NODE FAIL" in why else "cancelled")
        to.event(kind, line, stamp_s(found[3]), text=text)
    elif "srun: error" in text and (found := _ENDED.search(text)):
        to.event("oom" if "Memory" in found[2] else "error", line, stamp_s(text), text=text)
    elif _MEMORY.search(text):
        to.event("oom", line, stamp_s(text), text=text)
    elif _RECOMPILE.search(text):
        to.event("recompile", line, stamp_s(text), text=text)
    elif (found := _RAISED.match(_LEAD.sub("", text, count=1))) and not text.lstrip().startswith(_QUOTED):
        to.event("error", line, stamp_s(text), text=f"{found[1]}:{found[2]}")
    elif "Traceback (most recent call last)" in text:
        to.event("traceback", line, stamp_s(text))
    elif found := _SIGNAL.search(text):
        to.event("signal", line, stamp_s(text), text=text)
    elif _DATA.search(text):
        to.event("data-wait", line, stamp_s(text), text=text)
    else:
        return False
    return True
