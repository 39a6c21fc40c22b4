"""Numbers as people read them: a few significant digits, an engineering prefix, the unit always beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_WORDS = {"G": "B"}  # money and counts say billions, not giga


def count(value: float) -> str:
    """A whole number with thousands separators: `16,384`."""
    return f"{round(value):,}"


def significant(value: float, digits: int = 3) -> str:
    """`digits` significant digits without an exponent: `78.4`, `0.413`, `1,230`."""
    if value == 0:
        return "0"
    from math import floor, log10

    decimals = max(0, digits - 1 - floor(log10(abs(value))))
    return f"{value:,.{decimals}f}"


def scaled(value: float, unit: str, digits: int = 3) -> str:
    """An SI number with an engineering prefix: `26.1 MW`, `3.28 Pb/s`, `12 s`."""
    for factor, prefix in _PREFIXES:
        if abs(value) >= factor:
            return f"{significant(value / factor, digits)} {prefix}{unit}"
    return f"{significant(value, digits)} {unit}"


def large(value: float, digits: int = 3) -> str:
    """A large count with a word-like prefix, no unit: `26.3 M`, `34.2 k`, `812`."""
    for factor, prefix in _PREFIXES[2:]:
        if abs(value) >= factor:
            return f"{significant(value / factor, digits)} {_WORDS.get(prefix, prefix)}"
    return significant(value, digits) if abs(value) >= 0.0005 else "0"


def dollars(value: float, digits: int = 3) -> str:
    """An amount of US dollars: `$51.2 M`, `$3.41`."""
    for factor, prefix in _PREFIXES[2:]:
        if abs(value) >= factor:
            return f"${significant(value / factor, digits)} {_WORDS.get(prefix, prefix)}"
    return f"${value:,.2f}"


def percent(fraction: float, decimals: int = 1) -> str:
    """A fraction 0–1 as per cent: `41.3 %`."""
    return f"{100 * fraction:.{decimals}f} %"


def duration(seconds: float) -> str:
    """A time in the unit a person would use: `431 ms`, `4.52 s`, `12.1 min`, `3.1 h`, `78 days`; 0 s below a picosecond."""
    if abs(seconds) < 1e-12:
        return "0 s"
    for limit, factor, unit in (
        (1e-3, 1e-6, "µs"),
        (1.0, 1e-3, "ms"),
        (120.0, 1.0, "s"),
        (7200.0, 60.0, "min"),
        (172800.0, 3600.0, "h"),
    ):
        if seconds < limit:
            return f"{significant(seconds / factor)} {unit}"
    return f"{significant(seconds / 86400.0)} days"


def binary_bytes(value: float) -> str:
    """Memory in GiB, as the tools of the accelerators print it."""
    return f"{value / 2**30:,.1f} GiB"


def quantity(value: float | None, unit: str) -> str:
    """A headline number by its unit key (the contract's suffix without the underscore)."""
    if value is None:
        return "–"
    writers: Mapping[str, Any] = {
        "days": lambda v: significant(v),
        "fraction": percent,
        "gpu_hours": large,
        "w": lambda v: f"{significant(v / 1e6)} MW",
        "usd": dollars,
        "usd_per_million_tokens": lambda v: f"${significant(v)}",
        "usd_per_gpu_hour": lambda v: f"${significant(v)}",
        "kg": lambda v: f"{significant(v / 1e3)} t",
        "s": duration,
    }
    return writers[unit](value) if unit in writers else f"{significant(value)} {unit}"


def layout_arithmetic(layout: Mapping[str, Any]) -> str:
    """The layout as the product it is: `16,384 = 8 tp × 16 pp × 128 dp`."""
    factors = [f"{layout[key]} {key}" for key in ("tp", "cp", "pp", "dp") if layout[key] > 1 or key == "dp"]
    return f"{count(layout['gpus'])} = {' × '.join(factors)}"
