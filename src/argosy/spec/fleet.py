"""The fleet: accelerators, nodes, fabrics, storage, spares."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from argosy.spec.quantity import (
    BitsPerSecond,
    Bytes,
    BytesPerSecond,
    Fraction,
    Section,
    Shorthand,
    Word,
    required,
    setting,
)

LARGEST_FLEET = 1_000_000  # accelerators; cables and layouts of more would take minutes to draw
Topology = Literal[
    "fat-tree",
    "clos",
    "rail-optimized",
    "rail-only",
    "multi-plane",
    "dual-tor",
    "multi-pod",
    "torus",
    "supernode",
    "dragonfly",
    "dragonfly+",
]
Tier = Literal["leaf", "spine", "core"]
STORAGE_PER_ACCELERATOR = (
    2e12 / 16384
)  # byte/s; Llama 3 (arXiv:2407.21783, section 3.3.1): 2 TB/s sustained for 16,384 GPUs


def _name_and_facts(given: Any) -> Any:
    """`H100-SXM`, or `{name: H100-SXM, memory_bandwidth: 3 TB/s}`, as name and changed facts."""
    if isinstance(given, str):
        return {"name": given}
    if isinstance(given, dict) and "facts" not in given:
        named = {key: given[key] for key in ("name", "base") if key in given}
        return {**named, "facts": {key: value for key, value in given.items() if key not in named}}
    return given


class CatalogChoice(Section):
    """An entry of the catalog, with facts that this scenario changes."""

    name: str = required("name or alias of a catalog entry, or a new name beside `base`")
    base: str | None = setting(
        None, "the catalog entry that a new name starts from", "none: the name is in the catalog"
    )
    facts: dict[str, Any] = setting(
        dict,
        "facts of the entry that this scenario changes: a quantity, or {value, low, high, source}",
        "none changed",
    )


Choice = Annotated[CatalogChoice, Shorthand(_name_and_facts, {"type": "string"})]


def _ratio(given: Any) -> Any:
    """`7`, `7:1` or `1:7` as the number 7."""
    if not isinstance(given, str):
        return given
    sides = [float(part) for part in given.split(":") if part.strip().replace(".", "", 1).isdecimal()]
    if len(sides) != 2 or given.count(":") != 1 or not all(sides):
        raise ValueError(f"{given!r} is not a ratio; write for example 7 or 7:1")
    return max(sides) / min(sides)


Ratio = Annotated[float, Field(ge=1), Shorthand(_ratio, {"type": "string", "examples": ["7:1"]})]


class SlowNodes(Section):
    """A group of nodes whose cards are slower than the fabric's."""

    nodes: int = required("how many, the first of the fleet", gt=0)
    link: BitsPerSecond = required("rate of one of their cards, each way")


