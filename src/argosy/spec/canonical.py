"""One form of a scenario for all its spellings, and the hash of it: the key of caches and permalinks."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from argosy.spec.quantity import MODEL_FACTS

if TYPE_CHECKING:
    from argosy.facts import Catalog
    from argosy.spec.scenario import Scenario

HASH_VERSION = "1"  # raised whenever the same text would get another hash
_DIGITS = 12  # significant digits: unit conversions differ in the last of a double's sixteen
_DESCRIPTIVE = ("source", "not_modelled", "published_parameters")  # of a model: said about it, not part of it


def canonical(scenario: Scenario) -> dict[str, Any]:
    """The scenario as plain data in SI units, facts included, without what only describes."""
    data = scenario.model_dump(mode="json", by_alias=True)
    for job in (*data["training"], *data["serving"]):
        for key in _DESCRIPTIVE:
            job["model"].pop(key, None)
    if data["scheduling"] is None:
        del data["scheduling"]  # so that a scenario without it keeps the hash it had before there was one
    catalog = scenario.catalog()
    for section, choice in (("accelerators", data["fleet"]["accelerator"]), ("nodes", data["fleet"]["node"])):
        if choice and choice["facts"]:
            name = choice["name"]
            choice["facts"] = {
                key: catalog.fact(f"{section}.{name}.{key}").to_dict() for key in choice["facts"]
            }
    overrides = data["assumptions"]["overrides"]
    data["assumptions"]["overrides"] = {
        path: _fact(catalog, path, given) for path, given in overrides.items()
    }
    rounded = _rounded(data)
    assert isinstance(rounded, dict)
    return rounded


def _fact(catalog: Catalog, path: str, given: Any) -> Any:
    return given if path.startswith(MODEL_FACTS) else catalog.fact(path).to_dict()


def digest(scenario: Scenario) -> str:
    """`1-` and the SHA-256, in hexadecimal, of the canonical form as JSON with sorted keys."""
    text = json.dumps(canonical(scenario), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"{HASH_VERSION}-{hashlib.sha256(text.encode()).hexdigest()}"


def _rounded(value: Any) -> Any:
    """Floats to twelve significant digits, everywhere in nested data; whole floats as integers."""
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    if isinstance(value, float):
        rounded = float(f"{value:.{_DIGITS}g}")
        return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded
    return value
