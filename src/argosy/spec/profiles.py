"""Hourly carbon intensities from a CSV file: one row an hour, a column `g_per_kwh` or `kg_per_kwh`."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from argosy.spec.problems import Problem, ScenarioError

UNITS = {"g_per_kwh": "g/kWh", "kg_per_kwh": "kg/kWh"}
HOURS, LEAP_HOURS = 8760, 8784
_LEAP_DAY = slice(59 * 24, 60 * 24)  # the 29th of February
_WRITE = "write a column g_per_kwh with 8760 rows, from the first hour of January on"


def read_profile(path: Path) -> dict[str, Any]:
    """The `{unit, hours}` of a profile that a CSV file gives; the leap day of a leap year is left out.

    Columns: `g_per_kwh` or `kg_per_kwh`, others (a time) are not read. ScenarioError with the line of what is wrong.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            column = next((name for name in UNITS if name in (reader.fieldnames or [])), None)
            if column is None:
                raise _problem(
                    path, 1, f"has the columns {', '.join(reader.fieldnames or []) or 'none'}", _WRITE
                )
            hours = [_number(path, reader.line_num, row[column]) for row in reader]
    except OSError as error:
        raise _problem(
            path, 1, f"cannot be read: {error.strerror}", "name a CSV file beside the scenario"
        ) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise _problem(path, 1, f"is no CSV text: {error}", _WRITE) from None
    if len(hours) == LEAP_HOURS:
        del hours[_LEAP_DAY]
    if len(hours) != HOURS:
        raise _problem(path, 1, f"has {len(hours)} rows", _WRITE)
    return {"unit": UNITS[column], "hours": hours}


def _number(path: Path, line: int, text: str | None) -> float:
    try:
        number = float(text or "")
    except ValueError:
        number = -1.0
    if not 0.0 <= number < 1e5:
        raise _problem(path, line, f"{text!r} is no carbon intensity", "write a number such as 412.5")
    return number


def _problem(path: Path, line: int, message: str, instead: str) -> ScenarioError:
    return ScenarioError([Problem(str(path), line, 1, "facility.carbon.profile", message, instead)])
