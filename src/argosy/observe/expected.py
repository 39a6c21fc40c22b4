"""What a collective should take on the machine it ran on, by the fabric's model of it."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

from argosy.fabric.imports.expected import link_generation, node_network, node_of
from argosy.facts import FactError, Values, load_catalog
from argosy.observe.observed import Observed
from argosy.observe.rates import GroupRate

PROTOCOL = "infiniband"  # where nothing tells: RoCE delivers nearly the same


def run_setting(run: Any) -> dict[str, Any]:
    """Network, generation of links and cards of the nodes that an nccl-tests run names. FactError where unknown."""
    if not run.devices or run.ranks % run.nodes:
        raise FactError("the run names no device, or its nodes are unequal")
    return machine(run.devices[0], run.ranks // run.nodes, run.nodes)


def machine(device: str, per_node: int, nodes: int) -> dict[str, Any]:
    """The network of `nodes` nodes of `per_node` accelerators, cards as the catalog's node has. FactError where unknown."""
    entry, node, joined = node_of(device)
    if node is None and nodes > 1:
        raise FactError(f"no node of the catalog carries {entry.name}")
    cards = int(node.facts["nics"].value) if node else 1
    rate = float(node.facts["nic_rate"].value) if node else 1e9
    return {
        "network": node_network(entry.name, per_node, nodes, cards, rate, PROTOCOL, joined),
        "generation": link_generation(entry),
        "cards": cards,
    }


def expected_seconds(observed: Observed, rate: GroupRate) -> float | None:
    """Seconds of a group's collective by the model; None where the machine or the group's place is not known."""
    alignment, device = observed.alignment, observed.device()
    if alignment is None or device is None or not rate.bytes:
        return None
    ranks = sorted(alignment.groups.get(rate.group) or [alignment.ranks[i] for i in rate.members])
    strides = {b - a for a, b in pairwise(ranks)}
    world = max([trace.position.world or 0 for trace in alignment.traces] + [max(alignment.ranks) + 1])
    if len(strides) != 1:
        return None
    network = _network(device, world)
    if network is None:
        return None
    return float(network.collective(rate.operation, float(rate.bytes), len(ranks), strides.pop()))


@lru_cache(maxsize=8)
def _network(device: str, world: int) -> Any:
    """The network of a whole job on full nodes; None where the catalog has no such node."""
    try:
        _, node, _ = node_of(device)
        if node is None:
            return None
        per_node = int(node.facts["accelerators"].value)
        count = min(per_node, world)
        if world % count:
            return None
        return machine(device, count, world // count)["network"](Values(load_catalog().facts))
    except (FactError, ValueError, KeyError):
        return None
