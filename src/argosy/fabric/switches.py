"""Which switch of the catalog a fabric is built of, where nobody names one or the named one does not close."""

from __future__ import annotations

from dataclasses import replace

from argosy.fabric.topologies.design import Design, DesignError, SwitchKind, Topology
from argosy.facts import load_catalog


def catalog_kind(name: str, link: float | None = None) -> SwitchKind:
    """The catalog's switch of that name or alias; `link` (bit/s): the link that its ports must carry.

    DesignError for ports slower than the link; FactError with suggestions for names that are not known.
    """
    entry = load_catalog().entry("switches", name)
    ports, rate = int(entry.facts["ports"].value), entry.facts["port_rate"].value
    if link is not None and rate < link:
        raise DesignError(
            f"{entry.name} has ports of {rate / 1e9:g} Gb/s, too slow for links of {link / 1e9:g} Gb/s"
        )
    uplinks = entry.facts.get("uplink_ports")
    if uplinks is None:
        return SwitchKind(entry.name, ports, rate)
    return SwitchKind(entry.name, ports, rate, int(uplinks.value), entry.facts["uplink_rate"].value)


def usual_switch(link: float, protocol: str) -> str:
    """The catalog's first switch of this protocol whose ports run at, or divide into, `link` bit/s."""
    family = "infiniband" if protocol == "infiniband" else "roce"
    for exact in (True, False):
        for entry in load_catalog().section("switches"):
            rate = entry.facts["port_rate"].value
            if entry.text.get("protocol") == family and (
                rate == link if exact else rate > link and rate % link == 0
            ):
                return entry.name
    raise DesignError(
        f"no {family} switch of the catalog has ports of {link / 1e9:g} Gb/s; name one: switch: ..."
    )


def with_switch(design: Design, name: str) -> Design:
    """The design built of the catalog's switch `name`; where it says how many ports, of that many."""
    kind = catalog_kind(name, None if design.radix else design.rate / design.card_ports)
    if design.radix:
        return replace(design, switch=kind.name)
    if kind.uplinks:
        return replace(design, switch=kind.name, radix=kind.ports, kinds=(("leaf", kind), *design.kinds))
    return replace(design, switch=kind.name, radix=kind.ports, port_rate=kind.port_rate)


def matching_switch(radix: int, rate: float) -> str:
    """The catalog's first switch with these ports at this rate, "" without one."""
    for entry in load_catalog().section("switches"):
        if entry.facts["ports"].value == radix and entry.facts["port_rate"].value == rate:
            return entry.name
    return ""


def with_larger_switches(design: Design) -> list[Design]:
    """The design with each larger switch of the same family above its leaves, the smallest first."""
    catalog = load_catalog()
    family = catalog.entry("switches", design.switch).text.get("protocol")
    own = design.radix * ((design.port_rate or design.rate) // design.rate)
    larger = []
    for entry in catalog.section("switches"):
        if entry.text.get("protocol") != family or "price" not in entry.facts:
            continue
        if entry.facts["port_rate"].value < design.link_rate(1):
            continue
        kind = catalog_kind(entry.name)
        links = kind.ports * ((kind.port_rate or design.rate) // design.link_rate(1))
        if links > own:
            above = tuple((tier, kind) for tier in ("spine", "core"))
            larger.append((links, replace(design, kinds=(*above, *design.kinds))))
    return [design for _, design in sorted(larger, key=lambda one: one[0])]


def without_sums(topology: Topology) -> list[str] | None:
    """The catalog's switches of a topology that cannot add up what passes (SHARP): all but InfiniBand's. None where a
    switch is not named, so that nobody knows.
    """
    protocols = {entry.name: entry.text.get("protocol") for entry in load_catalog().section("switches")}
    names = sorted({group.switch for group in topology.cables.groups if group.tier})
    lacking = [name for name in names if name in protocols and protocols[name] != "infiniband"]
    return lacking if lacking or all(name in protocols for name in names) else None
