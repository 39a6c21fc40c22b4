"""Power of one node at four levels: idle, measured, capped, nameplate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.facts import FactError, Values
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
    cap_binds: bool = False
    name: str = ""

    def at(self, utilization: Array) -> Array:
        """Mean watts at a share of the way from idle to measured maximum."""
        return law.power_at_utilization(self.idle_w, self.measured_w, utilization)


def node_power(
    values: Values, node: str | None, accelerator: str, accelerators_per_node: int, cap_w: Array | None = None
) -> NodePower:
    """The four levels of a catalog node, with a cap of `cap_w` watts on each accelerator's board.

    What the catalog does not have for the node is built from its accelerators: nameplate by the usual ratio
    of server to chips, the measured maximum as a fraction of nameplate, idle from idle boards and a share of
    the host.
    """
    board = {
        level: values.get(f"accelerators.{accelerator}.power_{level}")
        for level in ("idle", "measured", "nameplate")
    }
    own = {
        level: values.get(f"nodes.{node}.power_{level}") for level in ("idle", "measured_max", "nameplate")
    }
    boards_nameplate = accelerators_per_node * board["nameplate"] if board["nameplate"] is not None else None
    nameplate = own["nameplate"]
    if nameplate is None:
        if boards_nameplate is None:
            raise FactError(f"no nameplate power is known for {node or accelerator}: give power_nameplate")
        nameplate = boards_nameplate * values["facility.node.chip_to_server"]
    measured = own["measured_max"]
    if measured is None:
        measured = nameplate * values["facility.node.measured_fraction"]
    idle = own["idle"]
    if idle is None:
        idle = _built_idle(values, accelerators_per_node, board, nameplate)
    if cap_w is None or board["nameplate"] is None:
        return NodePower(idle, measured, nameplate, nameplate, accelerators_per_node, name=node or "")
    board_measured = board["measured"] if board["measured"] is not None else board["nameplate"]
    capped = nameplate - accelerators_per_node * np.maximum(board["nameplate"] - cap_w, 0.0)
    limited = measured - accelerators_per_node * np.maximum(board_measured - cap_w, 0.0)
    binds = bool(np.any(board_measured > np.asarray(cap_w)))
    return NodePower(
        idle, np.minimum(limited, capped), capped, nameplate, accelerators_per_node, binds, node or ""
    )


def _built_idle(values: Values, count: int, board: dict[str, Array], nameplate: Array) -> Array:
    """Idle watts from idle boards and an idle host; boards of unknown idle power draw an eighth of
    nameplate."""
    if board["nameplate"] is None:
        return nameplate * 0.2
    idle_board = board["idle"] if board["idle"] is not None else board["nameplate"] / 8.0
    host = nameplate - count * board["nameplate"]
    return count * idle_board + host * values["facility.node.host_idle_fraction"]
