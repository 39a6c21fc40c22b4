"""`argosy explain`: every quantity with its symbol, unit, formula, source, English and Chinese names, and
where it is used.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from typing import Any

from argosy.facts import FactError
from argosy.handbook import data
from argosy.handbook.formula import law

NO_SYMBOL = "–"  # what the data write where a quantity has none


def quantities() -> list[str]:
    """The ids of all quantities, in order of the glossary."""
    return [entry["id"] for entry in data.load("glossary")]


def explain(name: str) -> dict[str, Any]:
    """The quantity called `name` (see `explanations`), with its law's own text.

    FactError with the nearest names for a quantity that is not there, and for a symbol that several share.
    """
    found = _found(name)
    if len(found) > 1:
        shared = ", ".join(entry["id"] for entry in found)
        raise FactError(f"{name!r} is the symbol of several quantities; name one: {shared}")
    return _explained(found[0])


def explanations(name: str) -> list[dict[str, Any]]:
    """The quantities called `name`: its id, English or Chinese name or alias in any case; or else its symbol,
    as it is written before any case (`M` is not `m`). A symbol may stand for several.

    FactError with the nearest names for a quantity that is not there.
    """
    return [_explained(entry) for entry in _found(name)]


def _found(name: str) -> list[dict[str, Any]]:
    entries = data.load("glossary")
    for spelling, matches in (
        (_plain(name), lambda entry: [_plain(entry["id"])]),
        (_plain(name), lambda entry: [_plain(entry["en"]), _plain(entry["zh"])]),
        (_plain(name), lambda entry: [_plain(str(alias)) for alias in entry.get("aliases", [])]),
        (name.strip(), lambda entry: [entry["symbol"]]),
        (name.strip().lower(), lambda entry: [entry["symbol"].lower()]),
    ):
        found = [entry for entry in entries if spelling in matches(entry) and spelling != NO_SYMBOL]
        if found:
            return found
    spelled = {_plain(str(word)): entry["id"] for entry in entries for word in _words(entry)}
    close = difflib.get_close_matches(_plain(name), list(spelled), 3, 0.6)
    near = list(dict.fromkeys(spelled[each] for each in close))
    hint = f"did you mean {' or '.join(near)}?" if near else "`argosy explain` lists all"
    raise FactError(f"the glossary has no {name!r}; {hint}")


def _words(entry: Mapping[str, Any]) -> list[Any]:
    return [entry["symbol"], *entry.get("aliases", []), entry["zh"], entry["en"], entry["id"]]


def _explained(entry: Mapping[str, Any]) -> dict[str, Any]:
    function = law(entry["law"]) if entry.get("law") else None
    keys = ("id", "en", "zh", "symbol", "unit", "definition", "formula", "law")
    return {key: entry.get(key) or None for key in keys} | {
        "signature": f"{entry['law']}{_signature(function)}" if function else None,
        "law_text": inspect.getdoc(function) if function else None,
        "source": data.source_text(entry.get("source")),
        "used": list(entry.get("used", [])),
        "not_to_be_confused_with": entry.get("not"),
        "aliases": list(entry.get("aliases", [])),
        "claims": _claims(entry.get("law")),
    }


def _signature(function: Any) -> str:
    return "(" + ", ".join(inspect.signature(function).parameters) + ")"


def _claims(law_name: str | None) -> list[str]:
    """The handbook's claims whose formula calls this law."""
    from argosy.handbook.claims import handbook_claims

    return [claim.id for claim in handbook_claims() if law_name and f"{law_name}(" in claim.formula]


def _plain(name: str) -> str:
    return "".join(
        letter for letter in name.strip().lower().replace("-", " ").replace("_", " ") if letter != "'"
    ).strip()
