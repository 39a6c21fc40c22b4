"""Quantities in and out: pint as a second opinion, round trips, and what mistakes are answered with."""

from __future__ import annotations

import math

import pint
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argosy import units
from argosy.units import UnitError

REGISTRY = pint.UnitRegistry()
REGISTRY.define("flop = [flop]")
REGISTRY.define("token = [token]")
REGISTRY.define("dollar = [currency]")

# Ours on the left; pint's name of the same unit on the right.
SPELLED = {
    "s": ["s", "ms", "µs", "ns", "min", "h", "d", "week", "month", "yr"],
    "byte": ["B", "kB", "MB", "GB", "TB", "PB", "KiB", "MiB", "GiB", "TiB"],
    "bit": ["b", "kb", "Mb", "Gb", "Tb", "Kib", "Gib"],
    "bit/s": ["b/s", "Mb/s", "Gb/s", "Tb/s", "Gbps", "Gbit/s"],
    "byte/s": ["B/s", "GB/s", "TB/s", "GiB/s", "MB/ms", "GBps"],
    "W": ["W", "kW", "MW", "GW"],
    "J": ["J", "kJ", "MJ", "Wh", "kWh", "MWh", "GWh"],
    "kWh": ["kWh", "MWh", "J", "MJ"],
    "FLOP/s": ["FLOP/s", "TFLOP/s", "PFLOP/s", "GFLOPS", "EFLOP/s"],
    "USD/kWh": ["USD/kWh", "USD/MWh", "kUSD/GWh"],
    "kg": ["kg", "g", "t", "kt"],
    "L": ["L", "mL", "m3"],
    "m": ["m", "km", "cm", "mm"],
    "Hz": ["Hz", "kHz", "MHz", "GHz", "1/h"],
    "ratio": ["%", "ratio"],
    "kg/kWh": ["kg/kWh", "g/kWh", "t/MWh"],
}
ATOMS = {
    "B": "byte",
    "b": "bit",
    "FLOP": "flop",
    "FLOPS": "flop/second",
    "USD": "dollar",
    "yr": "year",
    "d": "day",
    "min": "minute",
    "h": "hour",
    "bps": "bit/second",
    "Bps": "byte/second",
    "t": "metric_ton",
    "L": "liter",
    "m3": "meter**3",
    "%": "0.01 dimensionless",
    "ratio": "dimensionless",
    "1": "dimensionless",
    "s": "second",
    "token": "token",
    "byte": "byte",
    "bit": "bit",
    "g": "gram",
    "W": "watt",
    "Wh": "watt*hour",
}
PREFIXES = {
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
    "m": 1e-3,
    "µ": 1e-6,
    "n": 1e-9,
    "c": 1e-2,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
}
PAIRS = [(wanted, written) for wanted, spellings in SPELLED.items() for written in spellings]


def in_pint(unit: str) -> pint.Quantity:
    """One `unit`, as pint understands it: prefixes are powers written here, all else is pint's."""
    total = REGISTRY.Quantity(1.0)
    for position, atom in enumerate(unit.split("/")):
        prefix = (
            ""
            if atom in ATOMS or atom in ("kg", "month", "week", "J", "Hz", "m")
            else next(
                p
                for p in PREFIXES
                if atom.startswith(p) and atom[len(p) :] in {*ATOMS, "J", "Hz", "bit", "m"}
            )
        )
        name = atom[len(prefix) :]
        one = REGISTRY.Quantity(1.0 * PREFIXES.get(prefix, 1), "") * REGISTRY.parse_expression(
            ATOMS.get(name, name)
        )
        total = total / one if position else total * one
    return total


@pytest.mark.parametrize(("wanted", "written"), PAIRS)
@given(number=st.floats(min_value=1e-6, max_value=1e6))
def test_parse_agrees_with_pint(wanted: str, written: str, number: float) -> None:
    expected = (number * in_pint(written) / in_pint(wanted)).to_base_units()
    assert expected.dimensionless
    assert units.parse(f"{number!r} {written}", wanted) == pytest.approx(expected.magnitude, rel=1e-12)


