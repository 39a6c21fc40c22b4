"""What a Kineto trace tells beside its times: arguments of slices, sizes of messages, groups, the device, the job."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from argosy.kernels import trace_scan as scan
from argosy.observe import names
from argosy.observe.records import Whole

_RANK_IN_NAME = re.compile(r"(?:rank|worker)[_-]?(\d{1,7})(?!\d)", re.IGNORECASE)


def parsed(text: str) -> Any:
    """JSON; None for what is none."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def arguments(row: Whole, buffer: bytearray) -> dict[str, Any]:
    """The `args` of a slice whose text stands in `buffer`; {} where they are none."""
    at, length = int(row[scan.ARGS_AT]), int(row[scan.ARGS_LENGTH])
    found = (
        parsed(bytes(buffer[at : at + min(length, 1 << 20)]).decode("utf-8", "replace")) if length else None
    )
    return found if isinstance(found, dict) else {}


def count(value: Any) -> int:
    """A number of elements; 0 for what cannot be one."""
    return value if type(value) is int and 0 <= value < 1 << 45 else 0


def index(value: Any) -> int | None:
    """A rank or a size; None for what cannot be one."""
    return value if type(value) is int and 0 <= value < 1 << 31 else None


def sent_bytes(arguments: Mapping[str, Any]) -> int:
    """Bytes of the tensors that `Input Dims` and `Input type` tell."""
    total = 0
    dims, kinds = arguments.get("Input Dims"), arguments.get("Input type")
    for shape, kind in (
        zip(dims, kinds, strict=False) if isinstance(dims, list) and isinstance(kinds, list) else ()
    ):
        if (
            isinstance(shape, list)
            and shape
            and all(type(size) is int and 0 <= size < 1 << 40 for size in shape)
        ):
            elements = 1
            for size in shape[:8]:
                elements *= size
            total += elements * names.element_bytes(str(kind)[:40])
    return total if total < 1 << 60 else 0


def rank_list(value: Any) -> tuple[int, ...]:
    """A list of ranks, or its text; () where it is cut short or none."""
    if isinstance(value, str):
        return _ranks_of(value) if len(value) < 1 << 20 else ()
    whole = isinstance(value, list) and all(type(rank) is int and 0 <= rank < 1 << 31 for rank in value)
    return tuple(value) if whole else ()


@lru_cache(256)
def _ranks_of(text: str) -> tuple[int, ...]:
    """Every kernel of a group repeats its list."""
    found = parsed(text)
    return rank_list(found) if isinstance(found, list) else ()


def _entries(groups: Any) -> list[dict[str, Any]]:
    found = list(groups.values()) if isinstance(groups, dict) else groups if isinstance(groups, list) else []
    return [each for each in found if isinstance(each, dict)]


def groups(listed: Any) -> dict[str, tuple[int, ...]]:
    """Ranks of every process group of `pg_config` by its name."""
    return {
        str(each["pg_name"])[:200]: ranks
        for each in _entries(listed)
        if "pg_name" in each and (ranks := rank_list(each.get("ranks")))
    }


def device_name(properties: Any, number: int) -> str | None:
    """The name of device `number` in `deviceProperties`, else of the first; None where there is none."""
    listed = [each for each in properties if isinstance(each, dict)] if isinstance(properties, list) else []
    chosen = next((each for each in listed if each.get("id") == number), listed[0] if listed else {})
    name = chosen.get("name")
    return name[:200] if isinstance(name, str) else None


def scalars(metadata: Mapping[str, Any], path: str, distributed: Mapping[str, Any]) -> dict[str, Any]:
    """The short members of the trace; `name_rank`: the rank in the file's name; `group_descriptions` by group."""
    kept = {
        key[:100]: value
        for key, value in list(metadata.items())[:100]
        if isinstance(value, int | float) or (isinstance(value, str) and len(value) <= 200)
    }
    if named := _RANK_IN_NAME.search(Path(path).name):
        kept["name_rank"] = int(named[1])
    described = {
        str(each["pg_name"])[:200]: str(each["pg_desc"])[:200]
        for each in _entries(distributed.get("pg_config"))
        if each.get("pg_desc") and "pg_name" in each
    }
    return {**kept, "group_descriptions": described} if described else kept
