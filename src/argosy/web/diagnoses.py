"""Files that were given for a diagnosis: kept in a folder of their own on this machine until they are deleted."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from argosy.web.limits import Limits

_PART = 1 << 20  # bytes copied at once


class Uploaded(Protocol):
    """What a form's file offers."""

    filename: str | None

    async def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        ...


class Diagnoses:
    """Folders of files by a random name; the oldest goes when there are more than `limits.uploads_kept`."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._folders: OrderedDict[str, Path] = OrderedDict()

    async def keep(self, files: Sequence[Uploaded]) -> tuple[str, Path]:
        """Write the files, and return the folder's name and path. The names they came with are shown, never used as paths."""
        name, folder = secrets.token_urlsafe(12), Path(tempfile.mkdtemp(prefix="argosy-diagnose-"))
        self._folders[name] = folder
        while len(self._folders) > self._limits.uploads_kept:
            self.delete(next(iter(self._folders)))
        for number, file in enumerate(files):
            own = folder / f"{number:04d}"  # two files may have one name
            own.mkdir()
            with (own / _plain(file.filename)).open("wb") as target:
                while part := await file.read(_PART):
                    target.write(part)
        return name, folder

    def delete(self, name: str) -> bool:
        """Delete a folder's files; False where there is none of that name."""
        folder = self._folders.pop(name, None)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        return folder is not None

    def close(self) -> None:
        """Delete all."""
        for name in list(self._folders):
            self.delete(name)


def _plain(name: str | None) -> str:
    """Letters, digits, dots and hyphens of the last 80 characters of a name."""
    kept = "".join(
        each if each.isascii() and (each.isalnum() or each in ".-_") else "_" for each in name or "file"
    )
    return kept[-80:].lstrip(".") or "file"
