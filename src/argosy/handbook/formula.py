"""Formulas written as text, computed by the product's own laws and never run as code.

A formula is arithmetic over named inputs, calls of laws (`training_time.training_time(parameters=N, ...)`),
facts (`fact("accelerators.H100-SXM.peak_bf16")`), dated efficiencies (`efficiency("2024", n)`) and a few
mathematical functions. Everything else is refused: the text is parsed to a syntax tree, and only the node
types listed here have a meaning. Numbers are SI; `hour`, `giga` and the like convert.
"""

from __future__ import annotations

import ast
import inspect
import math
import operator
import pkgutil
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, cast

from argosy.facts import FactError

LONGEST = 2000  # characters: a formula is one line of a textbook
CONSTANTS: dict[str, float] = {
    "minute": 60.0,
    "hour": 3600.0,
    "day": 86400.0,
    "year": 365.0 * 86400.0,
    "kilo": 1e3,
    "mega": 1e6,
    "giga": 1e9,
    "tera": 1e12,
    "peta": 1e15,
    "milli": 1e-3,
    "micro": 1e-6,
    "percent": 1e-2,
    "true": True,
    "false": False,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "sum": sum,
    "len": len,
    "round": round,
    "ceil": math.ceil,
    "floor": math.floor,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "log2": math.log2,
}
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: lambda base, exponent: float(base) ** float(exponent),
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class FormulaError(FactError):
    """A formula that cannot be computed: not arithmetic, an unknown name or law, or arguments outside a
    law's range.
    """


@cache
def law_modules() -> tuple[str, ...]:
    """The names of the modules in `argosy.laws`."""
    import argosy.laws

    return tuple(
        sorted(
            module.name for module in pkgutil.iter_modules(argosy.laws.__path__) if module.name != "arrays"
        )
    )


def law(name: str) -> Callable[..., Any]:
    """The law called `module.function`; FormulaError for a module or a public function that is not
    there.
    """
    module_name, _, function_name = name.partition(".")
    if module_name not in law_modules():
        raise FormulaError(f"there is no law module {module_name!r}; there are: {', '.join(law_modules())}")
    module = import_module(f"argosy.laws.{module_name}")
    function = getattr(module, function_name, None)
    public = (
        not function_name.startswith("_")
        and inspect.isfunction(function)
        and function.__module__ == module.__name__
    )
    if not public:
        raise FormulaError(
            f"laws.{module_name} has no law {function_name!r}; it has: {', '.join(laws_of(module_name))}"
        )
    return cast(Callable[..., Any], function)


def laws_of(module_name: str) -> list[str]:
    """The public functions of one law module, in order of the file."""
    module = import_module(f"argosy.laws.{module_name}")
    members = inspect.getmembers(module, inspect.isfunction)
    own = [
        (function.__code__.co_firstlineno, name)
        for name, function in members
        if function.__module__ == module.__name__
    ]
    return [name for _, name in sorted(own) if not name.startswith("_")]


def compute(formula: str, names: Mapping[str, Any] | None = None) -> Any:
    """The value of `formula` with `names` (inputs: numbers, texts, lists, mappings) in it.

    Numbers come back as Python floats (or ints, bools, lists, mappings of them). FormulaError tells what is
    wrong.
    """
    tree = _parsed(formula)
    known = {**CONSTANTS, **(names or {})}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # what is not finite is refused below
            value = _plain(_value(tree.body, known))
    except FactError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, ArithmeticError, AttributeError) as error:
        raise FormulaError(f"{formula!r} cannot be computed: {error}") from error
    except RecursionError as error:
        raise FormulaError("the formula is nested too deeply") from error
    if not _is_finite(value):
        raise FormulaError(f"{formula!r} gives no finite real number")
    return value


def _is_finite(value: Any) -> bool:
    """True where every number in `value` is real, finite and within a float's range."""
    if isinstance(value, list):
        return all(_is_finite(each) for each in value)
    if isinstance(value, dict):
        return all(_is_finite(each) for each in value.values())
    if isinstance(value, int | float):
        return abs(value) <= sys.float_info.max
    return not isinstance(value, complex)


def laws_used(formula: str) -> list[str]:
    """The laws that a formula calls, `module.function`, in order, each once."""
    calls = [node.func for node in ast.walk(_parsed(formula)) if isinstance(node, ast.Call)]
    laws = sorted((each.col_offset, ast.unparse(each)) for each in calls if isinstance(each, ast.Attribute))
    return list(dict.fromkeys(name for _, name in laws))


def _parsed(formula: str) -> ast.Expression:
    if len(formula) > LONGEST:
        raise FormulaError(f"the formula has {len(formula)} characters; at most {LONGEST} are read")
    try:
        return ast.parse(formula.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise FormulaError(
            f"{formula!r} is not a formula: write arithmetic over the inputs, or a law with its arguments"
        ) from error


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """The value of one node; the list of what formulas may contain."""
    match node:
        case ast.Constant(value=constant) if isinstance(constant, int | float | str):
            return constant
        case ast.Name(id=name):
            if name not in names:
                raise FormulaError(f"{name!r} is neither an input nor a constant of formulas")
            return names[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_number(_value(left, names)), _number(_value(right, names)))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(_value(operand, names))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, names)
        case ast.BoolOp(op=op, values=values):
            combine = all if isinstance(op, ast.And) else any
            return combine(bool(_value(each, names)) for each in values)
        case ast.Compare(left=left, ops=ops, comparators=rights) if all(type(op) in _COMPARE for op in ops):
            operands = [_value(each, names) for each in (left, *rights)]
            return all(
                _COMPARE[type(op)](a, b) for op, a, b in zip(ops, operands, operands[1:], strict=False)
            )
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [_value(each, names) for each in elements]
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return {
                _value(key, names): _value(each, names)
                for key, each in zip(keys, values, strict=True)
                if key is not None
            }
        case ast.Subscript(value=whole, slice=key):
            return _value(whole, names)[_value(key, names)]
        case ast.Call(func=function, args=arguments, keywords=keywords) if all(each.arg for each in keywords):
            given = {str(each.arg): _value(each.value, names) for each in keywords}
            return _called(function, [_value(each, names) for each in arguments], given)
    raise FormulaError(
        f"formulas cannot contain {ast.unparse(node)!r}: write arithmetic over inputs, or a law"
    )


def _called(function: ast.expr, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    match function:
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return law(f"{module}.{name}")(
                *(_array(each) for each in arguments), **{key: _array(each) for key, each in keywords.items()}
            )
        case ast.Name(id="fact"):
            return _fact(*arguments)
        case ast.Name(id="efficiency"):
            from argosy.handbook.efficiency import scaling_efficiency

            return scaling_efficiency(*arguments)
        case ast.Name(id=name) if name in FUNCTIONS:
            return FUNCTIONS[name](*arguments, **keywords)
    raise FormulaError(
        f"{ast.unparse(function)!r} is not a function of formulas; laws are written module.function"
    )


def _fact(path: str) -> float:
    from argosy.facts import load_catalog

    return load_catalog().fact(path).value


def _number(value: Any) -> Any:
    """Operands must be numbers: `"a" * 10**9` and the like have no meaning here."""
    if isinstance(value, str | list | dict) or value is None:
        raise FormulaError(f"{value!r} is not a number")
    return value


def _array(value: Any) -> Any:
    """Lists of numbers as arrays, so that laws broadcast over them; everything else as it is."""
    if isinstance(value, list) and all(isinstance(each, int | float) for each in value):
        import numpy as np

        return np.asarray(value)
    return value


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays as Python numbers and lists."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value
