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


def quantities() -> list[str]:
    """The ids of all quantities, in order of the glossary."""
    return [entry["id"] for entry in data.load("glossary")]


def explain(name: str) -> dict[str, Any]:
    """The quantity called `name` (id, English or Chinese name, symbol or alias; case does not matter), with
    its law's own text.

    FactError with the nearest names for a quantity that is not there.
    """
    spelled = _spellings()
    found = spelled.get(_plain(name))
    if found is None:
        close = difflib.get_close_matches(_plain(name), list(spelled), 3, 0.6)
        near = list(dict.fromkeys(spelled[each]["id"] for each in close))
        hint = f"did you mean {' or '.join(near)}?" if near else "`argosy explain` lists all"
        raise FactError(f"the glossary has no {name!r}; {hint}")
    return _explained(found)


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


def _spellings() -> dict[str, dict[str, Any]]:
    """Every spelling of every entry; ids win over names, names over aliases, and those over symbols."""
    spelled: dict[str, dict[str, Any]] = {}
    entries = data.load("glossary")
    for names in (("symbol",), ("aliases",), ("zh", "en"), ("id",)):
        for entry in entries:
            for key in names:
                for word in entry.get(key, []) if key == "aliases" else [entry[key]]:
                    spelled[_plain(str(word))] = entry
    return spelled


def _plain(name: str) -> str:
    return "".join(
        letter for letter in name.strip().lower().replace("-", " ").replace("_", " ") if letter != "'"
    ).strip()
