"""YAML 1.2 as a tree in which every value knows its file, line and column.

The tree is built from the parser's events in one pass, so that the limits (size, depth, alias expansion) stop
a hostile file before it costs anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from argosy.spec.problems import Problem, ScenarioError

MAX_BYTES = 1_000_000  # a scenario is a few kB; traces and tables are files of their own
MAX_NODES = 50_000  # after expansion of aliases
MAX_DEPTH = 40

Path_ = tuple[str | int, ...]
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


@dataclass
class Node:
    """A value (scalar, dict of nodes, list of nodes) with its place; `key` is where its key stands."""

    value: Any
    file: str
    line: int
    column: int
    size: int = 1
    key: tuple[int, int] | None = field(default=None)

    @property
    def data(self) -> Any:
        """The plain value, without places."""
        if isinstance(self.value, dict):
            return {key: node.data for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.data for node in self.value]
        return self.value

    def problem(self, path: Path_, message: str, instead: str = "", at_key: bool = False) -> Problem:
        """A fault at this value, or at its key."""
        line, column = self.key if at_key and self.key else (self.line, self.column)
        return Problem(self.file, line, column, dotted(path), message, instead)

    def at(self, path: Path_) -> tuple[Node, bool]:
        """The node at `path`, or the deepest one on the way; true where the whole path exists.

        Steps that the file leaves out (an index where one thing is written without its list) are passed over.
        """
        node, whole = self, True
        for step in path:
            inner = node._step(step)
            if inner is not None:
                node, whole = inner, True
            elif not (isinstance(step, int) and step == 0 and isinstance(node.value, dict)):
                whole = False
        return node, whole

    def _step(self, step: str | int) -> Node | None:
        if isinstance(self.value, dict):
            return self.value.get(step)
        if isinstance(self.value, list) and isinstance(step, int) and step < len(self.value):
            found: Node = self.value[step]
            return found
        return None

    def get(self, key: str) -> Node | None:
        """The value of a key, where this is a mapping that has it."""
        return self._step(key)


def dotted(path: Path_) -> str:
    """`training.0.model` for messages."""
    return ".".join(str(step) for step in path)


def _nearby(path: Path) -> str:
    """What to write instead of a path that cannot be read: the file beside it with nearly its name."""
    try:
        near = get_close_matches(path.name, [each.name for each in path.parent.iterdir()], n=1, cutoff=0.8)
    except OSError:
        near = []
    return f"write {path.parent / near[0]}" if near and near[0] != path.name else "check the path"


def read_file(path: Path, shown: str | None = None) -> Node:
    """The tree of a file; ScenarioError where there is none, it is too large, or it is not text."""
    name = shown or str(path)
    try:
        if path.is_dir():
            raise ScenarioError([Problem(name, 0, 0, "", "is a directory", "name a YAML file")])
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        message = f"cannot be read ({error.strerror})"
        raise ScenarioError([Problem(name, 0, 0, "", message, _nearby(path))]) from None
    if len(raw) > MAX_BYTES:
        message = f"is larger than {MAX_BYTES // 1000:,} kB, which no scenario is"
        raise ScenarioError([Problem(name, 0, 0, "", message, "put traces and tables in files of their own")])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ScenarioError([_not_text(name, line)]) from None
    return read_text(text, name)


def _not_text(name: str, line: int) -> Problem:
    return Problem(name, line, 1, "", "is not UTF-8 text", "write the scenario as a YAML text file")


def read_text(text: str, file: str) -> Node:
    """The tree of a YAML text; every duplicate key is reported, a syntax error ends the reading."""
    if len(text) > MAX_BYTES:
        message = f"is larger than {MAX_BYTES // 1000:,} kB, which no scenario is"
        raise ScenarioError([Problem(file, 0, 0, "", message, "put traces and tables in files of their own")])
    if "\0" in text:
        raise ScenarioError([_not_text(file, text[: text.index("\0")].count("\n") + 1)])
    builder = _Builder(file)
    for event in _events(text, file):
        builder.take(event)
    if builder.problems:
        raise ScenarioError(builder.problems)
    if builder.root is None or builder.root.value is None:
        message = "is empty"
        raise ScenarioError(
            [Problem(file, 0, 0, "", message, "a scenario needs at least name, fleet and training")]
        )
    return builder.root


def _events(text: str, file: str) -> Iterator[Any]:
    """The parser's events; its errors become problems with a place."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        context = f" {error.context}" if error.context else ""
        message = f"is not valid YAML: {error.problem}{context}"
        instead = "check the indentation, brackets and quotes here; the file may be cut off"
        raise ScenarioError([Problem(file, line, column, "", message, instead)]) from None
    except (YAMLError, AssertionError, ValueError, IndexError) as error:
        position = getattr(error, "position", 0)
        line = text[:position].count("\n") + 1
        message = "has a character or directive that YAML does not allow"
        raise ScenarioError([Problem(file, line, 1, "", message, "write plain text")]) from None


