"""The keys with which every payload begins."""

from __future__ import annotations


def head(command: str) -> dict[str, str]:
    """`schema`, `version`, `facts_date` of a payload of `command`."""
    from argosy import __version__
    from argosy.facts import load_catalog

    return {
        "schema": f"argosy.{command}/1",
        "version": __version__,
        "facts_date": load_catalog().facts_date,
    }
