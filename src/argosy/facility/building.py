"""The whole hall around a fleet: racks, power tree and cooling plant sized to its peak, and run at its mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from argosy.facility.cooling import Overhead, overhead
from argosy.facility.load import ItLoad
from argosy.facility.packing import Racks, pack
from argosy.facility.site import SiteNumbers
from argosy.facility.tree import LEVELS, Flow, Tree, size, size_inside
from argosy.facts import Values
from argosy.spec import Facility

Array = Any  # float or numpy array (n,): one entry per draw
_LOADS = 65  # loads at which the plant is computed where there are many
_ROUNDS = 4  # of the fixed point between a given PUE and the losses inside it, which are a hundredth of it


@dataclass(frozen=True, slots=True)
class Building:
    """The building at its mean load, with every node at its measured maximum, and at its peak: every node at its cap, the last
    two in the year's hottest hour.

    `plant` is None where the scenario gives a PUE: then `mean` and `peak` put what the PUE leaves beside the losses on
    the boards as one load.
    """

    racks: Racks
    tree: Tree
    mean: Flow
    measured: Flow
    peak: Flow
    plant: Overhead | None
    given_pue: float | None

    @property
    def it_mean_w(self) -> Array:
        """Mean IT watts of the run."""
        return self.mean.it_w

    @property
    def it_peak_w(self) -> Array:
        """IT watts with every node at its cap."""
        return self.peak.it_w

    @property
    def pue(self) -> Array:
        """Energy at the meter over energy of the IT, of a year at the run's mean load."""
        return self.given_pue if self.plant is None else self.plant.pue

    @property
    def pue_by_month(self) -> Array:
        """The PUE of each month, January to December, (…, 12)."""
        return np.full(12, self.given_pue) if self.plant is None else self.plant.pue_by_month

    @property
    def meter_peak_w(self) -> Array:
        """Watts at the utility's meter at the peak."""
        return self.it_peak_w * self.given_pue if self.plant is None else self.peak.meter_w

    @property
    def margins(self) -> dict[str, float]:
        """Share of its usable power that each level keeps at the peak; negative where it trips."""
        return {
            name: 1.0 - float(np.median(self.peak.load_w[name] / self.tree.levels[name].usable_w))
            for name in LEVELS
        }

    @property
    def trips_first(self) -> str:
        """The level with the least margin, where a growing load trips first; feeds and circuits of just the needed size apart."""
        margins = self.margins
        return min(margins, key=lambda name: (self.tree.levels[name].exact, margins[name]))

    @property
    def tree_limit(self) -> dict[str, Any] | None:
        """`level` and `margin` of the level with the least margin of those that the scenario fixes; None where it fixes none."""
        fixed = [(margin, name) for name, margin in self.margins.items() if self.tree.levels[name].given]
        return dict(zip(("margin", "level"), min(fixed), strict=True)) if fixed else None

    @property
    def tree_problems(self) -> tuple[str, ...]:
        """Levels of the scenario that cannot carry the peak, and levels made smaller on purpose that measured power passes."""
        found = []
        for name in LEVELS:
            level = self.tree.levels[name]
            flow = self.measured if level.oversubscribed else self.peak
            load, usable = (float(np.median(x)) / 1e6 for x in (flow.load_w[name], level.usable_w))
            if (level.given or level.oversubscribed) and load > usable * (1 + 1e-9):
                which = "measured peak" if level.oversubscribed else "peak"
                found.append(
                    f"{name}: the {which} of {load:.3g} MW is above the {usable:.3g} MW that it may carry for hours"
                )
        return tuple(found)

    @property
    def tree_cautions(self) -> tuple[str, ...]:
        """Levels that hold only while the nodes never all draw their cap; a given PUE that losses alone exceed."""
        short = [
            name
            for name, margin in self.margins.items()
            if self.tree.levels[name].oversubscribed and margin < -1e-9
        ]
        names = ", ".join(short)
        told = (
            [f"oversubscribed on purpose: {names} would trip if every node drew its cap at once"]
            if short
            else []
        )
        least = 1.0 + float(np.median((self.mean.hall_loss_w + self.mean.outdoor_loss_w) / self.it_mean_w))
        if self.given_pue is not None and self.given_pue < least:
            told.append(
                f"a PUE of {self.given_pue:.3f} is less than conversion losses alone make it, {least:.3f}"
            )
        return tuple(told)


