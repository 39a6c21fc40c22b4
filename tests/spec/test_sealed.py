"""A scenario of somebody else's opens no file that it names, whatever field it names it in."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import pytest

from argosy.spec import ScenarioError, json_schema, loads, presets
from argosy.spec.sealed import loads_sealed

SECRET = "/etc/argosy-secret-for-tests/config.json"
BASE = """name: theirs
fleet: {accelerator: H100-SXM, count: 64}
training: {name: pretrain, model: llama-3.1-8b, tokens: 1e11, sequence_length: 8192, global_batch: 256 sequences}
"""
_opened: list[str] = []


def _watch(event: str, arguments: tuple) -> None:
    if event in ("open", "os.listdir", "os.scandir") and arguments and isinstance(arguments[0], str | Path):
        _opened.append(str(arguments[0]))


sys.addaudithook(_watch)


def _text_fields(schema: dict, root: dict, path: tuple = (), seen: tuple = ()) -> list[tuple]:
    """Paths of all fields of the published schema that may be text."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return [] if name in seen else _text_fields(root["$defs"][name], root, path, (*seen, name))
    found = [path] if schema.get("type") == "string" and path else []
    for key, inner in schema.get("properties", {}).items():
        found += _text_fields(inner, root, (*path, key), seen)
    for inner in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        found += _text_fields(inner, root, path, seen)
    if isinstance(schema.get("items"), dict):
        found += _text_fields(schema["items"], root, path, seen)
    return list(dict.fromkeys(found))


def _nested(path: tuple, value: str) -> str:
    text = ""
    for depth, key in enumerate(path):
        text += "  " * depth + f"{key}:" + (f" {value}\n" if depth == len(path) - 1 else "\n")
    return text


def test_the_schema_has_the_fields_that_name_files():
    fields = _text_fields(json_schema(), json_schema())
    assert ("training", "model") in fields and ("serving", "traffic", "trace") in fields and len(fields) > 40


@pytest.mark.parametrize("secret", [SECRET, "../../../../../.." + SECRET, "~/secret.yaml"])
def test_no_field_opens_a_file_that_the_text_names(secret):
    fields = [*_text_fields(json_schema(), json_schema()), ("extends",), ("training", "model", "base")]
    kept = {"training": "", "serving": "", "fleet": ""}
    for path in fields:
        lines = [
            line for line in BASE.splitlines() if line.partition(":")[0] != path[0] or path[0] not in kept
        ]
        text = "\n".join(lines) + "\n" + _nested(path, secret)
        _opened.clear()
        with contextlib.suppress(ScenarioError):
            loads_sealed(text)
        assert not [each for each in _opened if "secret" in each], path


def test_shipped_names_work_as_ever_and_what_is_refused_has_its_place():
    assert loads_sealed(BASE).hash == loads(BASE).hash
    assert loads_sealed(f"extends: [{presets()[0]}]\n{BASE}").name == "theirs"
    with pytest.raises(ScenarioError, match=r"<scenario>:4:26: assumptions.overrides: no file can be named"):
        loads_sealed(BASE + "assumptions: {overrides: facts.yaml}\n")
    with pytest.raises(ScenarioError, match="is a path; name what ships"):
        loads_sealed(BASE.replace("llama-3.1-8b", SECRET))


def test_a_file_that_is_there_is_read_by_loads_but_not_by_the_sealed_one(tmp_path):
    (tmp_path / "mine.yaml").write_text("facility: {pue: 1.5}\n", encoding="utf-8")
    text = f"extends: [{tmp_path / 'mine.yaml'}]\n{BASE}"
    assert loads(text).facility.pue == 1.5
    with pytest.raises(ScenarioError):
        loads_sealed(text)
