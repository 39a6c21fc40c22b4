"""Model architectures by name: the shipped ones, files of a model's makers, and YAML files of one's own."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from argosy.spec.model import ModelArchitecture, ModelError
from argosy.spec.problems import ScenarioError, suggest

SHIPPED = Path(__file__).parent / "models"


def resolve(name: str, directory: Path | None = None) -> ModelArchitecture:
    """The architecture that `name` means: a file (config.json, YAML) relative to `directory`, or shipped.

    A name with slashes and without such a file (`hf/llama-3.1-405b/config.json`) is looked up by its parts,
    so that a scenario works where the file is not at hand. Raises ModelError.
    """
    path = (directory or Path()) / name
    if path.is_dir() and (path / "config.json").is_file():
        path = path / "config.json"
    if path.is_file():
        return read(path)
    exact = {_plain(each): each for each in names()}
    parts = [part for part in name.split("/") if part not in ("hf", "config.json")] or [name]
    for candidate in (name, *parts, "-".join(parts)):
        if _plain(candidate) in exact:
            return shipped(exact[_plain(candidate)])
    for candidate in (name, *parts):  # reads every shipped model: only for names that are no file's
        if _plain(candidate) in _aliases():
            return shipped(_aliases()[_plain(candidate)])
    what = (
        f"there is no file {path}, and no shipped model {name!r}"
        if "/" in name or "." in name
        else f"no model {name!r}"
    )
    raise ModelError(f"{what}; {suggest(parts[-1], names())}")


def names() -> list[str]:
    """Names of the shipped models."""
    return sorted(path.stem for path in SHIPPED.glob("*.yaml"))


@cache
def shipped(name: str) -> ModelArchitecture:
    """One shipped model by its exact name."""
    return _from_yaml(SHIPPED / f"{name}.yaml")[0]


def read(path: Path) -> ModelArchitecture:
    """The architecture in a file: the fields of `ModelArchitecture` (YAML), or a Hugging Face config.json."""
    if path.suffix.lower() in (".yaml", ".yml"):
        return _from_yaml(path)[0]
    from argosy.spec.importers import huggingface

    return huggingface.read(path)


def _from_yaml(path: Path) -> tuple[ModelArchitecture, tuple[str, ...]]:
    """The architecture and the aliases of a YAML file."""
    from pydantic import ValidationError

    from argosy.spec.yaml_tree import read_file

    try:
        tree = read_file(path)
    except ScenarioError as error:
        raise ModelError(str(error)) from None
    if not isinstance(tree.value, dict):
        raise ModelError(f"{path}: is not a mapping; write the fields of an architecture")
    data: dict[str, Any] = tree.data
    aliases = tuple(data.pop("aliases", ()))
    try:
        return ModelArchitecture.model_validate({"name": path.stem, **data}), aliases
    except ValidationError as error:
        faults = [
            f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_url=False)
        ]
        raise ModelError(f"{path}: {'; '.join(faults)}") from None


@cache
def _aliases() -> dict[str, str]:
    """Every other spelling of a shipped model's name, in plain form."""
    return {_plain(alias): name for name in names() for alias in _from_yaml(SHIPPED / f"{name}.yaml")[1]}


def _plain(name: str) -> str:
    """Small letters and digits only, so that `Llama 3.1 405B` and `llama-3.1-405b` are one name."""
    return "".join(character for character in name.casefold() if character.isalnum())
