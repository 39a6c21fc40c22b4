"""A changed text is the author's file with one field changed: comments stay, and it loads as the change says."""

from __future__ import annotations

import pytest

from argosy.spec import ScenarioError, loads
from argosy.spec.edit import edited
from argosy.spec.yaml_tree import read_text

TEXT = """# our run
name: run
fleet: {accelerator: H100-SXM, count: 64}   # eight nodes
training:
  name: pretrain
  model: llama-3.1-8b
  tokens: 1e11
  sequence_length: 8192
  global_batch: 256 sequences
reliability:
  detection: 2 min
"""


def test_comments_and_order_stay():
    found = edited(TEXT, {"fleet.count": 128})
    assert [line.split() for line in found.splitlines()] == [
        line.split() for line in TEXT.replace("count: 64", "count: 128").splitlines()
    ]


@pytest.mark.parametrize(
    "path, value",
    [
        ("fleet.count", 128),
        ("training.pretrain.global_batch", "512 sequences"),
        ("training.pretrain.stages.0.tokens", 2e11),
        ("reliability.detection", "30 s"),
        ("prices.electricity", "0.05 USD/kWh"),
        (
            "assumptions.overrides.accelerators.H100-SXM.memory_bandwidth",
            {"value": "3 TB/s", "source": "mine"},
        ),
    ],
)
def test_it_loads_as_the_same_change_of_load(path, value):
    assert loads(edited(TEXT, {path: value})).hash == loads(TEXT, changes={path: value}).hash


def test_lists_by_name_and_number_and_fields_taken_away():
    text = TEXT.replace("  name: pretrain\n", "").replace(
        "training:\n  model", "training:\n- name: a\n  model"
    )
    assert loads(edited(text, {"training.a.tokens": 2e11})).training[0].tokens == 2e11
    assert loads(edited(text, {"training.0.tokens": 2e11})).training[0].tokens == 2e11
    assert "detection" not in edited(TEXT, {"reliability.detection": None})


@pytest.mark.parametrize("text, path", [("- 1\n", "fleet.count"), (TEXT, "name.count"), ("a: [1]\n", "a.7")])
def test_paths_that_lead_nowhere_are_told(text, path):
    with pytest.raises(ScenarioError):
        edited(text, {path: 1})


@pytest.mark.parametrize("looks", ["-_", "._", "0x_", "2001-13-45", "2001-01-01 25:61:61", "1" * 5000])
def test_what_only_looks_like_a_number_or_date_stays_text(looks):
    found = edited(f"name: {looks}\nfleet: {{}}\n", {"fleet.count": 8})
    assert read_text(found, "changed").data == {"name": looks, "fleet": {"count": 8}}
    with pytest.raises(ScenarioError, match="is not a mapping"):
        edited(looks, {"fleet.count": 8})
