"""The power tree: utility, transformer, switchboard, UPS, PDU, rack. What each level carries, loses and can carry.

Loads flow up: a level delivers what the level below draws, and draws that and its own loss. Numbers broadcast over
draws; sizes are those of the peak at the nodes' cap, losses those of the load at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.facts import Values
from argosy.laws import power as law
from argosy.spec import PowerTree

Array = Any  # float or numpy array (n,): one entry per draw

LEVELS = ("utility", "transformer", "switchboard", "ups", "pdu", "rack")
BREAKERS = ("switchboard", "pdu", "rack")  # levels whose rating is a breaker's, which carries less for hours
_HAIR = 1e-12  # a unit of just the needed size is not below it by rounding
INSIDE = ("ups", "pdu", "rack")  # levels whose losses warm the hall


@dataclass(frozen=True, slots=True)
class Level:
    """What is installed at one level: `units` of `rating_w` watts each, of which `usable_w` may be used in all.

    `usable_w` holds for hours, with the redundant units out: usable units × rating × derating. `given`: the scenario
    fixes what is there, so that the level can be too small; `exact`: a feed or circuit of just the size that is needed;
    `oversubscribed`: sized below the cap on purpose.
    """

    name: str
    rating_w: Array
    units: Array
    redundancy: str
    derating: float
    given: bool
    exact: bool = False
    oversubscribed: bool = False

    @property
    def installed_w(self) -> Array:
        """Rated watts of all units."""
        return self.units * self.rating_w

    @property
    def usable_w(self) -> Array:
        """Watts that the level may carry for hours, redundant units out."""
        return law.usable_units(self.units, self.redundancy) * self.rating_w * self.derating

    def loss_w(self, values: Values, load_w: Array) -> Array:
        """Watts lost at an output of `load_w`, all units sharing it (with 2N, each path at half).

        Where the level is too small the losses are those of one that is just large enough: the law ends there.
        """
        a, b, c = (values[f"power.{self.name}.{term}"] for term in ("fixed", "linear", "quadratic"))
        return law.conversion_loss_w(load_w, np.maximum(self.installed_w, load_w), a, b, c)


@dataclass(frozen=True, slots=True)
class Flow:
    """Watts at every level for one load of the fleet: delivered by the level, and lost in it."""

    load_w: Mapping[str, Array]
    loss_w: Mapping[str, Array]
    it_w: Array
    plant_w: Array

    @property
    def meter_w(self) -> Array:
        """Watts that the utility's meter sees."""
        return self.load_w["utility"] + self.loss_w["utility"]

    @property
    def hall_loss_w(self) -> Array:
        """Losses that the cooling must carry away with the IT's heat."""
        return sum(self.loss_w[name] for name in INSIDE)

    @property
    def outdoor_loss_w(self) -> Array:
        """Losses of utility lines, transformers and boards, which cool by themselves."""
        return sum(self.loss_w[name] for name in LEVELS if name not in INSIDE)


