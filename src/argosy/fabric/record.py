"""A design as JSON and back, so that a saved plan can be drawn again cable by cable."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from argosy.fabric.topologies import Design, DesignError


def design_record(design: Design) -> dict[str, Any]:
    """The design's fields that differ from their defaults, as JSON takes them."""
    usual = {field.name: field.default for field in fields(Design)}
    return {name: value for name, value in asdict(design).items() if value != usual.get(name, ...)}


def design_of(record: dict[str, Any], where: str) -> Design:
    """The design of a record. DesignError naming `where` for fields that a design does not have, or lacks."""
    known = {field.name for field in fields(Design)}
    if strange := sorted(set(record) - known):
        raise DesignError(
            f"{where}: a design has no {', '.join(strange)}: it was saved by another version of argosy"
        )
    try:
        return Design(**{name: _thawed(name, value) for name, value in record.items()})
    except TypeError as error:
        raise DesignError(f"{where}: the saved design is not whole: {error}") from None


def _thawed(name: str, value: Any) -> Any:
    """Lists as tuples, and the switches of single tiers as what they are."""
    if name == "kinds":
        from argosy.fabric.topologies.design import SwitchKind

        return tuple((tier, SwitchKind(**kind)) for tier, kind in value)
    return tuple(_thawed("", item) for item in value) if isinstance(value, list) else value
