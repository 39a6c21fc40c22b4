"""Building blocks of the scenario's fields: quantities with units, shorthands, documented defaults."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, field_validator
from pydantic import ValidationInfo as FieldInformation
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue as Json
from pydantic_core.core_schema import CoreSchema, ValidationInfo
from pydantic_core.core_schema import no_info_before_validator_function as before
from pydantic_core.core_schema import with_info_before_validator_function as before_with_info

from argosy import units

ASSUMPTION = "assumption"
# Paths of facts that the training room keeps beside the catalog: software stacks, the step model, memory.
MODEL_FACTS = ("stacks.", "training.", "memory.")


class Section(BaseModel):
    """A mapping of the scenario file: frozen, and closed to unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_for_numbers(cls, given: Any, info: FieldInformation) -> Any:
        """`count: true` is no count of 1, which it would be in Python."""
        if isinstance(given, bool) and not _takes_bool(cls.model_fields[str(info.field_name)].annotation):
            raise ValueError(f"{str(given).lower()} is neither a number nor a word that is known here")
        return given


def _takes_bool(annotation: Any) -> bool:
    return annotation in (bool, Any) or any(_takes_bool(inner) for inner in get_args(annotation))


def setting(default: Any, description: str, source: str = ASSUMPTION, **options: Any) -> Any:
    """A field with a default, what it means, and where the default comes from ("assumption: why" if none).

    `default` is a plain value (SI units) or a callable that makes one; `options` go to pydantic's `Field`.
    """
    extra: dict[str, Any] = {"source": source}
    if callable(default):
        return Field(default_factory=default, description=description, json_schema_extra=extra, **options)
    return Field(default, description=description, json_schema_extra=extra, **options)


def required(description: str, **options: Any) -> Any:
    """A field that the file must give."""
    return Field(description=description, **options)


def from_file(info: ValidationInfo) -> bool:
    """True while a file is read; false where Python code makes a section from SI numbers."""
    return bool(info.context and info.context.get("file"))


@dataclass(frozen=True)
class Unit:
    """Marks a float that the file writes as a quantity (`400 Gb/s`) and that is kept in the SI unit `unit`.

    In a file a bare number is accepted only where `bare` says so (counts, fractions): "detection: 2" could be
    seconds or minutes. From Python a number is in the SI unit already.
    """

    unit: str
    example: str
    bare: bool = False

    def read(self, given: Any, info: ValidationInfo) -> Any:
        """The SI number of what the file says; raises ValueError with what to write instead."""
        if isinstance(given, bool) or not isinstance(given, int | float | str):
            raise ValueError(f"expected a quantity, found {_kind(given)}; write for example {self.example}")
        if isinstance(given, str):
            return self._parsed(given, info)
        if not math.isfinite(given):
            raise ValueError(f"{given} is not a finite number; write for example {self.example}")
        if from_file(info) and not self.bare and given != 0:
            raise ValueError(f"{given} has no unit; write for example {self.example}")
        return float(given)

    def _parsed(self, given: str, info: ValidationInfo) -> float:
        """The SI number of a quantity; amounts in other currencies by the rates under `prices.currencies`."""
        rates = (info.context or {}).get("rates", {})
        try:
            return units.parse(given, self.unit, rates=rates)
        except units.UnitError as error:
            if "exchange rate" not in error.message:
                raise
            code = next(code for code in units.CURRENCIES if f"in {code}," in error.message)
            rate = f"prices: {{currencies: {{{code}: {{usd: …, date: …}}}}}}"
            raise ValueError(f"{error.message}; write it in USD, or give the rate: {rate}") from None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return before_with_info(self.read, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        number = handler(schema)
        text = {"type": "string", "examples": [self.example]}
        return {"anyOf": [text, number] if self.bare else [text, {"const": 0}], "unit": self.unit}


def unit_of(field: FieldInfo) -> str:
    """The SI unit of a field that is a quantity; empty for what has none."""
    extra = field.json_schema_extra
    if isinstance(extra, dict) and "unit" in extra:
        return str(extra["unit"])
    return next(_units_in(field.annotation, field.metadata), "")


def _units_in(annotation: Any, metadata: Iterable[Any]) -> Iterator[str]:
    yield from (each.unit for each in metadata if isinstance(each, Unit) and each.unit != "1")
    for inner in get_args(annotation):
        yield from _units_in(inner, getattr(inner, "__metadata__", ()))


def _kind(given: Any) -> str:
    names = {
        dict: "a mapping",
        list: "a list",
        tuple: "a list",
        bool: "true or false",
        type(None): "nothing",
        str: "text",
    }
    return names.get(type(given), f"{given!r}")


@dataclass(frozen=True)
class Word:
    """Marks an optional value for which the file may write `word` (auto, none, computed): it becomes None."""

    word: str

    def read(self, given: Any) -> Any:
        """None for the word, everything else unchanged."""
        return None if given == self.word else given

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return before(self.read, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        return {"anyOf": [{"const": self.word}, handler(schema)]}


@dataclass(frozen=True, eq=False)
class Shorthand:
    """Marks a value that the file may write shorter; `expand` gives the full form of it."""

    expand: Callable[[Any], Any]
    schema: Json

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return before(self.expand, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        return {"anyOf": [self.schema, handler(schema)]}


class _OneOrMany(Shorthand):
    """A list that may be written as its single member."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        many = handler(schema)
        return {"anyOf": [many["items"], many]}


OneOrMany = _OneOrMany(lambda given: [given] if isinstance(given, dict | BaseModel) else given, {})


def _scalar(given: Any) -> Any:
    if not isinstance(given, bool | int | float | str):
        raise ValueError(f"expected a number, a word, true or false, found {_kind(given)}; write one of them")
    return given


Scalar = Annotated[Any, Shorthand(_scalar, {"type": ["number", "string", "boolean"]})]
ByName = Shorthand(lambda given: given, {"type": "string"})  # the name is resolved before validation

Seconds = Annotated[float, Field(ge=0), Unit("s", "2 min")]
Bytes = Annotated[float, Field(ge=0), Unit("byte", "80 GB")]
BytesPerSecond = Annotated[float, Field(gt=0), Unit("byte/s", "2 TB/s")]
BitsPerSecond = Annotated[float, Field(gt=0), Unit("bit/s", "400 Gb/s")]
Watts = Annotated[float, Field(gt=0), Unit("W", "40 MW")]
PerSecond = Annotated[float, Field(ge=0), Unit("1/s", "1e-5 1/h")]
RequestsPerSecond = Annotated[float, Field(gt=0), Unit("req/s", "120 req/s")]
Fraction = Annotated[float, Field(ge=0, le=1), Unit("1", "99.9 %", bare=True)]
UsdPerSecond = Annotated[float, Field(ge=0), Unit("USD/s", "2 USD/h")]
UsdPerJoule = Annotated[float, Field(ge=0), Unit("USD/J", "0.07 USD/kWh")]
