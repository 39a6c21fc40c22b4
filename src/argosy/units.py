"""Quantities at the boundary: "400 Gb/s", "80 GB", "0.6 CNY/kWh" in and out; inside there are only floats.

`parse(text, unit)` gives the number of the wanted `unit`; `format(value, unit)` goes back.
A unit is atoms joined by `/`, `·`, `*` or `-`: `byte/s`, `USD/GPU-h`, `L/kWh`. Each atom has a factor and a
dimension. Bits and bytes are different dimensions, as are the currencies: nothing converts between them
silently. Decimal prefixes are powers of 1000, binary ones (Ki, Mi, Gi...) powers of 1024. Case counts: `Gb`
bits, `GB` bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

Dimension = tuple[tuple[str, int], ...]  # ((base, exponent), ...), sorted: (("bit", 1), ("s", -1))


class UnitError(ValueError):
    """A quantity that cannot be read as the wanted unit. `suggestion` is what to write instead, where
    something is.
    """

    def __init__(self, message: str, suggestion: str = "", where: str = "") -> None:
        hint = f"; write {suggestion}" if suggestion else ""
        super().__init__(f"{where}: {message}{hint}" if where else f"{message}{hint}")
        self.message = message
        self.suggestion = suggestion
        self.where = where


_LARGE = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Z": 1e21, "Y": 1e24}
_SMALL = {"m": 1e-3, "µ": 1e-6, "μ": 1e-6, "u": 1e-6, "n": 1e-9, "p": 1e-12}
_BINARY = {f"{letter}i": 1024.0**power for power, letter in enumerate("KMGTPE", start=1)}
_SCALE_WORDS = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12, "bn": 1e9, "tn": 1e12}
_SCALE_WORDS |= {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_DAY = 86400.0
_YEAR = 365.25 * _DAY  # the Julian year; a month is a twelfth of it
CURRENCIES = ("USD", "CNY", "EUR", "GBP", "JPY")

# spelling → (factor to the base, dimension, prefixes allowed). Milliwatts, millibytes and megaseconds are
# left out on purpose: in a fleet they are always a slip of the shift key (mW for MW), and an error says so.
_ATOMS: dict[str, tuple[float, Dimension, str]] = {}


def _define(names: str, factor: float, dimension: dict[str, int], prefixes: str = "") -> None:
    """Add every spelling in `names`; `prefixes` names the families allowed: l(arge), s(mall), b(inary)."""
    for name in names.split():
        _ATOMS[name] = (factor, tuple(sorted(dimension.items())), prefixes)


_define(
    "1 ratio count GPU GPUs accelerator accelerators chip chips node nodes link links port ports NIC NICs",
    1.0,
    {},
)
_define("%", 0.01, {})
_define("s", 1.0, {"s": 1}, "s")
_define("sec secs second seconds", 1.0, {"s": 1})
_define("min mins minute minutes", 60.0, {"s": 1})
_define("h hr hrs hour hours", 3600.0, {"s": 1})
_define("d day days", _DAY, {"s": 1})
_define("week weeks", 7 * _DAY, {"s": 1})
_define("month months", _YEAR / 12, {"s": 1})
_define("yr year years", _YEAR, {"s": 1})
_define("Hz", 1.0, {"s": -1}, "ls")
_define("b bit bits", 1.0, {"bit": 1}, "lb")
_define("B byte bytes Byte Bytes", 1.0, {"byte": 1}, "lb")
_define("bps", 1.0, {"bit": 1, "s": -1}, "l")
_define("Bps", 1.0, {"byte": 1, "s": -1}, "l")
_define("W", 1.0, {"J": 1, "s": -1}, "l")
_define("J", 1.0, {"J": 1}, "ls")
_define("Wh", 3600.0, {"J": 1}, "l")
_define("VA", 1.0, {"VA": 1}, "l")
_define("FLOP FLOPs", 1.0, {"FLOP": 1}, "l")
_define("FLOPS", 1.0, {"FLOP": 1, "s": -1}, "l")
_define("token tokens tok toks", 1.0, {"token": 1}, "l")
_define("req request requests", 1.0, {"request": 1}, "l")
_define("qps", 1.0, {"request": 1, "s": -1}, "l")
_define("g gCO2 gCO2e gCO2eq", 1e-3, {"kg": 1}, "s")
_define("kg kgCO2 kgCO2e kgCO2eq", 1.0, {"kg": 1})
_define("t tonne tonnes tCO2 tCO2e tCO2eq", 1e3, {"kg": 1}, "l")
_define("L l litre litres liter liters", 1.0, {"L": 1}, "ls")
_define("m3 m³", 1e3, {"L": 1})
_define("m", 1.0, {"m": 1}, "s")
_define("metre metres meter meters", 1.0, {"m": 1})
_define("km", 1e3, {"m": 1})
_define("cm", 1e-2, {"m": 1})
_define("°C degC", 1.0, {"°C": 1})
for _code in CURRENCIES:
    _define(_code, 1.0, {_code: 1}, "l")
_define("$ US$", 1.0, {"USD": 1})
_define("€", 1.0, {"EUR": 1})
_define("RMB", 1.0, {"CNY": 1}, "l")

_SCALED = {"token", "request", *CURRENCIES}  # bases that may follow a scale word: "15.6T tokens", "1.2M USD"
_SIGNED = {"°C", *CURRENCIES}  # bases in which a negative quantity makes sense, with plain ratios
_KINDS = """plain number|ratio|0.5; time|s|2 h; frequency|Hz|1 Hz; size in bits|bit|8 Gb;
size in bytes|byte|80 GB;
rate in bits|bit/s|400 Gb/s; rate in bytes|byte/s|50 GB/s; power|W|40 MW; energy|J|10 kWh; apparent power|VA|2
MVA; number of FLOPs|FLOP|3 EFLOP; rate of FLOPs|FLOP/s|989 TFLOP/s; number of tokens|token|16 Mtok;
mass|kg|12 t; rate of requests|req/s|120 req/s; rate of tokens|token/s|3 Mtok/s; volume|L|1 m3; length|m|50 m;
temperature|°C|30 °C; price|USD|2.5 USD; price per hour|USD/h|2 USD/h; price of energy|USD/kWh|0.07 USD/kWh"""
_NUMBER = re.compile(r"([+-]?(?:\d[\d_]*\.?[\d_]*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*)", re.DOTALL)
_LONGEST = 80  # characters: nothing longer is a quantity
_known: dict[str, tuple[float, Dimension]] = {}  # units already read


class _UnknownUnit(Exception):
    """An atom that no spelling and prefix explains; args[0] is the atom."""


def _atom(name: str) -> tuple[float, Dimension]:
    """Factor and dimension of one atom with its prefix, or _UnknownUnit."""
    if name in _ATOMS:
        return _ATOMS[name][:2]
    for family, prefixes in (("b", _BINARY), ("l", _LARGE), ("s", _SMALL)):
        for prefix, scale in prefixes.items():
            rest = name[len(prefix) :]
            if name.startswith(prefix) and rest in _ATOMS and family in _ATOMS[rest][2]:
                return scale * _ATOMS[rest][0], _ATOMS[rest][1]
    raise _UnknownUnit(name)


def _unit(text: str) -> tuple[float, Dimension]:
    """Factor and dimension of a whole unit such as `USD/GPU-h`, or _UnknownUnit naming the part not
    understood.
    """
    if text in _known:
        return _known[text]
    factor = 1.0
    exponents: dict[str, int] = {}
    for position, part in enumerate(text.split("/")):
        sign = -1 if position else 1
        atoms = [atom for atom in re.split(r"[\s·*()-]+", part) if atom]
        if not atoms and (position or len(text) == len(part)):
            raise _UnknownUnit(text)
        if len(atoms) > 1 and atoms[0] in _SCALE_WORDS and set(dict(_atom(atoms[1])[1])) & _SCALED:
            factor *= _SCALE_WORDS[atoms.pop(0)] ** sign
        for atom in atoms:
            scale, dimension = _atom(atom)
            factor *= scale**sign
            for base, exponent in dimension:
                exponents[base] = exponents.get(base, 0) + sign * exponent
    found = factor, tuple(sorted((base, exponent) for base, exponent in exponents.items() if exponent))
    if len(_known) < 10_000:
        _known[text] = found
    return found


def dimension(unit: str) -> Dimension:
    """The dimension of a unit, as sorted (base, exponent) pairs; UnitError for a unit that does not exist."""
    try:
        return _unit(unit)[1]
    except _UnknownUnit as unknown:
        raise _unknown_unit(unit, str(unknown.args[0]), None) from None


def convert(value: float, unit: str, to: str) -> float:
    """`value` in `unit` as a number of `to`; both must have the same dimension (else UnitError)."""
    if dimension(unit) != dimension(to):
        raise _mismatch(value, unit, to)
    return value * _unit(unit)[0] / _unit(to)[0]


def parse(
    text: object, unit: str, *, where: str = "", rates: Mapping[str, float] | None = None, bare: bool = False
) -> float:
    """The number of `unit` that `text` states: parse("400 Gb/s", "bit/s") = 4e11, parse("7 d", "s") = 604800.

    A number without a unit is accepted only where it cannot be misread: plain ratios, counts and tokens
    ("15.2e12", 0.38, "16M"), and zero. With `bare=True` any bare number is taken to be in `unit` already (for
    files that name the unit apart). Currencies convert only with `rates`, US dollars per unit of each:
    {"CNY": 0.14}. Raises UnitError, prefixed with `where`, for anything else: unknown or missing units, wrong
    dimensions, nan, infinity, and negative numbers of what cannot be negative.
    """
    try:
        return _parse(text, unit, rates or {}, bare)
    except UnitError as error:
        raise UnitError(error.message, error.suggestion, where) from None


def _parse(text: object, unit: str, rates: Mapping[str, float], bare: bool) -> float:
    wanted_factor, wanted = _wanted(unit)
    number, written = _split(text, unit, wanted)
    if written in _SCALE_WORDS and _is_bare(wanted):
        number, written = number * _SCALE_WORDS[written], ""
    if not written:
        if not (bare or number == 0 or _is_bare(wanted)):
            raise UnitError(
                f"{text!r} has no unit, and {_name(wanted, unit)} is wanted", _example(wanted, unit)
            )
        result = number
    else:
        try:
            factor, given = _unit(written)
        except _UnknownUnit as unknown:
            raise _unknown_unit(written, str(unknown.args[0]), wanted, number) from None
        if given != wanted:
            factor *= _exchange(given, wanted, rates, number, written, unit)
        result = number * factor / wanted_factor
    if not math.isfinite(result):
        raise UnitError(f"{text!r} is not a finite number", _example(wanted, unit))
    if result < 0 and not _may_be_negative(wanted):
        raise UnitError(f"{text!r} is negative, and {_name(wanted, unit)} cannot be")
    return float(f"{result:.15g}")  # decimal in, decimal out: 99.9 % is 0.999, not 0.9990000000000001


def _wanted(unit: str) -> tuple[float, Dimension]:
    """The wanted unit; a mistake here is the caller's, not the user's, but says the same."""
    dimension(unit)
    return _unit(unit)


def _split(text: object, unit: str, wanted: Dimension) -> tuple[float, str]:
    """Number and unit text. Numbers of every kind have no unit text."""
    if not isinstance(text, str):
        if isinstance(text, bool) or not hasattr(text, "__float__"):
            raise UnitError(f"{_shown(text)} is not a quantity", _example(wanted, unit))
        try:
            return float(text), ""
        except (TypeError, ValueError):
            raise UnitError(f"{_shown(text)} is not one quantity", _example(wanted, unit)) from None
    stripped = text.strip()
    if not stripped or len(stripped) > _LONGEST:
        raise UnitError(f"{_shown(stripped)} is not a quantity", _example(wanted, unit))
    if dollars := re.fullmatch(r"([+-]?)\$\s*([\d.][\d_.eE]*)\s*([kKMBTG]?)(?=$|/)(.*)", stripped):
        sign, digits, scale, rest = dollars.groups()
        stripped = f"{sign}{digits} {scale + ' ' if scale else ''}USD{rest}"
    if re.match(r"[+-]?\d{1,3}(,\d{3})+(?![\d,])", stripped):
        raise UnitError(f"{stripped!r} has a comma in its number", repr(stripped.replace(",", "")))
    match = _NUMBER.fullmatch(stripped)
    if match and re.match(r",\d", match[2]):
        raise UnitError(f"{stripped!r} has a comma in its number", repr(stripped.replace(",", ".", 1)))
    if not match:
        if re.match(r"[+-]?(nan|inf)", stripped, re.IGNORECASE):
            raise UnitError(f"{stripped!r} is not a finite number", _example(wanted, unit))
        raise UnitError(f"{stripped!r} does not start with a number", _example(wanted, unit))
    try:
        return float(match[1]), match[2].strip()
    except ValueError:
        raise UnitError(f"{match[1]!r} is not a number", _example(wanted, unit)) from None


def _shown(value: object) -> str:
    """A value as an error quotes it: never longer than a line."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:40]}…"


