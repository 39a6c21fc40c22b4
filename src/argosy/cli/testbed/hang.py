"""`argosy testbed hang`: silent hangs, noticed by beats and located by flight recorders."""

from __future__ import annotations

from argosy.cli.testbed.common import Json, Report, Short, finish, say


def hang(short: Short = False, as_json: Json = False, report: Report = None) -> None:
    """Ranks of a real job that hang without a word (stopped, stuck in their data, one sum left out): the time until missing
    beats or standing steps show it, beside the law of heartbeats, and whom `argosy diagnose` blames by the ranks' flight
    recorders. Some three minutes.
    """
    from argosy.testbed.hang.experiment import run

    finish("hang", run(short, say), as_json, report)
