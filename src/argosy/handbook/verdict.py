"""The rules by which a claim is judged: over the number it states, the precision it was printed with, and
the number computed.

In this order, the first that applies:
1. A `judgement` (attribution, contradiction, no evidence, a statement without a number) states its verdict,
with reason and source. 2. A `holds` condition over the computed value: true reproduces, false is wrong.
3. Two numbers: equal to one part in 10¹² reproduces; within one unit of the last printed digit (rounded up,
down or to nearest) rounds; anything else is wrong. A claimed range reproduces a number inside it, and
rounds one that enters it by rounding; a claimed number inside a computed range reproduces.
4. Nothing to compare with: not checkable.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

VERDICTS = (
    "reproduces",
    "rounds",
    "wrong",
    "wrong-attribution",
    "inconsistent-with-other-claim",
    "not-checkable",
)
BASES = (
    "attribution",
    "contradiction",
    "no evidence",
    "opinion",
    "forecast",
    "convention",
    "illustration",
    "qualitative",
    "counterexample",
    "citation",
)
EXACT = 1e-12  # relative: what two orders of the same floating-point operations may differ by


def last_place(printed: str) -> float:
    """The unit of the last printed digit: "98.04" gives 0.01, "1,840,000" gives 10⁴ (zeros at the end of a
    whole number are not digits).

    Raises ValueError for a text that is no number.
    """
    number = Decimal(printed.replace(",", "").strip().lstrip("~≈"))
    digits, exponent = number.as_tuple().digits, number.as_tuple().exponent
    if not isinstance(exponent, int) or abs(exponent) > 300:
        raise ValueError(f"{printed!r} is not a finite number")
    if exponent >= 0:
        text = "".join(map(str, digits)) + "0" * exponent
        return 10.0 ** (len(text) - len(text.rstrip("0"))) if number else 1.0
    return 10.0**exponent


def compare(claimed: float, computed: float, printed: str | None = None) -> str:
    """ "reproduces", "rounds" or "wrong" for one claimed number; `printed` is its text where the digits
    matter ("5.30").
    """
    if math.isclose(claimed, computed, rel_tol=EXACT, abs_tol=1e-300):
        return "reproduces"
    unit = last_place(printed or repr(claimed))
    return "rounds" if abs(claimed - computed) < unit * (1.0 - 1e-9) else "wrong"


def _within(value: float, bounds: list[float]) -> bool:
    return bounds[0] <= value <= bounds[1]


def compare_any(claimed: Any, computed: Any, printed: str | None = None) -> str:
    """`compare` for numbers and ranges ([low, high]) on either side; "not-checkable" where one side has no
    number.
    """
    is_range = [isinstance(side, list | tuple) for side in (claimed, computed)]
    if not all(_is_comparable(side) for side in (claimed, computed)):
        return "not-checkable"
    if is_range == [True, True]:
        if len(claimed) != len(computed):
            return "not-checkable"
        verdicts = [compare(a, b) for a, b in zip(claimed, computed, strict=True)]
        return max(verdicts, key=VERDICTS.index)
    if sum(is_range) == 1 and len(claimed if is_range[0] else computed) != 2:
        return "not-checkable"
    if is_range == [True, False]:
        if _within(computed, claimed):
            return "reproduces"
        nearest = min(claimed, key=lambda bound: abs(bound - computed))
        return compare(nearest, computed)
    if is_range == [False, True]:
        return "reproduces" if _within(claimed, computed) else "wrong"
    return compare(claimed, computed, printed)


def _is_comparable(side: Any) -> bool:
    """True for a finite number and for a list of them that is not empty."""
    if isinstance(side, list | tuple):
        return bool(side) and all(is_number(each) for each in side)
    return is_number(side)


def is_number(value: Any) -> bool:
    """True for a finite number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max


def decide(
    claimed: Any,
    computed: Any,
    *,
    printed: str | None = None,
    holds: bool | None = None,
    judgement: Mapping[str, Any] | None = None,
) -> tuple[str, str]:
    """The verdict and the rule that gave it, by the rules of this module."""
    if judgement is not None:
        return str(judgement["verdict"]), f"judgement ({judgement['basis']})"
    if holds is not None:
        return ("reproduces" if holds else "wrong"), "condition on the computed value"
    verdict = compare_any(claimed, computed, printed)
    return verdict, "nothing to compare with" if verdict == "not-checkable" else "value and printed precision"


def reason(claimed: Any, computed: Any, *, printed: str | None = None, condition: str | None = None) -> str:
    """Why a claim is "wrong" by these rules, in a sentence: how far off it is, and the rule it misses.

    `condition`: the text of a `holds` that came out false. Empty where the sides have no common shape.
    """
    if condition is not None:
        return f"The condition `{condition}` is false for the computed value."
    if is_number(claimed) and is_number(computed):
        unit = last_place(printed or repr(claimed))
        return f"{_distance(claimed, computed)}; more than one unit of the last printed digit ({unit:g})."
    if is_number(computed) and _is_comparable(claimed):
        bound = min(claimed, key=lambda each: abs(each - computed))
        return f"The computed value is outside the range; its nearer end is {_distance(bound, computed)}."
    if is_number(claimed) and _is_comparable(computed):
        return "Outside the computed range."
    if _is_comparable(claimed) and _is_comparable(computed):
        pairs = zip(("low", "high"), claimed, computed, strict=False)
        return " ".join(
            f"Its {end} end is {_distance(a, b)}." for end, a, b in pairs if compare(a, b) == "wrong"
        )
    return ""


def _distance(claimed: float, computed: float) -> str:
    """ "18 % below the computed value", or the plain difference from zero."""
    side = "below" if claimed < computed else "above"
    if computed == 0:
        return f"{abs(claimed):.3g} {side} the computed value, which is 0"
    ratio = claimed / computed
    if ratio > 2:
        return f"{ratio:.3g} times the computed value"
    return f"{abs(ratio - 1) * 100:.3g} % {side} the computed value"