class Fabric(Section):
    """One network of the fleet."""

    role: Literal["compute", "storage", "management"] = setting(
        "compute", "what the fabric carries", "the usual first fabric"
    )
    topology: Topology = setting("fat-tree", "how switches are wired", "assumption: non-blocking fat tree")
    link: BitsPerSecond | None = setting(
        None, "rate of one host link, each way", "from the node's network cards"
    )
    switch: str | None = setting(
        None, "catalog name of the switch", "the catalog's switch for this link rate and protocol"
    )
    switches: dict[Tier, str] = setting(
        dict,
        "catalog names of the switches of single tiers: `leaf`, `spine`, `core`",
        "`switch` in every tier",
    )
    link_rates: dict[Literal["leaf-spine", "spine-core"], BitsPerSecond] = setting(
        dict, "rate of the links between switches, where it is not that of the cards", "`link`"
    )
    slow_nodes: SlowNodes | None = setting(
        None, "nodes with slower cards than the others", "assumption: all nodes are alike"
    )
    card_ports: int | None = setting(
        None, "ports of one card, which share its rate", "1, and 2 for dual-tor", gt=0, le=8
    )
    nics_per_node: int | None = setting(
        None, "network cards of one node on this fabric", "from the node", gt=0
    )
    tiers: int | None = setting(None, "switch tiers", "the fewest that reach all nodes", gt=0)
    pods: int | None = setting(None, "pods of a multi-pod fabric", "as many as the fleet fills", gt=0)
    pod_accelerators: int | None = setting(
        None, "accelerators that one pod can hold", "count ÷ pods, rounded up to nodes", gt=0
    )
    placement: Literal["in-order", "balanced"] = setting(
        "in-order",
        "how a job fills pods: one after the other, or the same share of each",
        "assumption: filled in order",
    )
    planes: int | None = setting(
        None, "parallel planes of a multi-plane fabric", "one per network card", gt=0
    )
    shape: tuple[int, ...] | None = setting(None, "sides of a torus", "as cubic as the count allows")
    twist: bool = setting(
        False, "close a torus of sides n, n, 2n or n, 2n, 2n with a twist", "assumption: not twisted"
    )
    rails: bool | None = setting(
        None, "card i of every node of a unit on the unit's leaf i", "as the topology has it"
    )
    nodes_per_leaf: int | None = setting(
        None, "nodes under one leaf", "as many as its ports take; 2 in a multi-pod fabric without rails", gt=0
    )
    nodes_per_rack: int | None = setting(
        None, "nodes in a cabinet, from which cables get their lengths", "the hall's: halls.default", gt=0
    )
    oversubscription: dict[str, Ratio] = setting(
        dict,
        "by tier (`leaf-uplink`, `spine-uplink`, `pod-uplink`): capacity below ÷ capacity above",
        "assumption: 1 everywhere",
    )
    protocol: Literal["infiniband", "roce", "efa", "ici", "ub"] | None = setting(
        None, "transport", "from the node's network cards"
    )
    routing: Literal["ecmp", "adaptive", "spray", "static"] | None = setting(
        None,
        "how flows choose among equal paths",
        "the protocol's habit: adaptive on infiniband, ecmp on roce, spray on efa",
    )
    delivered: Fraction | None = setting(
        None,
        "share of the link rate that large collectives get",
        "the fabric room's measured share for the protocol",
        gt=0,
    )


class Storage(Section):
    """Shared storage that data and checkpoints use."""

    bandwidth: BytesPerSecond | None = setting(
        None,
        "sustained write bandwidth of the whole system",
        "Llama 3 (arXiv:2407.21783, section 3.3.1): 2 TB/s for 16,384 GPUs, in proportion to the fleet",
    )
    capacity: Bytes | None = setting(None, "usable capacity", "not limiting")
    server_bandwidth: BytesPerSecond | None = setting(
        None, "sustained bandwidth of one storage server", "what its cards on the storage fabric carry", gt=0
    )
    bytes_per_token: Bytes = setting(
        4.0,
        "bytes that the data loader reads per token",
        "assumption: token ids of 4 bytes; images need more",
    )


class Spares(Section):
    """Nodes kept ready to replace failed ones. They are on top of `count`."""

    nodes: Annotated[int | None, Word("auto")] = setting(
        None,
        "hot spare nodes",
        "as many as suffice at 99.9 % of moments, by the failure rates and the repair time",
        ge=0,
        le=LARGEST_FLEET // 8,
    )


class Fleet(Section):
    """What the job runs on."""

    accelerator: Choice = required("a catalog name, or {name, fact: quantity…} to change facts of it")
    count: int = required("accelerators that the jobs use, spares apart", gt=0, le=LARGEST_FLEET)
    node: Choice | None = setting(
        None, "catalog name of the node, or {name, fact: quantity…}", "the catalog's node for the accelerator"
    )
    fabrics: tuple[Fabric, ...] = setting(
        lambda: (Fabric(),), "networks: compute, storage, management", "assumption: one compute fabric"
    )
    storage: Storage = setting(Storage, "shared storage", "see its fields")
    spares: Spares = setting(Spares, "nodes kept ready", "see its fields")

    @property
    def compute_fabric(self) -> Fabric:
        """The first fabric with the role compute (or the default one)."""
        return next((fabric for fabric in self.fabrics if fabric.role == "compute"), Fabric())

    @property
    def storage_bandwidth_bytes_per_s(self) -> float:
        """Given, or in proportion to the fleet as Llama 3's storage was to its own (byte/s)."""
        given = self.storage.bandwidth
        return STORAGE_PER_ACCELERATOR * self.count if given is None else given