@dataclass(frozen=True, slots=True)
class Tree:
    """The installed levels, by name, from the utility down to the racks."""

    levels: Mapping[str, Level]

    def inside(self, values: Values, it_w: Array) -> tuple[dict[str, Array], dict[str, Array]]:
        """Loads and losses from the racks up to the UPS, which do not depend on the weather."""
        return self._up(values, it_w, ("rack", "pdu", "ups"))

    def flow(self, values: Values, it_w: Array, plant_w: Array) -> Flow:
        """What every level carries for `it_w` watts of IT and `plant_w` of cooling and other loads, which hang at the board."""
        load, loss = self.inside(values, it_w)
        delivered = load["ups"] + loss["ups"] + plant_w
        upper_load, upper_loss = self._up(values, delivered, ("switchboard", "transformer", "utility"))
        return Flow({**upper_load, **load}, {**upper_loss, **loss}, it_w, plant_w)

    def _up(
        self, values: Values, delivered: Array, names: tuple[str, ...]
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        load: dict[str, Array] = {}
        loss: dict[str, Array] = {}
        for name in names:
            load[name] = delivered
            loss[name] = self.levels[name].loss_w(values, delivered)
            delivered = delivered + loss[name]
        return load, loss


def size_inside(
    values: Values, settings: PowerTree, racks: Array, rack_w: Array, it_peak_w: Array
) -> dict[str, Level]:
    """Racks, PDUs and UPS for `it_peak_w` watts at the nodes' cap in `racks` racks of at most `rack_w` watts each.

    A count of rack circuits in the scenario is what there is; else every rack has its own.
    """
    rack = settings.rack
    derating = settings.derating
    rating = rack.rating if rack.rating is not None else rack_w / derating
    redundancy, given = rack.redundancy or "N", rack.rating is not None or rack.count is not None
    circuits = _spared(racks, redundancy) if rack.count is None else float(rack.count)
    levels = {"rack": Level("rack", rating, circuits, redundancy, derating, given, not given)}
    delivered = it_peak_w + levels["rack"].loss_w(values, it_peak_w)
    for name in ("pdu", "ups"):
        levels[name] = _sized(values, settings, name, delivered)
        delivered = delivered + levels[name].loss_w(values, delivered)
    return levels


def size(
    values: Values,
    settings: PowerTree,
    inside: Mapping[str, Level],
    it_peak_w: Array,
    plant_peak_w: Array,
    envelope_w: float | None = None,
) -> Tree:
    """The whole tree: `inside` (from `size_inside`), and board, transformers and feed for the plant's peak too.

    `envelope_w`: what the site may draw, the rating of a feed that the scenario leaves open.
    """
    load, loss = Tree(inside).inside(values, it_peak_w)
    delivered = load["ups"] + loss["ups"] + plant_peak_w
    levels = dict(inside)
    for name in ("switchboard", "transformer", "utility"):
        levels[name] = _sized(values, settings, name, delivered, envelope_w)
        delivered = delivered + levels[name].loss_w(values, delivered)
    return Tree({name: levels[name] for name in LEVELS})


def _sized(
    values: Values, settings: PowerTree, name: str, load_w: Array, envelope_w: float | None = None
) -> Level:
    """One level for `load_w` watts at its output: the scenario's units, or as many as it takes.

    A feed without a rating is one of exactly the load's size. The scenario's oversubscription makes a level that it
    leaves open smaller on purpose.
    """
    stage = getattr(settings, name)
    spare = values.get(f"power.{name}.spare_units", 0.0)
    usual = "N+1" if np.max(spare) > 0 and stage.count != 1 else "N"
    redundancy = stage.redundancy or usual
    derating = settings.derating if name in BREAKERS else 1.0
    over = settings.oversubscription
    if name == "utility":
        rating = stage.rating if stage.rating is not None else envelope_w
        count = _spared(1.0, redundancy) if stage.count is None else float(stage.count)
        own = sum(values[f"power.utility.{term}"] for term in ("fixed", "linear", "quadratic"))
        each = (
            load_w * (1.0 + own) / over if rating is None else rating
        )  # its meter is on the far side of its loss
        return Level(
            name, each, count, redundancy, derating, stage.rating is not None, rating is None, over > 1
        )
    rating = stage.rating if stage.rating is not None else values[f"power.{name}.rating"]
    if stage.count is not None:
        return Level(name, rating, float(stage.count), redundancy, derating, True)
    if stage.rating is None:  # a small fleet takes a smaller unit, not the usual one nearly empty
        rating = np.minimum(rating, load_w / (derating * over) * (1.0 + _HAIR))
    needed = law.units_needed(load_w, rating * derating, over)
    exact = stage.rating is None and bool(np.median(needed) == 1)
    return Level(name, rating, _spared(needed, redundancy), redundancy, derating, False, exact, over > 1)


def _spared(needed: Array, redundancy: str) -> Array:
    """Units to install so that `needed` stay when redundant ones are out."""
    if redundancy == "2N":
        return needed * 2.0
    return needed + (1.0 if redundancy == "N+1" else 0.0)
