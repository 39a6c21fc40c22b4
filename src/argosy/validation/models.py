"""The architecture that a row of measurements means: by its model's name, else by the sizes that the row
states.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from argosy.spec.model import ModelArchitecture
from argosy.validation.rows import Row


class Skipped(ValueError):
    """A row cannot be predicted; the message says why."""


@cache
def _table() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(
        (files("argosy.validation") / "data" / "models.json").read_text(encoding="utf-8")
    )
    return loaded


def architecture(row: Row) -> tuple[ModelArchitecture, list[str]]:
    """The architecture of a row's model, and remarks on what was assumed.

    A model that is known by name takes its published fields, with the row's own layer count (truncated
    models); another is built from the row's layers, hidden, heads and so on, in the manner of its family.
    Skipped where the model is of a kind that is not modelled, or neither known nor described.
    """
    name = row.text("model").lower()
    for entry in _table()["models"]:
        if re.search(entry["match"], name):
            if "not_modelled" in entry:
                raise Skipped(entry["not_modelled"])
            return _named(row, entry["fields"])
    return _described(row, name)


def _named(row: Row, fields: dict[str, Any]) -> tuple[ModelArchitecture, list[str]]:
    layers = row.count("layers") or fields["layers"]
    changes: dict[str, Any] = {"layers": layers}
    remarks = []
    if layers != fields["layers"]:
        remarks.append(f"{layers} of {fields['layers']} layers")
        changes |= _truncated(fields, layers)
    if (vocab := row.count("vocab")) and vocab != fields["vocab"]:
        changes["vocab"] = vocab
    return ModelArchitecture(name=row.text("model"), **{**fields, **changes}), remarks


def _truncated(fields: dict[str, Any], layers: int) -> dict[str, Any]:
    """Layer lists cut to a shorter stack: dense layers of a mixture in proportion, at least one."""
    changes: dict[str, Any] = {}
    if windowed := fields.get("windowed_layers"):
        changes["windowed_layers"] = [i for i in windowed if i < layers]
    if moe := fields.get("moe"):
        dense = moe.get("dense_layers", [])
        kept = max(round(len(dense) * layers / fields["layers"]), min(len(dense), 1))
        changes["moe"] = {**moe, "dense_layers": dense[:kept]}
    return changes


def _described(row: Row, name: str) -> tuple[ModelArchitecture, list[str]]:
    layers, hidden, heads = (row.count(column) for column in ("layers", "hidden", "heads"))
    if not (layers and hidden and heads):
        raise Skipped(
            f"model {row.text('model')!r} is not known by name, and its layers, hidden size or "
            f"heads are not stated"
        )
    if hidden % heads:
        raise Skipped(f"hidden size {hidden} does not divide into {heads} heads")
    if (row.number("n_experts") or 0) > 1:
        raise Skipped(f"mixture-of-experts model {row.text('model')!r} is not known by name")
    family = next(entry for entry in _table()["families"] if re.search(entry["match"], name))
    vocab = row.count("vocab") or family["defaults"]["vocab"]
    remarks = [] if row.count("vocab") else [f"vocabulary assumed {vocab}"]
    fields = family["fields"] | {
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "kv_heads": row.count("kv_heads") or heads,
        "head_dim": hidden // heads,
        "ffn": row.count("ffn") or 4 * hidden,
        "vocab": vocab,
    }
    if fields["position"] == "learned":
        fields["learned_positions"] = row.count("seq_len") or 0
    return ModelArchitecture(name=row.text("model") or "model", **fields), remarks
