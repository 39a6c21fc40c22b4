"""Changing fields of a scenario by their path, before it is validated: `fleet.count`, `training.pretrain.layout.tp`.

A path names mapping keys; members of a list by their `name` or their index. A job or a stage that the file writes
without its list is found all the same. Below `assumptions.overrides` the rest of the path is one fact's path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from argosy.spec.problems import Problem, ScenarioError
from argosy.spec.yaml_tree import Node

_WHOLE_BELOW = ("assumptions", "overrides")  # its keys contain dots
_WORDS = ("auto", "computed", "none", None)
_LISTS = ("training", "serving", "stages", "fabrics")  # may be written as one thing, without the list


def changed(tree: Node, changes: Mapping[str, Any]) -> Node:
    """The tree with every change made in a copy; values are plain data, or nodes that keep their own place.

    ScenarioError where a path leads through something that has no fields.
    """
    for path, value in changes.items():
        tree = _set(tree, steps_of(path), _node(value, path), path)
    return tree


def steps_of(path: str) -> list[str]:
    """The steps of a dotted path."""
    steps = path.split(".")
    if tuple(steps[:2]) == _WHOLE_BELOW and len(steps) > 2:
        return [*_WHOLE_BELOW, ".".join(steps[2:])]
    return steps


def _node(value: Any, path: str) -> Node:
    """Plain data as nodes that say which change they came from."""
    if isinstance(value, Node):
        return value
    if isinstance(value, Mapping):
        value = {key: _node(each, path) for key, each in value.items()}
    elif isinstance(value, list | tuple):
        value = [_node(each, path) for each in value]
    return Node(value, f"<{path}>", 0, 0)


def _set(node: Node, steps: list[str], value: Node, path: str) -> Node:
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(node.value, list):
        index = _member(node.value, step)
        if index is None:
            raise _lost(node, path, f"no member {step!r}", _members(node.value))
        members = list(node.value)
        members[index] = _set(members[index], rest, value, path)
        return _copy(node, members)
    if isinstance(node.value, dict):
        if step not in node.value and _is_itself(node, step):
            return _set(node, rest, value, path)
        below = node.value.get(step)
        if below is None:
            if step in _LISTS and rest and rest[0].isdecimal():  # a stage written flat, beside `model`
                return _set(node, rest[1:], value, path)
            below = _copy(node, {} if rest else None)
        return _copy(node, {**node.value, step: _set(below, rest, value, path)})
    if node.value in _WORDS:  # `layout: auto` is a mapping with nothing fixed
        return _set(_copy(node, {}), steps, value, path)
    if isinstance(node.value, str) and node.value:  # a name stands for a mapping with that name
        name = Node(node.value, node.file, node.line, node.column)
        return _set(_copy(node, {"name": name}), steps, value, path)
    raise _lost(node, path, f"{node.value!r} has no field {step!r}", "")


def _copy(node: Node, value: Any) -> Node:
    return Node(value, node.file, node.line, node.column, key=node.key)


def _member(members: list[Node], step: str) -> int | None:
    for index, member in enumerate(members):
        name = member.get("name") or member.get("role")
        if name is not None and name.value == step:
            return index
    return int(step) if step.isdecimal() and int(step) < len(members) else None


def _members(members: list[Node]) -> str:
    names = [
        str(name.value) for each in members if (name := each.get("name") or each.get("role")) is not None
    ]
    return f"write one of {', '.join(names)}" if names else f"write an index below {len(members)}"


def _is_itself(node: Node, step: str) -> bool:
    """Whether a step names the one thing that stands here without its list."""
    name = node.get("name") or node.get("role")
    return step == "0" or (name is not None and name.value == step)


def _lost(node: Node, path: str, message: str, instead: str) -> ScenarioError:
    return ScenarioError([Problem(node.file, node.line, node.column, path, message, instead)])
