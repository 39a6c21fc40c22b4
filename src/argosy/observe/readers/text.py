"""Lines of logs that may be huge, damaged or hostile: bounded, streaming, decoded with care; and what logs agree on.

Nothing here raises for what a file holds. What could not be read is kept in `Lines.problems`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from io import BufferedReader
from pathlib import Path

from argosy.observe.readers.source import Source, buffered
from argosy.observe.records import Problem

LONGEST_LINE = 1 << 20  # bytes: dumps of configurations on one line are a tenth of it
USUAL_LINE = 1 << 14  # characters: what patterns are looked for in; only dumps are longer
MOST_PROBLEMS = 20  # told of one file
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_STAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?\s?(Z|[+-]\d\d:?\d\d)?(?![\d:])"
)
_MONTHS = {
    name: i + 1
    for i, name in enumerate(
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    )
}
_SYSLOG = re.compile(
    r"\b(" + "|".join(_MONTHS) + r")\s+(\d{1,2})(?:\s+(\d{4}))?\s+(\d\d):(\d\d):(\d\d)(?:\.(\d+))?"
    r"(?:\s+(\d{4})\b)?"
)
_RANK = re.compile(
    r"^\s*(?:\[(?:rank|default)?(\d+)\]:|(\d+): |\[\d+,(\d+)\]<std(?:out|err)>:?|\[(?:Rank|rank) (\d+)\])\s?"
)


class Lines:
    """The lines of a text file or of one in gzip: iterating gives (number from 1, text without its end).

    Escape codes of terminals and NUL bytes are taken out, bytes that are no UTF-8 become �; a line longer than
    LONGEST_LINE is cut there. `problems` tells of all of it once the iteration has ended, or so far.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[Problem] = []
        self.count = 0
        self.unreadable = False
        self._undecoded = 0
        self._nulls = 0

    def problem(self, line: int, message: str) -> None:
        """Note what is wrong at `line` (0: the whole file), the first MOST_PROBLEMS times."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(str(self.path), line, message))
        elif len(self.problems) == MOST_PROBLEMS:
            self.problems.append(Problem(str(self.path), line, "further problems of this file are not told"))

    def __iter__(self) -> Iterator[tuple[int, str]]:
        try:
            source = Source(self.path)
        except OSError as error:
            self.unreadable = True
            self.problem(0, f"cannot be read: {error.strerror or error}")
            return
        with buffered(source) as file:
            kept = b""  # of a line longer than any, that a progress bar writes over itself
            while raw := kept + file.readline(LONGEST_LINE - len(kept)):
                self.count += not kept
                kept = b""
                if len(raw) >= LONGEST_LINE and not raw.endswith(b"\n"):
                    cut = raw.rfind(b"\r", 1, -1)
                    if cut > 0:
                        raw, kept = raw[:cut], raw[cut:]
                    else:
                        self._pass_over(file)
                yield self.count, self._decoded(raw)
        if source.damage:
            self.unreadable = self.count == 0
            self.problem(self.count, f"{source.damage}; what came before counts")
        self._tell()

    def _pass_over(self, file: BufferedReader) -> None:
        """The rest of a line that is too long."""
        passed = 0
        while more := file.readline(LONGEST_LINE):
            passed += len(more)
            if more.endswith(b"\n"):
                break
        if passed:
            self.problem(
                self.count, f"a line of {passed + LONGEST_LINE:,} bytes: its first {LONGEST_LINE:,} were read"
            )

    def _decoded(self, raw: bytes) -> str:
        text = raw.strip(b"\r\n").decode("utf-8", "replace")
        if "\ufffd" in text:
            self._undecoded += 1
        if "\0" in text:
            self._nulls += 1
            text = text.replace("\0", "")
        return _ESCAPES.sub("", text) if "\x1b" in text else text

    def _tell(self) -> None:
        if self._undecoded:
            self.problem(0, f"{self._undecoded:,} lines hold bytes that are no UTF-8; they were replaced")
        if self._nulls:
            self.problem(0, f"{self._nulls:,} lines hold NUL bytes; they were left out")

    @property
    def status(self) -> str:
        """read, partial or unreadable: what `Input.status` says when events were found."""
        if self.unreadable:
            return "unreadable"
        return "partial" if self.problems else "read"


def rank_of(line: str) -> tuple[int | None, str]:
    """The rank that a launcher put before the line (`[rank0]:`, `[default3]:`, `7: `, `[1,5]<stdout>:`), and the rest.

    Of several such tags `[rank0]:` counts, which is PyTorch's own and global; `[default3]:` is torchrun's, local to a node.
    """
    rank: int | None = None
    sure = False
    for _ in range(3):
        found = _RANK.match(line)
        if found is None:
            break
        digits = next(each for each in found.groups() if each is not None)
        if not sure and len(digits) < 9:
            rank, sure = int(digits), "[rank" in found[0]
        line = line[found.end() :]
    return rank, line


def stamp_s(line: str) -> float:
    """Seconds since the epoch of the first `2026-03-01 12:30:00[,123]` or `2026-03-01T12:30:00.5+01:00`; NaN without one.

    Without an offset the time is read as UTC: the clock of one cluster, whose differences are what counts.
    """
    found = _STAMP.search(line)
    if found is None:
        return math.nan
    *numbers, fraction, zone = found.groups()
    offset = timezone.utc if zone in (None, "Z") else _offset(zone)  # noqa: UP017
    try:
        moment = datetime(*(int(each) for each in numbers), tzinfo=offset)  # type: ignore[arg-type, misc]
    except ValueError:
        return math.nan
    return moment.timestamp() + (float(f"0.{fraction}") if fraction else 0.0)


def _offset(zone: str) -> timezone:
    digits = zone.replace(":", "")
    minutes = int(digits[1:3]) * 60 + int(digits[3:5])
    return timezone(timedelta(minutes=min(minutes, 14 * 60) * (-1 if digits[0] == "-" else 1)))


def syslog_s(line: str, changed_s: float) -> float:
    """Seconds since the epoch of `Feb 23 16:24:18 [2025]` or `Feb 23 2025 16:24:18`; NaN without one.

    Where no year stands, it is the latest that does not lie after the file's last change, `changed_s`.
    """
    found = _SYSLOG.search(line)
    if found is None:
        return math.nan
    month, day, before, hour, minute, second, fraction, after = found.groups()
    return dated_s(
        _MONTHS[month], int(day), int(hour), int(minute), int(second), before or after, changed_s
    ) + (float(f"0.{fraction}") if fraction else 0.0)


def dated_s(
    month: int, day: int, hour: int, minute: int, second: int, year: str | None, changed_s: float
) -> float:
    """A moment whose `year` may be absent, by the file's last change (`changed_s`, since the epoch); NaN for no date."""
    changed = datetime.fromtimestamp(changed_s if math.isfinite(changed_s) else 0.0, tz=timezone.utc)  # noqa: UP017
    for candidate in [int(year)] if year else [changed.year + 1, changed.year, changed.year - 1]:
        try:
            moment = datetime(candidate, month, day, hour, minute, second, tzinfo=timezone.utc).timestamp()  # noqa: UP017
        except ValueError:
            continue
        if year or moment <= changed_s + 86400.0:
            return moment
    return math.nan


def changed_s(path: Path) -> float:
    """When the file was last changed, seconds since the epoch; NaN where that cannot be told."""
    try:
        return path.stat().st_mtime
    except OSError:
        return math.nan


def number(text: str) -> float:
    """A number as logs print it (`7,034`, `1.2E+01`, `41.19%` as 0.4119); NaN for anything else, also for infinite."""
    cleaned = text.strip().replace(",", "")
    share = cleaned.endswith("%")
    try:
        value = float(cleaned.removesuffix("%"))
    except ValueError:
        return math.nan
    if not math.isfinite(value):
        return math.nan
    return value / 100.0 if share else value


def head_text(head: bytes) -> str:
    """The beginning of a file (expanded where it is gzip) as text without escape codes: what `looks_like` judges."""
    return _ESCAPES.sub("", head.decode("utf-8", "replace"))
