"""A study's results on disk: one Parquet file per finished chunk, each written whole or not at all.

A folder holds `study.json` (what the results stand for) and `chunk-*.parquet`. A file appears under its name only when
it is complete (written beside, flushed, renamed), so that whatever kills the writer, every file that is there counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from argosy.facts import FactError

if TYPE_CHECKING:
    import duckdb

ABOUT = "study.json"
_PARTIAL = ".partial"
_MARK = b"PAR1"


class Store:
    """The results folder of one study. `about` says what they stand for; FactError where the folder holds another's."""

    def __init__(self, folder: Path, about: dict[str, Any], resume: bool) -> None:
        self.folder = folder
        known = folder / ABOUT
        if known.is_file():
            there = _read_about(known)
            begun = any(folder.glob("chunk-*.parquet"))
            if begun and there.get("key") != about["key"]:
                raise FactError(
                    f"{folder} holds another study (or another version's): give another --output, or remove the folder"
                )
            if begun and not resume:
                raise FactError(
                    f"{folder} holds results of this study: add --resume to continue, or remove the folder"
                )
        elif folder.is_dir() and any(path.name != ABOUT + _PARTIAL for path in folder.iterdir()):
            raise FactError(f"{folder} is not empty and holds no study: give another --output")
        folder.mkdir(parents=True, exist_ok=True)
        for rest in folder.glob(f"*{_PARTIAL}"):
            rest.unlink(missing_ok=True)
        _write_whole(known, json.dumps(about, indent=1, ensure_ascii=False).encode())

    def done(self, name: str) -> bool:
        """Whether the chunk of that name is finished: a whole Parquet file, which begins and ends with its mark."""
        file = self._file(name)
        if not file.is_file() or file.stat().st_size < 2 * len(_MARK):
            return False
        with file.open("rb") as stream:
            head = stream.read(len(_MARK))
            stream.seek(-len(_MARK), os.SEEK_END)
            return head == stream.read() == _MARK

    def write(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """Keep a chunk's rows, given as columns of equal length: floats, whole numbers or text; None is null."""
        partial = self.folder / f"{name}{_PARTIAL}"
        connection = connect()
        table = {key: _column(values) for key, values in columns.items()}
        names = ", ".join(_quoted(key) for key in table)
        connection.register("rows", _arrow_free(table))
        # one row group, no statistics of the writer: the same rows are the same bytes
        connection.execute(f"COPY (SELECT {names} FROM rows) TO '{_escaped(partial)}' (FORMAT parquet)")
        connection.close()
        with partial.open("rb+") as stream:
            os.fsync(stream.fileno())
        partial.replace(self._file(name))

    def _file(self, name: str) -> Path:
        return self.folder / f"chunk-{name}.parquet"


def _arrow_free(table: dict[str, np.ndarray]) -> Any:
    return table


def _column(values: Sequence[Any]) -> np.ndarray:
    """Numbers as float64 (None as NaN, which reads as null), whole numbers as int64, everything else as text."""
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return np.array(values, np.int64)
    if all(
        value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values
    ):
        return np.array([np.nan if value is None else float(value) for value in values])
    return np.array(["" if value is None else str(value) for value in values], dtype=object)


def connect() -> duckdb.DuckDBPyConnection:
    """An in-memory database that loads no extension from anywhere."""
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    return duckdb.connect(":memory:", config=settings)


def results(folder: Path) -> tuple[dict[str, Any], duckdb.DuckDBPyConnection]:
    """What a results folder stands for, and a database in which `results` are its rows by point.

    FactError where the folder holds no study or no finished chunk.
    """
    import duckdb

    about = folder / ABOUT
    if not about.is_file():
        raise FactError(f"{folder} holds no study: name the folder that argosy sweep wrote")
    if not any(folder.glob("chunk-*.parquet")):
        raise FactError(f"{folder} has no finished chunk yet: argosy sweep STUDY --resume")
    connection = connect()
    files = ", ".join(f"'{_escaped(path)}'" for path in sorted(folder.glob("chunk-*.parquet")))
    try:
        connection.execute(
            f"CREATE VIEW results AS SELECT * FROM read_parquet([{files}], union_by_name=true) ORDER BY point"
        )
    except duckdb.Error as error:
        told = str(error).splitlines()[0]
        raise FactError(
            f"{folder}: a chunk cannot be read ({told}): argosy sweep STUDY --resume plans its points again"
        ) from None
    return _read_about(about), connection


def outcomes(folder: Path) -> tuple[dict[str, int], str]:
    """How many rows have each status, and the most frequent reason of those that cannot run (empty where all can)."""
    _, connection = results(folder)
    statuses = dict(
        connection.execute("SELECT status, count(*) FROM results GROUP BY status ORDER BY 2 DESC").fetchall()
    )
    most = connection.execute(
        "SELECT reason FROM results WHERE status IN ('infeasible', 'invalid') "
        "GROUP BY reason ORDER BY count(*) DESC, reason LIMIT 1"
    ).fetchone()
    return statuses, most[0] if most else ""


def _read_about(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise FactError(f"{path} cannot be read: remove the folder and sweep again") from None
    return found if isinstance(found, dict) else {}


def _write_whole(path: Path, content: bytes) -> None:
    partial = path.with_name(path.name + _PARTIAL)
    with partial.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(path)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _escaped(path: Path) -> str:
    return str(path).replace("'", "''")
