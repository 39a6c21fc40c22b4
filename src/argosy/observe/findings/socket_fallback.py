"""NCCL talks over TCP sockets between nodes, where a fast network was meant."""

from __future__ import annotations

from argosy.observe import thresholds
from argosy.observe.findings.finding import Culprit, Finding, listed
from argosy.observe.observed import Observed
from argosy.observe.records import LibraryMessage, Place

ID = "socket-fallback"


def find(observed: Observed) -> list[Finding]:
    """Channels over NET/Socket; that a plugin was not found, and that other ranks use InfiniBand, make it certain."""
    over = [each for each in observed.messages if each.kind == "transport" and _socket(each)]
    chosen = [
        each
        for each in observed.messages
        if each.kind == "network" and _socket(each) and each.values.get("found", True)
    ]
    lines = over or chosen
    found = []
    if lines:
        nodes = sorted({each.node for each in lines if each.node})
        ranks = sorted({each.rank for each in lines if each.rank is not None})
        missing = [
            each for each in observed.messages if each.kind == "network" and each.values.get("found") is False
        ]
        infiniband = any(
            str(each.values.get("transport", "")).startswith("NET/IB")
            for each in observed.messages
            if each.kind == "transport"
        )
        found.append(
            Finding(
                ID,
                f"{len(over) or len(chosen)} channel{'s' if len(lines) > 1 else ''} of NCCL go over TCP sockets"
                + (f", from {listed(nodes)}" if nodes else "")
                + (", others over InfiniBand" if infiniband else ""),
                "check that the network's plugin and driver are in the container (NCCL_DEBUG=INFO tells why IB was not found), "
                "NCCL_IB_DISABLE, NCCL_NET, NCCL_IB_HCA, and that /dev/infiniband is passed on",
                thresholds.confidence(thresholds.DIRECT if over else thresholds.INFERRED),
                culprit=Culprit(
                    node=nodes[0] if len(nodes) == 1 else None,
                    link="NET/Socket",
                    ranks=tuple(ranks) if infiniband else (),
                ),
                evidence=tuple(Place(each.path, each.line) for each in (*lines, *missing)),
            )
        )
    for path, run in observed.benchmarks:
        told = [text for text in run.warnings if "NET/Socket" in text]
        if told and run.nodes > 1:
            found.append(
                Finding(
                    ID,
                    f"nccl-tests ran over TCP sockets: {told[0][:120]}",
                    "check the network's plugin and driver, NCCL_IB_DISABLE, NCCL_NET and NCCL_IB_HCA",
                    thresholds.confidence(thresholds.DIRECT),
                    culprit=Culprit(link="NET/Socket"),
                    evidence=(Place(path, 1),),
                )
            )
    return found


def _socket(message: LibraryMessage) -> bool:
    return "socket" in str(message.values.get("transport", "")).lower()
