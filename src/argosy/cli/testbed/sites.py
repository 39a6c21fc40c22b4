"""`argosy testbed sites`: training across two sites."""

from __future__ import annotations

from argosy.cli.testbed.common import Json, Report, Short, finish, say


def sites(short: Short = False, as_json: Json = False, report: Report = None) -> None:
    """Two sites of two ranks, 40 ms apart one way: synchronous training, DiLoCo, weights that arrive steps late, a pipeline cut
    between the sites; steps, staleness and losses beside the laws of the wide area. Root, Linux and torch; takes about a minute.
    """
    from argosy.testbed.sites.experiment import run

    finish("sites", run(short, say), as_json, report)
