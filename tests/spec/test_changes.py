"""Fields changed by path: the same scenario as the file that says so."""

from __future__ import annotations

import pytest

import argosy
from argosy.spec import ScenarioError, loads

FLAT = (
    "name: c\nfleet: {accelerator: H100-SXM, count: 128}\n"
    "training: {name: pretrain, model: llama-3.1-8b, tokens: 1e12, sequence_length: 8192, global_batch: 512 sequences}\n"
    "reliability: {detection: 1 min}\n"
)
LISTED = (
    "name: c\nfleet: {accelerator: H100-SXM, count: 128, fabrics: [{role: compute}, {role: storage}]}\n"
    "training:\n  - name: pretrain\n    model: llama-3.1-8b\n    stages:\n"
    "      - {tokens: 1e12, sequence_length: 8192, global_batch: 512 sequences}\n"
    "      - {tokens: 1e11, sequence_length: 32768, global_batch: 128 sequences}\n"
)


@pytest.mark.parametrize(
    ("path", "value", "read"),
    [
        ("fleet.count", 256, lambda s: s.fleet.count == 256),
        ("reliability.detection", "5 min", lambda s: s.reliability.detection == 300),
        ("training.pretrain.layout.tp", 4, lambda s: s.training[0].layout.tp == 4),
        ("training.0.stages.0.tokens", "2e12", lambda s: s.training[0].stages[0].tokens == 2e12),
        ("training.pretrain.global_batch", "256 sequences", lambda s: s.training[0].stages[0].global_batch == 256),
        ("facility.site", "us-texas", lambda s: s.facility.site.name == "us-texas"),
        ("fleet.accelerator.memory_bandwidth", "3 TB/s", lambda s: s.fleet.accelerator.facts),
        (
            "assumptions.overrides.accelerators.H100-SXM.memory_bandwidth",
            "3 TB/s",
            lambda s: "accelerators.H100-SXM.memory_bandwidth" in s.assumptions.overrides,
        ),
    ],
)  # fmt: skip
def test_a_changed_field_is_what_the_file_would_say(path, value, read):
    assert read(loads(FLAT, changes={path: value}))
    assert not read(loads(FLAT)) or path == "facility.site"


def test_a_word_for_everything_gives_way_to_fields():
    found = loads(
        FLAT.replace("tokens: 1e12", "tokens: 1e12, layout: auto"), changes={"training.pretrain.layout.tp": 4}
    )
    assert found.training[0].layout.given == {"tp": 4}


def test_members_of_lists_go_by_name_or_index():
    changes = {
        "training.pretrain.stages.1.tokens": "5e11",
        "fleet.fabrics.storage.topology": "fat-tree",
        "fleet.fabrics.0.topology": "rail-only",
    }
    changed = loads(LISTED, changes=changes)
    assert [stage.tokens for stage in changed.training[0].stages] == [1e12, 5e11]
    assert [fabric.topology for fabric in changed.fleet.fabrics] == ["rail-only", "fat-tree"]


def test_no_change_is_the_same_scenario():
    assert loads(FLAT, changes={}).hash == argosy.loads(FLAT).hash
    assert loads(FLAT, changes={"fleet.count": 128}).hash == argosy.loads(FLAT).hash


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"fleet.cuont": 2}, "fleet.cuont: unknown key; write count"),
        ({"reliability.detection": 5}, "<reliability.detection>"),
        ({"training.other.layout.tp": 2}, "unknown key"),
        ({"fleet.count.x": 2}, "128 has no field 'x'"),
    ],
)
def test_faults_name_the_change(changes, words):
    with pytest.raises(ScenarioError) as error:
        loads(FLAT, changes=changes)
    assert words in str(error.value)


def test_a_missing_member_is_told_with_those_there_are():
    with pytest.raises(ScenarioError, match="no member 'finetune'; write one of pretrain"):
        loads(LISTED, changes={"training.finetune.layout.tp": 2})
