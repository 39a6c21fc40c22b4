"""A scenario of somebody else's: read like any other, except that it may name nothing outside itself but what ships.

For text that comes over a network: no file is opened by a path that the text gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath

from argosy.spec.load import loads
from argosy.spec.problems import ScenarioError
from argosy.spec.scenario import Scenario
from argosy.spec.yaml_tree import Node, Path_, read_text

_NOWHERE = Path("/nonexistent/argosy")  # what relative names are relative to: nothing is there
# Fields that name a file or something shipped ("*": every member of a list, or the one thing written without it).
_NAMES: tuple[Path_, ...] = (
    ("extends", "*"),
    ("training", "*", "model"),
    ("training", "*", "model", "base"),
    ("serving", "*", "model"),
    ("serving", "*", "model", "base"),
)
# Fields that name a file, or hold what it would.
_FILES: tuple[Path_, ...] = (
    ("assumptions", "overrides"),
    ("facility", "carbon", "profile"),
    ("serving", "*", "traffic", "trace"),
    ("scheduling", "trace"),
)


def loads_sealed(text: str, file: str = "<scenario>") -> Scenario:
    """The scenario of a YAML text that may not name files. Raises ScenarioError with every fault, as `loads`."""
    tree = read_text(text, file)
    problems = [
        node.problem(path, f"{node.value!r} is a path", "name what ships with Argosy")
        for path, node in _texts(tree, _NAMES)
        if _is_path(str(node.value))
    ]
    problems += [
        node.problem(path, "no file can be named here", "write its content, or run argosy where the file is")
        for path, node in _texts(tree, _FILES)
    ]
    if problems:
        raise ScenarioError(problems)
    return loads(text, file, _NOWHERE)


def _texts(tree: Node, patterns: tuple[Path_, ...]) -> Iterator[tuple[Path_, Node]]:
    """Every text at one of the patterns, with its path."""
    for pattern in patterns:
        yield from _matching(tree, pattern, ())


def _matching(node: Node, pattern: Path_, path: Path_) -> Iterator[tuple[Path_, Node]]:
    if not pattern:
        if isinstance(node.value, str):
            yield path, node
        return
    step, rest = pattern[0], pattern[1:]
    if step == "*":
        members = enumerate(node.value) if isinstance(node.value, list) else [(0, node)]
        for number, member in members:
            yield from _matching(member, rest, (*path, number))
    elif isinstance(node.value, dict) and step in node.value:
        yield from _matching(node.value[step], rest, (*path, step))


def _is_path(name: str) -> bool:
    """True for what could lead out of a folder that holds nothing: an absolute path, or one with `..`."""
    pure = PurePosixPath(name)
    return (
        pure.is_absolute() or ".." in pure.parts or bool(PureWindowsPath(name).anchor) or name.startswith("~")
    )
