"""Changing fields of a scenario's text: its comments, order and spelling stay, so that the file remains its author's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any

from argosy.spec.changes import steps_of
from argosy.spec.problems import Problem, ScenarioError
from argosy.spec.yaml_tree import read_text

_WIDTH = 110


def edited(text: str, changes: Mapping[str, Any], file: str = "<scenario>") -> str:
    """The YAML text with fields changed by their dotted path (as `spec.changes` names them); None takes a field away.

    Values are numbers, text with a unit, lists or mappings. ScenarioError where the text is no mapping, or a path leads
    through something that has no fields.
    """
    read_text(text, file)  # its limits and messages; ruamel's round trip has none
    yaml = _round_trip()
    tree = yaml.load(text)
    if not isinstance(tree, dict):
        raise ScenarioError(
            [Problem(file, 0, 0, "", "is not a mapping", "write name: …, fleet: …, training: …")]
        )
    for path, value in changes.items():
        _set(tree, steps_of(path), value, path, file)
    stream = StringIO()
    yaml.dump(tree, stream)
    return stream.getvalue()


def _round_trip() -> Any:
    """ruamel's round trip, in which what only looks like a number or date (`-_`, 2001-13-45) is text, as for the reader."""
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import RoundTripConstructor

    class Constructor(RoundTripConstructor):
        pass

    def kept(build: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def value(constructor: Any, node: Any) -> Any:
            try:
                return build(constructor, node)
            except (ValueError, IndexError):
                return constructor.construct_scalar(node)

        return value

    for kind in ("int", "float", "timestamp"):
        tag = f"tag:yaml.org,2002:{kind}"
        Constructor.add_constructor(tag, kept(RoundTripConstructor.yaml_constructors[tag]))
    yaml = YAML(typ="rt")
    yaml.width, yaml.preserve_quotes, yaml.Constructor = _WIDTH, True, Constructor
    return yaml


def _set(tree: Any, steps: list[str], value: Any, path: str, file: str) -> None:
    """Put a value at the end of the steps; a job's or stage's name is passed over where it is written without a list."""
    *way, last = steps
    for number, step in enumerate(way):
        inner = _step(tree, step)
        if inner is None and isinstance(tree, dict):
            if tree.get("name") == step or step == "stages" or (step.isdecimal() and number):
                continue  # one job, or one stage, written without its list
            inner = tree.setdefault(step, {})
        tree = inner
        if not isinstance(tree, dict | list):
            raise ScenarioError([Problem(file, 0, 0, path, f"{step} has no fields", "check the path")])
    if isinstance(tree, list):
        place = _place(tree, last)
        if place is None:
            raise ScenarioError([Problem(file, 0, 0, path, f"no member {last!r}", "check the path")])
        tree[place] = value
    elif value is None:
        tree.pop(last, None)
    else:
        tree[last] = value


def _step(tree: Any, step: str) -> Any:
    if isinstance(tree, list):
        place = _place(tree, step)
        return None if place is None else tree[place]
    return tree.get(step) if isinstance(tree, dict) else None


def _place(members: list[Any], step: str) -> int | None:
    """The index of a member by its number or its name."""
    if step.isdecimal():
        return int(step) if int(step) < len(members) else None
    return next(
        (i for i, each in enumerate(members) if isinstance(each, dict) and each.get("name") == step), None
    )
