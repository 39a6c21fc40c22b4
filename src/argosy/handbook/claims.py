"""The claims of the two documents, and of any document in the same form, computed by the laws and judged by
stated rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from argosy.facts import FactError
from argosy.handbook import data
from argosy.handbook.formula import FormulaError, compute, laws_used
from argosy.handbook.verdict import BASES, VERDICTS, decide, reason

RIGHT = ("reproduces", "rounds")
_OURS = "(Computed by the handbook's formula for this id.)"


@dataclass(frozen=True)
class Claim:
    """What a document says, and how to compute it. `formula` gives the number in `unit`; `holds` is a
    condition over that `value`.

    `judgement` (verdict, basis, source) is for what a number cannot settle; `correct_value` is a formula or
    a quoted text.
    """

    id: str
    statement: str
    seed: str = ""
    section: str = ""
    formula: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    claimed_value: Any = None
    printed: str | None = None
    unit: str = ""
    holds: str | None = None
    judgement: Mapping[str, Any] | None = None
    correct_value: Any = None
    explanation: str = ""
    source: str | None = None
    tempting: str | None = None


@dataclass(frozen=True)
class Checked:
    """A claim with its computed value (in the claim's unit), verdict, the rule that gave it, and the right
    value where it is wrong.
    """

    claim: Claim
    computed_value: Any
    verdict: str
    rule: str
    correct_value: Any
    problem: str = ""

    @property
    def right(self) -> bool:
        """True when the document's number stands."""
        return self.verdict in RIGHT

    @property
    def explanation(self) -> str:
        """Why the verdict: the claim's own explanation, or one from the numbers; and what was not computed."""
        claim = self.claim
        own = claim.explanation
        if self.verdict == "wrong" and claim.judgement is None and own in ("", _OURS):
            why = reason(
                claim.claimed_value, self.computed_value, printed=claim.printed, condition=claim.holds
            )
            own = f"{why} {own}".strip()
        return " ".join(filter(None, (own, self.problem)))

    @property
    def source(self) -> str | None:
        """What was read: the claim's source and that of its judgement, written out."""
        judged = (self.claim.judgement or {}).get("source")
        sources = filter(None, (data.source_text(self.claim.source), data.source_text(judged)))
        return "; ".join(dict.fromkeys(sources)) or None

    def to_dict(self) -> dict[str, Any]:
        """The claim as the contract's JSON has it."""
        claim = self.claim
        return {
            "id": claim.id,
            "seed": claim.seed,
            "section": claim.section,
            "statement": claim.statement,
            "formula": claim.formula,
            "inputs": dict(claim.inputs),
            "claimed_value": claim.claimed_value,
            "unit": claim.unit,
            "computed_value": self.computed_value,
            "relative_difference": relative_difference(claim.claimed_value, self.computed_value),
            "verdict": self.verdict,
            "rule": self.rule,
            "correct_value": self.correct_value,
            "explanation": self.explanation,
            "source": self.source,
            "tempting": claim.tempting,
            "laws": laws_used(claim.formula) if not self.problem and claim.formula else [],
        }


def relative_difference(claimed: Any, computed: Any) -> float | None:
    """claimed/computed - 1 of two numbers, else None."""
    if (
        any(isinstance(side, bool) or not isinstance(side, int | float) for side in (claimed, computed))
        or computed == 0
    ):
        return None
    return float(claimed / computed - 1.0)


def check(claim: Claim) -> Checked:
    """Compute a claim and judge it. A formula that cannot be computed makes it not checkable, and says
    why.
    """
    computed, problem, holds = None, "", None
    try:
        computed = compute(claim.formula, claim.inputs) if claim.formula else None
        holds = bool(compute(claim.holds, {**claim.inputs, "value": computed})) if claim.holds else None
    except FactError as error:  # a formula's fault, or a fact that is not in the catalogue
        problem = f"Not computed: {error}."
        if claim.judgement is None:
            return Checked(claim, None, "not-checkable", "the formula cannot be computed", None, problem)
    verdict, rule = decide(
        claim.claimed_value, computed, printed=claim.printed, holds=holds, judgement=claim.judgement
    )
    correct = None
    if verdict not in RIGHT:
        try:
            correct = _correct(claim, computed, verdict)
        except FactError as error:
            problem = f"The right value was not computed: {error}."
            if claim.judgement is None:
                return Checked(
                    claim, computed, "not-checkable", "its correct_value cannot be computed", None, problem
                )
    return Checked(claim, computed, verdict, rule, correct, problem)


def _correct(claim: Claim, computed: Any, verdict: str) -> Any:
    """The right value of a claim that does not stand: its own formula, or else what was computed."""
    if claim.correct_value is None:
        return computed if verdict != "not-checkable" else None
    return compute(str(claim.correct_value), claim.inputs)


@cache
def handbook_claims() -> tuple[Claim, ...]:
    """The claims of both documents, from data/claims, in the order of the documents."""
    return tuple(Claim(**entry) for entry in data.load("claims"))


def checked_handbook() -> list[Checked]:
    """All claims of both documents, computed and judged."""
    return [check(claim) for claim in handbook_claims()]


def check_file(path: str | Path) -> list[Checked]:
    """The claims of a user's YAML file, judged by the same rules; FactError lists every fault of the file
    with its line.

    An entry with the id of one of the handbook's claims is that claim; the handbook's formula computes it
    with the file's inputs where the names agree, unless its own formula calls laws; the answer says so.
    """
    from argosy.handbook.claim_file import read_claims

    known = {claim.id: claim for claim in handbook_claims()}
    return [check(_resolved(claim, known.get(claim.id))) for claim in read_claims(Path(path))]


def _resolved(claim: Claim, ours: Claim | None) -> Claim:
    """A file's claim, or the handbook's of the same id with the file's statement, number and inputs."""
    if ours is None or _calls_laws(claim.formula):
        return claim
    same = claim.claimed_value in (None, ours.claimed_value)
    given = {name: value for name, value in claim.inputs.items() if name in ours.inputs}
    return replace(
        ours,
        statement=claim.statement,
        seed=claim.seed,
        section=claim.section,
        inputs={**ours.inputs, **given},
        claimed_value=claim.claimed_value if claim.claimed_value is not None else ours.claimed_value,
        printed=claim.printed or (ours.printed if same else None),
        explanation=f"{ours.explanation} {_OURS}".strip() if same else _OURS,
    )


def _calls_laws(formula: str) -> bool:
    try:
        return bool(formula) and bool(laws_used(formula))
    except FormulaError:
        return False


def counts(checked: Iterable[Checked]) -> dict[str, int]:
    """How many claims have which verdict, in the order of the verdicts."""
    found = [each.verdict for each in checked]
    return {verdict: found.count(verdict) for verdict in VERDICTS if verdict in found}


def judgement_problem(judgement: Any) -> str:
    """What is wrong with a `judgement` field, or nothing."""
    if not isinstance(judgement, Mapping):
        return "judgement must be a mapping with verdict, basis and source"
    if judgement.get("verdict") not in VERDICTS:
        return f"judgement.verdict must be one of: {', '.join(VERDICTS)}"
    if judgement.get("basis") not in BASES:
        return f"judgement.basis must be one of: {', '.join(BASES)}"
    return "" if judgement.get("source") else "judgement.source must say what was read"
