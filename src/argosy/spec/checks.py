"""Faults that only show when several fields, or the catalog, are looked at together."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from argosy.spec.check_failures import failure_names
from argosy.spec.problems import Problem, suggest
from argosy.spec.quantity import MODEL_FACTS
from argosy.spec.yaml_tree import Node, Path_

_LAYOUT = ("tp", "pp", "cp", "dp")


def faults(tree: Node, data: dict[str, Any]) -> Iterator[Problem]:
    """Every such fault. `data` is the plain form of `tree`; wrong types are left to the field checks."""
    yield from _work(tree)
    yield from _catalog_names(tree)
    yield from _node_size(tree, data)
    yield from _overrides(tree)
    yield from failure_names(tree)
    yield from _pods(tree, data)
    yield from _jobs(tree, data)
    yield from _one_name_each(tree, data)
    yield from _assertions(tree, data)


def _work(tree: Node) -> Iterator[Problem]:
    jobs = [tree.get(name) for name in ("training", "serving", "scheduling")]
    if not any(job is not None and (job.value or job.value == {}) for job in jobs):
        yield tree.problem(
            (), "neither training nor serving is given", "write training: {model: …, tokens: …}"
        )


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


# --- the catalog ---------------------------------------------------------------------


# What the catalog's section is called in a message, and the paths whose values are names of its entries.
_NAMES: tuple[tuple[str, Path_], ...] = (
    ("accelerators", ("fleet", "accelerator")),
    ("nodes", ("fleet", "node")),
    ("regions", ("facility", "site")),
    ("reliability", ("reliability", "preset")),
)


def choices(tree: Node) -> Iterator[tuple[str, Node, Path_]]:
    """Every place that names an entry of the catalog: section, node of the choice, path."""
    for section, path in _NAMES:
        node, found = tree.at(path)
        if found and node.value is not None:
            yield section, node, path
    fabrics, found = tree.at(("fleet", "fabrics"))
    if found and isinstance(fabrics.value, list):
        for index, fabric in enumerate(fabrics.value):
            switch = fabric.get("switch")
            if switch is not None and switch.value is not None:
                yield "switches", switch, ("fleet", "fabrics", index, "switch")


def _catalog_names(tree: Node) -> Iterator[Problem]:
    """Unknown accelerators, nodes, switches, sites and presets; wrong facts in a mapping that changes one.

    A known name is replaced by the entry's own, so that `H100` and `H100-SXM` are one scenario.
    """
    from argosy.facts import FactError, load_catalog

    catalog = load_catalog()
    for section, node, path in choices(tree):
        fields = node.value if isinstance(node.value, dict) else {"name": node}
        named = fields.get("base") or fields.get("name")
        if named is None or not isinstance(named.value, str):
            continue
        try:
            entry = catalog.entry(section, named.value)
        except FactError:
            if section == "regions" and isinstance(node.value, dict) and set(node.value) >= _SITE:
                continue  # a site of the scenario's own
            known = [word for each in catalog.section(section) for word in (each.name, *each.aliases)]
            instead = suggest(named.value, known)
            if section == "regions":
                missing = ", ".join(sorted(_SITE - set(fields)))
                instead += f", or for a site of your own its {missing} too"
            yield named.problem(path, f"the catalog's {section} have no {named.value!r}", instead)
            continue
        named.value = entry.name
        if section in ("accelerators", "nodes"):
            for key, value in fields.items():
                if key not in ("name", "base", "facts"):
                    yield from _fact(catalog, entry.path(key), value, (*path, key))


_SITE = {"temperature_c", "carbon_intensity", "electricity"}  # what a site of one's own must say


def _fact(catalog: Any, path: str, node: Node, shown: Path_) -> Iterator[Problem]:
    try:
        catalog.with_overrides({path: node.data})
    except ValueError as error:
        for line in str(error).splitlines():
            message, _, instead = line.removeprefix(f"{path}: ").partition("; ")
            yield node.problem(shown, message, instead)


def _overrides(tree: Node) -> Iterator[Problem]:
    """Unknown fact paths and unit mistakes in assumptions.overrides."""
    from argosy.facts import load_catalog

    overrides, found = tree.at(("assumptions", "overrides"))
    if found and isinstance(overrides.value, dict):
        catalog = load_catalog()
        for path, node in overrides.value.items():
            if path.startswith(MODEL_FACTS):
                continue  # facts of the training room, which this room cannot see
            yield from _fact(catalog, path, node, ("assumptions", "overrides", path))


def _node_size(tree: Node, data: dict[str, Any]) -> Iterator[Problem]:
    """A fleet is whole nodes."""
    from argosy.facts import FactError, load_catalog

    fleet = data.get("fleet")
    if not isinstance(fleet, dict):
        return
    count, node = _integer(fleet.get("count")), fleet.get("node")
    name = node.get("base") or node.get("name") if isinstance(node, dict) else node
    if count is None or not isinstance(name, str):
        return
    try:
        size = load_catalog().entry("nodes", name).facts.get("accelerators")
    except FactError:
        return
    if size and count % int(size.value):
        per = int(size.value)
        nearest = max(1, round(count / per)) * per
        where = tree.at(("fleet", "count"))[0]
        message = f"{count} is not a whole number of {name} nodes of {per} accelerators"
        yield where.problem(("fleet", "count"), message, f"write {nearest}")


def _pods(tree: Node, data: dict[str, Any]) -> Iterator[Problem]:
    """The pods of a fabric hold the fleet."""
    fleet = data.get("fleet")
    fabrics = fleet.get("fabrics") if isinstance(fleet, dict) else None
    count = _integer(fleet.get("count")) if isinstance(fleet, dict) else None
    for index, fabric in enumerate(fabrics if isinstance(fabrics, list) else []):
        if not isinstance(fabric, dict) or count is None:
            continue
        pods, size = _integer(fabric.get("pods")), _integer(fabric.get("pod_accelerators"))
        if pods and size and pods * size < count:
            path = ("fleet", "fabrics", index, "pods")
            message = (
                f"{pods} pods of {size} accelerators hold {pods * size}, fewer than the {count} of the fleet"
            )
            yield tree.at(path)[0].problem(path, message, f"write pods: {-(-count // size)}")


# --- jobs ----------------------------------------------------------------------------


def _jobs(tree: Node, data: dict[str, Any]) -> Iterator[Problem]:
    jobs = data.get("training")
    fleet = data.get("fleet")
    count = _integer(fleet.get("count")) if isinstance(fleet, dict) else None
    for index, job in enumerate(jobs if isinstance(jobs, list) else [jobs]):
        if not isinstance(job, dict):
            continue
        base: Path_ = ("training", index) if isinstance(jobs, list) else ("training",)
        layout = job.get("layout")
        if isinstance(layout, dict):
            yield from _layout(tree, (*base, "layout"), layout, count)
        stages = job.get("stages")
        for number, stage in enumerate(stages if isinstance(stages, list) else [job]):
            path = (*base, "stages", number) if isinstance(stages, list) else base
            if not isinstance(stage, dict):
                continue
            own = stage.get("layout") if isinstance(stages, list) else None
            if isinstance(own, dict):
                yield from _layout(tree, (*path, "layout"), own, count)
            used = own if own is not None else layout
            if isinstance(used, dict):
                yield from _batch(tree, path, stage, used)


def _layout(tree: Node, path: Path_, layout: dict[str, Any], count: int | None) -> Iterator[Problem]:
    """gpus = tp · pp · cp · dp, and ep · etp divides tp · cp · dp."""
    sizes = {key: _integer(layout.get(key)) for key in (*_LAYOUT, "ep", "etp", "vp")}
    known = {key: sizes[key] or 1 for key in _LAYOUT if sizes[key]}
    product = prod(known.values())
    written = " · ".join(f"{key} {value}" for key, value in known.items())
    node = tree.at(path)[0]
    if count and len(known) == len(_LAYOUT) and product != count:
        message = f"{written} = {product}, but fleet.count is {count}"
        rest = prod(value for key, value in known.items() if key != "dp")
        instead = (
            f"write dp: {count // rest}"
            if count % rest == 0
            else f"write a count that is a multiple of {rest}"
        )
        yield node.problem(path, message, instead)
    elif count and known and count % product:
        message = f"{written} = {product} does not divide fleet.count {count}"
        yield node.problem(path, message, "choose factors of the count")
    stage = {key: sizes[key] for key in ("tp", "cp", "dp")}
    if count and not stage["dp"] and sizes["tp"] and sizes["pp"] and sizes["cp"] and count % product == 0:
        stage["dp"] = count // product
    if all(stage.values()) and (sizes["ep"] or sizes["etp"]):
        ranks = prod(value or 1 for value in stage.values())
        expert = (sizes["ep"] or 1) * (sizes["etp"] or 1)
        if ranks % expert:
            message = f"ep · etp = {expert} does not divide tp · cp · dp = {ranks}"
            yield node.problem(path, message, "choose ep and etp so that their product does")
    if (sizes["vp"] or 1) > 1 and sizes["pp"] == 1:
        yield node.problem(
            path, f"vp {sizes['vp']} needs a pipeline, but pp is 1", "write vp: 1, or a larger pp"
        )


def _batch(tree: Node, base: Path_, stage: dict[str, Any], layout: dict[str, Any]) -> Iterator[Problem]:
    """A batch given in sequences divides by dp · micro_batch, where both are fixed."""
    replicas, micro = _integer(layout.get("dp")), _integer(layout.get("micro_batch")) or 1
    number, _, word = str(stage.get("global_batch", "")).partition(" ")
    if replicas is None or not word.strip().startswith("seq") or not number.isdecimal():
        return
    share = replicas * micro
    if int(number) % share:
        path = (*base, "global_batch")
        message = f"{number} sequences do not divide by dp {replicas} · micro_batch {micro}"
        instead = f"write {max(1, round(int(number) / share)) * share} sequences"
        yield tree.at(path)[0].problem(path, message, instead)


def _one_name_each(tree: Node, data: dict[str, Any]) -> Iterator[Problem]:
    """Jobs of a list have names of their own: reports, assertions and --service go by them."""
    for section in ("training", "serving"):
        jobs = data.get(section)
        seen: dict[str, int] = {}
        for index, job in enumerate(jobs if isinstance(jobs, list) else []):
            if not isinstance(job, dict):
                continue
            name = str(job.get("name", section))
            if name in seen:
                path: Path_ = (section, index, "name")
                message = f"the name {name!r} is taken by {section}.{seen[name]}"
                yield tree.at(path)[0].problem(path, message, "give each job its own name")
            seen.setdefault(name, index)


def _assertions(tree: Node, data: dict[str, Any]) -> Iterator[Problem]:
    """An assertion about a job names one that there is."""
    lines = data.get("assert")
    for index, line in enumerate(lines if isinstance(lines, list) else []):
        section, _, rest = str(line).strip().partition(".")
        if section not in ("training", "serving") or not rest:
            continue
        jobs = data.get(section)
        members = jobs if isinstance(jobs, list) else [jobs] if isinstance(jobs, dict) else []
        known = [str(job.get("name", section)) for job in members if isinstance(job, dict)]
        if not any(rest.startswith(f"{name}.") for name in (*known, *map(str, range(len(members))))):
            name = rest.partition(".")[0]
            node = tree.at(("assert", index))[0]
            yield node.problem(("assert", index), f"{section} has no job {name!r}", suggest(name, known))
