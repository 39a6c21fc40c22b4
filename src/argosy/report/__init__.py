"""Answers for people: terminal, HTML, Markdown. All are drawn from the contract's JSON alone.

The functions load their libraries when called: `show_plan` needs rich, `plan_html` Altair.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["plan_html", "plan_markdown", "show_plan"]


def show_plan(plan: Mapping[str, Any]) -> None:
    """Print a plan (the contract's JSON) to standard output as tables and bars."""
    from argosy.report.terminal import show_plan as show

    show(plan)


def plan_html(plan: Mapping[str, Any]) -> str:
    """A plan (the contract's JSON) as one self-contained HTML page with its charts."""
    from argosy.report.html import plan_html as render

    return render(plan)


def plan_markdown(plan: Mapping[str, Any]) -> str:
    """A plan (the contract's JSON) as Markdown tables."""
    from argosy.report.markdown import plan_markdown as render

    return render(plan)
