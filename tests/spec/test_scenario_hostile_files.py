"""Files that are no scenarios: one clear message each, quickly, without a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argosy.spec import ScenarioError, load, loads
from argosy.spec.yaml_tree import MAX_BYTES, MAX_NODES, read_text


def bomb() -> str:
    """Nine levels of nine aliases: 3.9e8 values in a few hundred characters."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("# only a comment\n", "is empty"),
        ("just words", "is not a mapping"),
        ("- a\n- b\n", "is not a mapping"),
        ("name: [1, 2", "1:12: is not valid YAML"),
        ("name: x\nfleet: {accelerator: H100,\n", "is not valid YAML"),
        ("name: x\n\tfleet: 1\n", "2:1: is not valid YAML"),
        ("name: \x01", "a character or directive that YAML does not allow"),
        ("%YAML 7.1\n---\na: 1", "is not valid YAML"),
        ("%YAML 1.9\n---\na: 1", "a character or directive that YAML does not allow"),
        ("a: 1\n---\nb: 2\n", "more than one document"),
        ("a: &x [*x]", "*x names no finished value"),
        ("a: *nowhere", "*nowhere names no finished value"),
        ("a: !!python/object:os.system x", "has the tag"),
        ("a: {<<: {b: 1}}", "merge keys"),
        ("? [1, 2]\n: 3", "is a key that is not a word"),
        ("[" * 100_000, "nested deeper than 40 levels"),
        (bomb(), f"more than {MAX_NODES:,} values"),
        ("a: b\0c", "is not UTF-8 text"),
        ("a: " + "x" * MAX_BYTES, "is larger than"),
    ],
)
def test_texts(text: str, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        loads(text, "f")
    (problem,) = caught.value.problems
    assert words in str(problem)


def test_a_hundred_megabytes_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "big.yaml"
    with path.open("wb") as stream:
        stream.truncate(100_000_000)
    with pytest.raises(ScenarioError, match="is larger than 1,000 kB"):
        load(path)


def test_a_binary_file_a_folder_and_nothing(tmp_path: Path) -> None:
    (tmp_path / "binary.yaml").write_bytes(b"name: x\n\xff\xfe\x00\x01")
    with pytest.raises(ScenarioError, match=r"binary\.yaml:2:1: is not UTF-8 text"):
        load(tmp_path / "binary.yaml")
    with pytest.raises(ScenarioError, match="is a directory"):
        load(tmp_path)
    with pytest.raises(ScenarioError, match="cannot be read"):
        load(tmp_path / "missing.yaml")


def test_duplicate_keys_are_all_reported() -> None:
    with pytest.raises(ScenarioError) as caught:
        loads("a: 1\nb: {c: 1, c: 2}\na: 3\n", "f")
    assert [(each.line, each.column) for each in caught.value.problems] == [(2, 11), (3, 1)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("15.2e12", 15.2e12),
        ("1E3", 1000.0),
        ("017", 17),
        ("0o17", 15),
        ("0x1F", 31),
        ("yes", "yes"),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("2024-01-01", "2024-01-01"),
        ("~", None),
        ("True", True),
        ('"1"', "1"),
        (".5", 0.5),
        ("400 Gb/s", "400 Gb/s"),
    ],
)
def test_scalars_follow_yaml_1_2(text: str, value: object) -> None:
    read = read_text(f"a: {text}", "f").data["a"]
    assert read == value
    assert type(read) is type(value)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(ScenarioError):
        loads(text, "f")


_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["auto", "H100", "3 GB", "x <= 1"])
)
_KEYS = st.sampled_from(["name", "model", "count"])
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=2),
    max_leaves=5,
)
_SECTIONS = [
    "name",
    "fleet",
    "training",
    "serving",
    "reliability",
    "facility",
    "prices",
    "assumptions",
    "assert",
    "extends",
]


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(st.sampled_from(_SECTIONS), _VALUES, min_size=1))
def test_any_values_in_the_sections_are_refused_in_words(data: dict[str, object]) -> None:
    import json

    with pytest.raises(ScenarioError) as caught:
        loads(json.dumps(data).replace("NaN", ".nan").replace("Infinity", ".inf"), "f")
    assert caught.value.problems
