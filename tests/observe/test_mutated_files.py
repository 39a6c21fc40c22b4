"""Bytes of good files changed at random: every reader and the diagnosis live through it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile import survives
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from argosy.observe.corpus.seeds import write_seeds

# What breaks parsers: brackets, quotes, separators, numbers at the edge of their type, ends of lines and of text.
TOKENS = [
    *(
        b"",
        b"\0",
        b"\n",
        b'"',
        b"{",
        b"}",
        b"[",
        b"]",
        b"|",
        b",",
        b":",
        b"=",
        b"\\u",
        b"\xff",
        b"-1",
        b"1e999",
        b"NaN",
        b"null",
    ),
    *(
        b"9223372036854775808",
        b"18446744073709551616",
        b"-9223372036854775809",
        b"9" * 40,
        b"0x",
        b"()",
        b"1-00:00:00",
    ),
    *(b"\x80\x04", b"\x1f\x8b", b"PAR1"),
]
PLACE = st.floats(0, 1, exclude_max=True)
EDIT = st.one_of(
    st.tuples(st.just("put"), PLACE, st.one_of(st.sampled_from(TOKENS), st.binary(max_size=8))),
    st.tuples(st.just("over"), PLACE, st.one_of(st.sampled_from(TOKENS), st.binary(min_size=1, max_size=8))),
    st.tuples(st.just("drop"), PLACE, st.integers(1, 400)),
    st.tuples(st.just("repeat"), PLACE, st.integers(1, 400)),
    st.tuples(st.just("cut"), PLACE, st.just(0)),
)


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_seeds(tmp_path_factory.mktemp("seeds"))


def _edited(data: bytes, edits: list[tuple[str, float, object]]) -> bytes:
    for kind, place, what in edits:
        at = int(place * len(data))
        if isinstance(what, bytes):
            data = data[:at] + what + data[at + (len(what) if kind == "over" else 0) :]
        elif kind == "cut":
            data = data[:at]
        elif isinstance(what, int):
            data = data[:at] + (data[at : at + what] * 2 if kind == "repeat" else b"") + data[at + what :]
    return data


def _mutations(seeds: list[Path], folder: Path, examples: int, derandomized: bool) -> None:
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=derandomized,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.integers(0, len(seeds) - 1), st.lists(EDIT, min_size=1, max_size=6))
    def mutated(index: int, edits: list[tuple[str, float, object]]) -> None:
        path = folder / seeds[index].name
        path.write_bytes(_edited(seeds[index].read_bytes(), edits))
        survives([path])
        path.unlink()

    mutated()


def test_files_with_a_few_bytes_changed(seeds: list[Path], tmp_path: Path) -> None:
    _mutations(seeds, tmp_path, 60, True)


@pytest.mark.slow
def test_files_with_a_few_bytes_changed_at_length(seeds: list[Path], tmp_path: Path) -> None:
    _mutations(seeds, tmp_path, 5000, False)
