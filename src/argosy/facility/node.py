"""Power of one node at four levels: idle, measured, capped, nameplate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.facts import FactError, Values, load_catalog
from argosy.laws import power as law

Array = Any  # float or numpy array (n,): one entry per draw


@dataclass(frozen=True, slots=True)
class NodePower:
    """Watts at the node's power inlet. Energy is billed on measured power; breakers and racks are sized on
    the cap.

    `idle_w`: on, no job; `measured_w`: the most that dense training was measured to draw (less where a cap
    binds); `capped_w`: the most that the cap allows (nameplate without one); `nameplate_w`: the maker's
    maximum.
    """

    idle_w: Array
    measured_w: Array
    capped_w: Array
    nameplate_w: Array
    accelerators: int
    accelerator: str = ""
    cap_binds: bool = False
    per_rack: int | None = None

    def at(self, utilization: Array) -> Array:
        """Mean watts at a share of the way from idle to measured maximum."""
        return law.power_at_utilization(self.idle_w, self.measured_w, utilization)


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
    trays (NVLink switches), at every level. Raises FactError where no nameplate is known.
    """
    board = _levels(values, f"accelerators.{accelerator}", ("idle", "measured", "nameplate"))
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
    saved, measured_saved, binds = _cap(board, accelerators_per_node, cap_w)
    capped = nameplate - saved
    measured = np.minimum(measured - measured_saved, capped)
    return NodePower(idle, measured, capped, nameplate, accelerators_per_node, accelerator, binds, per_rack)


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


def _cap(board: dict[str, Array], count: int, cap_w: Array | None) -> tuple[Array, Array, bool]:
    """Watts that a cap takes from the node's nameplate and from its measured maximum; whether it slows the
    chips."""
    if cap_w is None or board["nameplate"] is None:
        return 0.0, 0.0, False
    measured = board["measured"] if board["measured"] is not None else board["nameplate"]
    saved = count * np.maximum(board["nameplate"] - cap_w, 0.0)
    binds = bool(np.median(measured) > np.median(cap_w))
    return saved, count * np.maximum(measured - cap_w, 0.0), binds


def _built_idle(values: Values, count: int, board: dict[str, Array], nameplate: Array) -> Array:
    """Idle watts from idle boards and an idle host; boards of unknown idle power draw an eighth of
    nameplate."""
    if board["nameplate"] is None:
        return nameplate * 0.2
    idle_board = board["idle"] if board["idle"] is not None else board["nameplate"] / 8.0
    host = nameplate - count * board["nameplate"]
    return count * idle_board + host * values["facility.node.host_idle_fraction"]
