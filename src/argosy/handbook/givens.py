"""Numbers that a reader puts in place of the book's: read as the page shows them, and held to their bounds.

A given of the data files has a `value` and a `unit`, and may say `min`, `max`, `above` (a bound that is
itself excluded), `whole: true` (a count) and `multiple` (switches have even numbers of ports).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from argosy.facts import FactError

_THOUSANDS = re.compile(r"^([+-]?\d{1,3})((?:,\d{3})+)(?!\d|,)")
_SHARES = ("", "fraction", "x")  # units of plain numbers, which may be written in per cent


def own_number(text: Any, given: Mapping[str, Any], name: str) -> float:
    """`text` as a number of the given's unit, within the given's bounds; FactError says what is wanted."""
    value = quantity(text, given["unit"], name)
    wanted = [
        (f"above {given.get('above'):g}", value > given["above"]) if "above" in given else None,
        (f"at least {given.get('min'):g}", value >= given["min"]) if "min" in given else None,
        (f"at most {given.get('max'):g}", value <= given["max"]) if "max" in given else None,
        ("a whole number", value == int(value)) if given.get("whole") else None,
        (f"a multiple of {given.get('multiple')}", value % given["multiple"] == 0)
        if "multiple" in given
        else None,
    ]
    bounds = [each for each in wanted if each]
    if not all(kept for _, kept in bounds):
        text_of_bounds = " and ".join(bound for bound, _ in bounds)
        raise FactError(f"{name}: {value:g} {given['unit']}".rstrip() + f" must be {text_of_bounds}")
    return int(value) if given.get("whole") else value


def quantity(text: Any, unit: str, name: str) -> float:
    """A number in `unit`: a bare number ("1,024", "405B", 0.45) is in it already; text with a unit ("989
    TFLOP/s", "30 min", "45 %", "512 GPUs") is converted.

    FactError says what to write.
    """
    if isinstance(text, int | float) and not isinstance(text, bool):
        if math.isfinite(text):
            return text
        raise FactError(f"{name}: {text} is not a finite number")
    from argosy.units import UnitError, parse

    written = _THOUSANDS.sub(lambda found: found[0].replace(",", ""), str(text).strip())
    if "%" in written and unit not in _SHARES:
        raise FactError(f"{name}: {text!r} is a share, and {unit} is not counted in shares")
    if _is_measured(unit):
        try:
            return parse(written, unit, bare=True)
        except UnitError as error:
            problem = error
    try:
        return parse(_without(written, unit), "ratio")
    except UnitError as error:
        shown = problem if _is_measured(unit) else error
        raise FactError(f"{name}: {shown}; a bare number counts in {unit or 'plain numbers'}") from error


def _is_measured(unit: str) -> bool:
    """True for a unit that converts (B/s, W, days), false for what is only counted (GPUs, parameters, x)."""
    from argosy.units import UnitError, dimension

    try:
        return bool(dimension(unit))
    except UnitError:
        return False


def _without(text: str, unit: str) -> str:
    """`text` without its unit, where the unit stands after it as a word of its own: "512 GPUs", "9x"."""
    match = re.fullmatch(rf"(.*[\d\s]|.*\d[kKMBGT]\s+){re.escape(unit)}", text) if unit else None
    return match[1].strip() if match else text