def _is_bare(wanted: Dimension) -> bool:
    """True for what is counted, not measured: its numbers need no unit."""
    return wanted in ((), (("token", 1),))


def _may_be_negative(wanted: Dimension) -> bool:
    return not wanted or any(base in _SIGNED and exponent > 0 for base, exponent in wanted)


def _kinds() -> dict[Dimension, tuple[str, str, str]]:
    """What each dimension is called, an example of it, and its unit: all only for messages."""
    rows = [kind.strip().split("|") for kind in _KINDS.replace("\n", " ").split(";")]
    return {_unit(unit)[1]: (name, example, unit) for name, unit, example in rows}


def _name(wanted: Dimension, unit: str) -> str:
    name = _kinds().get(wanted, ("quantity",))[0]
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name} ({unit})"


def _example(wanted: Dimension, unit: str) -> str:
    return f"for example {_kinds().get(wanted, ('', f'1 {unit}'))[1]!r}"


def _exchange(
    given: Dimension, wanted: Dimension, rates: Mapping[str, float], number: float, written: str, unit: str
) -> float:
    """The factor between two dimensions that differ only in the currency; UnitError for all others."""
    usd = {"USD": 1.0, **rates}
    ours = [base for base, exponent in given if base in CURRENCIES and exponent == 1]
    theirs = [base for base, exponent in wanted if base in CURRENCIES and exponent == 1]
    if len(ours) == len(theirs) == 1 and set(given) - {(ours[0], 1)} == set(wanted) - {(theirs[0], 1)}:
        missing = [code for code in (ours[0], theirs[0]) if code not in usd]
        if missing:
            message = (
                f"'{number:g} {written}' is in {ours[0]}, and {unit} is wanted, but no exchange rate is given"
            )
            raise UnitError(message, f"it in {theirs[0]}, or give the rate of {missing[0]} in USD")
        return usd[ours[0]] / usd[theirs[0]]
    raise _mismatch(number, written, unit)


