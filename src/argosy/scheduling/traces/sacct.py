"""Slurm's accounting, as `sacct --parsable2` prints it: every row as a record that knows its line.

The table is split at `|` and nothing is escaped in it: a SubmitLine or a name may hold `|` or a new line. A row with too many
cells is put together again at the free text that leaves all other cells readable; lines that do not begin with a job's id
continue the row before. Times are local wall-clock times of the cluster; they are read as if it kept UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from argosy.scheduling.traces.faults import (
    Faults,
    cell_column,
    numbered,
    text_of,
    whole,
)

COMMAND = (
    "sacct --parsable2 --allusers --format=JobID,JobName,User,Account,Partition,QOS,Priority,Submit,Start,End,State,"
    "ExitCode,Elapsed,Timelimit,NNodes,ReqTRES,AllocTRES,NodeList"
)
_FREE = ("SubmitLine", "JobName", "Comment", "AdminComment", "SystemComment", "WorkDir", "Reason")
_ABSENT = ("", "Unknown", "None", "N/A", "INVALID", "None assigned")
_UNLIMITED = ("UNLIMITED", "Partition_Limit", "")
_JOB_ID = re.compile(r"(\d+)(?:_(\d+|\[[^\]]*\]?))?(?:\+(\d+))?(?:\.(.+))?")
_SPAN = re.compile(r"(?:([0-9]{1,9})-)?(?:([0-9]{1,9}):)?([0-9]{1,9}):([0-9]{1,9})(?:\.[0-9]+)?")
_COUNT = re.compile(r"[0-9]{1,15}")
_MOST_HOSTS = 1_000_000  # of one row: more is no cluster, but would fill the memory
_MOST_TASKS = 4_000_001  # Slurm's largest array
_GPU = re.compile(r"gres/gpu(?::([^=,]+))?=([0-9]{1,15})")
_STATES = {"CD": "COMPLETED", "F": "FAILED", "TO": "TIMEOUT", "CA": "CANCELLED", "NF": "NODE_FAIL", "PR": "PREEMPTED",
           "OOM": "OUT_OF_MEMORY", "R": "RUNNING", "PD": "PENDING", "RQ": "REQUEUED", "DL": "DEADLINE",
           "BF": "BOOT_FAIL", "S": "SUSPENDED"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SacctRow:
    """One row: a job, a task of an array, a component of a heterogeneous job, or a step of one of them.

    `job` is the number alone; `task` the array's index, or `[...]` for tasks that wait together; `step` is empty for the job
    itself, else `batch`, `extern` or a number. Times are seconds since 1970 (None: not yet, or not printed), `time_limit_s`
    None for no limit. `accelerators` are the allocated ones, `accelerators_asked` those of the request (None: no such
    column). `cells` has every column as printed.
    """

    line: int
    id: str
    job: str
    task: str
    component: str
    step: str
    state: str
    cancelled_by: str
    exit_code: int | None
    signal: int | None
    submit_s: float | None
    start_s: float | None
    end_s: float | None
    elapsed_s: float | None
    time_limit_s: float | None
    nodes: tuple[str, ...]
    node_count: int | None
    accelerators: int | None
    accelerators_asked: int | None
    accelerator: str
    cells: Mapping[str, str]

    @property
    def is_step(self) -> bool:
        """Whether this is a step (`.batch`, `.extern`, `.0`) of a job, not the job itself."""
        return bool(self.step)


def looks_like_sacct(text: str) -> bool:
    """Whether a text begins with a header of `sacct --parsable2` or `--parsable`."""
    heads = text.lstrip("\n").split("\n", 1)[0].strip().split("|")
    return len(heads) > 1 and ("JobID" in heads or "JobIDRaw" in heads)


def read_sacct(path: Path, faults: Faults | None = None) -> tuple[SacctRow, ...]:
    """Every row of the table, steps included, in the order of the file.

    ScenarioError with all faults at their places; with `faults` they are noted there instead, and sound rows returned.
    """
    return parse_sacct(text_of(path), str(path), faults)


def parse_sacct(text: str, file: str = "<text>", faults: Faults | None = None) -> tuple[SacctRow, ...]:
    """The rows of a text; see `read_sacct`."""
    kept, faults = faults is not None, faults if faults is not None else Faults(file)
    lines = [(number, line) for number, line in numbered(text) if line.strip()]
    if not lines or not looks_like_sacct(lines[0][1]):
        faults.add(1, 1, "", "has no header with JobID", f"write it with {COMMAND}")
        if not kept:
            faults.raise_if_any()
        return ()
    first, header = lines[0]
    heads = header.rstrip().removesuffix("|").split("|")  # --parsable ends every line with a separator
    trailing = header.rstrip().endswith("|")
    ident = "JobID" if "JobID" in heads else "JobIDRaw"
    if "State" not in heads:
        faults.add(first, 1, "", "no column State", f"write it with {COMMAND}")
    rows = []
    for number, line in _whole_rows(lines[1:], header, heads.index(ident)):
        cells = (line.removesuffix("|") if trailing else line).split("|")
        fitted = _fitted(cells, heads)
        if fitted is None:
            told = f"{len(cells)} cells for {len(heads)} columns"
            faults.add(number, 1, "", told, "leave SubmitLine and other free text out of --format")
            continue
        row = _row(number, line, dict(zip(heads, fitted, strict=True)), heads, ident, faults)
        if row is not None:
            rows.append(row)
    if not kept:
        faults.raise_if_any()
    return tuple(rows)


def _whole_rows(lines: list[tuple[int, str]], header: str, ident: int) -> Iterator[tuple[int, str]]:
    """Rows put together from their lines; headers in between (of files joined by cat) are left out."""
    enough = header.count("|")
    if not set(_FREE) & set(header.split("|")):
        yield from (each for each in lines if each[1] != header)
        return
    held: tuple[int, str] | None = None
    for number, line in lines:
        if line == header:
            continue
        cells = line.split("|")
        begins = len(cells) > ident and _JOB_ID.fullmatch(cells[ident].strip()) is not None
        whole = held is not None and held[1].count("|") >= enough
        if held is not None and not (begins and (whole or line.count("|") >= enough)):
            held = (held[0], f"{held[1]}\n{line}")
            continue
        if held is not None:
            yield held
        held = (number, line)
    if held is not None:
        yield held


def _fitted(cells: list[str], heads: list[str]) -> list[str] | None:
    """As many cells as heads: `|` within free text put back; None where no reading is sound."""
    more = len(cells) - len(heads)
    if more == 0:
        return cells
    if more < 0:
        return None
    for name in (each for each in _FREE if each in heads):
        at = heads.index(name)
        joined = [*cells[:at], "|".join(cells[at : at + more + 1]), *cells[at + more + 1 :]]
        if _sound(dict(zip(heads, joined, strict=True))):
            return joined
    return None


def _sound(cells: Mapping[str, str]) -> bool:
    """Whether the cells that have a form have it."""
    moments = (cells.get(name, "") for name in ("Submit", "Eligible", "Start", "End"))
    return (
        all(each in _ABSENT or _moment(each) is not None for each in moments)
        and (cells.get("Elapsed", "") in _ABSENT or _span(cells["Elapsed"]) is not None)
        and (not cells.get("ExitCode") or re.fullmatch(r"\d+:\d+", cells["ExitCode"]) is not None)
        and (not cells.get("State") or cells["State"].split()[0].strip("+").isupper())
    )


def _row(
    number: int, line: str, cells: dict[str, str], heads: list[str], ident: str, faults: Faults
) -> SacctRow | None:
    """The record of one row; None, with its faults noted, where a cell has not its form."""

    def fault(name: str, instead: str) -> None:
        at = cell_column(line, heads.index(name), "|")
        faults.add(number, at, name, f"{cells[name]!r} cannot be read", instead)

    before = len(faults.problems)
    found = _JOB_ID.fullmatch(cells[ident].strip())
    if found is None:
        fault(ident, "a job's id is such as 1234, 1234_5 or 1234.batch")
    moments = {}
    for name in ("Submit", "Start", "End"):
        given = cells.get(name, "").strip()
        moments[name] = None if given in _ABSENT else _moment(given)
        if given not in _ABSENT and moments[name] is None:
            fault(name, "write for example 2026-03-01T12:30:00")
    elapsed = _elapsed(cells)
    if elapsed is None and cells.get("Elapsed", "").strip() not in _ABSENT:
        fault("Elapsed", "write for example 1-02:30:00")
    limit = _time_limit(cells)
    if limit is None and cells.get("Timelimit", "").strip() not in (*_ABSENT, *_UNLIMITED):
        fault("Timelimit", "write for example 1-00:00:00 or UNLIMITED")
    if found is None or len(faults.problems) > before:
        return None
    words = cells.get("State", "").split()
    state = words[0].rstrip("+") if words else ""
    code = re.fullmatch(r"([0-9]{1,9}):([0-9]{1,9})", cells.get("ExitCode", "").strip())
    allocated, kind = _accelerators(cells.get("AllocTRES"))
    asked, kind_asked = _accelerators(cells.get("ReqTRES"))
    count = cells.get("NNodes", "").strip() or cells.get("AllocNodes", "").strip()
    return SacctRow(
        line=number,
        id=cells[ident].strip(),
        job=found[1],
        task=found[2] or "",
        component=found[3] or "",
        step=found[4] or "",
        state=_STATES.get(state, state),
        cancelled_by=words[2] if len(words) > 2 and words[1] == "by" else "",
        exit_code=int(code[1]) if code else None,
        signal=int(code[2]) if code else None,
        submit_s=moments["Submit"],
        start_s=moments["Start"],
        end_s=moments["End"],
        elapsed_s=elapsed,
        time_limit_s=limit,
        nodes=expand_hosts(cells.get("NodeList", "")),
        node_count=int(count) if _COUNT.fullmatch(count) else None,
        accelerators=allocated,
        accelerators_asked=asked,
        accelerator=kind or kind_asked,
        cells=cells,
    )


def _moment(text: str) -> float | None:
    """Seconds since 1970 of `2026-03-01T12:30:00`, or of the number that SLURM_TIME_FORMAT=%s prints."""
    if _COUNT.fullmatch(text):
        return float(text)
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()  # noqa: UP017
    except (ValueError, OverflowError):
        return None


def _span(text: str) -> float | None:
    """Seconds of `[days-]hours:minutes:seconds` or `minutes:seconds`."""
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        return None
    days, hours, minutes, seconds = (int(each or 0) for each in found.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _elapsed(cells: Mapping[str, str]) -> float | None:
    raw = cells.get("ElapsedRaw", "").strip()
    return float(raw) if _COUNT.fullmatch(raw) else _span(cells.get("Elapsed", ""))


def _time_limit(cells: Mapping[str, str]) -> float | None:
    raw = cells.get("TimelimitRaw", "").strip()
    return 60.0 * float(raw) if _COUNT.fullmatch(raw) else _span(cells.get("Timelimit", ""))


def _accelerators(tres: str | None) -> tuple[int | None, str]:
    """GPUs of `cpu=64,gres/gpu=8,gres/gpu:h100=8,node=1`, and their kind; None where there is no such column."""
    if tres is None:
        return None, ""
    found = _GPU.findall(tres)
    plain = [int(number) for kind, number in found if not kind]
    typed = {kind: int(number) for kind, number in found if kind}
    return (plain[0] if plain else sum(typed.values())), (next(iter(typed)) if len(typed) == 1 else "")


def expand_hosts(text: str) -> tuple[str, ...]:
    """The hosts of Slurm's short form: `n[001-003,7],login1` is n001, n002, n003, n7, login1.

    A row with more than a million hosts is left in its short form, which stands for all of them.
    """
    text = text.strip()
    if text in _ABSENT:
        return ()
    hosts: list[str] = []
    for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text):
        names = [""]
        for piece in re.findall(r"\[[^\]]*\]|[^\[\]]+", part):
            inside = _numbers(piece) if piece.startswith("[") else [piece]
            if len(names) * len(inside) + len(hosts) > _MOST_HOSTS:
                return (text,)
            names = [name + each for name in names for each in inside]
        hosts += names
    return tuple(hosts)


def _numbers(bracket: str) -> list[str]:
    """`[001-003,7]` as 001, 002, 003, 7; a range that is none or too long stays as it is."""
    found: list[str] = []
    for each in bracket.strip("[]").split(","):
        low, _, high = each.partition("-")
        first, last = whole(low), whole(high)
        if first is None or last is None or last - first >= _MOST_HOSTS:
            found.append(each)
        else:
            found += [f"{n:0{len(low)}d}" for n in range(first, last + 1)]
    return found


def array_tasks(task: str) -> tuple[int, ...]:
    """The indices of tasks that wait together: `[1-3,7,10-20:5%2]` is 1, 2, 3, 7, 10, 15, 20 (%2: at most two at once)."""
    indices: list[int] = []
    for part in task.strip("[]").split("%")[0].split(","):
        found = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?(?::([0-9]{1,9}))?", part.strip())
        if found is not None:
            low, high, step = int(found[1]), int(found[2] or found[1]), max(int(found[3] or 1), 1)
            if len(indices) + (high - low) // step < _MOST_TASKS:
                indices += range(low, high + 1, step)
    return tuple(indices)
