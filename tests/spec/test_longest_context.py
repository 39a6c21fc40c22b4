"""The longest context of shipped models against the published config.json that each names as its source."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from argosy.spec.architectures import SHIPPED, names, shipped

_STATED = re.compile(
    r"^max_positions: (\d+)  # max_position_embeddings of the config\.json of ([\w./-]+)", re.M
)


def stated():
    """Model, tokens, and the repository that is named, of every shipped model with a stated context."""
    for name in names():
        for tokens, repository in _STATED.findall((SHIPPED / f"{name}.yaml").read_text(encoding="utf-8")):
            yield name, int(tokens), repository.rstrip(";")


def test_every_stated_context_names_its_source():
    told = {name for name, _, _ in stated()}
    assert told == {name for name in names() if shipped(name).max_positions is not None}
    assert len(told) >= 20


def test_stated_contexts_are_those_of_the_published_files():
    """aiconfigurator-core brings copies of config.json under the name of their repository."""
    found = find_spec("aiconfigurator_core")
    if found is None or found.origin is None:
        pytest.skip("aiconfigurator-core, which brings published config.json files, is not installed")
    folder = Path(found.origin).parent / "model_configs"
    compared = 0
    for name, tokens, repository in stated():
        other = repository.replace("Llama-3.1", "Meta-Llama-3.1")  # renamed by its makers
        for spelling in (repository, other):
            file = folder / f"{spelling.replace('/', '--')}_config.json"
            if file.is_file():
                config = json.loads(file.read_text(encoding="utf-8"))
                config = config.get("text_config", config)
                assert config["max_position_embeddings"] == tokens, name
                compared += 1
                break
    assert compared >= 15
