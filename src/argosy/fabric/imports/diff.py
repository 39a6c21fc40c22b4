"""A built fabric against its plan: which cables are plugged elsewhere, absent, unplanned or slow."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from argosy.fabric.imports.match import UNMATCHED, match
from argosy.fabric.imports.wires import Device, Wires, planned_wires
from argosy.fabric.topologies import Topology

SLOWER = (
    0.999  # a rate below this share of the planned one is slow: rates are ladders with steps of 10 % and more
)

CONVENTION = 0.75  # of like cables in their planned ports: then port numbers mean the same in both
Key = tuple[int, int]


def diff(planned: Wires | Topology, built: Wires) -> dict[str, Any]:
    """`miswired`, `missing`, `extra` and `degraded` cables, and what else a reader should know.

    `miswired`: one end is where it was planned, the other is not: `planned` and `built` as text; `wrong` says whether the
    other end is at another device, or only in another port of the right one, which harms no traffic. `missing`: a planned
    cable of which neither end is plugged. `extra`: a cable that no plan has. `degraded`: slower than planned
    (`planned_bps`, `built_bps`: one way). `moved`: further cables in other ports of the right devices, where ports are
    not comparable. `matched`: devices of the plan that were found, by name or by place. `line`: of the built file.
    """
    if isinstance(planned, Topology):
        planned = planned_wires(planned)
    found = match(planned, built)
    wanted, existing = _by_ends(planned, found), _by_ends(built, np.arange(len(built.devices)))
    pairs: list[tuple[int, int]] = []
    absent: list[int] = []
    for key, ours in wanted.items():
        same, lost = _pair_up(planned, built, found, ours, existing.get(key, []))
        pairs += same
        absent += lost
    used = {theirs for _, theirs in pairs}
    strange = [i for i in range(len(built)) if i not in used]
    miswired, missing, extra = _explain(planned, built, found, absent, strange)
    degraded, notes = _slow(planned, built, pairs)
    elsewhere, moved, more = _other_ports(planned, built, found, pairs)
    return {
        "miswired": [*miswired, *elsewhere],
        "missing": missing,
        "extra": extra,
        "degraded": degraded,
        "moved": moved,
        "compared": len(pairs),
        "matched": int((found != UNMATCHED).sum()),
        "devices": {"planned": len(planned.devices), "built": len(built.devices)},
        "notes": [*built.notes, *_strangers(planned, built, found), *notes, *more],
    }


def _other_ports(
    planned: Wires, built: Wires, found: np.ndarray, pairs: list[tuple[int, int]]
) -> tuple[list[dict[str, Any]], int, list[str]]:
    """Cables between the right two devices in other ports than planned: those that count as miswired, how many others
    there are, and why those do not count.

    They count where the fabric keeps the plan's port numbers (CONVENTION of the like cables do) and both devices are
    known by name or GUID: devices known by their place alone are known by other cables' ports.
    """
    moved: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    of_kind = {True: 0, False: 0}
    for ours, theirs in pairs:
        between = all(planned.devices[int(end[ours])].is_switch for end in (planned.a, planned.b))
        of_kind[between] += 1
        if _ports(planned, found, ours) != _ports(built, None, theirs):
            moved[between].append((ours, theirs))
    wrong, free, notes = [], 0, []
    for between, some in moved.items():
        kept = len(some) <= (1 - CONVENTION) * of_kind[between]
        if some and not kept:
            kind = "between switches" if between else "of hosts"
            notes.append(
                f"{len(some)} of {of_kind[between]} cables {kind} are in other ports than planned: port numbers follow "
                "another convention there, and only devices are compared"
            )
        for ours, theirs in some:
            ends = [int(end[ours]) for end in (planned.a, planned.b)]
            known = all(_same_name(planned.devices[i], built.devices[int(found[i])]) for i in ends)
            if kept and known:
                wrong.append(
                    {
                        "planned": planned.cable(ours),
                        "built": built.cable(theirs),
                        "wrong": "port",
                        "line": int(built.line[theirs]),
                    }
                )
            else:
                free += 1
    return wrong, free, notes


def _same_name(planned: Device, built: Device) -> bool:
    """Whether two devices have the same GUID or name."""
    same_guid = bool(planned.guid) and planned.guid == built.guid
    return same_guid or planned.name.lower() == built.name.lower()


def _by_ends(wires: Wires, names: np.ndarray) -> dict[Key, list[int]]:
    """Cables by the two devices that they join, as `names` numbers them; a planned device that was not found is a
    negative number of its own.
    """
    number = np.where(names == UNMATCHED, -2 - np.arange(len(names)), names)
    low, high = np.minimum(number[wires.a], number[wires.b]), np.maximum(number[wires.a], number[wires.b])
    found: dict[Key, list[int]] = defaultdict(list)
    for index, key in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        found[key].append(index)
    return found


def _ports(wires: Wires, names: np.ndarray | None, index: int) -> frozenset[tuple[int, int]]:
    """A cable's two (device, port), the device as `names` numbers it."""
    a, b = int(wires.a[index]), int(wires.b[index])
    if names is not None:
        a, b = int(names[a]), int(names[b])
    return frozenset(((a, int(wires.a_port[index])), (b, int(wires.b_port[index]))))