def _mismatch(number: float, written: str, unit: str) -> UnitError:
    """Right unit, wrong dimension: say which one it is and what was probably meant."""
    factor, given = _unit(written)
    wanted = _unit(unit)[1]
    message = f"'{number:g} {written}' is {_name(given, written)}, but {_name(wanted, unit)} is wanted"
    if per := _bit_factor(given, wanted):
        same = format(number * factor / _unit(unit)[0] * per, unit, 6)
        return UnitError(message, f"{same!r} if that is meant (8 bits to the byte)")
    if (given, wanted) == ((("m", 1),), (("s", 1),)):
        return UnitError(message, f"'{number:g} min' for minutes")
    if _times_seconds(given, 1) == wanted:
        message += ", which is that times a duration"
    elif _times_seconds(given, -1) == wanted:
        message += ", which is that divided by a duration"
    return UnitError(message, _example(wanted, unit))


def _times_seconds(given: Dimension, exponent: int) -> Dimension:
    exponents = dict(given)
    exponents["s"] = exponents.get("s", 0) + exponent
    return tuple(sorted((base, power) for base, power in exponents.items() if power))


def _unknown_unit(
    written: str, atom: str, wanted: Dimension | None, number: float | None = None
) -> UnitError:
    """An unknown unit, with the closest known ones: the same letters in another case, then near spellings."""
    import difflib  # only on the way to an error

    spelled = _spellings()
    near = [name for name in spelled if name.lower() == atom.lower()]
    near += ["CNY", "JPY"] if atom == "¥" else difflib.get_close_matches(atom, spelled, n=8, cutoff=0.6)
    whole = list(dict.fromkeys(written.replace(atom, name, 1) for name in near))
    count = f"{number:g} " if number is not None else ""
    shown = [f"'{count}{unit}'" for unit in whole if wanted is None or _dimension_or_none(unit) == wanted][:3]
    if number is not None and wanted and written.islower():
        # "400 gb/s" may have meant the other of bits and bytes: say that too, or a factor of 8 slips in
        for unit in (unit for unit in whole if unit.lower() == written and _dimension_or_none(unit)):
            if per := _bit_factor(_unit(unit)[1], wanted):
                meant = format(number * _unit(unit)[0] * per, _kinds()[wanted][2], 6)
                shown = [*shown[:1], f"{meant!r} if {count}{unit} was meant"]
                break
    shown = shown or [f"'{count}{unit}'" for unit in whole[:3]]
    example = f"for example {_kinds()[wanted][1]!r}" if wanted in _kinds() else "a known unit such as 'GB/s'"
    return UnitError(f"{_shown(atom)} is not a known unit", " or ".join(shown) or example)


