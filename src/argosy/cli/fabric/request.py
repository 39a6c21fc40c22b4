"""The design that the options of `argosy fabric --topology` ask for."""

from __future__ import annotations

from typing import Any

import typer

from argosy.cli.fabric import words

TIERS = ("leaf", "spine", "core", "tier-4", "tier-5")
BOUNDARIES = ("leaf-spine", "spine-core", "core-tier-4", "tier-4-tier-5")
USUAL_RATE = "400 Gb/s"


def design(given: dict[str, Any]) -> Any:
    """An argosy.fabric.Design of the options' values, by name."""
    from argosy.fabric import Design

    sides = words.sides(given["shape"])
    hosts = given["hosts"] if given["hosts"] is not None else words.places(sides)
    if hosts is None:
        raise typer.BadParameter("--topology needs --hosts")
    radix, radixes = words.by_tier(given["radix"], "--radix", TIERS)
    switch, switches = words.by_tier(given["switch"], "--switch", TIERS)
    rate, rates = words.by_tier(given["rate"], "--rate", BOUNDARIES)
    return Design(
        topology=given["topology"],
        hosts=hosts,
        nics_per_host=given["nics_per_host"],
        radix=words.count(radix, "--radix") if radix else 0,
        rate=words.parse(rate or USUAL_RATE, "bit/s", "--rate"),
        tiers=given["tiers"],
        oversubscription=words.oversubscriptions(given["oversubscription"]),
        pods=given["pods"],
        planes=given["planes"],
        shape=sides,
        upper_radix=given["upper_radix"],
        switch=switch or "",
        hosts_per_rack=given["hosts_per_rack"],
        kinds=_kinds(radixes, switches),
        rates=tuple((boundary, words.parse(text, "bit/s", "--rate")) for boundary, text in rates.items()),
        host_rates=words.host_rates(given["host_rate"]),
        card_ports=given["card_ports"] or (2 if given["topology"] == "dual-tor" else 1),
        hosts_per_leaf=given["hosts_per_leaf"],
        rails=given["rails"],
        missing=words.numbers(given["missing"], "--missing"),
        twist=given["twist"],
        generation=_generation(given["accelerator"]) if given["topology"] == "supernode" else "",
    )


def _generation(accelerator: str) -> str:
    """The generation of the catalog's accelerator, which decides a baseboard's switch chips."""
    from argosy.facts import load_catalog

    return str(load_catalog().entry("accelerators", accelerator).text.get("generation", ""))


def _kinds(radixes: dict[str, str], switches: dict[str, str]) -> tuple[tuple[str, Any], ...]:
    """The switch of every tier that has one of its own: by name, by its ports, or both."""
    from dataclasses import replace

    from argosy.fabric.switches import catalog_kind
    from argosy.fabric.topologies import SwitchKind

    found = {tier: catalog_kind(name) for tier, name in switches.items()}
    for tier, text in radixes.items():
        ports = words.count(text, "--radix")
        found[tier] = replace(found[tier], ports=ports) if tier in found else SwitchKind("", ports)
    return tuple(sorted(found.items()))
