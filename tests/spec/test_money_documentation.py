"""Every scenario snippet of docs/money.md loads: its fields are the code's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from argosy.spec import loads

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "money.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
BASE = """
name: small
fleet: {accelerator: H100-SXM, count: 256}
training: {name: pretrain, model: llama-3.1-8b, tokens: 1e11, sequence_length: 8192, global_batch: 2 Mtok}
"""


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_a_snippet_loads(snippet: str) -> None:
    assert loads(BASE + snippet).name == "small"


def test_there_are_snippets() -> None:
    assert len(SNIPPETS) >= 2
