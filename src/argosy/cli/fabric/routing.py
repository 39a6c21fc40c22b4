"""Which routing is meant where `--routing` is not given."""

from __future__ import annotations

from typing import Any


def asked_routing(given: dict[str, Any]) -> str | None:
    """The routing of `--routing`, else the scenario's compute fabric's; `given`: the options by name."""
    asked: str | None = given["routing"]
    if asked is None and given["scenario"] is not None:
        asked = scenario_fabric(given).routing
    return asked


def usual_routing(topology: Any, given: dict[str, Any]) -> str:
    """The routing asked for, else the habit of the fabric's transport."""
    from argosy.fabric.build import HABIT
    from argosy.fabric.fleet import USUAL_PROTOCOL, fleet_protocol
    from argosy.facts import load_catalog
    from argosy.planning.context import context
    from argosy.spec import load

    asked = asked_routing(given)
    if asked is not None:
        return asked
    if given["scenario"] is not None:
        setting = context(load(given["scenario"]))
        return HABIT[fleet_protocol(setting.fleet, setting.fleet.compute_fabric)]
    switch = topology.design.switch
    of_switch = switch and load_catalog().entry("switches", switch).text.get("protocol")
    return HABIT[given["protocol"] or of_switch or USUAL_PROTOCOL]


def scenario_fabric(given: dict[str, Any]) -> Any:
    """The compute fabric of the scenario of the options."""
    from argosy.planning.context import context
    from argosy.spec import load

    return context(load(given["scenario"])).fleet.compute_fabric
