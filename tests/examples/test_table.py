"""The table of docs/examples.md holds what the plans say: nominal MFU of every row that has one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import argosy

REPOSITORY = Path(__file__).resolve().parents[2]
ROWS = re.findall(
    r"^\| `([\w-]+)` \|.*?\| (\d+\.\d) % \(", (REPOSITORY / "docs/examples.md").read_text("utf-8"), re.M
)


def test_the_table_has_rows():
    assert len(ROWS) >= 7


@pytest.mark.parametrize(("name", "printed"), ROWS)
def test_the_printed_utilisation_is_the_plans(name: str, printed: str):
    plan = argosy.plan(argosy.load(REPOSITORY / "examples" / f"{name}.yaml"), draws=100).to_dict()
    assert 100 * plan["training"][0]["mfu"]["parameters_only"] == pytest.approx(float(printed), abs=0.15)
