"""All experiments, one after the other, each as the command that a user would type, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from argosy.testbed.hosts import TestbedError
from argosy.testbed.quiet import Quiet, quiet, worse

SECONDS = {True: 240.0, False: 3600.0}  # that an experiment may take: in short, and in full
LEAVE_S = 10.0  # from SIGTERM to SIGKILL


def run_one(name: str, short: bool) -> dict[str, Any]:
    """An experiment's answer. TestbedError where it failed or took too long; nothing of it is left then, either."""
    line = [sys.executable, "-m", "argosy", "testbed", name, "--json", *(["--short"] if short else [])]
    process = subprocess.Popen(
        line,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        told, complained = process.communicate(timeout=SECONDS[short])
    except BaseException as error:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(LEAVE_S)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise TestbedError(f"{name} took more than {SECONDS[short]:g} s") from None
        raise
    if process.returncode:
        raise TestbedError(f"{name} ended with {process.returncode}: {complained.strip()[-1200:]}")
    answer: dict[str, Any] = json.loads(told)
    return answer


def run_all(
    names: Sequence[str], short: bool, folder: Path | None, say: Callable[[str], None]
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Answers, and why others have none, by name; answers go to `folder` as they come."""
    answers, failed = {}, {}
    for name in names:
        start = time.monotonic()
        try:
            answers[name] = run_one(name, short)
        except TestbedError as error:
            failed[name] = str(error)
            say(f"{name}: failed: {error}")
            continue
        summary = answers[name]["summary"]
        took = time.monotonic() - start
        say(f"{name}: {summary['within_bar']} of {summary['judged']} within their bar, {took:.0f} s")
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            text = json.dumps(answers[name], indent=1, ensure_ascii=False)
            (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    return answers, failed


def saved(folder: Path, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Answers that `run_all` left in a folder, in the order of `names`. TestbedError where there is none."""
    there = {name: folder / f"{name}.json" for name in names if (folder / f"{name}.json").exists()}
    if not there:
        raise TestbedError(f"{folder}: no answers; write the folder of `argosy testbed all --answers`")
    return {name: _read(name, path) for name, path in there.items()}


def _read(name: str, path: Path) -> dict[str, Any]:
    try:
        answer = json.loads(path.read_text(encoding="utf-8"))
        if answer["schema"] == f"argosy.testbed-{name}/1":
            return dict(answer)
    except (ValueError, KeyError, TypeError):
        pass
    raise TestbedError(f"{path}: no answer of `argosy testbed {name} --json`; run it again")


def missed(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Comparisons that do not hold."""
    return [row for row in answer["comparisons"] if row["within"] is False]


@dataclass(frozen=True)
class Attempt:
    """A short run of an experiment: its answer, or why there is none; seconds; how quiet the machine was."""

    name: str
    answer: Mapping[str, Any] | None
    failed: str | None
    seconds: float
    quiet: Quiet

    @property
    def late(self) -> list[dict[str, Any]]:
        """What was missed."""
        return missed(self.answer) if self.answer else []

    def __str__(self) -> str:
        if self.answer is None:
            return f"{self.name}: failed after {self.seconds:.0f} s ({self.quiet})"
        summary = self.answer["summary"]
        where = "" if self.answer["hosts"] == "namespaces" else ", on the loopback"
        return (
            f"{self.name}: {summary['within_bar']} of {summary['judged']} within their bar{where}, "
            f"{self.seconds:.0f} s ({self.quiet})"
        )


def attempt(name: str) -> Attempt:
    """Run an experiment in short."""
    before, start = quiet(), time.monotonic()
    answer, failed = None, None
    try:
        answer = run_one(name, True)
    except TestbedError as error:
        failed = str(error)
    return Attempt(name, answer, failed, time.monotonic() - start, worse(before, quiet()))


def judged(tries: Sequence[Attempt]) -> tuple[list[str], list[str]]:
    """Of one or two runs of an experiment: faults, and what cannot be judged because the machine was busy.

    What must be exactly so is a fault whenever it was missed. A matter of time is one where every run missed it, and one of
    them on a quiet machine; so is a run that came to nothing.
    """
    quiet_once = any(one.quiet.enough for one in tries)
    conditions = "; ".join(str(one.quiet) for one in tries)
    faults: list[str] = []
    busy: list[str] = []
    if all(one.answer is None for one in tries):
        (faults if quiet_once or "took more than" not in str(tries[-1].failed) else busy).append(
            f"{tries[-1].failed} ({conditions})"
        )
    held = {row["what"] for one in tries if one.answer for row in one.answer["comparisons"] if row["within"]}
    told = set()
    for row in (row for one in tries for row in one.late):
        text = f"{row['what']}: predicted {row['predicted']}, measured {row['measured']}"
        exact = row["bar"] == 0.0
        if row["what"] in told or (not exact and row["what"] in held):
            continue
        told.add(row["what"])
        if exact or quiet_once:
            faults.append(text)
        else:
            busy.append(f"{text}; the machine was busy ({conditions})")
    return faults, busy
