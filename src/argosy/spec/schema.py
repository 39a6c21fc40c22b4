"""The scenario file described: a JSON schema for editors, and a table of every field for the docs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from argosy import units
from argosy.spec.fleet import CatalogChoice
from argosy.spec.model import ModelArchitecture
from argosy.spec.quantity import ASSUMPTION, Section, unit_of
from argosy.spec.scenario import Scenario

_FLAT_STAGE = ("tokens", "sequence_length", "global_batch")


def json_schema() -> dict[str, Any]:
    """The JSON schema (2020-12) of a scenario file, with units, defaults and sources as annotations."""
    schema = Scenario.model_json_schema(by_alias=True)
    definitions = schema["$defs"]
    stage, job = definitions["Stage"]["properties"], definitions["Training"]
    job["properties"] |= {name: stage[name] for name in _FLAT_STAGE}
    definitions["CatalogChoice"]["additionalProperties"] = True  # the facts that a scenario changes
    model = definitions["ModelArchitecture"]
    model["properties"]["base"] = {
        "type": "string",
        "description": "a model from which the other fields differ",
    }
    model["anyOf"] = [{"required": model.pop("required")}, {"required": ["base"]}]
    schema["properties"]["extends"] = {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        "description": "presets, shipped or files, merged in order; later wins",
    }
    # What a preset gives need not stand in the file: with `extends`, nothing that merges is required.
    job.pop("required")
    whole = {"anyOf": [{"required": ["model", "stages"]}, {"required": ["model", *_FLAT_STAGE]}]}
    alone = {
        "required": schema.pop("required"),
        "properties": {
            "fleet": {"required": definitions["Fleet"].pop("required")},
            "training": {"if": {"type": "array"}, "then": {"items": whole}, "else": whole},
        },
    }
    schema["anyOf"] = [alone, {"required": ["extends"]}]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Argosy scenario", **schema}


@dataclass(frozen=True)
class FieldRow:
    """One field of the scenario file, as the docs print it. `default` is empty for a required field."""

    path: str
    type: str
    unit: str
    default: str
    description: str
    source: str

    @property
    def is_assumption(self) -> bool:
        """True where the default has no source."""
        return self.source.startswith(ASSUMPTION)


def field_table() -> list[FieldRow]:
    """Every field of the scenario file, in order; `[]` marks members of a list, `{}` members of a mapping."""
    return list(_rows(Scenario, ""))


def _rows(section: type[BaseModel], prefix: str) -> Iterator[FieldRow]:
    for name, field in section.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        inner, mark = _inner(field.annotation)
        extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
        default = (
            ""
            if field.is_required()
            else _shown(field.get_default(call_default_factory=True), unit_of(field))
        )
        source = "" if field.is_required() else str(extra.get("source", ""))
        yield FieldRow(
            path, _type(field.annotation), unit_of(field), default, field.description or "", source
        )
        if inner is not None and issubclass(inner, Section) and inner is not CatalogChoice:
            yield from _rows(inner, f"{path}{mark}.")


def _inner(annotation: Any) -> tuple[type[BaseModel] | None, str]:
    """The section inside an annotation, and how its members are reached."""
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return (annotation, "") if issubclass(annotation, BaseModel) else (None, "")
    mark = {tuple: "[]", dict: "{}"}.get(get_origin(annotation), "")
    for each in get_args(annotation):
        found, further = _inner(each)
        if found is not None:
            return found, mark + further
    return None, ""


def _type(annotation: Any) -> str:
    """A type in the words of someone who writes YAML."""
    words = {int: "whole number", float: "number", str: "text", bool: "true or false", type(None): ""}
    if annotation in words:
        return words[annotation]
    arguments = get_args(annotation)
    origin = get_origin(annotation)
    if origin is None:
        return (
            "model"
            if annotation is ModelArchitecture
            else "mapping"
            if isinstance(annotation, type)
            else "any"
        )
    if origin is tuple:
        return f"list of {_type(arguments[0])}"
    if origin is dict:
        return f"mapping of {_type(arguments[1])}"
    if all(isinstance(each, str | int) for each in arguments):  # Literal
        return " | ".join(str(each) for each in arguments)
    if hasattr(annotation, "__metadata__"):  # Annotated
        return _type(arguments[0])
    return " or ".join(filter(None, (_type(each) for each in arguments)))


def _shown(default: Any, unit: str) -> str:
    """A default as a file would write it; empty for "chosen", for sections and for empty lists."""
    if default is None or isinstance(default, Section) or default in ((), {}):
        return ""
    if isinstance(default, tuple):
        return "" if isinstance(default[0], Section) else ", ".join(str(each) for each in default)
    if isinstance(default, bool):
        return str(default).lower()
    return units.format(default, unit) if unit and isinstance(default, float) else str(default)


def field_markdown() -> str:
    """The table of every field as Markdown, for docs/scenario.md. Assumptions are set in italics."""
    lines = [
        "| field | type | unit | default | meaning | where the default comes from |",
        "|---|---|---|---|---|---|",
    ]
    for row in field_table():
        source = f"*{row.source}*" if row.is_assumption else row.source
        default = row.default or ("" if row.source else "required")
        cells = (f"`{row.path}`", row.type, row.unit, default, row.description, source)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
