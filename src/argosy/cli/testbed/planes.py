"""`argosy testbed planes`: control plane and data plane apart."""

from __future__ import annotations

from argosy.cli.testbed.common import Json, Report, Short, finish, say


def planes(short: Short = False, as_json: Json = False, report: Report = None) -> None:
    """Control plane and data plane on interfaces of their own: round trips on the one while the other is saturated; a data
    cable cut, which is told as that; a control cable cut, while the collectives go on. Root and Linux; half a minute.
    """
    from argosy.testbed.planes.experiment import run

    finish("planes", run(short, say), as_json, report)