def test_bits_are_not_bytes_even_though_pint_thinks_so() -> None:
    assert REGISTRY.Quantity(1, "byte").to("bit").magnitude == 8
    for byte_unit, bit_unit in (("GB", "bit"), ("GB/s", "bit/s")):
        with pytest.raises(UnitError, match="8 bits to the byte"):
            units.parse(f"50 {byte_unit}", bit_unit)
    with pytest.raises(UnitError, match="'50 GB/s'"):
        units.parse("400 Gb/s", "byte/s")
    with pytest.raises(UnitError, match="'400 Gb/s'"):
        units.parse("50 GB/s", "bit/s")


def test_binary_and_decimal_prefixes_differ() -> None:
    assert units.parse("80 GB", "byte") == 80e9
    assert units.parse("80 GiB", "byte") == 80 * 1024**3
    assert units.parse("81559 MiB", "byte") == 85520809984


@pytest.mark.parametrize(
    ("text", "unit", "number"),
    [
        ("15.2e12", "token", 15.2e12),
        ("16 Mtok", "token", 16e6),
        ("15.6T tokens", "token", 15.6e12),
        ("16M", "token", 16e6),
        ("405B", "token", 405e9),
        ("0.6 CNY/kWh", "CNY/kWh", 0.6),
        ("2 USD/h", "USD/GPU-h", 2),
        ("$2.5/h", "USD/h", 2.5),
        ("$1.2M", "USD", 1.2e6),
        ("123M USD", "USD", 123e6),
        ("8 %", "ratio", 0.08),
        ("99.9%", "ratio", 0.999),
        ("1e9", "ratio", 1e9),
        ("1_000", "count", 1000),
        ("1GiB", "byte", 2**30),
        ("16384 GPUs", "count", 16384),
        ("5 /h", "1/h", 5),
        ("-3 °C", "°C", -3),
        (".5 h", "s", 1800),
        ("+2 h", "s", 7200),
        ("0", "W", 0),
        (0, "W", 0),
        (0.38, "ratio", 0.38),
        ("3 kgCO2e", "kg", 3),
        ("400 gCO2e/kWh", "kg/kWh", 0.4),
        ("1 Mtok/s", "token/s", 1e6),
        ("120 qps", "req/s", 120),
    ],
)
def test_reads(text: object, unit: str, number: float) -> None:
    assert units.parse(text, unit) == pytest.approx(number, rel=1e-14)


@pytest.mark.parametrize(
    ("text", "unit", "says"),
    [
        ("50 gb/s", "bit/s", r"'gb' is not a known unit; write '50 Gb/s'"),
        ("400 gb/s", "byte/s", r"write '400 GB/s' or '50 GB/s' if 400 Gb/s was meant"),
        ("50 gb/s", "bit/s", r"'400 Gb/s' if 50 GB/s was meant"),
        ("2,5 h", "s", r"write '2.5 h'"),
        ("3 gb/foo", "bit/s", "'gb' is not a known unit"),
        ("40 mW", "W", "write '40 MW'"),
        ("700 w", "W", "write '700 W'"),
        ("3 USD/kwh", "USD/kWh", "write '3 USD/kWh'"),
        ("1 KB", "byte", "write '1 kB' or '1 KiB'"),
        ("5 m", "s", "'5 min' for minutes"),
        ("7", "W", "has no unit"),
        (7, "W", "has no unit"),
        ("400", "bit/s", "for example '400 Gb/s'"),
        ("nan", "W", "not a finite"),
        (float("nan"), "ratio", "not a finite"),
        (math.inf, "ratio", "not a finite"),
        ("1e400 W", "W", "not a finite"),
        ("-inf W", "W", "not a finite"),
        ("-3 W", "W", "negative"),
        ("-1 h", "s", "negative"),
        ("16,384", "count", "write '16384'"),
        ("3 kW", "J", "times a duration"),
        ("3 kWh", "W", "divided by a duration"),
        ("1 TFLOPs", "FLOP/s", "number of FLOPs"),
        ("", "s", "not a quantity"),
        ("fast", "bit/s", "does not start with a number"),
        ("3 furlongs", "m", "not a known unit"),
        ("1 ¥", "CNY", "'1 CNY'"),
        ([1], "s", "not a quantity"),
        (True, "ratio", "not a quantity"),
        (None, "s", "not a quantity"),
        ("9" * 100, "count", "not a quantity"),
        ("3 W/", "W", "not a known unit"),
        ("5 kg", "s", "a mass"),
        ("1__e", "count", "not a number"),
    ],
)
def test_says_what_to_write(text: object, unit: str, says: str) -> None:
    with pytest.raises(UnitError, match=says) as caught:
        units.parse(text, unit, where="plan.yaml:3:7")
    assert str(caught.value).startswith("plan.yaml:3:7: ")


