"""`argosy testbed policies`: a real training job under failures, three ways to go on, against the simulator."""

from __future__ import annotations

from argosy.cli.testbed.common import Json, Report, Short, finish, say


def policies(short: Short = False, as_json: Json = False, report: Report = None) -> None:
    """A real training job whose ranks and hosts are killed: stop and restart, spare swap, elastic shrink and grow.

    Samples and losses are checked one by one; the time's ledger and the goodput are held against the engine of
    `argosy simulate` and the closed form. At the end every host is upgraded in turn. Some twelve minutes; --short one.
    """
    from argosy.testbed.policies.experiment import run

    finish("policies", run(short, say), as_json, report)
