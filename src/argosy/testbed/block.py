"""What is set up for a `with` block and taken away whatever ends it, a failure half way through the setting up included."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Block:
    """Subclasses set up in `_begin` and take away in `_end`, which must bear that only a part is there."""

    def _begin(self) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        try:
            self._begin()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
