"""Power of one node at four levels: idle, measured, capped, nameplate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.facts import FactError, Values, load_catalog
from argosy.laws import power as law
from argosy.laws import power_cap as cap_law

Array = Any  # float or numpy array (n,): one entry per draw


@dataclass(frozen=True, slots=True)
class NodePower:
    """Watts at the node's power inlet. Energy is billed on measured power; breakers and racks are sized on
    the cap.

    `idle_w`: on, no job; `measured_w`: the most that dense training was measured to draw (less where a cap
    binds); `capped_w`: the most that the cap allows (nameplate without one); `nameplate_w`: the maker's
    maximum. `uncapped_w`: the measured maximum without the cap (None: the same). `board_full_w`,
    `board_capped_w`: of one board in dense work, and at most. `clock`: share of the full clock that a binding cap leaves;
    `cap_held` False where not even the lowest clock stays below it.
    """

    idle_w: Array
    measured_w: Array
    capped_w: Array
    nameplate_w: Array
    accelerators: int
    accelerator: str = ""
    per_rack: int | None = None
    uncapped_w: Array | None = None
    board_full_w: Array = 0.0
    board_capped_w: Array = 0.0
    clock: Array = 1.0
    cap_held: bool = True

    @property
    def cap_binds(self) -> bool:
        """True where the cap lowers the measured power, and with it the clock."""
        return bool(np.median(self.clock) < 1.0)

    def at(self, utilization: Array) -> Array:
        """Mean watts at a share of the way from idle to measured maximum; a cap cuts what lies above it."""
        full = self.measured_w if self.uncapped_w is None else self.uncapped_w
        return np.minimum(law.power_at_utilization(self.idle_w, full, utilization), self.measured_w)


def clock_at_cap(values: Values, accelerator: str, cap_w: Array | None) -> Array:
    """Share of its full clock that a board capped at `cap_w` watts keeps in dense work; 1 without a cap that binds.

    By `laws.power_cap`, whose exponent and static share are assumptions with bands. Never below the lowest clock.
    """
    board = board_limit(values, accelerator)
    if cap_w is None or board is None:
        return 1.0
    static = board * values["cap.model.static_share"]
    clock = cap_law.clock_at_cap(cap_w, board, static, values["cap.model.exponent"])
    return np.maximum(clock, np.minimum(values["cap.model.lowest_clock"], 1.0))


def board_limit(values: Values, accelerator: str) -> Array | None:
    """Watts of one board in dense work without a cap of the scenario: its default limit, or else its nameplate.

    Dense products hold a board at its limit: that is why a step sustains less than the clock of a short benchmark.
    """
    limit = values.get(f"accelerators.{accelerator}.power_cap")
    return limit if limit is not None else values.get(f"accelerators.{accelerator}.power_nameplate")


def node_power(
    values: Values,
    node: str | None,
    accelerator: str,
    accelerators_per_node: int,
    cap_w: Array | None = None,
) -> NodePower:
    """The four levels of a catalog node, with a cap of `cap_w` watts on each accelerator's board.

    What the catalog does not have for the node is built from its accelerators: nameplate by the usual ratio
    of server to chips, the measured maximum as a fraction of nameplate, idle from idle boards and a share of
    the host. A tray of a rack-scale machine carries its share of what the rack's nameplate holds beside the
    trays (NVLink switches), at every level. A cap lowers the boards' share of the nameplate, and of the measured maximum
    by as much, since dense work holds a board at its limit. Raises FactError where no nameplate is known.
    """
    board = _levels(values, f"accelerators.{accelerator}", ("idle", "nameplate"))
    own = _levels(values, f"nodes.{node}", ("idle", "measured_max", "nameplate"))
    nameplate = own["nameplate"]
    if nameplate is None:
        if board["nameplate"] is None:
            missing = f"accelerators.{accelerator}.power_nameplate"
            raise FactError(
                f"no power is published for {accelerator}: give {missing} in assumptions.overrides"
            )
        ratio = values["facility.node.chip_to_server"]
        nameplate = accelerators_per_node * board["nameplate"] * ratio
    measured = own["measured_max"]
    if measured is None:
        measured = nameplate * values["facility.node.measured_fraction"]
    idle = own["idle"]
    if idle is None:
        idle = _built_idle(values, accelerators_per_node, board, nameplate)
    extra, per_rack = _rack_extra(values, node, accelerators_per_node, nameplate)
    idle, measured, nameplate = idle + extra, measured + extra, nameplate + extra
    count, full = accelerators_per_node, measured
    top = board["nameplate"] if board["nameplate"] is not None else 0.0
    working = board_limit(values, accelerator)
    working = top if working is None else working
    if cap_w is None:
        return NodePower(
            idle, measured, nameplate, nameplate, count, accelerator, per_rack, None, working, top
        )
    clock = clock_at_cap(values, accelerator, cap_w)
    held = np.maximum(cap_w, _lowest(values, working))
    capped = nameplate - count * np.maximum(top - held, 0.0)
    measured = np.maximum(np.minimum(measured - count * np.maximum(working - held, 0.0), capped), idle)
    return NodePower(
        idle,
        measured,
        capped,
        nameplate,
        count,
        accelerator,
        per_rack,
        full,
        np.minimum(working, held),
        np.minimum(top, held),
        clock,
        bool(np.median(held) <= np.median(cap_w)),
    )


def _lowest(values: Values, working_w: Array) -> Array:
    """Watts of a board at dense work and its lowest clock."""
    static = working_w * values["cap.model.static_share"]
    return cap_law.power_at_clock(
        np.minimum(values["cap.model.lowest_clock"], 1.0), working_w, static, values["cap.model.exponent"]
    )


def _levels(values: Values, entry: str, names: tuple[str, ...]) -> dict[str, Array]:
    return {name: values.get(f"{entry}.power_{name}") for name in names}


def _rack_extra(values: Values, node: str | None, count: int, nameplate: Array) -> tuple[Array, int | None]:
    """Watts per node that its rack draws beside its nodes, and nodes per rack; nothing for a server of its
    own."""
    rack = next((e.text.get("rack") for e in load_catalog().section("nodes") if e.name == node), None)
    if rack is None or f"racks.{rack}.power_nameplate" not in values:
        return 0.0, None
    per_rack = round(values[f"racks.{rack}.accelerators"] / count)
    return np.maximum(values[f"racks.{rack}.power_nameplate"] / per_rack - nameplate, 0.0), per_rack


def _built_idle(values: Values, count: int, board: dict[str, Array], nameplate: Array) -> Array:
    """Idle watts from idle boards and an idle host; boards of unknown idle power draw an eighth of
    nameplate."""
    if board["nameplate"] is None:
        return nameplate * 0.2
    idle_board = board["idle"] if board["idle"] is not None else board["nameplate"] / 8.0
    host = nameplate - count * board["nameplate"]
    return count * idle_board + host * values["facility.node.host_idle_fraction"]