@dataclass
class _Open:
    """A mapping or sequence whose end has not come yet."""

    node: Node
    anchor: str | None
    key: Node | None = None


class _Builder:
    """Builds the tree from events, counting sizes and depth as it goes."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.root: Node | None = None
        self.problems: list[Problem] = []
        self.open: list[_Open] = []
        self.anchors: dict[str, Node] = {}
        self.documents = 0

    def take(self, event: Any) -> None:
        """One event of the parser."""
        kind = type(event).__name__
        mark = event.start_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        if kind == "DocumentStartEvent":
            self.documents += 1
            if self.documents > 1:
                raise self._stop(
                    line, column, "has more than one document", "put each scenario in its own file"
                )
        elif kind == "ScalarEvent":
            value = self._scalar(event, line, column)
            self._add(Node(value, self.file, line, column), event.anchor)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            if len(self.open) >= MAX_DEPTH:
                raise self._stop(
                    line, column, f"is nested deeper than {MAX_DEPTH} levels", "write it flatter"
                )
            value = {} if kind == "MappingStartEvent" else []
            self.open.append(_Open(Node(value, self.file, line, column), event.anchor))
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            done = self.open.pop()
            self._add(done.node, done.anchor)
        elif kind == "AliasEvent":
            target = self.anchors.get(event.anchor)
            if target is None:
                raise self._stop(
                    line, column, f"*{event.anchor} names no finished value", "write the value itself"
                )
            self._add(Node(target.value, self.file, line, column, target.size), None)

    def _stop(self, line: int, column: int, message: str, instead: str) -> ScenarioError:
        return ScenarioError([*self.problems, Problem(self.file, line, column, "", message, instead)])

    def _scalar(self, event: Any, line: int, column: int) -> Any:
        plain = event.implicit[0] if event.implicit else False
        tag = str(event.tag) if event.tag is not None else None
        if tag not in (None, "!", "tag:yaml.org,2002:str"):
            problem = Problem(
                self.file, line, column, "", f"has the tag {tag}", "write the value without a tag"
            )
            self.problems.append(problem)
        if not plain or tag is not None:
            return event.value
        return scalar(event.value)

    def _add(self, node: Node, anchor: str | None) -> None:
        """Puts a finished value into the mapping or list that is open."""
        if anchor:
            self.anchors[anchor] = node
        if not self.open:
            self.root = node
            return
        parent = self.open[-1]
        if isinstance(parent.node.value, list):
            parent.node.value.append(node)
        elif parent.key is None:
            parent.key = node
            return
        else:
            self._pair(parent.node, parent.key, node)
            parent.key = None
        parent.node.size += node.size
        if parent.node.size > MAX_NODES:
            message = f"has more than {MAX_NODES:,} values once its aliases are expanded"
            raise self._stop(node.line, node.column, message, "write a smaller scenario")

    def _pair(self, mapping: Node, key: Node, value: Node) -> None:
        if isinstance(key.value, dict | list) or key.value is None:
            message = "is a key that is not a word"
            self.problems.append(
                Problem(self.file, key.line, key.column, "", message, "write a name before the colon")
            )
            return
        if key.value == "<<":
            message = "merge keys (<<) are not part of YAML 1.2"
            problem = Problem(self.file, key.line, key.column, "", message, "use extends:, or write the keys")
            self.problems.append(problem)
            return
        name = str(key.value).lower() if isinstance(key.value, bool) else str(key.value)
        if name in mapping.value:
            first = mapping.value[name].key[0]
            message = f"the key {name} is given twice (first in line {first})"
            self.problems.append(Problem(self.file, key.line, key.column, "", message, "keep one of them"))
            return
        value.key = (key.line, key.column)
        mapping.value[name] = value


def scalar(text: str) -> Any:
    """The value of a plain scalar in the core schema of YAML 1.2."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        if len(text) > 40:  # int() of a long text is quadratic; no quantity has forty digits
            return text
        return int(text, 0) if text.startswith(("0o", "0x")) else int(text)
    if _FLOAT.fullmatch(text):
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text
