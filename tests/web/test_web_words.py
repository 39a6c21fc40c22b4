"""All interface text stands in one catalogue a language, and both say the same things."""

from __future__ import annotations

import json
import re

import pytest

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


def listed():
    """(key, group) of every field of the forms."""
    text = SCRIPTS["fields.js"] + SCRIPTS["serving_fields.js"]
    for metric in ("ttft", "tpot", "e2e"):
        text += SCRIPTS["serving_fields.js"].replace("key: metric", f'key: "{metric}"')
    for side in ("input", "output"):
        lengths = (
            SCRIPTS["serving_fields.js"]
            .replace("key: `${key}", f"key: `{side}")
            .replace("group,", 'group: "load",')
        )
        text += re.sub(r"`([\w.]+)`, group", r'"\1", group', lengths)
    return set(re.findall(r'key: "([\w.]+)", group: "(\w+)"', text))


def test_fields_and_pages_have_their_words():
    fields = listed()
    assert len(fields) > 40
    for key, group in fields:
        assert f"field.{key}" in ENGLISH["words"] and f"group.{group}" in ENGLISH["words"]
    for page in ("plan", "compare", "diagnose", "serving", "handbook", "catalog"):
        assert f"page.{page}" in ENGLISH["words"] and f"{page}.js" in SCRIPTS


def test_no_word_of_a_field_or_group_is_left_over():
    asked = {f"field.{key}" for key, _ in listed()} | {f"group.{group}" for _, group in listed()}
    assert asked | {"group.trace"} == {
        key for key in ENGLISH["words"] if key.startswith(("field.", "group."))
    }


def test_chinese_is_chinese():
    same = [key for key, text in CHINESE["words"].items() if text == ENGLISH["words"][key]]
    assert not same, same


def test_every_line_of_a_plans_ledger_and_headline_has_its_chinese_name(page):
    answer = page.post("/api/plan", json={"text": page.get("/api/starts").json()["llama3-70b-512"]}).json()[
        "plan"
    ]
    names = {row["label"] for row in answer["headline"]} | {line["name"] for line in answer["cost"]["lines"]}
    waiting = [answer["ledger"]]
    while waiting:
        node = waiting.pop()
        names.add(node["name"])
        waiting += node["children"]
    assert not names - CHINESE["terms"].keys()


def shown(value, told=False):
    """Words that a chart's specification shows, as words.js finds them."""
    if isinstance(value, str):
        yield from [value] if told else []
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in ("field", "type", "op", "order"):
                yield from shown(
                    each, told or key in ("title", "text", "values", "datasets", "domain", "sort")
                )
    elif isinstance(value, list):
        for each in value:
            yield from shown(each, told)


def known(text):
    return text in CHINESE["terms"] or any(re.fullmatch(pattern, text) for pattern in CHINESE["patterns"])


@pytest.mark.parametrize("path", ["plan", "life", "facility", "timeline", "layouts"])
def test_what_a_chart_shows_has_its_chinese_words(page, small, path):
    answer = page.post(f"/api/{path}", json={"text": small}).json()
    charts = [answer["chart"]] if "chart" in answer else answer["charts"]
    names = {
        text for text in shown(charts) if re.search(r"[a-z]{3}", text) and not re.search(r"\b[td]p\b|#", text)
    }
    product = re.compile(r"[\d,]+ × \w+ \(.+\)|white|ascending")  # switches by name; colours; orders
    assert names and not [text for text in names if not known(text) and not product.fullmatch(text)]


def test_scripts_name_only_what_they_import():
    exported = {
        name
        for text in SCRIPTS.values()
        for name in re.findall(r"^export (?:async )?(?:function|const) (\w+)", text, re.MULTILINE)
    }
    for file, text in SCRIPTS.items():
        imported = {
            name.strip().split(" as ")[-1]
            for names in re.findall(r"import \{([^}]+)\}", text)
            for name in names.split(",")
        }
        own = set(re.findall(r"\b(?:function|const|let) (\w+)", text)) | set(
            re.findall(r"\b(\w+) = \(", text)
        )
        used = {name for name in exported if re.search(rf"(?<![.\w\"]){name}\(", text)}
        assert not used - imported - own, file


def test_sentences_with_numbers_have_patterns_that_match():
    titles = (
        "One step of pretrain: 14.2 s",
        "Memory per GPU, fullest at pipeline rank 0",
        "compute fabric: clos",
    )
    for title in titles:
        assert any(re.fullmatch(pattern, title) for pattern in CHINESE["patterns"]), title
