"""What the engine says is Chinese on the Chinese page: every sentence of every example, preset, finding and handbook text."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from itertools import pairwise, product
from pathlib import Path

import pytest

import argosy
from argosy.web import answers, handbook_answers
from argosy.web.app import STATIC
from argosy.web.starts import starts

WORDS = STATIC / "words"
PACKAGE = Path(argosy.__file__).parent
# Where answers hold names, citations, formulas, file names or what a user wrote, which no language changes.
NAMES = {
    "scenario", "inputs", "source", "sources", "formula", "path", "law_text", "signature", "laws", "facts", "hash", "id",
    "url", "provider", "label", "text", "price_basis", "market", "seeds", "claims", "aliases", "used", "basis", "check",
    "test", "not_to_be_confused_with", "printed", "given", "definitions", "tco", "carbon", "power", "embodied", "diff",
    "levels", "method", "column", "fact",
}  # fmt: skip
OURS = re.compile(  # product names, symbols and addresses that stand in Chinese sentences as they are
    r"Llama \d|DGX (?:H100|A100|SuperPOD)|Infinity Fabric|argosy [a-z-]+(?: show accelerators)?|CUDA graphs|nvidia-smi|"
    r"data sheet|nccl-tests|py-spy dump|out of memory|assumptions\.overrides|compute-sanitizer|scale-up|torch\.compile|"
    r"Allen–Cunneen|all-to-all|Megatron --manual-gc|torchtitan gc_freq|autoscaler: \{[^}]*\}|reliability: \{.*\}|micro-batch"
)


class Words:
    """The Chinese catalogue, used as words.js uses it."""

    def __init__(self, *names: str) -> None:
        read = [json.loads((WORDS / f"{name}.json").read_text("utf-8")) for name in names]
        self.terms = {key: text for each in read for key, text in each["terms"].items()}
        self.patterns = [
            (re.compile(key), text)
            for each in reversed(read)
            for key, text in each.get("patterns", {}).items()
        ]

    def term(self, text: str) -> str:
        text = text.strip()
        if text in self.terms:
            return self.terms[text]
        for pattern, said in self.patterns:
            if match := pattern.fullmatch(text):
                return re.sub(r"\$(\d)", lambda place, m=match: self.term(m[int(place[1])] or ""), said)
        return text

    def leaves(self, text: str) -> bool:
        """Whether English words, two or more in a row, are left of a text."""
        said = OURS.sub("", self.term(text))
        return re.search(r"\b[A-Za-z]{3,}(?:'s)? [a-z]{2,}\b", said) is not None


ENGINE = Words("zh")
HANDBOOK = Words("zh", "handbook.zh")


def sentences(value, key=""):
    """Every text that an answer shows."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            if name not in NAMES:
                yield from sentences(each, name)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from sentences(each, key)


def left(value, words=ENGINE):
    """English sentences of an answer that the Chinese page would show as they are."""
    return sorted({each for each in sentences(value) if words.leaves(each)})


def test_the_measure_itself_finds_english():
    assert ENGINE.leaves("the pumps of the hall stand still at noon")
    assert left({"reasons": ["peak facility power leaves 3.0% of the envelope", "quite another reason"]}) == [
        "quite another reason"
    ]
    half = Words("zh")
    half.patterns.append((re.compile("the (.+) stops"), "停机：$1"))
    assert half.leaves("the pump of the hall stops")


def test_more_translations_than_sentences_do_not_hide_a_place():
    for name in ("zh", "handbook.zh"):
        for pattern, said in json.loads((WORDS / f"{name}.json").read_text("utf-8"))["patterns"].items():
            places = {int(each) for each in re.findall(r"\$(\d)", said)}
            assert max(places, default=0) <= re.compile(pattern).groups <= 9, pattern


@cache
def answered(name: str, work: str):
    text = starts()[name]
    answers.DRAWS, kept = 50, answers.DRAWS
    try:
        answer = getattr(answers, work)(
            text, *({"life": (20,), "layouts": (None,), "timeline": (None,)}.get(work, ()))
        )
    except Exception as error:  # what it says is a sentence too
        return {
            "problems": [str(getattr(each, "message", each)) for each in getattr(error, "problems", [error])]
        }
    finally:
        answers.DRAWS = kept
    answer.pop("charts", None)
    answer.pop("chart", None)
    return answer


