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
from pathlib import Path
from typing import Any

from argosy.testbed.hosts import TestbedError

SECONDS = {True: 150.0, False: 3600.0}  # that an experiment may take: in short, and in full
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
    return {name: json.loads(path.read_text(encoding="utf-8")) for name, path in there.items()}


def missed(answer: Mapping[str, Any], again: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """Comparisons that do not hold. `again`: the experiment run once more, for what is a matter of time: other programs make a
    run slower. What must be exactly so gets no second chance.
    """
    second = {row["what"]: row["within"] for row in again["comparisons"]} if again else {}
    found = []
    for row in answer["comparisons"]:
        once, twice = row["within"], second.get(row["what"])
        exact = row["bar"] == 0.0
        if (once is False or twice is False) if exact else (once is False and twice is not True):
            found.append(row)
    return found
