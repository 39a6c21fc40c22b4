"""Kernel logs (dmesg, journal, syslog, /dev/kmsg) and Fabric Manager's log: Xid and SXid messages, and GPUs that vanish.

Meanings of Xid numbers are facts (section `xid` of the catalog). Many lines without a number are read too: a GPU that has
fallen off the bus need not leave an Xid.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from argosy.facts import load_catalog
from argosy.observe.readers.text import USUAL_LINE, Lines, changed_s, head_text, stamp_s, syslog_s
from argosy.observe.records import Batch, FaultEvent, Input

KIND = "xid"
MOST_EVENTS = 200_000  # of one file; a node that repeats one message for days writes fewer
_XID = re.compile(r"NVRM:? Xid(?:\s*\((?P<pci>[^)]{0,80})\))?:?\s*(?P<code>\d{1,9})\b,?\s*(?P<rest>.*)")
_SXID = re.compile(
    r"nvidia-nvswitch(?P<switch>\d+): SXid \((?P<pci>[^)]{0,80})\):\s*(?P<code>\d{1,9}),?\s*(?P<rest>.*)"
    r"|detected NVSwitch (?P<severity>fatal|non-fatal) error (?P<error>\d{1,9})\b(?P<told>.*)"
)
_BUS = re.compile(
    r"(?:NVRM|nvidia)\b.{0,200}\bhas fallen off the bus|NVRM: .{0,200}\bGPU lost from the bus|rm_init_adapter failed"
)
_PCI = re.compile(r"\b((?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(?:\.[0-9a-fA-F])?\b")
_PROCESS = re.compile(r"pid=(?:'?(\d+|<unknown>)'?)(?:\([^)]*\))?(?:,\s*name=(?:'?([^,']*)'?))?")
_NVLINK5 = re.compile(r"\((0x[0-9a-fA-F]{1,8})(?:\s+0x[0-9a-fA-F]{1,8})*\)|\[(0x[0-9a-fA-F]{1,8})")
_RECOVERY = re.compile(
    r"recovery action changed from 0x([0-9a-fA-F]+) \(([^)]*)\) to 0x([0-9a-fA-F]+) \(([^)]*)\)"
)
_UPTIME = re.compile(r"^\s*(?:<\d+>)?\[\s*(\d{1,10}\.\d{1,9})\]|^\d+,\d+,(\d{1,18}),[^;]*;")
_HOST = re.compile(
    r"(?:\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)\s+(\S+)\s+(?:kernel|nv-fabricmanager|systemd)\b"
)
_JOURNAL_TIME = re.compile(r'"_(?:_REALTIME_TIMESTAMP|SOURCE_REALTIME_TIMESTAMP)"\s*:\s*"(\d{13,18})"')
_JOURNAL_HOST = re.compile(r'"_HOSTNAME"\s*:\s*"([^"]{1,253})"')
_WORDS = ("Xid", "SXid", "fallen off", "lost from the bus", "rm_init_adapter", "detected NVSwitch")
# Recovery actions of Xid 154 as the driver words them (the numbers moved between drivers, the words did not).
_RECOVERIES = {"none": "none", "drain p2p": "drain-peers", "drain and reset": "drain-and-reset", "pf flr": "reset-gpu",
               "gpu reset required": "reset-gpu", "node reboot required": "restart-node",
               "os reboot": "restart-node"}  # fmt: skip
HARMLESS = ("ignore", "none stated", "follow-other", "recovery-action")


def kernel_log(head: bytes) -> bool:
    """Whether most lines of a text are a kernel's: seconds since boot, /dev/kmsg, or syslog's `kernel:`."""
    lines = [line for line in head.decode("utf-8", "replace").splitlines() if line.strip()]
    own = sum(bool(_UPTIME.search(line)) or " kernel: " in line for line in lines)
    return bool(lines) and 2 * own > len(lines)


@cache
def meanings() -> Mapping[int, Mapping[str, str]]:
    """Name, description, kind, action, then and category of every Xid number that the catalog knows."""
    return {int(entry.name): entry.text for entry in load_catalog().section("xid")}


def action_of(event: FaultEvent) -> str:
    """What NVIDIA's catalog says to do at once (reset-gpu, restart-node, restart-application, ignore, ...).

    For Xid 154 it is what the message itself asks; a GPU off the bus without a number is taken as Xid 79; a fatal SXid
    calls for a reset of the GPUs and switches (NVIDIA, Fabric Manager user guide).
    """
    if event.kind == "fallen-off-bus":
        return meanings()[79]["action"]
    if event.kind.startswith("nvswitch"):
        return "reset-gpu" if event.kind == "nvswitch-fatal" else "ignore"
    if event.code == 154 and (told := _RECOVERY.search(event.text)):
        return _RECOVERIES.get(told[4].strip().lower(), "recovery-action")
    known = meanings().get(event.code if event.code is not None else -1)
    return known["action"] if known else "none stated"


def stops_jobs(event: FaultEvent) -> bool:
    """Whether the message is of a kind after which the job on that GPU does not go on."""
    return action_of(event) not in (*HARMLESS, "none")


def looks_like(head: bytes, path: Path) -> bool:
    """Whether the beginning of a file is a kernel log or Fabric Manager's, with or without a fault in it."""
    text = head_text(head)
    if any(_XID.search(line) or _SXID.search(line) or _BUS.search(line) for line in text.splitlines()):
        return True
    lines = [line for line in text.splitlines() if line.strip()][:50]
    kernel = sum(bool(_UPTIME.match(line) or re.search(r"\bkernel: ", line)) for line in lines)
    fabric = sum(bool(re.match(r"\[\w{3} \d\d \d{4} [\d:]{8}\] \[\w+\] \[tid \d+\]", line)) for line in lines)
    return bool(lines) and (2 * kernel > len(lines) or fabric > 0)


