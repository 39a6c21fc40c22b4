"""Networks without trees: tori of accelerators, and supernodes (NVLink racks, CloudMatrix384)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from argosy.fabric.cables import Wiring
from argosy.fabric.topologies.design import Design, DesignError, Domain, Topology

CUBE = (
    4  # side of the block that TPU v4 and v5p join by optical circuit switches (N. Jouppi et al., ISCA 2023)
)
NVL72_TRAYS, NVL72_CHIPS = 9, 18  # 9 NVLink switch trays of 2 chips (NVIDIA GB200 NVL72)
NVL72_CHIP_PORTS = 72
# Eight accelerators on a baseboard: links of each to every NVSwitch chip, and ports of a chip. NVIDIA: A100 (HGX with
# six NVSwitch 2 of 36 ports, 12 NVLink 3), H100 (four NVSwitch 3 of 64 ports, 18 NVLink 4 as 5+4+4+5), B200 (two
# chips of 72 ports, 18 NVLink 5).
BASEBOARD = 8
BASEBOARD_LINKS = {"ampere": (2,) * 6, "hopper": (5, 4, 4, 5), "blackwell": (9, 9), "blackwell-ultra": (9, 9)}
BASEBOARD_CHIP_PORTS = {"ampere": 36, "hopper": 64, "blackwell": 72, "blackwell-ultra": 72}
# P. Zuo et al., arXiv:2506.12708: 48 nodes of 8 NPUs; 7 planes; per node one first-level chip per plane,
# which has 16 links to the 16 second-level chips of its plane.
CLOUDMATRIX_NODES, CLOUDMATRIX_NPUS, CLOUDMATRIX_PLANES, CLOUDMATRIX_SPINES = 48, 8, 7, 16
CLOUDMATRIX_NPUS_PER_RACK = 32  # 12 cabinets of four nodes, beside four of switches


def most_cubic(hosts: int) -> tuple[int, int, int]:
    """Three sides whose product is `hosts`, as near to each other as its divisors allow, smallest first."""
    best = (1, 1, hosts)
    for x in (d for d in range(1, round(hosts ** (1 / 3)) + 1) if hosts % d == 0):
        rest = hosts // x
        y = max(d for d in range(1, math.isqrt(rest) + 1) if rest % d == 0)
        sides = sorted((x, y, rest // y))
        if sides[2] - sides[0] < best[2] - best[0]:
            best = (sides[0], sides[1], sides[2])
    return best


def torus(design: Design) -> Topology:
    """A torus: every accelerator has one link each way per dimension. `shape` None: as cubic as the count
    allows.

    Where every side of a 3-D torus is a multiple of 4, blocks of 4×4×4 are joined by optical circuit switches
    (TPU v4): one switch per dimension and place on a block's face, 48 in all; each link between blocks is a
    circuit of two fibres. A twist moves the closing links of the short sides along the long ones.
    """
    shape = design.shape or most_cubic(design.hosts)
    if math.prod(shape) != design.hosts:
        raise DesignError(
            f"a torus of {'×'.join(map(str, shape))} has {math.prod(shape)} places, not {design.hosts}"
        )
    wiring = Wiring()
    wiring.add_nodes("host", design.hosts, 2 * len(shape), 0)
    grid = chip_grid(shape)
    place = np.indices(shape)
    optical = has_cubes(shape)
    crossings = []
    offsets = _twists(shape) if design.twist else {}
    for axis, side in enumerate(shape):
        if side < 2:
            continue
        ahead = np.roll(grid, -1, axis=axis)
        if axis in offsets:
            long_axes, offset = offsets[axis]
            turned = np.roll(ahead, [-offset] * len(long_axes), axis=long_axes)
            ahead = np.where(place[axis] == side - 1, turned, ahead)
        wanted = place[axis] < side - 1 if side == 2 else np.ones(shape, dtype=bool)
        crosses = optical & (place[axis] % CUBE == CUBE - 1) & wanted
        inside = wanted & ~crosses
        wiring.connect("chip-chip", grid[inside], ahead[inside], design.rate)
        if optical:
            face = [place[other] % CUBE for other in range(3) if other != axis]
            switch = axis * CUBE**2 + face[0] * CUBE + face[1]
            crossings.append((grid[crosses], ahead[crosses], switch[crosses]))
    if crossings:
        ports = 2 * design.hosts // CUBE**3
        switches = wiring.add_nodes("ocs", 3 * CUBE**2, ports, 1, "optical circuit switch")
        circuit = 0
        for near, far, switch in crossings:
            number = circuit + np.arange(len(near))
            wiring.connect("chip-ocs", near, switches[switch], design.rate, number)
            wiring.connect("chip-ocs", far, switches[switch], design.rate, number)
            circuit += len(near)
    cables = wiring.finish()
    return Topology(design, cables, (), tuple(cables.problems()))


def _twists(shape: Sequence[int]) -> dict[int, tuple[tuple[int, ...], int]]:
    """For every short axis of a torus of sides n, n, 2n or n, 2n, 2n: the long axes along which its closing links
    lead n places further, and n.

    (J. Cámara et al., Twisted torus topologies for enhanced interconnection networks, IEEE TPDS 21(12), 2010;
    TPU v4 offers 4×4×8 and 4×8×8 so: N. Jouppi et al., ISCA 2023, section 2.8.)
    """
    short, long = min(shape), max(shape)
    if len(shape) not in (2, 3) or long != 2 * short or set(shape) != {short, long} or short < 2:
        raise DesignError(
            f"a torus of {'×'.join(map(str, shape))} cannot be twisted: its sides must be n, n, 2n or n, 2n, 2n"
        )
    long_axes = tuple(axis for axis, side in enumerate(shape) if side == long)
    return {axis: (long_axes, short) for axis, side in enumerate(shape) if side == short}


def chip_grid(shape: Sequence[int]) -> np.ndarray:
    """The id of the chip at every place, of the given shape: ids run along the longest side last, so that half of
    them are cut off across it.
    """
    order = np.argsort([-side for side in shape], kind="stable")
    return np.arange(math.prod(shape)).reshape([shape[axis] for axis in order]).transpose(np.argsort(order))


def has_cubes(shape: Sequence[int]) -> bool:
    """Whether a torus is built of blocks of 4×4×4 joined by optical circuit switches."""
    return len(shape) == 3 and all(side % CUBE == 0 for side in shape)


def cube_of_chips(shape: Sequence[int]) -> np.ndarray:
    """The block of 4×4×4 of every chip, by its id, shape (chips,)."""
    place, sides = np.indices(shape) // CUBE, [side // CUBE for side in shape]
    cubes = np.empty(math.prod(shape), dtype=np.int64)
    cubes[chip_grid(shape).ravel()] = np.ravel_multi_index(tuple(place), sides).ravel()
    return cubes


def supernode(design: Design) -> Topology:
    """One scale-up domain with its switch chips: 8 accelerators on a baseboard, 72 in a rack (NVL72), or 384
    (CloudMatrix384). `rate` is that of one link.

    `hosts` counts accelerators. DesignError for other sizes: nobody published their wiring.
    """
    if design.hosts == CLOUDMATRIX_NODES * CLOUDMATRIX_NPUS:
        return _cloudmatrix(design)
    if design.hosts == NVL72_CHIP_PORTS:
        return _one_tier(design, (1,) * NVL72_CHIPS, NVL72_CHIP_PORTS)
    if design.hosts == BASEBOARD:
        return _one_tier(design, baseboard_links(design.generation), BASEBOARD_CHIP_PORTS[design.generation])
    raise DesignError(
        f"a supernode of {design.hosts} accelerators is not known; there are 8 (NVLink baseboards), 72 (NVL72) "
        "and 384 (CloudMatrix384)"
    )


def baseboard_links(generation: str) -> tuple[int, ...]:
    """Links of one of 8 accelerators to each switch chip of the baseboard. DesignError for generations without one."""
    if generation not in BASEBOARD_LINKS:
        raise DesignError(
            f"a baseboard of 8 of generation {generation!r} is not known; there are {', '.join(BASEBOARD_LINKS)}"
        )
    return BASEBOARD_LINKS[generation]


def supernode_links(accelerators: int, generation: str = "hopper") -> int:
    """Links of one accelerator of a supernode to its switch chips."""
    if accelerators == BASEBOARD:
        return sum(baseboard_links(generation))
    return CLOUDMATRIX_PLANES if accelerators == CLOUDMATRIX_NODES * CLOUDMATRIX_NPUS else NVL72_CHIPS


def supernode_domains(accelerators: int) -> tuple[int, ...]:
    """Accelerators that share the switch chips of each tier, innermost first."""
    two_tiers = accelerators == CLOUDMATRIX_NODES * CLOUDMATRIX_NPUS
    return (CLOUDMATRIX_NPUS, accelerators) if two_tiers else (accelerators,)


def torus_links_of_chip(sides: Sequence[int]) -> int:
    """Links of one chip: two per axis, also on an axis that a slice leaves short."""
    return 2 * len(sides)


def _one_tier(design: Design, links: Sequence[int], ports: int) -> Topology:
    """Every accelerator joined to every switch chip, by `links[chip]` links."""
    wiring = Wiring()
    accelerators = wiring.add_nodes("host", design.hosts, sum(links), 0)
    chips = wiring.add_nodes("nvswitch", len(links), ports, 1, "NVLink switch chip")
    wiring.connect(
        "accelerator-nvswitch",
        np.repeat(accelerators, sum(links)),
        np.tile(np.repeat(chips, links), design.hosts),
        design.rate,
        in_rack=True,
    )
    cables = wiring.finish()
    return Topology(design, cables, (Domain("scale-up", design.hosts),), tuple(cables.problems()))


def _cloudmatrix(design: Design) -> Topology:
    wiring = Wiring()
    planes, nodes, spines = CLOUDMATRIX_PLANES, CLOUDMATRIX_NODES, CLOUDMATRIX_SPINES
    accelerators = wiring.add_nodes("host", design.hosts, planes, 0)
    first = wiring.add_nodes("l1", nodes * planes, CLOUDMATRIX_NPUS + spines, 1, "UB switch chip, level 1")
    second = wiring.add_nodes("l2", spines * planes, nodes, 2, "UB switch chip, level 2")
    node, plane = accelerators[:, None] // CLOUDMATRIX_NPUS, np.arange(planes)[None, :]
    wiring.connect(
        "accelerator-l1", accelerators[:, None], first[node * planes + plane], design.rate, in_rack=True
    )
    # Eight links below share sixteen above: those run at half the rate, so that level 1 does not
    # oversubscribe.
    node, plane, spine = np.indices((nodes, planes, spines))
    wiring.connect(
        "l1-l2",
        first[node * planes + plane],
        second[plane * spines + spine],
        design.rate * CLOUDMATRIX_NPUS / spines,
    )
    cables = wiring.finish()
    domains = (Domain("node", CLOUDMATRIX_NPUS), Domain("scale-up", design.hosts))
    return Topology(design, cables, domains, tuple(cables.problems()))
