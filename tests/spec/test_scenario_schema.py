"""What editors and the docs are told about the scenario file agrees with what the reader accepts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from argosy.spec import field_table, json_schema
from argosy.spec.schema import field_markdown
from argosy.spec.yaml_tree import read_file

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MINIMAL: dict[str, Any] = {
    "name": "x",
    "fleet": {"accelerator": "H100-SXM", "count": 8},
    "training": {"model": "llama-3.1-8b", "tokens": 1e12, "sequence_length": 8192, "global_batch": "4 Mtok"},
}


def valid(data: dict[str, Any]) -> bool:
    return not list(Draft202012Validator(json_schema()).iter_errors(data))


def test_it_is_a_schema_and_json() -> None:
    Draft202012Validator.check_schema(json_schema())
    assert json.loads(json.dumps(json_schema())) == json_schema()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_examples_are_valid(path: Path) -> None:
    assert valid(read_file(path).data)


def test_faults_are_not() -> None:
    assert valid(MINIMAL)
    assert not valid({**MINIMAL, "fleets": {}})
    assert not valid({**MINIMAL, "fleet": {"accelerator": "H100-SXM"}})
    assert not valid({**MINIMAL, "training": {**MINIMAL["training"], "toekns": 1}})
    assert not valid({**MINIMAL, "training": {**MINIMAL["training"], "global_batch": 16}})
    assert not valid({**MINIMAL, "reliability": {"detection": 120}})
    assert valid({**MINIMAL, "reliability": {"detection": "120 s"}})
    assert valid({**MINIMAL, "training": [MINIMAL["training"]]})


def test_every_field_is_described_and_every_default_has_a_source() -> None:
    rows = field_table()
    assert len(rows) > 100
    for row in rows:
        assert row.description, row.path
        assert row.source or row.default == "", row.path
    table = {row.path: row for row in rows}
    assert (table["reliability.detection"].default, table["reliability.detection"].unit) == ("2 min", "s")
    assert table["reliability.detection"].is_assumption
    assert table["fleet.fabrics[].link"].unit == "bit/s"
    assert table["name"].source == ""


def test_the_documentation_is_the_code() -> None:
    page = (EXAMPLES.parent / "docs" / "scenario.md").read_text(encoding="utf-8")
    assert page.endswith(field_markdown()), (
        "docs/scenario.md: replace its table by argosy.spec.schema.field_markdown()"
    )
