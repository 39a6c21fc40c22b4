"""A published measurement as it stands in a file: one row, its numbers, and the step time that it states."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from argosy.spec.model import ModelArchitecture
from argosy.validation.flops import megatron_step_flops

KINDS = {
    "runs": {"model", "accelerator", "n_gpus", "seq_len", "gbs_seqs", "step_time_s"},
    "memory": {"model", "accelerator", "n_gpus", "seq_len", "peak_mem_gb"},
    "serving": {"engine", "model", "gpu", "isl", "osl"},
}


class TableError(ValueError):
    """The file is not a table of measurements that is known."""


@dataclass(frozen=True)
class Row:
    """One row. Text by column name; `number` reads a cell, None where it is empty or no number."""

    cells: Mapping[str, str]

    def text(self, column: str) -> str:
        """The cell, empty where the file has no such column."""
        return (self.cells.get(column) or "").strip()

    def number(self, column: str) -> float | None:
        """The cell as a number, None where it is none."""
        try:
            return float(self.text(column))
        except ValueError:
            return None

    def count(self, column: str) -> int | None:
        """The cell as a whole number, None where it is none."""
        value = self.number(column)
        return None if value is None else round(value)


def read_table(path: Path) -> tuple[str, list[Row]]:
    """The kind of a measurement file (`runs`, `memory`, `serving`), recognised by its columns, and its rows.

    TableError where the file is empty, or its columns are of none of the kinds: it names what is missing.
    """
    try:
        with path.open(newline="", encoding="utf-8") as handle:
            reader = csv.DictReader(handle)
            columns = set(reader.fieldnames or ())
            rows = [Row(row) for row in reader]
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise TableError(f"{path}: cannot be read as CSV: {error}") from None
    if not columns:
        raise TableError(
            f"{path}: is empty; write a header line with column names and one row per measurement"
        )
    for kind, needed in KINDS.items():
        if needed <= columns:
            return kind, rows
    kind, needed = min(KINDS.items(), key=lambda item: len(item[1] - columns))
    missing = ", ".join(sorted(needed - columns))
    raise TableError(f"{path}: not a known table of measurements; as {kind} it lacks the columns {missing}")


def stated_step_time(
    row: Row, model: ModelArchitecture, sequence_length: int, batch: int
) -> tuple[float | None, str]:
    """The step time in s that a row states, and how it was read: a time, a token rate, or a FLOP/s by its
    definition.

    `batch` in sequences per step. A FLOP/s is converted by Megatron's formula (see
    `megatron_step_flops`), with the recomputed forward where the row's definition says that it counts it.
    None where the row states no measure.
    """
    if (seconds := row.number("step_time_s")) is not None:
        return seconds, "step time as stated"
    tokens = float(batch * sequence_length)
    if (rate := row.number("tokens_per_s")) is not None:
        return tokens / rate, "from tokens/s"
    gpus = row.number("n_gpus")
    if gpus and (rate := row.number("tokens_per_s_per_gpu")) is not None:
        return tokens / (rate * gpus), "from tokens/s per accelerator"
    if gpus and (rate := row.number("tflops_per_gpu")) is not None:
        counts_recompute = _counts_recompute(row.text("metric_definition"))
        causal = _counts_causal(row.text("framework"))
        work = megatron_step_flops(model, sequence_length, batch, counts_recompute, causal)
        what = "hardware FLOP/s (recomputation counted)" if counts_recompute else "model FLOP/s"
        half = "causal" if causal else "full"
        return work / (rate * 1e12 * gpus), f"from {what}, {half} attention, per accelerator"
    return None, "no step time, token rate or FLOP/s"


def _counts_causal(framework: str) -> bool:
    """Whether a framework counts attention's causal half: Megatron-Core since its releases of 2025 (r0.12).

    A Megatron-Core without a release is taken as a newer one.
    """
    words = framework.lower()
    if not re.search(r"megatron-(core|bridge)", words):
        return False
    release = re.search(r"r0\.(\d+)", words)
    return release is None or int(release[1]) >= 12


def _counts_recompute(definition: str) -> bool:
    """Whether a definition of FLOP/s counts the recomputed forward."""
    words = definition.lower()
    if "no recompute" in words or "model tflop" in words or "model flops" in words:
        return False
    return "hardware" in words or "recompute" in words or "recomputation" in words
