"""Hourly carbon from a CSV file: read, or refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from argosy.spec import ScenarioError, loads

SCENARIO = """
name: small
fleet: {accelerator: H100-SXM, count: 256}
training: {name: pretrain, model: llama-3.1-8b, tokens: 1e11, sequence_length: 8192, global_batch: 2 Mtok}
facility:
  start_month: 7
  carbon: {profile: grid.csv}
"""


def loaded(directory: Path, text: str):
    (directory / "grid.csv").write_text(text, encoding="utf-8")
    return loads(SCENARIO, directory=directory)


@pytest.mark.parametrize(("column", "scale"), [("g_per_kwh", 1e-3), ("kg_per_kwh", 1.0)])
def test_a_year_of_hours(tmp_path: Path, column: str, scale: float) -> None:
    rows = "".join(f"{hour},{hour % 24}\n" for hour in range(8760))
    profile = loaded(tmp_path, f"hour,{column}\n{rows}").facility.carbon.profile
    assert len(profile.hours) == 8760 and profile.hours[25] == 1.0
    assert profile.kg_per_j * 3.6e6 == pytest.approx(scale)


def test_a_leap_year_loses_its_day(tmp_path: Path) -> None:
    rows = "".join(f"{hour // 24}\n" for hour in range(8784))
    hours = loaded(tmp_path, f"g_per_kwh\n{rows}").facility.carbon.profile.hours
    assert 59.0 not in hours and 58.0 in hours and hours[-1] == 365.0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hour,intensity\n1,2\n", "grid.csv:1:1: facility.carbon.profile: has the columns hour, intensity"),
        ("g_per_kwh\n400\n", "has 1 rows; write a column g_per_kwh with 8760 rows"),
        ("g_per_kwh\n400\nlow\n", "grid.csv:3:1: facility.carbon.profile: 'low' is no carbon intensity"),
        ("g_per_kwh\n-1\n", "grid.csv:2:1"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ScenarioError) as fault:
        loaded(tmp_path, text)
    assert says in str(fault.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot be read"):
        loads(SCENARIO, directory=tmp_path)


def test_months_in_the_scenario_itself() -> None:
    months = str([[400] * 24] * 12)
    text = SCENARIO.replace("profile: grid.csv", f"profile: {{months: {months}}}")
    assert loads(text).facility.carbon.profile.months[11][23] == 400
    with pytest.raises(ScenarioError, match="write 12 lists of 24"):
        loads(SCENARIO.replace("profile: grid.csv", "profile: {months: [[1, 2]]}"))