def building(
    values: Values, settings: Facility, site: SiteNumbers, load: ItLoad, it_mean_w: Array
) -> Building:
    """The hall for `load` whose mean IT power over the run is `it_mean_w` watts; numbers broadcast over draws.

    Racks, circuits, tree and plant are those of the scenario where it says, else sized to the peak.
    """
    it_peak_w = load.peak_w(values)
    racks = racks_of(values, settings, load)
    positions = racks.count + other_racks(load, racks, it_peak_w)
    inside = size_inside(values, settings.power_tree, positions, racks.rack_w, it_peak_w)

    def hall_loss(it_w: Array) -> Array:
        return sum(Tree(inside).inside(values, it_w)[1].values()) / it_w

    if settings.pue is not None:
        return _given(values, settings, racks, inside, it_mean_w, load.measured_w(values), it_peak_w)
    how = (settings.heat_rejection, settings.supply_temperature_c)

    def plant_at(it_w: Array) -> Overhead:
        return overhead(values, settings.cooling, site, hall_loss(it_w), it_w / it_peak_w, *how)

    full = plant_at(it_peak_w)
    plant = _over_loads(plant_at, it_mean_w) if _many(values, it_mean_w) else plant_at(it_mean_w)
    tree = size(values, settings.power_tree, inside, it_peak_w, it_peak_w * full.hottest, settings.envelope)
    peak = tree.flow(values, it_peak_w, it_peak_w * full.hottest)
    mean = tree.flow(values, it_mean_w, it_mean_w * plant.plant)
    it_measured_w = load.measured_w(values)
    measured = tree.flow(values, it_measured_w, it_measured_w * full.hottest)
    losses = (mean.hall_loss_w + mean.outdoor_loss_w) / it_mean_w
    return Building(racks, tree, mean, measured, peak, replace(plant, electrical=losses), None)


def _given(
    values: Values,
    settings: Facility,
    racks: Racks,
    inside: Any,
    it_mean_w: Array,
    it_measured_w: Array,
    it_peak_w: Array,
) -> Building:
    """The hall of a scenario that gives its PUE: what the losses leave of it is the load beside the IT."""
    assert settings.pue is not None
    over = settings.pue - 1.0
    tree = size(values, settings.power_tree, inside, it_peak_w, over * it_peak_w, settings.envelope)

    def flow(it_w: Array) -> Flow:
        plant: Array = over * it_w
        for _ in range(_ROUNDS):
            now = tree.flow(values, it_w, plant)
            plant = np.maximum(over * it_w - now.hall_loss_w - now.outdoor_loss_w, 0.0)
        return tree.flow(values, it_w, plant)

    mean, measured, peak = (flow(it_w) for it_w in (it_mean_w, it_measured_w, it_peak_w))
    return Building(racks, tree, mean, measured, peak, None, settings.pue)


def _many(values: Values, it_w: Array) -> bool:
    """Many loads at central facts: the layouts of a search, for which a year of hours each would be wasted."""
    return values.count == 1 and np.size(it_w) > 2 * _LOADS


def _over_loads(plant_at: Callable[[Array], Overhead], it_w: Array) -> Overhead:
    """The overhead at every load of `it_w`, (L,), between loads at which it is computed; it is smooth in the load."""
    known = np.linspace(np.min(it_w), np.max(it_w), _LOADS)
    at_known = plant_at(known)

    def between(numbers: Array) -> Array:
        columns = np.broadcast_to(np.asarray(numbers, float).T, (*np.shape(numbers)[1:], _LOADS))
        flat = [np.interp(it_w, known, column) for column in columns.reshape(-1, _LOADS)]
        return np.stack(flat, axis=-1).reshape(*np.shape(it_w), *np.shape(numbers)[1:])

    return Overhead(**{field.name: between(getattr(at_known, field.name)) for field in fields(Overhead)})


def racks_of(values: Values, settings: Facility, load: ItLoad) -> Racks:
    """The racks of all nodes, spares too, under the scenario's circuits, its hall and the class's heat limit."""
    rack, hall = settings.power_tree.rack, settings.hall
    ratings = [each for each in (rack.rating, hall.rack_power) if each is not None]
    circuit = min(ratings) * settings.power_tree.derating if ratings else None
    nodes = load.nodes + load.spare_nodes
    machine = load.node.per_rack
    kg = None if machine is not None else values["rack.frame.node_mass"] * load.node.accelerators / 8.0
    return pack(values, settings.cooling, nodes, load.node.capped_w, machine, circuit, hall, kg)


def other_racks(load: ItLoad, racks: Racks, it_peak_w: Array) -> Array:
    """Racks that hold switches, storage and management, filled by power like those of the nodes."""
    others = np.maximum(it_peak_w - (load.nodes + load.spare_nodes) * load.node.capped_w, 0.0)
    return np.ceil(others / racks.rack_w)
