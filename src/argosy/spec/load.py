"""Reading a scenario: presets merged, references resolved, every fault reported with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from argosy.spec import architectures, checks
from argosy.spec.changes import changed
from argosy.spec.model import ModelArchitecture, ModelError
from argosy.spec.problems import Problem, ScenarioError, suggest
from argosy.spec.profiles import read_profile
from argosy.spec.scenario import Scenario
from argosy.spec.training import Stage, Training
from argosy.spec.yaml_tree import Node, Path_, read_file, read_text

PRESETS = Path(__file__).parent / "presets"
_EXAMPLES = {  # what to write for the required fields, in messages about their absence
    "name": "name: my-run",
    "fleet": "fleet: {accelerator: H100-SXM, count: 1024}",
    "accelerator": "accelerator: H100-SXM",
    "count": "count: 1024",
    "model": "model: llama-3.1-8b",
    "stages": "tokens, sequence_length and global_batch, or a list of stages",
    "tokens": "tokens: 15e12",
    "sequence_length": "sequence_length: 8192",
    "global_batch": "global_batch: 16 Mtok (or 2048 sequences)",
    "layout": "layout: auto, or {tp: 8, pp: 16}",
    "traffic": "traffic: {rate: 10 req/s, input: {mean: 1000}, output: {mean: 250}}",
}


def load(path: str | Path, changes: Mapping[str, Any] | None = None) -> Scenario:
    """The scenario of a file, with fields changed by their path (`spec.changes`) as if the file said so.

    Raises ScenarioError with every fault of it and of the files that it names.
    """
    file = Path(path)
    return _scenario(read_file(file), file.parent, changes or {})


def loads(
    text: str, file: str = "<text>", directory: str | Path = ".", changes: Mapping[str, Any] | None = None
) -> Scenario:
    """The scenario of a YAML text; files that it names are relative to `directory`; `changes` as for `load`.

    Raises ScenarioError.
    """
    return _scenario(read_text(text, file), Path(directory), changes or {})


def presets() -> list[str]:
    """Names of the shipped presets, for `extends:`."""
    return sorted(path.stem for path in PRESETS.glob("*.yaml"))


def _scenario(root: Node, directory: Path, changes: Mapping[str, Any]) -> Scenario:
    if not isinstance(root.value, dict):
        raise ScenarioError([root.problem((), "is not a mapping", "write name: …, fleet: …, training: …")])
    problems: list[Problem] = []
    tree = changed(_extended(root, directory, (), problems), changes)
    _overrides(tree, directory, problems)
    _profile(tree, directory, problems)
    _traces(tree, directory, problems)
    problems += list(checks.faults(tree, tree.data))  # before data is taken: it replaces aliases by names
    data = _with_models(tree, directory, problems)
    scenario = None
    try:
        scenario = Scenario.model_validate(data, context={"file": True, "rates": _rates(data)})
    except ValidationError as error:
        problems += list(_translated(error, tree))
    if problems or scenario is None:
        raise ScenarioError(problems)
    return scenario


def _rates(data: dict[str, Any]) -> dict[str, float]:
    """US dollars for one unit of every currency that `prices.currencies` gives; what is wrong there is told elsewhere."""
    prices = data.get("prices")
    given = prices.get("currencies") if isinstance(prices, dict) else None
    if not isinstance(given, dict):
        return {}
    rates = {code: rate.get("usd") for code, rate in given.items() if isinstance(rate, dict)}
    return {code: rate for code, rate in rates.items() if isinstance(rate, int | float) and rate > 0}


# --- extends -------------------------------------------------------------------------


def _extended(node: Node, directory: Path, chain: tuple[Path, ...], problems: list[Problem]) -> Node:
    """`node` merged over the presets that it names, in their order; `extends` itself is gone."""
    own = Node(
        {key: each for key, each in node.value.items() if key != "extends"}, node.file, node.line, node.column
    )
    named = node.get("extends")
    if named is None:
        return own
    entries = named.value if isinstance(named.value, list) else [named]
    merged: Node | None = None
    for entry in entries:
        preset = _preset(entry, directory, chain, problems)
        if preset is not None:
            merged = preset if merged is None else _merged(merged, preset)
    return own if merged is None else _merged(merged, own)


def _preset(entry: Node, directory: Path, chain: tuple[Path, ...], problems: list[Problem]) -> Node | None:
    """The tree of one named preset, itself extended; None, with a problem, where there is none."""
    path = _preset_path(entry.value, directory) if isinstance(entry.value, str) else None
    if path is None:
        instead = suggest(str(entry.value), presets())
        problems.append(entry.problem(("extends",), f"there is no preset or file {entry.value!r}", instead))
        return None
    if path in chain:
        cycle = " → ".join(each.name for each in (*chain[chain.index(path) :], path))
        problems.append(
            entry.problem(("extends",), f"presets extend each other in a circle: {cycle}", "remove one")
        )
        return None
    try:
        root = read_file(path)
    except ScenarioError as error:
        problems.extend(error.problems)
        return None
    if not isinstance(root.value, dict):
        problems.append(root.problem((), "is not a mapping", "write the fields of a scenario"))
        return None
    return _extended(root, path.parent, (*chain, path), problems)


def _preset_path(name: str, directory: Path) -> Path | None:
    """A file beside the scenario, or a shipped preset (with or without `presets/` and `.yaml`)."""
    stem = name.removeprefix("presets/").removesuffix(".yaml")
    for path in (directory / name, PRESETS / f"{stem}.yaml"):
        if path.is_file():
            return path.resolve()
    return None


def _merged(base: Node, over: Node) -> Node:
    """Mappings merge key by key; everything else (lists too) is replaced by the later one."""
    if not (isinstance(base.value, dict) and isinstance(over.value, dict)):
        return over
    value = dict(base.value)
    for key, node in over.value.items():
        value[key] = _merged(value[key], node) if key in value else node
    return Node(value, over.file, over.line, over.column, key=over.key)


# --- references ----------------------------------------------------------------------


def _with_models(tree: Node, directory: Path, problems: list[Problem]) -> dict[str, Any]:
    """The plain data of the tree, with architectures in place of models' names."""
    data: dict[str, Any] = tree.data
    for section in ("training", "serving"):
        jobs = tree.get(section)
        if jobs is None:
            continue
        whole = data[section] if isinstance(data[section], list) else [data[section]]
        nodes = jobs.value if isinstance(jobs.value, list) else [jobs]
        for index, (job, node) in enumerate(zip(whole, nodes, strict=True)):
            model = node.get("model")
            if isinstance(job, dict) and model is not None:
                path = (section, index, "model") if isinstance(jobs.value, list) else (section, "model")
                job["model"] = _model(model, path, directory, problems)
    return data