def test_a_unit_mistake_of_the_caller_is_told_too() -> None:
    with pytest.raises(UnitError, match="'Gb/s'"):
        units.parse("400 Gb/s", "gb/s")


def test_currencies_convert_only_at_given_rates() -> None:
    with pytest.raises(UnitError, match="no exchange rate"):
        units.parse("0.6 CNY/kWh", "USD/kWh")
    assert units.parse("0.6 CNY/kWh", "USD/kWh", rates={"CNY": 0.14}) == pytest.approx(0.084)
    assert units.parse("84 USD/MWh", "CNY/kWh", rates={"CNY": 0.14}) == pytest.approx(0.6)
    with pytest.raises(UnitError, match="power"):
        units.parse("3 CNY", "W", rates={"CNY": 0.14})


def test_bare_numbers_are_in_the_unit_where_the_caller_says_so() -> None:
    assert units.parse(700, "W", bare=True) == 700
    assert units.parse("0.7 kW", "W", bare=True) == 700


def test_convert_between_units_of_one_dimension() -> None:
    assert units.convert(0.4, "kg/kWh", "kg/J") == pytest.approx(0.4 / 3.6e6)
    with pytest.raises(UnitError):
        units.convert(1, "bit", "byte")


FORMATTED = [
    "s",
    "byte",
    "bit",
    "bit/s",
    "byte/s",
    "W",
    "J",
    "Wh",
    "FLOP/s",
    "Hz",
    "USD",
    "CNY",
    "token",
    "kg",
    "ratio",
    "%",
    "count",
    "USD/kWh",
    "USD/GPU-h",
    "kg/kWh",
    "req/s",
    "m",
    "L",
    "°C",
    "token/s",
]


@pytest.mark.parametrize("unit", FORMATTED)
@given(
    number=st.floats(min_value=1e-9, max_value=1e21, allow_subnormal=False),
    digits=st.integers(min_value=1, max_value=12),
)
def test_format_reads_back(unit: str, number: float, digits: int) -> None:
    assert units.parse(units.format(number, unit, digits), unit) == pytest.approx(
        number, rel=0.5001 * 10 ** (1 - digits)
    )


@given(st.text(max_size=30), st.sampled_from(FORMATTED))
def test_any_text_gives_a_number_or_a_unit_error(text: str, unit: str) -> None:
    try:
        assert math.isfinite(units.parse(text, unit))
    except UnitError as error:
        assert str(error)


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (4e11, "bit/s", "400 Gb/s"),
        (3.35e12, "byte/s", "3.35 TB/s"),
        (90, "s", "1.5 min"),
        (216000, "s", "2.5 d"),
        (3e-6, "s", "3 µs"),
        (30e6, "W", "30 MW"),
        (9.894e14, "FLOP/s", "989 TFLOP/s"),
        (15.6e12, "token", "15.6T tokens"),
        (0.07, "USD/kWh", "0.07 USD/kWh"),
        (999.96e9, "byte", "1 TB"),
        (16384, "count", "16384"),
        (0.381, "ratio", "0.381"),
        (0, "byte/s", "0 B/s"),
        (-3e6, "USD", "-3M USD"),
        (12345, "kg", "12.3 t"),
        (0.25e9, "count", "250M"),
    ],
)
def test_writes(number: float, unit: str, text: str) -> None:
    assert units.format(number, unit) == text