def _bit_factor(given: Dimension, wanted: Dimension) -> float | None:
    """8 from bytes to bits, 1/8 from bits to bytes, None where the dimensions differ in anything else."""
    for ours, theirs, per in (("byte", "bit", 8.0), ("bit", "byte", 1 / 8)):
        swapped = tuple(sorted((theirs if base == ours else base, exponent) for base, exponent in given))
        if swapped == wanted and swapped != given:
            return float(per ** dict(given)[ours])
    return None


def _dimension_or_none(unit: str) -> Dimension | None:
    try:
        return _unit(unit)[1]
    except _UnknownUnit:
        return None


def _spellings() -> list[str]:
    """Every atom with every prefix it takes."""
    families = {"l": _LARGE, "s": _SMALL, "b": _BINARY}
    names = list(_ATOMS)
    for name, (_, _, allowed) in _ATOMS.items():
        names += [prefix + name for family in allowed for prefix in families[family]]
    return names


# --- Writing

_LADDER = [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")]
_COUNT_LADDER = [(1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"), (1.0, "")]
_TIME_LADDER = [
    (_YEAR, "yr"), (_DAY, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9,
    "ns"),
]  # fmt: skip
_SHORT = {"byte": "B", "bit": "b"}
_PREFIXED = {"byte", "bit", "W", "J", "Wh", "FLOP", "Hz", "VA"}


def format(value: float, unit: str, digits: int = 3) -> str:
    """`value`, a number of `unit`, as text with a fitting prefix and `digits` significant digits.

    format(4e11, "bit/s") = "400 Gb/s", format(216000, "s") = "2.5 d". Whole numbers keep all their digits
    where no prefix fits. `parse` reads the result back, up to the rounding.
    """
    value = float(value)
    head, slash, tail = unit.partition("/")
    if not math.isfinite(value):
        return f"{value} {unit}"
    if unit == "s":
        scale, name = _rung(value, _TIME_LADDER, digits)
        return f"{_digits(value / scale, digits)} {name}"
    if head in _PREFIXED:
        scale, prefix = _rung(value, _LADDER, digits)
        return f"{_digits(value / scale, digits)} {prefix}{_SHORT.get(head, head)}{slash}{tail}"
    if unit in ("token", "request") or unit in CURRENCIES:
        scale, prefix = _rung(value, _COUNT_LADDER, digits)
        name = f"{unit}s" if unit in ("token", "request") else unit
        return f"{_digits(value / scale, digits)}{prefix} {name}"
    if unit == "kg":
        scale, name = _rung(value, [(1e6, "kt"), (1e3, "t"), (1.0, "kg"), (1e-3, "g")], digits)
        return f"{_digits(value / scale, digits)} {name}"
    if unit == "count" and abs(value) >= 1e6:
        scale, prefix = _rung(value, _COUNT_LADDER, digits)
        return f"{_digits(value / scale, digits)}{prefix}"
    if unit in ("ratio", "count", "1", ""):
        return _digits(value, digits)
    return f"{_digits(value, digits)} {unit}"


def _rung(value: float, ladder: list[tuple[float, str]], digits: int) -> tuple[float, str]:
    """The largest step of `ladder` that the rounded value reaches (999.96 GB is written 1 TB)."""
    if value == 0:
        return next(step for step in ladder if step[0] == 1.0)
    rounded = abs(float(f"{value:.{digits - 1}e}"))
    for position, (scale, name) in enumerate(ladder):
        below = float(f"{abs(value) / scale:.{digits - 1}e}")
        if rounded >= scale or below >= 1 or position == len(ladder) - 1:
            return scale, name
    raise AssertionError("a ladder has at least one step")


def _digits(number: float, digits: int) -> str:
    """`digits` significant digits, without an exponent between 1e-4 and 1e6 and without trailing zeros."""
    if number == 0:
        return "0"
    if 10 ** (digits - 1) <= abs(number) < 1e6:
        return f"{number:.0f}"
    return f"{number:.{digits}g}"
