"""The score of a diagnosis against what is true: what was found, what was missed, who was blamed wrongly."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from argosy.observe.corpus.truth import Culprits, Expected, Truth


@dataclass(frozen=True)
class Outcome:
    """One case scored. `found` of `expected` findings, each by its id and, where it must be named, its culprit; `wrong`: ids of
    findings that blame what is not to blame; `right`: findings that are true.
    """

    truth: Truth
    expected: int
    found: int
    right: int
    wrong: tuple[str, ...]


def score(truth: Truth, payload: Mapping[str, Any]) -> Outcome:
    """Score the JSON of `argosy diagnose` on a case."""
    findings = list(payload["findings"])
    found = sum(any(_meets(each, expected) for each in findings) for expected in truth.expected)
    wrong = tuple(each["id"] for each in findings if not _true(each, truth))
    return Outcome(truth, len(truth.expected), found, len(findings) - len(wrong), wrong)


def _meets(finding: Mapping[str, Any], expected: Expected) -> bool:
    if finding["id"] not in expected.ids:
        return False
    if expected.cause and expected.cause not in " ".join(finding.get("causes", ())[:1]):
        return False
    said = _named(finding)
    if not expected.culprits:
        return True
    return _among(said, expected.culprits) and (bool(said) or not expected.named)


def _true(finding: Mapping[str, Any], truth: Truth) -> bool:
    """Whether a finding is true of the case, and blames nobody who is innocent."""
    for expected in truth.expected:
        if finding["id"] in expected.ids:
            return _among(_named(finding), expected.culprits)
    return finding["id"] in truth.tolerated and _among(_named(finding), truth.culprits)


def _named(finding: Mapping[str, Any]) -> Culprits:
    culprit = finding.get("culprit") or {}
    ranks = set(culprit.get("ranks") or ())
    if culprit.get("rank") is not None:
        ranks.add(culprit["rank"])
    nodes = {culprit["node"]} if culprit.get("node") else set()
    stages = {culprit["stage"]} if culprit.get("stage") is not None else set()
    link = str(culprit.get("link") or "")
    if link and not ranks and not nodes:
        ranks = {int(number) for number in re.findall(r"\brank (\d+)\b", link)}
    return Culprits(tuple(sorted(ranks)), tuple(sorted(nodes)), tuple(sorted(stages)))


def _among(said: Culprits, true: Culprits) -> bool:
    """Whether everybody who is named may be. A rank may be named by its stage, a stage by its ranks: what the truth does
    not say at all is not held against a finding that names, by the same breath, someone who is to blame.
    """
    if not said:
        return True
    if true.ranks and said.ranks:
        return set(said.ranks) <= set(true.ranks)
    if true.nodes and said.nodes:
        return set(said.nodes) <= set(true.nodes)
    if true.stages and said.stages:
        return set(said.stages) <= set(true.stages)
    return False


@dataclass(frozen=True)
class Row:
    """Sums of outcomes. `stated`: cases that the recall floor covers, `recalled` of their findings; `weak`: those below;
    `blameless`: cases without any wrong blame.
    """

    name: str
    cases: int
    stated: int
    recalled: float | None
    weak: int
    weak_recalled: float | None
    precision: float | None
    wrong: int

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def row(name: str, outcomes: Iterable[Outcome]) -> Row:
    """Recall of stated and of weaker cases, precision over all findings, and cases with a wrong blame."""
    every = list(outcomes)
    stated = [each for each in every if each.truth.stated]
    weak = [each for each in every if not each.truth.stated and each.expected]
    findings = sum(each.right + len(each.wrong) for each in every)
    return Row(
        name,
        len(every),
        len(stated),
        _recall(stated),
        len(weak),
        _recall(weak),
        sum(each.right for each in every) / findings if findings else None,
        sum(bool(each.wrong) for each in every),
    )


def _recall(outcomes: list[Outcome]) -> float | None:
    wanted = sum(each.expected for each in outcomes)
    return sum(each.found for each in outcomes) / wanted if wanted else None


def rows(outcomes: Iterable[Outcome], key: str) -> list[Row]:
    """One row per value of a field of the truth (`kind`, `family`, `set_aside`), in order of appearance."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for each in outcomes:
        groups[str(getattr(each.truth, key))].append(each)
    return [row(name, group) for name, group in groups.items()]