QUICK = ("llama3-70b-512", "minimal", "serving-8b-chat")


@pytest.mark.parametrize("name", QUICK)
def test_nothing_is_left_in_english_of_a_few_examples(name):
    assert left([answered(name, work) for work in ("plan", "facility", "timeline", "serving")]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(starts()))
def test_nothing_is_left_in_english_of_any_example(name):
    works = ("plan", "life", "facility", "timeline", "layouts", "serving")
    assert {work: found for work in works if (found := left(answered(name, work)))} == {}


@pytest.mark.slow
def test_nothing_is_left_in_english_of_comparisons():
    texts = list(starts().values())
    found = [answers.compare(a, b) for a, b in pairwise(texts[:5])]
    assert left([[each["headline"], [table["title"] for table in each["tables"]]] for each in found]) == []


def some(each, *keys):
    """Some of a record's texts, those of its steps with them."""
    return [each[key] for key in keys] + [step["text"] for step in each.get("steps", [])]


SHOWN = {
    "numbers": lambda answer: (
        [some(each, "label", "use", "direction") for each in answer["card"]]
        + [some(each, "title", "note", "rows") for each in answer["tables"]]
        + [column["name"] for each in answer["tables"] for column in each["columns"]]
    ),
    "claims": lambda answer: (
        some(each, "statement", "explanation", "tempting", "verdict", "unit") for each in answer["claims"]
    ),
    "exercises": lambda answer: (some(each, "title", "question") for each in answer["exercises"]),
    "guide": lambda answer: (
        [some(each, "question", "symptom", "constraint", "lever", "advice") for each in answer["questions"]]
        + answer["paradigms"]["dimensions"]
        + [some(each, "says", "holds") for each in answer["takeaways"]]
    ),
}


@pytest.mark.parametrize("work", ["numbers", "claims", "exercises", "guide"])
def test_nothing_is_left_in_english_of_the_handbook(work):
    answer = getattr(handbook_answers, work)()
    assert left(list(SHOWN[work](answer)), HANDBOOK) == []


def test_glossary_definitions_are_chinese():
    found = [each["definition"] for each in handbook_answers.words()["quantities"]]
    assert [each for each in found if HANDBOOK.term(each) == each] == []


def literals(path: Path):
    """Every text that a module writes, but docstrings; f-strings with `7`, or each word that may stand there, in their places."""
    tree = ast.parse(path.read_text("utf-8"))
    nodes = list(ast.walk(tree))
    inside = {
        id(part)
        for node in nodes
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    documents = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if id(node) in documents or id(node) in inside:
            continue
        if isinstance(node, ast.JoinedStr):
            for parts in product(*(places(part) for part in node.values)):
                yield "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def places(part):
    """What may stand at one place of an f-string."""
    if isinstance(part, ast.Constant):
        return [part.value]
    inner = part.value
    if isinstance(inner, ast.IfExp):
        ways = [getattr(way, "value", None) for way in (inner.body, inner.orelse)]
        return ways if all(isinstance(way, str) for way in ways) else ["7"]
    if isinstance(inner, ast.BinOp) and isinstance(getattr(inner.left, "value", None), str):
        return ["", inner.left.value]  # "s" * (more than one)
    return ["7"]


SKELETONS = [
    re.sub(r"\\(.)", r"\1", re.sub(r"\([^()]*[+*][^()]*\)", "7", pattern.pattern))
    for pattern, _ in ENGINE.patterns
]


VERBS = ("training logs tell", "training log tells", "traces are", "trace is", "the whole trace")


def translated(text: str) -> bool:
    """Whether a sentence, or a part of one, stands in the catalogue; verbs that a pattern takes as a place need not."""
    text = text.strip(" ;,")
    if text in VERBS:
        return True
    return not ENGINE.leaves(text) or any(text in each for each in (*SKELETONS, *ENGINE.terms))


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "observe" / "findings").glob("*.py")), ids=lambda path: path.stem
)
def test_every_finding_that_can_be_written_has_its_chinese(path):
    assert not translated("the GPU is tired of 7") and translated("takes 7, the same exchange elsewhere 7")
    whole = [each for each in literals(path) if re.search(r"[a-z]{2,} [a-z]{2,} [a-z]", each)]
    assert [each for each in whole if not translated(each)] == []
