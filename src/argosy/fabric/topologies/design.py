"""What a designer asks of a fabric, and what comes back: the cable list, its nested domains, and what does
not close.
"""

from __future__ import annotations

from dataclasses import dataclass

from argosy.fabric.cables import CableList
from argosy.facts import FactError

TIER_NAMES = ("leaf", "spine", "core")


@dataclass(frozen=True)
class SwitchKind:
    """A switch: its catalog name ("" where none is given), its ports, and the rate of one (bit/s one way).

    A port faster than the link it carries is broken out into as many links as it holds. `port_rate` None:
    that of the fastest link at the switch. A leaf may have `uplinks` ports of `uplink_rate` beside them.
    """

    name: str
    ports: int
    port_rate: float | None = None
    uplinks: int = 0
    uplink_rate: float | None = None


@dataclass(frozen=True)
class Design:
    """The request. Rates in bit/s one way.

    `hosts` × `nics_per_host` cards of `rate` each, every card with `card_ports` ports that share its rate;
    switches of `radix` ports of `port_rate` (None: of the fastest link at the switch); `upper_radix` for the
    tiers above the leaf, where they are other switches; `kinds` names the switch of single tiers (`leaf`,
    `spine`, `core`, `tier-4`…). `rates` gives the links of
    a boundary (`leaf-spine`, `spine-core`) another rate than the cards'; `host_rates` the cards of the first
    so many hosts. `tiers` None: the fewest that reach every host. `oversubscription`: pairs of a tier
    (`leaf-uplink`, `spine-uplink`, `pod-uplink`) and its capacity below ÷ capacity above. `hosts_per_leaf`
    None: as many as the leaf's ports take (2 in a multi-pod fabric without rails). `rails` None: as the
    topology has them. `missing`: hosts whose places stay empty. `twist`: a torus of sides n, n, 2n or n, 2n,
    2n closed with a twist. `servers`: hosts at the end that are not the fleet's, called `servers_name`. `generation`: of
    an accelerator in a domain of 8, which decides its switch chips. `accelerators_per_host` relates cards to
    accelerators; `hosts_per_rack` None: as the machine or the hall has them.
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
    hosts_per_rack: int | None = None
    kinds: tuple[tuple[str, SwitchKind], ...] = ()
    rates: tuple[tuple[str, float], ...] = ()
    host_rates: tuple[tuple[int, float], ...] = ()
    card_ports: int = 1
    hosts_per_leaf: int | None = None
    rails: bool | None = None
    missing: tuple[int, ...] = ()
    twist: bool = False
    servers: int = 0
    generation: str = ""
    port_rate: float | None = None
    servers_name: str = "storage"

    def kind(self, tier: int) -> SwitchKind:
        """The switch of a tier (1 for the leaf)."""
        named = dict(self.kinds).get(tier_name(tier))
        if named is not None:
            return named
        if tier > 1 and self.upper_radix:
            return SwitchKind(self.upper_switch or self.switch, self.upper_radix)
        return SwitchKind(self.switch, self.radix, self.port_rate)

    def link_rate(self, tier: int) -> float:
        """Rate of the links from a tier (0 for the hosts) to the one above: that of the boundary, else of one card
        port.
        """
        own = self.rate / self.card_ports
        return dict(self.rates).get(f"{tier_name(tier)}-{tier_name(tier + 1)}", own)


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


def tier_name(tier: int) -> str:
    """host, leaf, spine, core, then tier-4 and so on."""
    if tier == 0:
        return "host"
    return TIER_NAMES[tier - 1] if tier <= len(TIER_NAMES) else f"tier-{tier}"
