"""Slurm's lists of names: `node-[001-032,040]` written and read (slurm.schedmd.com/topology.conf.html)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

MOST_NAMES = 10_000_000  # a list of more is no cluster
_NUMBERED = re.compile(r"(.*?)(\d+)$")
_PIECE = re.compile(r"\[([^\[\]]*)\]")


def compress(names: list[str]) -> str:
    """`["n-1", "n-2", "n-4"]` as `n-[1-2,4]`; names that end in no number stand alone. Keeps the order of stems."""
    groups: dict[tuple[str, int], list[int]] = {}
    alone = []
    for name in names:
        found = _NUMBERED.match(name)
        if found:
            groups.setdefault((found[1], len(found[2])), []).append(int(found[2]))
        else:
            alone.append(name)
    lists = [_bracket(stem, width, sorted(set(numbers))) for (stem, width), numbers in groups.items()]
    return ",".join([*lists, *alone])


def _bracket(stem: str, width: int, numbers: list[int]) -> str:
    """One stem's numbers as ranges."""
    ranges = []
    for _, run in itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        members = [number for _, number in run]
        first, last = f"{members[0]:0{width}d}", f"{members[-1]:0{width}d}"
        ranges.append(first if first == last else f"{first}-{last}")
    inside = ",".join(ranges)
    return f"{stem}[{inside}]" if len(numbers) > 1 else f"{stem}{inside}"


def expand(text: str) -> list[str]:
    """The names of a list. ValueError for brackets that do not close, ranges that run backwards, or more than
    MOST_NAMES names.
    """
    names: list[str] = []
    for item in _items(text):
        pieces = _PIECE.split(item)  # text, inside of brackets, text, ...
        if any("[" in piece or "]" in piece for piece in pieces):
            raise ValueError(f"brackets do not close in {item!r}")
        choices = [[piece] if i % 2 == 0 else list(_numbers(piece)) for i, piece in enumerate(pieces)]
        count = 1
        for choice in choices:
            count *= len(choice)
        if len(names) + count > MOST_NAMES:
            raise ValueError(f"more than {MOST_NAMES} names")
        names += ["".join(parts) for parts in itertools.product(*choices)]
    return names


def _items(text: str) -> Iterator[str]:
    """Pieces between commas that stand outside of brackets."""
    depth, start = 0, 0
    for place, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            yield text[start:place]
            start = place + 1
    if text[start:]:
        yield text[start:]


def _numbers(inside: str) -> Iterator[str]:
    """`001-003,7` as 001, 002, 003, 7."""
    for piece in inside.split(","):
        first, dash, last = piece.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ValueError(f"{piece!r} is no number or range")
        low, high = int(first), int(last or first)
        if high < low or high - low >= MOST_NAMES:
            raise ValueError(f"the range {piece!r} runs backwards or is too long")
        yield from (f"{number:0{len(first)}d}" for number in range(low, high + 1))
