"""The hash is of what a scenario means, not of how it is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from argosy.spec import load, loads

BASE = """name: x
fleet: {accelerator: H100-SXM, count: 1024, fabrics: [{link: 400 Gb/s}]}
training: {model: llama-3.1-8b, tokens: 1e12, sequence_length: 8192, global_batch: 512 sequences}
"""


def test_form() -> None:
    assert re.fullmatch(r"1-[0-9a-f]{64}", loads(BASE).hash)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("400 Gb/s", "0.4 Tb/s"),
        ("400 Gb/s", "400e9 b/s"),
        ("{accelerator: H100-SXM, count: 1024, ", "{count: 1024, accelerator: H100-SXM, "),
        ("H100-SXM", "h100"),
        ("llama-3.1-8b", "Llama 3.1 8B"),
        ("tokens: 1e12", "tokens: 1_000_000_000_000"),
        ("512 sequences", "4 Mtok"),
        ("training: {", "reliability: {detection: 120 s}\ntraining: {"),  # the default, said
        ("training: {", "training: {layout: auto, "),
        ("name: x", "name: x  # a comment"),
    ],
)
def test_spelling_does_not_matter(old: str, new: str) -> None:
    assert old in BASE
    assert loads(BASE.replace(old, new)).hash == loads(BASE).hash


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("400 Gb/s", "401 Gb/s"),
        ("1024", "1032"),
        ("H100-SXM", "H200-SXM"),
        ("llama-3.1-8b", "llama-3.1-70b"),
        ("training: {", "reliability: {detection: 121 s}\ntraining: {"),
        ("training: {", "training: {layout: {tp: 8}, "),
        (
            "training: {",
            "assumptions: {overrides: {accelerators.H100-SXM.memory_bandwidth: 3 TB/s}}\ntraining: {",
        ),
    ],
)
def test_meaning_does(old: str, new: str) -> None:
    assert loads(BASE.replace(old, new)).hash != loads(BASE).hash


def test_extends_or_inline(tmp_path: Path) -> None:
    lines = BASE.splitlines(keepends=True)
    (tmp_path / "fleet.yaml").write_text(lines[1])
    (tmp_path / "run.yaml").write_text(lines[0] + "extends: fleet.yaml\n" + lines[2])
    assert load(tmp_path / "run.yaml").hash == loads(BASE).hash


def test_overrides_in_a_file_or_inline(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("accelerators.H100.memory_bandwidth: 3000 GB/s\n")
    filed = loads(BASE + "assumptions: {overrides: mine.yaml}\n", directory=tmp_path)
    inline = loads(BASE + "assumptions: {overrides: {accelerators.H100.memory_bandwidth: 3 TB/s}}\n")
    assert filed.hash == inline.hash