def _model(node: Node, path: Path_, directory: Path, problems: list[Problem]) -> Any:
    """The architecture that a name, a file, or fields over a `base` give; a stand-in after a fault."""
    base_directory = _directory(node, directory)
    try:
        if isinstance(node.value, str):
            return architectures.resolve(node.value, base_directory)
        base = node.get("base")
        if base is not None and isinstance(base.value, str):
            fields = {key: value for key, value in node.data.items() if key != "base"}
            return {
                **architectures.resolve(base.value, base_directory).model_dump(exclude_unset=True),
                **fields,
            }
    except ModelError as error:
        problems.append(Problem(node.file, node.line, node.column, ".".join(map(str, path)), str(error)))
        return _STAND_IN
    return node.data


# Takes the place of a model that could not be read, so that the other faults are found in the same run.
_STAND_IN = ModelArchitecture(
    name="unreadable", layers=1, hidden=1, heads=1, kv_heads=1, head_dim=1, ffn=1, vocab=1
)


def _directory(node: Node, directory: Path) -> Path:
    """Names are relative to the file that they stand in; a text without a file uses the given directory."""
    file = Path(node.file)
    return file.parent if file.is_file() else directory


def _overrides(tree: Node, directory: Path, problems: list[Problem]) -> None:
    """Puts the mapping of an overrides file in place of its name, so that its faults show their own lines."""
    node, found = tree.at(("assumptions", "overrides"))
    if not found or not isinstance(node.value, str):
        return
    section = tree.value["assumptions"].value
    section["overrides"] = Node({}, node.file, node.line, node.column, key=node.key)
    try:
        root = read_file(_directory(node, directory) / node.value)
    except ScenarioError as error:
        problems.extend(error.problems)
        return
    if isinstance(root.value, dict):
        section["overrides"] = root
    else:
        problems.append(root.problem((), "is not a mapping", "write fact paths: {value, low, high, source}"))


def _profile(tree: Node, directory: Path, problems: list[Problem]) -> None:
    """Puts the hours of a CSV file in place of its name, under facility.carbon.profile."""
    node, found = tree.at(("facility", "carbon", "profile"))
    if not found or not isinstance(node.value, str):
        return
    given: dict[str, Any] = {}
    try:
        given = read_profile(_directory(node, directory) / node.value)
    except ScenarioError as error:
        problems.extend(error.problems)
    section = tree.value["facility"].value["carbon"]
    if given:
        hours = [Node(hour, node.file, node.line, node.column) for hour in given["hours"]]
        whole = {"unit": given["unit"], "hours": hours}
        section.value["profile"] = Node(
            {key: Node(value, node.file, node.line, node.column) for key, value in whole.items()},
            node.file,
            node.line,
            node.column,
            key=node.key,
        )
    else:
        del section.value["profile"]


