"""The handbook and the catalog as JSON; each function runs in a worker process."""

from __future__ import annotations

from typing import Any


def numbers() -> dict[str, Any]:
    """The card's rows and the tables."""
    from argosy import handbook

    return {"card": handbook.card(), "tables": handbook.tables()}


def claims() -> dict[str, Any]:
    """Every claim checked, and how many have each verdict."""
    from argosy import handbook

    checked = handbook.checked_handbook()
    return {"claims": [each.to_dict() for each in checked], "counts": handbook.counts(checked)}


def exercises() -> dict[str, Any]:
    """Every exercise with the book's numbers."""
    from argosy import handbook

    return {"exercises": [handbook.solve(each).to_dict() for each in handbook.exercise_ids()]}


def exercise(number: str, settings: dict[str, str], seed: int | None) -> dict[str, Any]:
    """One exercise with some numbers given, and the others drawn where there is a seed."""
    from argosy import handbook

    solved = handbook.solve(number, settings) if seed is None else handbook.variant(number, seed, settings)
    return {"exercise": solved.to_dict()}


def guide() -> dict[str, Any]:
    """The decision guide, the paradigms and the takeaways."""
    from argosy import handbook
    from argosy.handbook import paradigms

    return {
        "questions": [handbook.answer(each) for each in handbook.question_ids()],
        "paradigms": {**paradigms.table(), "questions": paradigms.questions()},
        "takeaways": handbook.takeaways(),
    }


def words() -> dict[str, Any]:
    """The glossary."""
    from argosy import handbook

    return {"quantities": [handbook.explain(each) for each in handbook.quantities()]}


def catalog() -> dict[str, Any]:
    """Names by section, and how old the facts are."""
    from argosy.facts import load_catalog

    found = load_catalog()
    return {
        "facts_date": found.facts_date,
        "sections": {name: [entry.name for entry in found.section(name)] for name in found.sections},
    }


def entry(name: str) -> dict[str, Any]:
    """Every entry that the name means."""
    from argosy.facts import load_catalog

    return {"entries": [each.to_dict() for each in load_catalog().named(name)]}
