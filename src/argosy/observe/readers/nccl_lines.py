"""Single lines of NCCL (`NCCL INFO`, `NCCL WARN`) and of PyTorch's process group (watchdog, flight recorder) as messages."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from argosy.observe.readers.text import USUAL_LINE, dated_s, number, stamp_s
from argosy.observe.records import LibraryMessage

MOST_MESSAGES = 500_000  # of one file
_PREFIX = re.compile(
    r"(?P<host>[A-Za-z0-9][\w.-]{0,252}):(?P<pid>\d{1,20}):(?P<tid>\d{1,20}) (?:\[(?P<device>-?\d{1,20})\] )?"
)
_CHANNEL = re.compile(
    r"Channel (?P<channel>\d{1,20})(?:/\d+)? : (?P<source>\d{1,20})\[(?P<source_device>[0-9a-f]+)\] -> "
    r"(?P<target>\d{1,20})\[(?P<target_device>[0-9a-f]+)\](?: \[(?P<direction>send|receive)\])? via (?P<via>\S+)"
)
_INIT = re.compile(
    r"(?:comm (?P<comm>0x[0-9a-f]+) )?rank (?P<rank>\d{1,20}) n[rR]anks (?P<ranks>\d{1,20})(?:.*?cudaDev (?P<device>\d{1,20}))?"
    r"(?:.*?busId (?P<bus>[0-9a-f]+))?(?:.*?commId (?P<id>0x[0-9a-f]+))?"
)
_TIMINGS = re.compile(
    r"Init timings.*?rank (?P<rank>\d{1,20}) nranks (?P<ranks>\d{1,20}) total (?P<total>[\d.]+)(?: \((?P<parts>[^)]*)\))?"
)
_USING = re.compile(r"Using network (\S+)|NET/(IB|Socket) : (?:Using )?(.*)|(NET/[\w-]+) : No device found")
_RINGS = re.compile(
    r"Connected all (rings|trees)|\b(\d{1,9}) coll channels|Trees((?: \[\d{1,9}\] \S{1,40})+)|Ring (\d{1,9}) : (.*)"
)
_VERSION = re.compile(r"NCCL version (\S+)|RCCL version\s*:?\s*(\S+)")
_GLOG = re.compile(r"\[[EWIF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.?(\d*)")
_GROUP = re.compile(
    r"\[PG (?:ID )?(?P<id>\w+)(?: PG GUID (?P<name>\S+?))?(?: \S+)? Rank (?P<rank>\d{1,20})\]"
)
_BRACKET_RANK = re.compile(r"\[Rank (\d{1,20})\]")
_WORK = re.compile(
    r"WorkNCCL\(SeqNum=(?P<sequence>\d{1,20}), OpType=(?P<operation>\w+)"
    r"(?:, (?:TensorShape=\[[^\]]*\]|NumelIn=(?P<numel_in>\d{1,20}), "
    r"NumelOut=(?P<numel_out>\d{1,20})))?[^)]*?Timeout\(ms\)=(?P<timeout>\d{1,20})\)(?: ran for (?P<ran>\d{1,20}) milliseconds)?"
)
_LAST = re.compile(
    r"last enqueued (?:NCCL )?work: (?P<enqueued>-?\d{1,20}), last completed (?:NCCL )?work: (?P<completed>-?\d{1,20})",
    re.I,
)
_AT = re.compile(r"failure detected by watchdog at work sequence id: (\d{1,20})")
_DUMP = re.compile(r"dump signal.{0,200}?from\s+(?:another )?rank(?: +(\d{1,20}))?", re.I)
_DEVICE = re.compile(r"[0-9]{1,9}")
_OPERATIONS = {"ALLREDUCE": "all_reduce", "_ALLGATHER_BASE": "all_gather", "ALLGATHER": "all_gather",
               "ALLGATHER_COALESCED": "all_gather", "_REDUCE_SCATTER_BASE": "reduce_scatter",
               "REDUCE_SCATTER": "reduce_scatter", "ALLTOALL": "all_to_all", "ALLTOALL_BASE": "all_to_all",
               "BROADCAST": "broadcast", "REDUCE": "reduce", "SEND": "send_recv", "RECV": "send_recv", "BARRIER": "barrier",
               "COALESCED": "coalesced", "GATHER": "gather", "SCATTER": "scatter"}  # fmt: skip


def concerns(line: str) -> bool:
    """Whether the line may be a message at all; cheap."""
    return "NCCL" in line or "NET/" in line or "dump signal" in line


class Messages:
    """Collects the messages of one file; `feed` every line that `concerns`."""

    def __init__(self, path: str, changed_s: float) -> None:
        self.path = path
        self.found: list[LibraryMessage] = []
        self.dropped = 0
        self._changed = changed_s
        self._ranks: dict[tuple[str, str], int] = {}  # (host, process id) → rank of the largest communicator
        self._sizes: dict[tuple[str, str], int] = {}
        self._versions: set[tuple[str, str]] = set()

    def feed(self, line_number: int, tagged: int | None, line: str) -> bool:
        """Read one line (`tagged`: the rank that a launcher put before it); whether it was a message."""
        line = line[:USUAL_LINE]
        for read in (self._watchdog, self._nccl):
            kind_values = read(tagged, line)
            if kind_values is not None:
                kind, rank, node, values = kind_values
                self._keep(
                    LibraryMessage(self.path, line_number, kind, rank, node, self.moment_s(line), values)
                )
                return True
        return False

    def _keep(self, message: LibraryMessage) -> None:
        if len(self.found) < MOST_MESSAGES:
            self.found.append(message)
        else:
            self.dropped += 1

    def moment_s(self, line: str) -> float:
        """When a line was printed, s since the epoch. `[E810 03:04:11.56` has no year: the file's last change gives it."""
        found = _GLOG.search(line) or re.search(r"\[[EWIF](\d)(\d\d) (\d\d):(\d\d):(\d\d)\.?(\d*)", line)
        if found is None:
            return stamp_s(line[:120])
        month, day, hour, minute, second = (int(each) for each in found.groups()[:5])
        return dated_s(month, day, hour, minute, second, None, self._changed) + float(f"0.{found[6] or 0}")

    def _watchdog(
        self, tagged: int | None, line: str
    ) -> tuple[str, int | None, str | None, dict[str, Any]] | None:
        if not any(word in line for word in ("ProcessGroupNCCL", "WorkNCCL", "NCCL work:", "dump signal")):
            return None
        group = _GROUP.search(line)
        bracket = _BRACKET_RANK.search(line)
        inside = int(group["rank"]) if group else int(bracket[1]) if bracket else None
        rank = tagged if tagged is not None else inside  # the bracket has the rank within the group
        values: dict[str, Any] = {}
        if group:
            values |= {"group": group["name"] or group["id"], "group_rank": inside}
        if last := _LAST.search(line):
            values |= {"enqueued": _whole(last["enqueued"]), "completed": _whole(last["completed"])}
        if at := _AT.search(line):
            values["sequence"] = _whole(at[1])
        if dump := _DUMP.search(line):
            return "dump", rank, None, values | {"from_rank": _whole(dump[1]) if dump[1] else None}
        if work := _WORK.search(line):
            values |= _work(work.groupdict())
            terminated = "terminated with exception" in line or "is being terminated" in line
            return "exception" if terminated else "timeout", rank, None, values
        if "enqueued" in values or "sequence" in values:
            return "last-work", rank, None, values
        if "exception" in line.lower() or "error" in line.lower():
            return "exception", rank, None, values | {"text": line.strip()[:300]}
        return None

    def _nccl(
        self, tagged: int | None, line: str
    ) -> tuple[str, int | None, str | None, dict[str, Any]] | None:
        at = line.find("NCCL ")
        if at < 0:
            return None
        prefix = _PREFIX.search(line, max(at - 400, 0), at)
        node = prefix["host"] if prefix else None
        process = (prefix["host"], prefix["pid"]) if prefix else ("", "")
        body = line[at + 5 :]
        if body.startswith("WARN"):
            told = {"text": body[4:].strip()[:300]}
            return "warning", self._rank(process, tagged), node, told
        if found := _VERSION.search(line[max(at - 2, 0) :]):
            version = (process[0], found[1] or found[2])
            if version in self._versions:
                return None
            self._versions.add(version)
            return "version", None, node, {"version": version[1]}
        if not body.startswith("INFO"):
            return None
        for read in (self._channel, self._timings, self._init, self._network, self._rings):
            told_kind = read(body, process)
            if told_kind is not None:
                kind, rank, values = told_kind
                return kind, self._rank(process, tagged) if rank is None else rank, node, values
        return None

    def _rank(self, process: tuple[str, str], tagged: int | None) -> int | None:
        return self._ranks.get(process, tagged)

    def _channel(self, body: str, process: tuple[str, str]) -> tuple[str, int | None, dict[str, Any]] | None:
        found = _CHANNEL.search(body)
        if found is None:
            return None
        via = found["via"].split("/")
        transport = (
            "/".join(via[:2])
            if via[0] in ("NET", "P2P", "SHM") and len(via) > 1 and not _DEVICE.fullmatch(via[1])
            else via[0]
        )
        device = next((part for part in via[1:] if _DEVICE.fullmatch(part)), None)
        direction = found["direction"]
        source, target = int(found["source"]), int(found["target"])
        if direction == "receive":
            rank: int | None = target
        else:
            rank = source
        values = {
            "channel": int(found["channel"]), "source": source, "target": target, "direction": direction or "send",
            "transport": transport, "device": int(device) if device else None, "gdrdma": "GDRDMA" in via,
        }  # fmt: skip
        return "transport", rank, values

    def _timings(self, body: str, process: tuple[str, str]) -> tuple[str, int | None, dict[str, Any]] | None:
        found = _TIMINGS.search(body)
        if found is None:
            return None
        parts = dict(re.findall(r"([\w ]+?) ([\d.]+)(?:,|$)", (found["parts"] or "")[:500]))
        seconds = {f"{name.strip()}_s": number(value) for name, value in parts.items()}
        return (
            "init",
            int(found["rank"]),
            {"ranks": int(found["ranks"]), "total_s": number(found["total"]), **seconds},
        )

    def _init(self, body: str, process: tuple[str, str]) -> tuple[str, int | None, dict[str, Any]] | None:
        if (
            "Init COMPLETE" not in body
            and "Init START" not in body
            and "commInitRank" not in body.replace("Comm", "comm")
        ):
            return None
        found = _INIT.search(body)
        if found is None:
            return None
        rank, ranks = int(found["rank"]), int(found["ranks"])
        if ranks >= self._sizes.get(
            process, 0
        ):  # a process is known by its place in the largest communicator
            self._sizes[process], self._ranks[process] = ranks, rank
        stage = "complete" if "COMPLETE" in body else "start"
        return (
            "init",
            rank,
            {"ranks": ranks, "stage": stage, "communicator": found["id"], "bus": found["bus"]},
        )

    def _network(self, body: str, process: tuple[str, str]) -> tuple[str, int | None, dict[str, Any]] | None:
        found = _USING.search(body)
        if found is None:
            return None
        if found[4]:
            return "network", None, {"transport": found[4], "found": False, "text": body[5:].strip()[:200]}
        name = found[1] or found[2]
        transport = f"NET/{name}" if name in ("IB", "Socket") else name
        return (
            "network",
            None,
            {"transport": transport, "found": True, "text": (found[3] or "").strip()[:200]},
        )

    def _rings(self, body: str, process: tuple[str, str]) -> tuple[str, int | None, dict[str, Any]] | None:
        found = _RINGS.search(body)
        if found is None:
            return None
        if found[1]:
            pxn = re.search(r"PXN (\d) GDR (\d)", body)
            told = {"pxn": pxn[1] == "1", "gdr": pxn[2] == "1"} if pxn else {}
            return "topology", None, {"connected": found[1], **told}
        if found[2]:
            return "topology", None, {"channels": int(found[2])}
        return "topology", None, {"trees" if found[3] else "ring": (found[3] or found[5]).strip()[:400]}


def _whole(text: str) -> int | None:
    """A whole number that an int64 holds (the watchdog prints 18446744073709551615 for none), else None."""
    value = int(text) if len(text) < 20 else 2**63
    return value if value < 2**63 else None


def _work(told: Mapping[str, str | None]) -> dict[str, Any]:
    operation = told["operation"] or ""
    values: dict[str, Any] = {
        "sequence": _whole(told["sequence"] or ""),
        "collective": _OPERATIONS.get(operation, operation.lower()),
        "timeout_s": number(told["timeout"] or "") / 1e3,
    }
    values["ran_s"] = number(told["ran"]) / 1e3 if told["ran"] else math.nan
    if told["numel_in"]:
        values |= {"numel": _whole(told["numel_in"]), "numel_out": _whole(told["numel_out"] or "")}
    return values