def _traces(tree: Node, directory: Path, problems: list[Problem]) -> None:
    """Names of request traces and load tests become paths from here; a file that is not there is told."""
    services = tree.get("serving")
    if services is None:
        return
    several = isinstance(services.value, list)
    for index, service in enumerate(services.value if several else [services]):
        for path in (("traffic", "trace"), ("step_times",)):
            node, found = service.at(path)
            name = node.value if found else None
            if not isinstance(name, str) or (path[-1] == "step_times" and not name.endswith(".csv")):
                continue
            file = _directory(node, directory) / name
            if file.is_file():
                node.value = str(file)
                continue
            where = ("serving", index, *path) if several else ("serving", *path)
            beside = suggest(
                name,
                [
                    str(each.relative_to(file.parent.parent if "/" in name else file.parent))
                    for each in file.parent.glob("*.csv")
                ]
                if file.parent.is_dir()
                else [],
            )
            problems.append(node.problem(where, f"there is no file {name!r}", beside or "name a CSV file"))


# --- messages ------------------------------------------------------------------------

_SPOKEN = {
    "int_parsing": "is not a whole number",
    "int_from_float": "is not a whole number",
    "int_type": "is not a whole number",
    "float_parsing": "is not a number",
    "float_type": "is not a number",
    "finite_number": "is not a finite number",
    "bool_parsing": "is neither true nor false",
    "bool_type": "is neither true nor false",
    "string_type": "is not text",
    "dict_type": "is not a mapping",
    "model_type": "is not a mapping",
    "tuple_type": "is not a list",
    "too_short": "is an empty list",
}

_BOUNDS = {
    "greater_than": ("not above", "above"),
    "greater_than_equal": ("below", "of at least"),
    "less_than": ("not below", "below"),
    "less_than_equal": ("above", "of at most"),
}


def _translated(error: ValidationError, tree: Node) -> Iterator[Problem]:
    """Pydantic's faults with the place in the file and in the words of the scenario."""
    for fault in error.errors(include_url=False):
        if fault["type"] == "too_short" and fault["input"]:
            continue  # the list is not empty: its members are at fault, and are reported themselves
        path = tuple(fault["loc"])
        node, _ = tree.at(path)
        shown = _shown_path(path, tree)
        message, instead = _words(fault, path)
        yield node.problem(shown, message, instead, at_key=fault["type"] in ("extra_forbidden", "missing"))


def _shown_path(path: Path_, tree: Node) -> Path_:
    """The path as the file has it: without the index of a job that is written without a list."""
    shown: list[str | int] = []
    node: Node | None = tree
    for step in path:
        if step == 0 and node is not None and isinstance(node.value, dict):
            continue
        shown.append(step)
        node = node._step(step) if node is not None else None
    return tuple(shown)


def _words(fault: ErrorDetails, path: Path_) -> tuple[str, str]:
    """Message and what to write instead."""
    kind, given, context = fault["type"], fault["input"], fault.get("ctx", {})
    if kind == "extra_forbidden":
        return "unknown key", suggest(str(path[-1]), _keys(path[:-1]))
    if kind == "missing":
        return "is missing", f"write {_EXAMPLES[str(path[-1])]}" if path[-1] in _EXAMPLES else "add it"
    if kind == "literal_error":
        choices = [choice.strip(" '") for choice in str(context["expected"]).replace(" or ", ",").split(",")]
        return f"{given!r} is not one of the choices", f"write one of {', '.join(choices)}"
    if kind == "value_error":
        message, _, instead = str(context["error"]).partition("; ")
        return message, instead
    if kind in _BOUNDS:
        bound = next(iter(context.values()))
        return (
            f"{_short(given)} is {_BOUNDS[kind][0]} {bound:g}",
            f"write a number {_BOUNDS[kind][1]} {bound:g}",
        )
    if given is None and kind in _SPOKEN:
        return "is empty", "write its value, or leave the key out"
    if kind in _SPOKEN:
        return f"{_short(given)} {_SPOKEN[kind]}", f"{_example(path)}"
    return f"{_short(given)}: {fault['msg'][0].lower()}{fault['msg'][1:]}", ""


def _short(given: Any) -> str:
    names = {dict: "a mapping", list: "a list", type(None): "nothing"}
    text = names.get(type(given), repr(given))
    return text if len(text) <= 60 else f"{text[:57]}…"


def _example(path: Path_) -> str:
    return f"write {_EXAMPLES[str(path[-1])]}" if path and path[-1] in _EXAMPLES else ""


def _keys(path: Path_) -> list[str]:
    """The keys that the section at `path` knows."""
    section: type[BaseModel] = Scenario
    for step in path:
        if isinstance(step, str) and step in _names(section):
            inner = _section(section.model_fields[_names(section)[step]].annotation)
            section = inner or section
    known = set(_names(section))
    if section is Training:
        known |= set(_names(Stage))  # a job of one stage is written flat
    return sorted(known | {"extends"} if section is Scenario else known)


def _names(section: type[BaseModel]) -> dict[str, str]:
    return {field.alias or name: name for name, field in section.model_fields.items()}


def _section(annotation: Any) -> type[BaseModel] | None:
    """The section class inside an annotation such as `tuple[Stage, ...] | None`."""
    if isinstance(annotation, type) and get_origin(annotation) is None and issubclass(annotation, BaseModel):
        return annotation
    return next((found for each in get_args(annotation) if (found := _section(each))), None)
