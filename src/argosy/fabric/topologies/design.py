"""What a designer asks of a fabric, and what comes back: the cable list, its nested domains, and what does
not close.
"""

from __future__ import annotations

from dataclasses import dataclass

from argosy.fabric.cables import CableList
from argosy.facts import FactError

# Assumed lengths (m) of cables, in which their optics are chosen: the halls are not drawn.
LENGTH_M = {"rack": 2.0, "row": 30.0, "hall": 100.0}


@dataclass(frozen=True)
class Design:
    """The request. Rates in bit/s one way.

    `hosts` × `nics_per_host` cards of `rate` each; switches of `radix` ports at `rate`; `upper_radix` for the
    tiers above the leaf, where they are other switches. `tiers` None: the fewest that reach every host.
    `oversubscription`: pairs of a tier (`leaf-uplink`, `spine-uplink`, `pod-uplink`) and its capacity below ÷
    capacity above. `accelerators_per_host` relates cards to accelerators.
    """

    topology: str
    hosts: int
    nics_per_host: int
    radix: int
    rate: float
    tiers: int | None = None
    oversubscription: tuple[tuple[str, float], ...] = ()
    pods: int | None = None
    planes: int | None = None
    shape: tuple[int, ...] | None = None
    upper_radix: int | None = None
    switch: str = ""
    upper_switch: str = ""
    accelerators_per_host: int | None = None
    hosts_per_rack: int = 2


@dataclass(frozen=True)
class Domain:
    """A kind of domain: how many hosts share one, so that traffic among them need not pass the tier above."""

    name: str
    hosts: float


@dataclass(frozen=True)
class Topology:
    """The built fabric: cables, domains from the inside out (rail-aligned traffic), and what is wrong with
    it.
    """

    design: Design
    cables: CableList
    domains: tuple[Domain, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()


class DesignError(FactError):
    """A request that cannot be drawn at all: no hosts, a switch without ports, an unknown topology."""
