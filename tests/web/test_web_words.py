"""All interface text stands in one catalogue a language, and both say the same things."""

from __future__ import annotations

import json
import re

from argosy.web.app import STATIC

ENGLISH, CHINESE = (
    json.loads((STATIC / "words" / f"{code}.json").read_text("utf-8")) for code in ("en", "zh")
)
SCRIPTS = {path.name: path.read_text(encoding="utf-8") for path in STATIC.glob("*.js")}


def test_both_languages_have_every_word_with_the_same_places():
    assert ENGLISH["words"].keys() == CHINESE["words"].keys()
    for key, text in ENGLISH["words"].items():
        places = set(re.findall(r"\{(\w+)\}", text))
        assert places == set(re.findall(r"\{(\w+)\}", CHINESE["words"][key])), key


def test_every_word_that_the_page_asks_for_is_there():
    html = (STATIC / "index.html").read_text(encoding="utf-8")
    asked = set(re.findall(r'data-(?:word|label)="([^"]+)"', html))
    for text in SCRIPTS.values():
        asked |= set(re.findall(r'\bword\("([^"]+)"', text))
    assert asked and not asked - ENGLISH["words"].keys()
    for prefix in {match for text in SCRIPTS.values() for match in re.findall(r"\bword\(`([\w.]+)\$", text)}:
        assert any(key.startswith(prefix) for key in ENGLISH["words"]), prefix


def test_fields_and_pages_have_their_words():
    fields = re.findall(r'key: "(\w+)", group: "(\w+)"', SCRIPTS["fields.js"])
    assert len(fields) > 12
    for key, group in fields:
        assert f"field.{key}" in ENGLISH["words"] and f"group.{group}" in ENGLISH["words"]
    for page in ("plan", "compare", "diagnose", "serving", "handbook", "catalog"):
        assert f"page.{page}" in ENGLISH["words"] and f"{page}.js" in SCRIPTS


def test_chinese_is_chinese():
    same = [key for key, text in CHINESE["words"].items() if text == ENGLISH["words"][key]]
    assert not same, same


def test_every_line_of_a_plans_ledger_and_headline_has_its_chinese_name(page):
    answer = page.post("/api/plan", json={"text": page.get("/api/starts").json()["llama3-70b-512"]}).json()["plan"]
    names = {row["label"] for row in answer["headline"]} | {line["name"] for line in answer["cost"]["lines"]}
    waiting = [answer["ledger"]]
    while waiting:
        node = waiting.pop()
        names.add(node["name"])
        waiting += node["children"]
    assert not names - CHINESE["terms"].keys()


def test_sentences_with_numbers_have_patterns_that_match():
    titles = ("One step of pretrain: 14.2 s", "Memory per GPU, fullest at pipeline rank 0", "compute fabric: clos")
    for title in titles:
        assert any(re.fullmatch(pattern, title) for pattern in CHINESE["patterns"]), title
