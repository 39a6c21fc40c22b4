"""The rail figure: servers, rails and the cards between them, drawn from a fabric's cable list as Mermaid
text.
"""

from __future__ import annotations

from typing import Any

from argosy.facts import FactError

MOST = 64  # servers or rails: a figure beyond that is not read


def rail_figure(servers: int, rails: int) -> dict[str, Any]:
    """`servers` with a card on each of `rails` planes: "mermaid" (text of the diagram), "edges" (server,
    card, rail), "problems".

    The edges are those of the cable list that `argosy.fabric` builds for a rail-only fabric. FactError
    outside 1 to `MOST`.
    """
    if not (1 <= servers <= MOST and 1 <= rails <= MOST):
        raise FactError(f"servers and rails must lie between 1 and {MOST}")
    from argosy.fabric.topologies import Design, build

    topology = build(
        Design("rail-only", hosts=servers, nics_per_host=rails, radix=max(servers, 4), rate=400e9)
    )
    cables = topology.cables
    leaves = [group for group in cables.groups if group.tier == 1]
    rail_of = {int(node): rail for rail, group in enumerate(leaves) for node in group.ids}
    edges = sorted(
        (int(a), int(port), rail_of[int(b)])
        for a, port, b in zip(cables.a, cables.a_port, cables.b, strict=True)
    )
    return {"mermaid": _mermaid(servers, rails, edges), "edges": edges, "problems": list(topology.problems)}


def _mermaid(servers: int, rails: int, edges: list[tuple[int, int, int]]) -> str:
    lines = ["flowchart LR"]
    lines += [f'    rail{rail}["rail {rail}"]' for rail in range(rails)]
    devices = " | ".join(f"GPU {rail}" for rail in range(rails))
    lines += [f'    server{server}["server {server}<br/>{devices}"]' for server in range(servers)]
    lines += [f'    server{server} -- "card {card}" --> rail{rail}' for server, card, rail in edges]
    return "\n".join(lines) + "\n"
