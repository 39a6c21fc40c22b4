"""The options of `argosy fabric`, in three groups: what is drawn, what is asked of it, what comes out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

_DRAWN, _ASKED, _OUT = "What is drawn", "What is asked of it", "What comes out"


def _option(panel: str, *names: str, help: str, **more: Any) -> Any:
    return typer.Option(
        *names, help=help, rich_help_panel=panel, show_default=bool(more.pop("shown", False)), **more
    )


Scenario = Annotated[
    Path | None,
    typer.Argument(help="A scenario: its fabrics, or the one of --role.", show_default=False),
]
Role = Annotated[
    str, _option(_DRAWN, "--role", help="Which fabric of a scenario: compute, storage, management.")
]
TopologyName = Annotated[
    str | None,
    _option(
        _DRAWN,
        "--topology",
        help="Or by numbers: fat-tree, clos, rail-optimized, rail-only, multi-plane, dual-tor, multi-pod, torus, "
        "supernode, dragonfly, dragonfly+.",
    ),
]
Hosts = Annotated[
    int | None,
    _option(_DRAWN, "--hosts", max=1_000_000, help="Hosts (of a torus or supernode: accelerators)."),
]
NicsPerHost = Annotated[
    int, _option(_DRAWN, "--nics-per-host", min=1, max=64, shown=True, help="Network cards of one host.")
]
CardPorts = Annotated[
    int | None, _option(_DRAWN, "--card-ports", min=1, max=8, help="Ports of a card, which share its rate.")
]
Radix = Annotated[
    list[str],
    _option(_DRAWN, "--radix", metavar="K|TIER:K", help="Ports of a switch; of one tier: spine:128."),
]
UpperRadix = Annotated[
    int | None, _option(_DRAWN, "--upper-radix", min=4, help="Ports of the switches above the leaf.")
]
Rate = Annotated[
    list[str],
    _option(
        _DRAWN,
        "--rate",
        metavar="RATE|TIER-TIER:RATE",
        help="Rate of a link, one way (400 Gb/s); of one boundary: 'leaf-spine:800 Gb/s'.",
    ),
]
HostRate = Annotated[
    list[str],
    _option(_DRAWN, "--host-rate", metavar="HOSTS:RATE", help="Slower cards in the first so many hosts."),
]
Tiers = Annotated[
    int | None,
    _option(_DRAWN, "--tiers", min=1, max=8, help="Tiers; without: the fewest that reach all hosts."),
]
Pods = Annotated[int | None, _option(_DRAWN, "--pods", min=1, help="Pods of a multi-pod fabric.")]
Oversubscription = Annotated[
    list[str],
    _option(
        _DRAWN,
        "--oversubscription",
        metavar="TIER:X",
        help="Capacity below ÷ above: leaf-uplink:3, spine-uplink:2, pod-uplink:7.",
    ),
]
Shape = Annotated[str | None, _option(_DRAWN, "--shape", help="Sides of a torus, such as 16x16x24.")]
Twist = Annotated[
    bool, _option(_DRAWN, "--twist", help="Close a torus of sides n,n,2n or n,2n,2n with a twist.")
]
Planes = Annotated[int | None, _option(_DRAWN, "--planes", min=1, help="Planes of a multi-plane fabric.")]
HostsPerLeaf = Annotated[int | None, _option(_DRAWN, "--hosts-per-leaf", min=1, help="Hosts under one leaf.")]
HostsPerRack = Annotated[int | None, _option(_DRAWN, "--hosts-per-rack", min=1, help="Hosts in one cabinet.")]
Rails = Annotated[
    bool | None, _option(_DRAWN, "--rails/--no-rails", help="Card i of every host of a unit on its leaf i.")
]
Missing = Annotated[
    str | None, _option(_DRAWN, "--missing", help="Hosts whose places stay empty, from 0: 5,17,20-23.")
]
Switch = Annotated[
    list[str],
    _option(
        _DRAWN, "--switch", metavar="NAME|TIER:NAME", help="The catalog's switch; of one tier: spine:NAME."
    ),
]
Collective = Annotated[
    str | None, _option(_ASKED, "--collective", help="Time one: all-reduce, all-gather...")
]
Message = Annotated[str, _option(_ASKED, "--bytes", shown=True, help="Its message, as nccl-tests counts it.")]
Ranks = Annotated[int | None, _option(_ASKED, "--ranks", help="Its ranks; without: all accelerators.")]
Accelerator = Annotated[
    str, _option(_ASKED, "--accelerator", shown=True, help="What sits in the hosts, for --collective.")
]
Protocol = Annotated[str | None, _option(_ASKED, "--protocol", help="Transport, for --collective.")]
Algorithm = Annotated[
    str | None,
    _option(
        _ASKED,
        "--algorithm",
        help="Of --collective: ring, double-tree, nvls, hierarchical, halving-doubling, sharp...; without: the fastest.",
    ),
]
Placement = Annotated[
    bool,
    _option(_ASKED, "--placement", help="Where a scenario's layout sends its bytes, in every rank order."),
]
Traffic = Annotated[
    str | None,
    _option(
        _ASKED,
        "--traffic",
        help="Load it: permutation, shift:K, all-to-all, random, incast:K, rail, layout (the scenario's training).",
    ),
]
Seed = Annotated[
    int, _option(_ASKED, "--seed", min=0, shown=True, help="Of random traffic, hashes and faults.")
]
Routing = Annotated[
    str | None,
    _option(
        _ASKED,
        "--routing",
        help="ecmp, static (d-mod-k), spray, adaptive, up-down; without: the scenario's, then ecmp for --traffic and "
        "the transport's habit for --collective.",
    ),
]
QueuePairs = Annotated[
    int,
    _option(_ASKED, "--queue-pairs", min=1, max=64, shown=True, help="Hashed apart per flow, under ecmp."),
]
Failed = Annotated[
    list[str],
    _option(
        _ASKED,
        "--failed",
        metavar="N|A:B|A[PORT]|SWITCH",
        help="Cables between switches that carry nothing: so many at random, or named ('leaf-1:spine-2', 'leaf-1[33]', "
        "'spine-2' with all of its own).",
    ),
]
Degraded = Annotated[
    list[str],
    _option(
        _ASKED,
        "--degraded",
        metavar="N|A:B|A[PORT]|SWITCH",
        help="Cables between switches at half their rate, likewise.",
    ),
]
Analysis = Annotated[
    bool,
    _option(_ASKED, "--analysis", help="Path diversity, hops, and what every single failure costs."),
]
Export = Annotated[
    tuple[str, Path] | None,
    _option(
        _OUT,
        "--export",
        metavar="KIND FILE",
        help="Write it for other tools: slurm-tree, slurm-block, ibsim, dot, astra-sim, cables-csv.",
    ),
]
Picture = Annotated[
    list[Path],
    _option(
        _OUT,
        "--picture",
        help="Draw it (.svg, .png, .html); with --traffic coloured by load, and a second one as a heat map.",
    ),
]
AsJson = Annotated[bool, _option(_OUT, "--json", help="Print JSON and nothing else.")]
