"""Faults in the names of failure categories and domains, which the catalog knows."""

from __future__ import annotations

from collections.abc import Iterator

from argosy.spec.problems import Problem, suggest
from argosy.spec.yaml_tree import Node, Path_


def failure_names(tree: Node) -> Iterator[Problem]:
    """Unknown categories, components and domains under `reliability:`, and domains without any rate."""
    from argosy.facts import load_catalog

    catalog = load_catalog()
    kinds = {entry.name: entry.text for entry in catalog.section("failure-categories")}
    of_nodes = {name for name, text in kinds.items() if text["scope"] == "node"}
    everywhere = set(kinds) | {text["component"] for text in kinds.values()}
    worn = of_nodes | {text["component"] for text in kinds.values() if text["scope"] == "node"}
    yield from _unknown(tree, ("reliability", "overrides"), "failure category", everywhere)
    yield from _unknown(tree, ("reliability", "ages", "shapes"), "failure category of nodes", worn)
    yield from _unknown(tree, ("reliability", "ages", "start"), "failure category of nodes", worn | {"all"})
    yield from _tiers(tree)
    domains = {entry.name: entry for entry in catalog.section("failure-domains")}
    shared = {name for name, entry in domains.items() if entry.text["effect"] in ("lose", "stop", "slow")}
    at: Path_ = ("reliability", "domains")
    yield from _unknown(tree, at, "failure domain that nodes share", shared)
    node, found = tree.at(at)
    for name, given in node.value.items() if found and isinstance(node.value, dict) else ():
        fields = given.value if isinstance(given.value, dict) else {}
        if name in shared and "rate" not in domains[name].facts and not {"mttf", "rate"} & set(fields):
            yield given.problem((*at, name), "no rate is known for it", f"write {name}: {{mttf: 180 days}}")


def _unknown(tree: Node, path: Path_, what: str, known: set[str]) -> Iterator[Problem]:
    node, found = tree.at(path)
    if not found or not isinstance(node.value, dict):
        return
    for name, given in node.value.items():
        if name not in known:
            message = f"there is no {what} {name!r}"
            yield given.problem((*path, name), message, suggest(name, known, shown=30), at_key=True)


def _tiers(tree: Node) -> Iterator[Problem]:
    """Copies that are lost with their nodes need one in storage behind them."""
    path: Path_ = ("reliability", "checkpoint", "tiers")
    node, found = tree.at(path)
    named = node.data if found and isinstance(node.value, list) else None
    if named and "storage" not in named and set(named) <= {"memory", "local"}:
        message = f"nothing is kept when {named[0]} is lost"
        yield node.problem(path, message, f"write [{', '.join(map(str, named))}, storage]")
