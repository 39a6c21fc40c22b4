"""Numbers of the step model that were fitted to measured training steps: the shipped table, by path.

`python -m argosy.validation.fit_steps` regenerates it. A number that is not in it keeps its published or
assumed value.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

TABLE = "steps.json"


@cache
def steps_table() -> dict[str, Any]:
    """The table as it was generated: `numbers` by path, the errors by source, residuals by grade; empty
    if absent.
    """
    path = files("argosy.training.kernels") / "data" / TABLE
    if not path.is_file():
        return {"numbers": {}, "residuals": {}}
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def fitted(path: str) -> dict[str, Any] | None:
    """`value`, `low`, `high` (central 90 %) and `source` of a fitted number, or None.

    Paths: `training.sustained_clock.<generation or device>`, `training.memory_efficiency.<generation>`,
    `attention.<kernel>.<generation>.<field>`, `stacks.<stack>.<field>`, `training.residual.<grade>`.
    """
    found: dict[str, Any] | None = steps_table()["numbers"].get(path)
    return found


def fitted_under(prefix: str) -> dict[str, dict[str, Any]]:
    """All fitted numbers whose path starts with `prefix`."""
    return {path: found for path, found in steps_table()["numbers"].items() if path.startswith(prefix)}
