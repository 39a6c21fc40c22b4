"""Finds the mistakes of hardware catalogs: sparse for dense, two ways for one, bytes for bits,
a superchip for a GPU, a value outside of its own band, a number without unit, source or date.

Every rule compares facts with each other (a switch's capacity with its ports, a peak with the peaks of its
family), so that none holds a figure of its own which could be wrong in the same way. Where physics or a
vendor makes an exception, the entry says so in its text: `lint_allow: "family peak_bf16: most of its
arithmetic is cut"`, several separated by `;`.
"""

from __future__ import annotations

from argosy.facts.catalog import Catalog
from argosy.facts.lint import relations, single
from argosy.facts.lint.problem import Problem

__all__ = ["RULES", "Problem", "lint"]

RULES = (*single.RULES, *relations.RULES)


def lint(catalog: Catalog) -> list[Problem]:
    """Every problem of the catalog that no entry explains, in the order of its entries."""
    problems = [problem for rule in RULES for problem in rule(catalog) if not _allowed(catalog, problem)]
    order = {path: number for number, path in enumerate(catalog.facts)}
    return sorted(problems, key=lambda problem: order.get(problem.path, -1))


def _allowed(catalog: Catalog, problem: Problem) -> bool:
    """True where the entry's text gives a reason for breaking this rule."""
    section, name, fact = _split(problem.path)
    entry = catalog.entries.get((section, name))
    reasons = entry.text.get("lint_allow", "").split(";") if entry else []
    return any(reason.strip().startswith(f"{problem.rule} {fact}: ") for reason in reasons)


def _split(path: str) -> tuple[str, str, str]:
    section, _, rest = path.partition(".")
    name, _, fact = rest.rpartition(".")
    return section, name, fact
