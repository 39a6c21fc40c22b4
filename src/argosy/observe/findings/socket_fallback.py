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
    lines = chosen or over  # who chose sockets is to blame; a channel over sockets has an innocent other end
    found = []
    if lines:
        nodes = sorted({each.node for each in lines if each.node})
        ranks = sorted({each.rank for each in lines if each.rank is not None})
        missing = [
            each for each in observed.messages if each.kind == "network" and each.values.get("found") is False
        ]
        others = [each for each in observed.messages if each.kind in ("network", "transport") and _fast(each)]
        found.append(
            Finding(
                ID,
                "NCCL uses TCP sockets"
                + (f" on {listed(nodes)}" if nodes else "")
                + (f", in {len(over)} channels" if over else "")
                + (", others use a fast network" if others else ""),
                "check that the network's plugin and driver are in the container (NCCL_DEBUG=INFO tells why IB was not found), "
                "NCCL_IB_DISABLE, NCCL_NET, NCCL_IB_HCA, and that /dev/infiniband is passed on",
                thresholds.confidence(thresholds.DIRECT),
                culprit=Culprit(
                    node=nodes[0] if len(nodes) == 1 else None,
                    link="NET/Socket",
                    ranks=tuple(ranks) if others else (),
                ),
                evidence=tuple(Place(each.path, each.line) for each in (*chosen, *over, *missing)),
                least="high",
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
                    least="high",
                )
            )
    return found


def _socket(message: LibraryMessage) -> bool:
    return "socket" in str(message.values.get("transport", "")).lower()


def _fast(message: LibraryMessage) -> bool:
    """Whether a rank uses InfiniBand, RoCE or a vendor's plugin between nodes."""
    told = str(message.values.get("transport", ""))
    return (
        bool(message.values.get("found", True))
        and not _socket(message)
        and (told.startswith("NET/") or message.kind == "network")
    )
