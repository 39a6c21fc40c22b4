"""Compiling with a cache that no change of the sources outlives.

Numba notices a change of the file that a function stands in, not of what it calls elsewhere, nor of the records that it
reads: an upgraded installation would run yesterday's machine code on today's memory. Here the folder of the cache has
the name of all sources together, so that any change compiles anew.
"""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import config, njit

_HERE = Path(__file__).parent


def fingerprint(folder: Path = _HERE) -> str:
    """A name that changes with any Python source in `folder`."""
    sources = b"".join(path.name.encode() + path.read_bytes() for path in sorted(folder.glob("*.py")))
    return f"sources_{zlib.crc32(sources):08x}"


@cache
def cache_folder() -> Path:
    """Where compiled code of these very sources lies: NUMBA_CACHE_DIR, beside the sources, or where those are
    read-only the user's cache. Beside the sources, code of other sources is removed (tens of megabytes a version)."""
    if given := getattr(config, "CACHE_DIR", ""):
        return Path(given) / fingerprint()
    beside = _HERE / "__pycache__"
    if not _writable(beside):
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "argosy" / fingerprint()
    folder = beside / fingerprint()
    if not folder.exists():
        remove_others(folder)
    return folder


def remove_others(folder: Path) -> None:
    """Removes caches of other sources that stand beside `folder`."""
    for other in folder.parent.glob("sources_*"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit` with `options`, cached in `cache_folder`."""

    def decorate(function: Callable[..., Any]) -> Any:
        before = getattr(config, "CACHE_DIR", "")
        config.CACHE_DIR = str(cache_folder())  # type: ignore[attr-defined]  # njit reads it at once
        try:
            return njit(cache=True, **options)(function)
        finally:
            config.CACHE_DIR = before  # type: ignore[attr-defined]

    return decorate
