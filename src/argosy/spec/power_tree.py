"""The power tree of a site, and an existing hall that racks must fit."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from argosy.spec.quantity import Fraction, Section, Shorthand, Watts, setting


class PowerStage(Section):
    """One level of the power tree: the rating of its units, how many there are, and the spare ones among them."""

    rating: Watts | None = setting(
        None, "rated power of one unit at its output", "a usual size of the catalog"
    )
    count: Annotated[int, Field(ge=1)] | None = setting(
        None, "units installed, redundant ones included", "as many as the load at its cap needs"
    )
    redundancy: Literal["N", "N+1", "2N"] | None = setting(
        None, "units beyond need: none, one, or a whole second path", "N, and N+1 for the UPS"
    )

    @model_validator(mode="after")
    def _leaves_a_unit(self) -> PowerStage:
        """Redundancy that takes the only unit leaves nothing to carry the load."""
        if self.count == 1 and self.redundancy in ("N+1", "2N"):
            raise ValueError(f"one unit has no {self.redundancy}: write count: 2 or more, or redundancy: N")
        return self


def _stage(given: Any) -> Any:
    return {"rating": given} if isinstance(given, str | int | float) else given


Stage = Annotated[PowerStage, Shorthand(_stage, {"type": "string"})]


class PowerTree(Section):
    """From the utility's feed to a rack's circuit. What is left open is sized to the fleet and never limits it."""

    utility: Stage = setting(PowerStage, "the feed from the utility", "sized to the fleet")
    transformer: Stage = setting(PowerStage, "medium to low voltage", "sized to the fleet")
    switchboard: Stage = setting(
        PowerStage, "main low-voltage boards, the cooling plant hangs here too", "sized to the fleet"
    )
    ups: Stage = setting(PowerStage, "uninterruptible supplies of the IT load", "sized to the fleet")
    pdu: Stage = setting(PowerStage, "power distribution units or busways", "sized to the fleet")
    rack: Stage = setting(PowerStage, "the circuit of one rack", "sized to the rack")
    derating: Annotated[Fraction, Field(gt=0)] = setting(
        0.8,
        "share of its rating that a breaker carries for hours (switchboard, PDU, rack)",
        "National Electrical Code, article 215.3: continuous loads at 125 % of their size",
    )
    oversubscription: Annotated[float, Field(ge=1, le=3)] = setting(
        1.0,
        "load at its cap over the capacity installed at PDU and above: more than 1 trusts that nodes never all draw it",
        "none: every node can draw its cap",
    )


class Hall(Section):
    """An existing hall that the racks must fit; what is left out does not limit."""

    racks: Annotated[int, Field(ge=1)] | None = setting(None, "rack positions", "not limiting")
    rack_power: Watts | None = setting(
        None, "rated circuit of one position, before the derating of its breaker", "not limiting"
    )
    rack_cooling: Watts | None = setting(
        None, "heat that one position can shed", "what the cooling class carries"
    )
    floor_load_kg_per_m2: Annotated[float, Field(gt=0)] | None = setting(
        None, "what the floor carries", "assumption: a raised floor of the catalog"
    )
    cable_reach_m: Annotated[float, Field(gt=0)] | None = setting(
        None, "longest cable that the trays of the hall allow", "not limiting"
    )
