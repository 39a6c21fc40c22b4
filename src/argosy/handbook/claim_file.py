"""Reading a user's claims file: every fault at once, with its place and what to write instead."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from argosy.facts import FactError
from argosy.handbook.claims import Claim, judgement_problem
from argosy.handbook.verdict import is_number, last_place

LARGEST = 4_000_000  # bytes
_OWN_NAME = re.compile(r"^\s*\w+\s*=(?!=)\s*")  # "servers = cards / 8": the name is the claim's own
IGNORED = frozenset(
    {
        "recomputed_value",
        "relative_difference",
        "verdict",
        "primary_source",
        "cross_checks",
        "correct_unit",
        "computed_value",
        "rule",
        "laws",
    }
)
_TEXT = (
    "id",
    "statement",
    "seed",
    "section",
    "formula",
    "unit",
    "explanation",
    "holds",
    "source",
    "tempting",
    "printed",
)


def read_claims(path: Path) -> list[Claim]:
    """The claims of a YAML file (a list of mappings, or a mapping with `claims`). FactError tells every
    fault as file:line:column.
    """
    entries = _entries(path)
    claims: list[Claim] = []
    problems: list[str] = []
    seen: set[str] = set()
    for entry in entries:
        place = _line(entry, entries)
        where = f"{path}:{place}"
        faults = _faults(entry)
        valued = _value_faults(entry)
        if not faults and not valued and entry["id"] in seen:
            faults = [f"the id {entry['id']!r} occurs twice"]
        problems += [f"{where}: {fault}" for fault in faults]
        problems += [f"{path}:{_key_line(entry, key, place)}: {fault}" for key, fault in valued]
        if not faults and not valued:
            seen.add(entry["id"])
            claims.append(_claim(entry))
    if problems:
        raise FactError(*problems)
    return claims


def _entries(path: Path) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    if path.stat().st_size > LARGEST:
        raise FactError(f"{path}: larger than {LARGEST // 10**6} MB; split the document")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FactError(f"{path}: not a text file in UTF-8 (byte {error.start})") from error
    if "&" in text and "*" in text and _has_alias(text):
        raise FactError(f"{path}: anchors and aliases are not read; write the claims out")
    try:
        content = YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise FactError(f"{path}{place}: not YAML: {error.problem}") from error
    except (YAMLError, ValueError, RecursionError) as error:
        raise FactError(f"{path}: not YAML: {error}") from error
    if isinstance(content, Mapping):
        content = content.get("claims")
    if not isinstance(content, list) or not content:
        raise FactError(
            f"{path}:1:1: expected a list of claims, each with id and statement; see docs/handbook.md"
        )
    return content


def _has_alias(text: str) -> bool:
    """True where the document uses YAML aliases: they can make a small file expand without bound."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.tokens import AliasToken

    try:
        return any(isinstance(token, AliasToken) for token in YAML(typ="safe", pure=True).scan(text))
    except YAMLError:
        return False  # the loader tells what is wrong, and where


def _line(entry: Any, entries: Any) -> str:
    mark = getattr(entry, "lc", None)
    if mark is None or mark.line is None:
        position = next((number for number, each in enumerate(entries) if each is entry), 0)
        line, column = entries.lc.item(position)
        return f"{line + 1}:{column + 1}"
    return f"{mark.line + 1}:{mark.col + 1}"


def _faults(entry: Any) -> list[str]:
    if not isinstance(entry, Mapping):
        return ["a claim is a mapping with id, statement, claimed_value, unit, formula, inputs"]
    known = {each.name for each in fields(Claim)}
    faults = [f"unknown key {key!r}{_near(str(key), known)}" for key in entry if key not in known | IGNORED]
    faults += [f"{key} is missing" for key in ("id", "statement") if not entry.get(key)]
    faults += [
        f"{key} must be text" for key in _TEXT if not isinstance(entry.get(key) or "", str) and key != "seed"
    ]
    if not isinstance(entry.get("inputs") or {}, Mapping):
        faults.append("inputs must be a mapping of names to numbers")
    elif bad := [name for name, value in (entry.get("inputs") or {}).items() if not _is_input(value)]:
        faults.append(
            f"inputs {', '.join(map(str, bad))}: write numbers in SI units (4e11, not '400 Gb/s') or lists"
        )
    if entry.get("judgement") is not None and (problem := judgement_problem(entry["judgement"])):
        faults.append(problem)
    return faults


def _value_faults(entry: Any) -> list[tuple[str, str]]:
    """What is wrong with the number that an entry claims, each as (key, fault)."""
    if not isinstance(entry, Mapping):
        return []
    faults = []
    claimed = entry.get("claimed_value")
    is_name = isinstance(claimed, str) and not entry.get("formula")  # "GXDR", which nothing computes
    if not (is_name or _is_claimable(claimed)):
        faults.append(
            (
                "claimed_value",
                "claimed_value must be a finite number, two ascending numbers [low, high], or left out",
            )
        )
    printed = entry.get("printed")
    if isinstance(printed, str) and printed:
        try:
            last_place(printed)
        except (ValueError, ArithmeticError):
            faults.append(("printed", f'printed {printed!r} must be the number as printed, such as "5.30"'))
    return faults


def _is_claimable(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) == 2 and all(is_number(each) for each in value) and value[0] <= value[1]
    return value is None or is_number(value)


def _key_line(entry: Any, key: str, otherwise: str) -> str:
    """line:column of one key of an entry, or the entry's own."""
    try:
        line, column = entry.lc.key(key)
    except (AttributeError, KeyError):
        return otherwise
    return f"{line + 1}:{column + 1}"


def _is_input(value: Any) -> bool:
    if isinstance(value, list):
        return all(_is_input(each) for each in value)
    return isinstance(value, bool) or is_number(value)


def _near(key: str, known: set[str]) -> str:
    close = difflib.get_close_matches(key, known, 1)
    return f"; did you mean {close[0]}?" if close else f"; known: {', '.join(sorted(known))}"


def _claim(entry: Mapping[str, Any]) -> Claim:
    content = {
        each.name: _plain(entry[each.name]) for each in fields(Claim) if entry.get(each.name) is not None
    }
    content["seed"] = str(content.get("seed", ""))
    content.setdefault("source", entry.get("primary_source"))
    if isinstance(content.get("correct_value"), str):
        content["correct_value"] = repr(content["correct_value"])
    if "formula" in content:
        content["formula"] = _OWN_NAME.sub("", content["formula"])
    return Claim(**content)


def _plain(value: Any) -> Any:
    """ruamel's round-trip types as plain Python ones."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, bool) or value is None:
        return value
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value
