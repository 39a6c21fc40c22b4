"""Fault injection: simulated jobs with a known cause planted, written in real formats, and the score of `diagnose` on them.

Nothing here imports what reads or attributes: the corpus is the examiner.
"""

from argosy.observe.corpus.cases import KINDS, Case, cases, write_case
from argosy.observe.corpus.families import FAMILIES, Family
from argosy.observe.corpus.truth import Culprits, Expected, Truth

__all__ = ["FAMILIES", "KINDS", "Case", "Culprits", "Expected", "Family", "Truth", "cases", "write_case"]
