"""Accelerators by quarter: delivered, brought up, burned in, asked for, rented; and what buying and renting cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.spec import Capacity
from argosy.spec.capacity import quarter_number

Array = Any  # float or numpy array (n,): one entry per draw
YEAR_S = 365.25 * 86400.0
QUARTER_S = YEAR_S / 4
HOUR_S = 3600.0
_NEGLIGIBLE = 1e-4  # share of a tranche below which the rest is counted with the last that passed


@dataclass(frozen=True, slots=True)
class UnitCost:
    """What one accelerator costs with its share of host, network, storage and hall; USD, floats or draws (n,).

    `hardware`, `site`: purchase; `running_per_s`: staff, maintenance, parts; `power_per_s`: electricity while it
    works; `rent_per_s`: renting one instead. `life_s`, `site_life_s`: what it is written off over; `residual`: share
    of the hardware's price that is left then.
    """

    hardware: Array
    site: Array
    running_per_s: Array
    power_per_s: Array
    rent_per_s: Array
    life_s: Array
    site_life_s: Array
    residual: Array = 0.0
    idle_power: Array = 0.0


def after(quarters: int, moment_s: Array) -> np.ndarray:
    """Share of each quarter that lies after `moment_s` seconds from the start; shape (..., quarters)."""
    end = QUARTER_S * np.arange(1, quarters + 1)
    late = (end - np.asarray(moment_s, dtype=float)[..., None]) / QUARTER_S
    share: np.ndarray = np.clip(late, 0.0, 1.0)
    return share


def acceptance(plan: Capacity) -> Iterator[tuple[float, float]]:
    """(seconds after delivery, share of the tranche that is accepted then): burn-in passes `yield` of what is left,
    the rest is repaired and burned in again.
    """
    burn, left = plan.burn_in, 1.0
    moment = plan.bring_up + burn.duration
    while left * (1.0 - burn.passing) > _NEGLIGIBLE:
        yield moment, left * burn.passing
        left *= 1.0 - burn.passing
        moment += burn.repair + burn.duration
    yield moment, left


def installed(plan: Capacity, slips_s: Array, in_service: Array, life_s: Array) -> dict[str, np.ndarray]:
    """Mean accelerators of each quarter, shape (..., quarters): `delivered` (paid for, not yet retired) counts them;
    `powered` (through bring-up) counts their power and `usable` (accepted, less those in repair) their work, both in
    accelerators of the scenario; `drawing` is the power of the usable ones.

    `slips_s`: delay of each delivery, shape (..., deliveries); `in_service`: share of accepted accelerators that are
    not in repair; `life_s`: seconds of service, after which a tranche leaves.
    """
    count = plan.quarters
    shape = np.shape(slips_s)[:-1]
    delivered, powered, usable, drawing = (np.zeros((*shape, count)) + plan.installed for _ in range(4))
    first = quarter_number(plan.start)
    for index, delivery in enumerate(plan.deliveries):
        due = (quarter_number(delivery.quarter) - first) * QUARTER_S
        arrival = due + np.asarray(slips_s, dtype=float)[..., index]
        gone = after(count, arrival + life_s)
        delivered += delivery.accelerators * (after(count, arrival) - gone)
        on = delivery.accelerators * delivery.power
        powered += on * (after(count, arrival + plan.bring_up) - gone)
        for delay, share in acceptance(plan):
            accepted = share * (after(count, arrival + delay) - gone)
            usable += delivery.accelerators * delivery.speed * accepted
            drawing += on * accepted
    serving = np.asarray(in_service)[..., None]
    return {
        "delivered": delivered,
        "powered": powered,
        "usable": usable * serving,
        "drawing": drawing * serving,
    }


def demand(plan: Capacity, growth: Array) -> np.ndarray:
    """Accelerators asked for in each quarter, (..., quarters); `growth` per quarter, a fraction (...)."""
    if plan.demand.by_quarter:
        return np.broadcast_to(np.asarray(plan.demand.by_quarter), (*np.shape(growth), plan.quarters))
    steps = np.arange(plan.quarters)
    return np.asarray(plan.demand.accelerators * (1.0 + np.asarray(growth, dtype=float)[..., None]) ** steps)


def served(plan: Capacity, asked: np.ndarray, usable: np.ndarray) -> dict[str, np.ndarray]:
    """How demand is met in each quarter: `own`, `rented`, `unmet`, and what stands `idle`; they and their sums close."""
    own = np.minimum(asked, usable)
    short = asked - own
    rented = short if plan.rent.limit is None else np.minimum(short, plan.rent.limit)
    return {"own": own, "rented": rented, "unmet": short - rented, "idle": usable - own}


def spending(
    plan: Capacity, machines: dict[str, np.ndarray], meeting: dict[str, np.ndarray], unit: UnitCost
) -> dict[str, np.ndarray]:
    """USD of each quarter, (..., quarters): `capital` as delivered, `running`, `electricity`, `rent`; and `rent_all`,
    what renting the whole met demand would cost instead.

    Electricity is that of machines at work, all generations alike; powered machines without a job draw
    `unit.idle_power` of it. A hall costs by the power of what stands in it.
    """
    capital = np.zeros_like(meeting["own"])
    first = quarter_number(plan.start)
    for delivery in plan.deliveries:
        hardware = unit.hardware if delivery.price is None else delivery.price
        each = hardware + unit.site * delivery.power
        capital[..., quarter_number(delivery.quarter) - first] += delivery.accelerators * each
    rent = rent_per_s(plan, unit)
    own = meeting["own"]
    usable = machines["usable"]
    at_work = machines["drawing"] * np.divide(own, usable, out=np.zeros_like(own), where=usable > 0)
    working = at_work + np.asarray(unit.idle_power)[..., None] * (machines["powered"] - at_work)
    per_quarter = (np.asarray(x)[..., None] * QUARTER_S for x in (unit.running_per_s, unit.power_per_s))
    running, power = per_quarter
    return {
        "capital": capital,
        "running": machines["delivered"] * running,
        "electricity": working * power,
        "rent": meeting["rented"] * rent * QUARTER_S,
        "rent_all": (own + meeting["rented"]) * rent * QUARTER_S,
    }


def rent_per_s(plan: Capacity, unit: UnitCost) -> np.ndarray:
    """USD per second of one rented accelerator in each quarter, (..., quarters), falling by `decline` a year."""
    years = np.arange(plan.quarters) / 4.0
    return np.asarray(np.asarray(unit.rent_per_s)[..., None] * (1.0 - plan.rent.decline) ** years)


def book_value(plan: Capacity, unit: UnitCost) -> np.ndarray:
    """What is left of the purchases at the end of each quarter, USD (..., quarters): straight line to the residual."""
    ends = np.arange(1, plan.quarters + 1) * QUARTER_S
    first = quarter_number(plan.start)
    value = np.zeros(plan.quarters)
    for delivery in plan.deliveries:
        age = ends - (quarter_number(delivery.quarter) - first) * QUARTER_S
        here = age > 0
        hardware = unit.hardware if delivery.price is None else delivery.price
        for price, life, rest in (
            (hardware, unit.life_s, unit.residual),
            (unit.site * delivery.power, unit.site_life_s, 0.0),
        ):
            price, life, rest = (np.asarray(x, dtype=float)[..., None] for x in (price, life, rest))
            left = 1.0 - (1.0 - rest) * np.clip(age / life, 0.0, 1.0)
            value = value + here * delivery.accelerators * price * left
    return np.asarray(value)


def present(amounts: np.ndarray, rate: float) -> np.ndarray:
    """Cumulative present value of quarterly amounts (..., quarters), each paid at the middle of its quarter."""
    years = (np.arange(amounts.shape[-1]) + 0.5) / 4.0
    return np.asarray(np.cumsum(amounts / (1.0 + rate) ** years, axis=-1))
