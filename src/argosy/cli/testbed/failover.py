"""`argosy testbed failover`: replicas behind HAProxy, drained and killed under load."""

from __future__ import annotations

from argosy.cli.testbed.common import Json, Report, Short, finish, say


def failover(short: Short = False, as_json: Json = False, report: Report = None) -> None:
    """Stateless replicas behind HAProxy while users send at a fixed rate: Q = λT, waits and percentiles beside the queueing laws
    and the fleet simulation; a rolling upgrade; kill −9 of replicas, one at a time and beyond capacity. Needs haproxy; with root
    in network namespaces, else on the loopback. Takes some five minutes, the short form one; takes away all it made.
    """
    from argosy.testbed.failover.experiment import run

    finish("failover", run(short, say), as_json, report)
