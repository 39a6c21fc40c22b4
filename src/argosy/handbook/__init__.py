"""The two documents as a product: claims checked, exercises solved, numbers to know, guides, and a
glossary.
"""

from argosy.handbook.claims import (
    Checked,
    Claim,
    check,
    check_file,
    checked_handbook,
    counts,
    handbook_claims,
)
from argosy.handbook.efficiency import efficiency_sets, scaling_efficiency
from argosy.handbook.exercises import Solved, exercise_ids, solve, variant
from argosy.handbook.formula import FormulaError, compute
from argosy.handbook.glossary import explain, explanations, quantities
from argosy.handbook.guide import answer, errors, question_ids, takeaways
from argosy.handbook.numbers import card, is_right, quiz, tables
from argosy.handbook.paradigms import classify

__all__ = [
    "Checked",
    "Claim",
    "FormulaError",
    "Solved",
    "answer",
    "card",
    "check",
    "check_file",
    "checked_handbook",
    "classify",
    "compute",
    "counts",
    "efficiency_sets",
    "errors",
    "exercise_ids",
    "explain",
    "explanations",
    "handbook_claims",
    "is_right",
    "quantities",
    "question_ids",
    "quiz",
    "scaling_efficiency",
    "solve",
    "tables",
    "takeaways",
    "variant",
]