def read(path: Path) -> Batch:
    """Every Xid, SXid and vanished GPU of the file, in order. Lines that are none of these count for nothing."""
    lines = Lines(path)
    changed = changed_s(path)
    events: list[FaultEvent] = []
    for number, line in lines:
        if not any(word in line for word in _WORDS):
            continue
        event = event_of(str(path), number, line, changed)
        if event is None:
            if "NVRM" in line and "Xid" in line:
                lines.problem(number, f"an Xid message without a number: {line[:120]!r}")
            continue
        if len(events) == MOST_EVENTS:
            lines.problem(number, f"more than {MOST_EVENTS:,} messages: those from here on do not count")
            break
        events.append(event)
    taken = Input(str(path), KIND, lines.status, len(events), tuple(lines.problems))
    return Batch(taken, faults=tuple(events))


def event_of(path: str, number: int, line: str, changed: float) -> FaultEvent | None:
    """The message of one line, or None. `changed`: the file's last change, for stamps without a year."""
    line = line[:USUAL_LINE]
    stamps = _times(line, changed)
    node = _node(line)
    if found := _XID.search(line):
        code, rest = int(found["code"]), found["rest"]
        known = meanings().get(code)
        return FaultEvent(
            path, number, code, _sub_code(code, rest), known["kind"] if known else "unknown", node,
            pci_of(found["pci"] or rest), _process(rest), *stamps, line.strip()[:400],
        )  # fmt: skip
    if found := _SXID.search(line):
        code = int(found["code"] or found["error"])
        told = found["rest"] or found["told"] or ""
        severity = found["severity"] or ("non-fatal" if re.search(r"non-?fatal", told, re.I) else "fatal")
        kind = f"nvswitch-{severity}"
        return FaultEvent(
            path,
            number,
            code,
            None,
            kind,
            node,
            pci_of(found["pci"] or told),
            None,
            *stamps,
            line.strip()[:400],
        )
    if _BUS.search(line):
        after = line[line.find("NVRM") :] if "NVRM" in line else line
        return FaultEvent(
            path, number, None, None, "fallen-off-bus", node, pci_of(after), None, *stamps, line.strip()[:400]
        )
    return None


def _times(line: str, changed: float) -> tuple[float, float]:
    """(seconds since the epoch, seconds since boot), each NaN where the line does not tell."""
    uptime = math.nan
    if found := _UPTIME.match(line):
        uptime = float(found[1]) if found[1] else int(found[2]) / 1e6  # /dev/kmsg counts microseconds
    if found := _JOURNAL_TIME.search(line):
        return int(found[1]) / 1e6, uptime
    moment = stamp_s(line)
    return (moment if math.isfinite(moment) else syslog_s(line, changed)), uptime


def _node(line: str) -> str | None:
    found = _HOST.search(line) or _JOURNAL_HOST.search(line)
    return found[1] if found else None


def pci_of(text: str) -> str | None:
    """`0000:9b:00` of `PCI:0000:9b:00`, `0000:9b:00 GPU-I:05` or `00000000:86:00.0`; None where there is none."""
    found = _PCI.search(text)
    if found is None:
        return None
    address = found[1].lower()
    return address[4:] if re.match(r"0000[0-9a-f]{4}:", address) else address


def _process(text: str) -> str | None:
    """`name (pid)` of the process that the driver names; None where it is unknown."""
    found = _PROCESS.search(text)
    if found is None:
        return None
    pid, name = (None if each in (None, "", "<unknown>") else each for each in found.groups())
    return f"{name or '?'} ({pid or '?'})" if pid or name else None


def _sub_code(code: int, rest: str) -> int | None:
    """NVLink5's sub-code (Xid 144 to 150) from the first register of the message, or the action of Xid 154.

    Drivers before R575 keep it in bits 5 to 9 and print `[0x...]`; from R575 on it is in bits 0 to 6 of `(0x... ...)`, by the
    decoding table of NVIDIA's catalog.
    """
    if code == 154:
        found = _RECOVERY.search(rest)
        return int(found[3], 16) if found and len(found[3]) < 9 else None
    if not 144 <= code <= 150:
        return None
    found = _NVLINK5.search(rest)
    if found is None:
        return None
    if found[2]:
        return int(found[2], 16) >> 5 & 0x1F
    return int(found[1], 16) & 0x7F
