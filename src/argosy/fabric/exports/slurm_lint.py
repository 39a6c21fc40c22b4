"""A stricter reading of topology.conf than Slurm's own, which is silent on a tree in pieces and only warns of a leaf
that is listed twice.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass

from argosy.fabric.exports.hostlist import expand

_WORD = re.compile(r"(\w+)=(\S*)")
_LARGEST_LEVEL = 15  # Slurm's block_record.c: a block size is at most 2^15 base blocks


@dataclass(frozen=True)
class _Switch:
    name: str
    line: int
    nodes: tuple[str, ...]
    switches: tuple[str, ...]


def lint(lines: list[str]) -> list[tuple[int, str]]:
    """(line from 1, problem) of a topology.conf, in order of lines; an empty list where there is nothing to mend.

    Trees: a switch defined twice, without children or with both kinds; a child that no line defines; a node on two
    leaves; a switch below two; a cycle; a tree in pieces. Blocks: a block defined twice; a node in two blocks; a block
    shorter than the base size; block sizes that are no powers of two times the first.
    """
    switches: list[_Switch] = []
    blocks: list[_Switch] = []
    sizes: tuple[int, str] | None = None
    problems: list[tuple[int, str]] = []
    for number, line in enumerate(lines, start=1):
        words = {key.lower(): value for key, value in _WORD.findall(line.partition("#")[0])}
        if not line.partition("#")[0].strip():
            continue
        try:
            nodes, children = (tuple(expand(words.get(key, ""))) for key in ("nodes", "switches"))
        except ValueError as error:
            problems.append((number, f"{error}; write such as node[001-032]"))
            continue
        if "switchname" in words:
            switches.append(_Switch(words["switchname"], number, nodes, children))
        elif "blockname" in words:
            blocks.append(_Switch(words["blockname"], number, nodes, ()))
        elif "blocksizes" in words:
            sizes = (number, words["blocksizes"])
        else:
            problems.append((number, "neither SwitchName=, BlockName= nor BlockSizes="))
    if switches and blocks:
        problems.append((blocks[0].line, "a file describes switches or blocks, not both"))
    if not switches and not blocks:
        problems.append((len(lines) or 1, "no SwitchName= and no BlockName=: an empty topology"))
    problems += _doubled(switches, "switch", "leaves")
    problems += _doubled(blocks, "block", "blocks")
    problems += _tree(switches) + _sizes(blocks, sizes)
    return sorted(problems)


def _doubled(entries: list[_Switch], what: str, plural: str) -> list[tuple[int, str]]:
    """Names defined twice, nodes listed twice."""
    problems = []
    first: dict[str, int] = {}
    home: dict[str, _Switch] = {}
    for entry in entries:
        if entry.name in first:
            problems.append(
                (entry.line, f"{what} {entry.name} is defined at line {first[entry.name]} already")
            )
        first.setdefault(entry.name, entry.line)
        for node in entry.nodes:
            other = home.setdefault(node, entry)
            if other is not entry:
                problems.append(
                    (
                        entry.line,
                        f"node {node} is on two {plural}: {other.name} (line {other.line}) and {entry.name}",
                    )
                )
        if len(set(entry.nodes)) < len(entry.nodes):
            problems.append((entry.line, f"{what} {entry.name} lists a node twice"))
    return problems


def _tree(switches: list[_Switch]) -> list[tuple[int, str]]:
    """Children that exist, one parent each, no cycle, one root."""
    problems = []
    known = {switch.name: switch for switch in switches}
    parents: dict[str, list[_Switch]] = defaultdict(list)
    for switch in switches:
        if bool(switch.nodes) == bool(switch.switches):
            both = "both Nodes= and Switches=" if switch.nodes else "neither Nodes= nor Switches="
            problems.append((switch.line, f"switch {switch.name} has {both}; write one of them"))
        for child in switch.switches:
            if child not in known:
                problems.append((switch.line, f"switch {child} below {switch.name} is defined nowhere"))
            elif parents[child]:
                other = parents[child][0]
                problems.append(
                    (
                        switch.line,
                        f"switch {child} is below two: {other.name} (line {other.line}) and {switch.name}",
                    )
                )
            parents[child].append(switch)
    roots = [switch for switch in switches if not parents[switch.name]]
    reached: set[str] = set()
    stack = [switch.name for switch in roots]
    while stack:
        name = stack.pop()
        if name in known and name not in reached:
            reached.add(name)
            stack.extend(known[name].switches)
    problems += [
        (switch.line, f"switch {switch.name} is in a cycle, or below one: it is its own ancestor")
        for switch in switches
        if switch.name not in reached
    ]
    problems += [
        (root.line, f"the tree is in {len(roots)} pieces: nothing joins {root.name} to {roots[0].name}")
        for root in roots[1:]
    ]
    return problems


def _sizes(blocks: list[_Switch], sizes: tuple[int, str] | None) -> list[tuple[int, str]]:
    """Blocks against the base size, and the base size against the others."""
    if not blocks:
        return [] if sizes is None else [(sizes[0], "BlockSizes= without blocks")]
    problems: list[tuple[int, str]] = []
    line, text = sizes or (
        0,
        str(len(blocks[0].nodes)),
    )  # Slurm takes the first block's size where none is given
    numbers = [int(piece) if piece.isdigit() else 0 for piece in text.split(",")]
    base = numbers[0]
    if min(numbers) < 1:
        return [(line, f"BlockSizes={text}: whole numbers above zero")]
    for number in numbers[1:]:
        level = math.log2(number / base)
        if level != int(level) or not 0 < level <= _LARGEST_LEVEL:
            problems.append((line, f"block size {number} is not {base} times a power of two: Slurm stops"))
    return problems + [
        (
            block.line,
            f"block {block.name} has {len(block.nodes)} nodes, fewer than {base}: Slurm 24 and newer stop",
        )
        for block in blocks
        if len(block.nodes) < base
    ]
