"""The documentation: every page is in its table of contents, every link leads somewhere, pages from code are current."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "README.md",
    ROOT / "README.zh-CN.md",
    ROOT / "CONTRIBUTING.md",
]
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def _named(entries: list) -> list[str]:
    found = []
    for entry in entries:
        for value in entry.values():
            found += _named(value) if isinstance(value, list) else [value]
    return found


def test_the_table_of_contents_names_every_page_once():
    named = _named(tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"])
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert sorted(named) == sorted(pages)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for target in _LINK.findall(text):
        path = target.partition("#")[0]
        if path and not target.startswith(("http://", "https://", "mailto:")):
            assert (page.parent / path).exists(), target


def test_pages_from_code_are_current():
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "reference", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