def _pair_up(
    planned: Wires, built: Wires, found: np.ndarray, ours: list[int], theirs: list[int]
) -> tuple[list[tuple[int, int]], list[int]]:
    """Cables between the same two devices, paired: equal ports first; and planned ones without a partner."""
    if len(ours) == len(theirs) == 1:
        return [(ours[0], theirs[0])], []
    at = {_ports(built, None, i): i for i in theirs}
    pairs = [(i, at.pop(ports)) for i in ours if (ports := _ports(planned, found, i)) in at]
    done = {i for i, _ in pairs}
    open_ours = [i for i in ours if i not in done]
    open_theirs = list(at.values())
    pairs += list(zip(open_ours, open_theirs, strict=False))
    return pairs, open_ours[len(open_theirs) :]


def _explain(
    planned: Wires, built: Wires, found: np.ndarray, absent: list[int], strange: list[int]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Absent and strange cables that share an end are one mistake: miswired; the rest is missing or extra."""
    at: dict[int, list[int]] = defaultdict(list)
    for i in absent:
        for device in (int(found[planned.a[i]]), int(found[planned.b[i]])):
            at[device].append(i)
    at.pop(UNMATCHED, None)
    offers = []
    for theirs in strange:
        for device, port in sorted(_ports(built, None, theirs)):
            for ours in at.get(device, ()):
                same_port = (device, port) in _ports(planned, found, ours)
                lower = not built.devices[device].is_switch
                offers.append((-2 * same_port - lower, ours, theirs))
    explained: dict[int, int] = {}
    taken: set[int] = set()
    for _, ours, theirs in sorted(offers):
        if ours not in explained and theirs not in taken:
            explained[ours] = theirs
            taken.add(theirs)
    miswired = [
        {
            "planned": planned.cable(ours),
            "built": built.cable(theirs),
            "wrong": "device",
            "line": int(built.line[theirs]),
        }
        for ours, theirs in sorted(explained.items())
    ]
    missing = [
        {"cable": planned.cable(i), "planned_bps": _number(planned.rate[i])}
        for i in absent
        if i not in explained
    ]
    extra = [
        {"cable": built.cable(i), "built_bps": _number(built.rate[i]), "line": int(built.line[i])}
        for i in strange
        if i not in taken
    ]
    return miswired, missing, extra


def _slow(
    planned: Wires, built: Wires, pairs: list[tuple[int, int]]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Cables slower than planned; where the plan tells no rates, slower than most of the fabric."""
    if not pairs:
        return [], []
    ours, theirs = (np.array(column) for column in zip(*pairs, strict=True))
    want, have = planned.rate[ours].copy(), built.rate[theirs]
    notes = []
    untold = np.isnan(want)
    if untold.any() and not np.isnan(have).all():
        rates, counts = np.unique(have[~np.isnan(have)], return_counts=True)
        usual = float(rates[counts.argmax()])
        want[untold] = usual
        notes.append(
            f"{int(untold.sum())} planned cables have no rate: held against the commonest, {usual / 1e9:g} Gb/s"
        )
    slow = have < SLOWER * want
    unknown = int(np.isnan(have).sum())
    if unknown:
        notes.append(f"{unknown} built cables have no known rate: whether they are slow is not told")
    if 2 * slow.sum() > len(pairs):
        notes.append(
            f"{int(slow.sum())} of {len(pairs)} cables are slower than planned: the whole fabric was built, or planned, "
            "at another rate"
        )
    return [
        {
            "cable": built.cable(int(theirs[i])),
            "planned_bps": float(want[i]),
            "built_bps": float(have[i]),
            "line": int(built.line[theirs[i]]),
        }
        for i in np.flatnonzero(slow)
    ], notes


def _strangers(planned: Wires, built: Wires, found: np.ndarray) -> list[str]:
    """Devices that only one of the two has, and those that were told apart by their place alone."""
    lost = [device.label for device, at in zip(planned.devices, found, strict=True) if at == UNMATCHED]
    known = set(found.tolist())
    new = [device.label for i, device in enumerate(built.devices) if i not in known]
    placed = [
        (device.label, built.devices[at].label)
        for device, at in zip(planned.devices, found.tolist(), strict=True)
        if at != UNMATCHED and device.label.lower() != built.devices[at].label.lower()
    ]
    notes = []
    if lost:
        notes.append(f"{len(lost)} planned devices were not found: {_some(lost)}")
    if new:
        notes.append(f"{len(new)} devices are not in the plan: {_some(new)}")
    if placed:
        examples = _some([f"{ours} is {theirs}" for ours, theirs in placed])
        notes.append(f"{len(placed)} devices have other names and were matched by GUID or place: {examples}")
    return notes


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _number(rate: float) -> float | None:
    return None if np.isnan(rate) else float(rate)
