"""The facility around a planned run: power tree, cooling, racks, waveform, power cap, money, carbon and water."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from argosy import __version__
from argosy.facility import Building, ItLoad, building, drawing, level_table, needed_class, site_numbers
from argosy.facility.packing import airflow_m3_per_s
from argosy.facts import Values
from argosy.planning import Plan, plan
from argosy.planning.context import Context, context, need_training, without_services
from argosy.planning.hall import cable_problems, cabling, retrofit
from argosy.planning.headline import quantiles
from argosy.planning.job import JobPlan
from argosy.planning.money import money_payload
from argosy.planning.payload import assumptions, plain
from argosy.planning.power_cap import cap_payload
from argosy.planning.power_trace import waveform_payload
from argosy.planning.site import it_load, network_account
from argosy.spec import Scenario

SCHEMA = "argosy.facility/1"
_PARTS = ("tree", "trips_first", "waveform", "cooling", "tco", "carbon", "water")


def facility_payload(scenario: Scenario, draws: int = 500, seed: int = 0) -> dict[str, Any]:
    """The contract's JSON of `argosy facility`, at central facts; the tornado and the gains of capping have draws.

    `draws`, `seed`: as in `plan`. Where the plan has no run (no layout divides), the parts are null and the verdict
    says why. Raises FactError as `plan` does.
    """
    if scenario.serving and not scenario.training:
        return _of_services(scenario, seed)
    need_training(scenario)
    answer = plan(scenario, draws, seed, services=False)
    setting = context(scenario)
    whole = answer.to_dict()
    payload = {
        "schema": SCHEMA,
        "version": __version__,
        "facts_date": whole["facts_date"],
        "scenario": whole["scenario"],
        "verdict": whole["verdict"],
        "left_out": without_services(scenario),
    }
    if answer.nominal is None:
        return {**payload, **dict.fromkeys(_PARTS)}
    load, around = _around(setting, answer)
    cables = cabling(setting, around.racks.nodes_per_rack)
    problems = cable_problems(setting, cables)
    money = money_payload(setting, answer.nominal, answer.fabrics, answer.drawn)
    body = {
        "boundary": answer.nominal.facility["boundary"],
        "power": power_levels(setting.values, setting.node, load, around, answer.fabrics),
        "tree": drawing(setting.values, around, load),
        "trips_first": around.trips_first,
        "levels": level_table(around, load),
        "racks": {
            **racks(setting, load, around),
            "cabling": cables,
            "problems": [*around.racks.problems, *problems],
        },
        "retrofit": retrofit(setting, load, around),
        "waveform": waveform_payload(setting, load, answer.nominal, seed=seed),
        "cooling": {**cooling(setting, load, around), "pue_quantiles": _pue_quantiles(answer)},
        "power_cap": cap_payload(setting, _longest(answer), load, around, seed=seed),
        **money,
        "problems": answer.nominal.facility["problems"],
        "cautions": answer.nominal.facility["cautions"],
        "assumptions": whole["assumptions"],
    }
    return dict(plain({**payload, **body}))


def _of_services(scenario: Scenario, seed: int) -> dict[str, Any]:
    """The JSON for services alone: the nodes that they take. Requests do not move in step: no waveform, no remedy, no cap."""
    from argosy.planning.service_money import services_money, services_run

    run = services_run(scenario, seed)

    setting, network = run.part, run.shared.network
    load = it_load(setting, network)
    site = site_numbers(setting.values, setting.scenario.facility, setting.scenario.prices)
    around = building(setting.values, setting.scenario.facility, site, load, run.facility["it_mean_w"])
    cables = cabling(setting, around.racks.nodes_per_rack)
    payload = {
        "schema": SCHEMA,
        "version": __version__,
        "facts_date": setting.catalog.facts_date,
        "scenario": {"name": scenario.name, "hash": scenario.hash},
        "verdict": run.verdict.to_dict(),
        "left_out": [
            "requests do not move in step: no waveform, no remedies, no power cap of a training step"
        ],
        "boundary": run.facility["boundary"],
        "power": power_levels(setting.values, setting.node, load, around, None),
        "tree": drawing(setting.values, around, load),
        "trips_first": around.trips_first,
        "levels": level_table(around, load),
        "racks": {
            **racks(setting, load, around),
            "cabling": cables,
            "problems": [*around.racks.problems, *cable_problems(setting, cables)],
        },
        "retrofit": retrofit(setting, load, around),
        "waveform": None,
        "cooling": {**cooling(setting, load, around), "pue_quantiles": None},
        "power_cap": None,
        **services_money(run),
        "problems": run.facility["problems"],
        "cautions": run.facility["cautions"],
        "assumptions": assumptions(setting),
    }
    return dict(plain(payload))


def _around(setting: Context, answer: Plan) -> tuple[ItLoad, Building]:
    """What the fleet draws and the building around it, as the plan has them, at central facts."""
    assert answer.nominal is not None
    values, settings = setting.values, setting.scenario.facility
    load = it_load(setting, network_account(answer.fabrics))
    site = site_numbers(values, settings, setting.scenario.prices)
    return load, building(values, settings, site, load, answer.nominal.facility["it_mean_w"])


def _pue_quantiles(answer: Plan) -> dict[str, float]:
    """The PUE over the draws of the plan's facts."""
    assert answer.nominal is not None and answer.drawn is not None
    return quantiles(float(answer.nominal.facility["pue"]), answer.drawn.facility["pue"])


def _longest(answer: Plan) -> JobPlan:
    """The job that trains the most tokens."""
    assert answer.nominal is not None
    return max(answer.nominal.jobs, key=lambda each: each.tokens).job


def power_levels(
    values: Values, name: str, load: ItLoad, around: Building, fabrics: Sequence[Mapping[str, Any]] | None
) -> list[dict[str, Any]]:
    """Watts by boundary, one accelerator board to the whole facility, at four levels: idle, measured, capped, nameplate.

    `idle`: on, no job; `measured`: the most that dense training draws; `capped`: what a cap (or the board's default
    limit) allows; `nameplate`: the maker's maximum. Racks and the facility have no nameplate of their own: the sum.
    `fabrics` None: a part of larger fabrics, whose maximum is not known. `sources` of board and node are the catalog's, `name`
    being the node's in it.
    """
    node, nodes = load.node, load.nodes + load.spare_nodes
    per_rack = around.racks.nodes_per_rack
    board = f"accelerators.{node.accelerator}.power_"
    idle_it = nodes * node.idle_w + load.others_w(values, nodes * node.measured_w)
    name_it = nodes * node.nameplate_w + load.others_w(values, nodes * node.nameplate_w)
    rows = [
        ("accelerator board", 1, values.get(f"{board}idle"), values.get(f"{board}measured"),
         node.board_capped_w, values.get(f"{board}nameplate")),
        ("node at its inlet", 1, node.idle_w, node.measured_w, node.capped_w, node.nameplate_w),
        ("rack of nodes", per_rack, *(per_rack * w for w in (node.idle_w, node.measured_w, node.capped_w, node.nameplate_w))),
        ("switches and optics", 0, load.network_w, load.network_w, load.network_w,
         None if fabrics is None else _network_nameplate(values, fabrics)),
        ("storage and management", 0, *_storage(values, load, around)),
        ("IT: nodes, spares, network, storage", nodes, idle_it, around.measured.it_w, around.peak.it_w, name_it),
        ("facility at the meter", nodes, None, around.measured.meter_w, around.meter_peak_w, None),
    ]  # fmt: skip
    names = ("boundary", "nodes", "idle_w", "measured_w", "capped_w", "nameplate_w")
    told: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in rows]
    told[0]["sources"] = _sources(
        values, board, {"idle": "idle", "measured": "measured", "capped": "cap", "nameplate": "nameplate"}
    )
    own = {"idle": "idle", "measured": "measured_max", "nameplate": "nameplate"}
    told[1]["sources"] = _sources(values, f"nodes.{name}.power_", own)
    return told


def _network_nameplate(values: Values, fabrics: Sequence[Mapping[str, Any]]) -> float | None:
    """Watts of all switches at their makers' maximum, which has the hungriest modules in every cage; None if one is unknown."""
    counts = [
        (line["fact"], fabric["copies"] * line["count"])
        for fabric in fabrics
        for line in fabric["bill"]
        if str(line["fact"]).startswith("switches.")
    ]
    if any(f"{fact}.power_nameplate" not in values for fact, _ in counts):
        return None
    return sum((count * float(values[f"{fact}.power_nameplate"]) for fact, count in counts), start=0.0)


def _storage(values: Values, load: ItLoad, around: Building) -> tuple[Any, Any, Any, None]:
    """Watts of storage and management beside nodes that idle, work and draw their cap; they are given as a share of these."""
    nodes = load.nodes + load.spare_nodes
    at_work = load.others_w(values, nodes * load.node.measured_w) - load.network_w
    at_cap = around.peak.it_w - nodes * load.node.capped_w - load.network_w
    return at_work, at_work, at_cap, None


def _sources(values: Values, prefix: str, facts: dict[str, str]) -> dict[str, str]:
    """Where each level's number was read; what the catalog does not have for the node is built from its boards."""
    known = {level: values.facts.get(f"{prefix}{fact}") for level, fact in facts.items()}
    return {level: "built from the boards" if fact is None else fact.source for level, fact in known.items()}


def racks(setting: Context, load: ItLoad, around: Building) -> dict[str, Any]:
    """How nodes are packed, and what each limit alone would allow."""
    packed = around.racks
    return {
        "count": packed.count,
        "nodes_per_rack": packed.nodes_per_rack,
        "accelerators_per_rack": packed.nodes_per_rack * load.node.accelerators,
        "rack_w": packed.rack_w,
        "rack_kg": packed.mass_kg,
        "limited_by": packed.limited_by,
        "nodes_by_limit": packed.limits,
        "fits": packed.fits,
    }


def cooling(setting: Context, load: ItLoad, around: Building) -> dict[str, Any]:
    """The cooling class and why, the split of heat, the PUE by month, and the balance of heat at the mean load."""
    values, settings = setting.values, setting.scenario.facility
    name, plant, rack_w = settings.cooling, around.plant, around.racks.rack_w
    liquid = values[f"cooling.{name}.liquid_fraction"]
    needed = needed_class(values, rack_w)
    limit = values[f"cooling.{name}.rack_limit"]
    why = _why(name, needed, float(rack_w), float(limit))
    return {
        "class": name,
        "why": why,
        "needed_class": needed,
        "rack_w": rack_w,
        "rack_limit_w": limit,
        "liquid_fraction": liquid,
        "airflow_m3_per_s_per_rack": airflow_m3_per_s(values, rack_w, liquid),
        "heat_rejection": settings.heat_rejection,
        "supply_temperature_c": _supply(values, settings),
        "pue": around.pue,
        "pue_origin": "computed" if plant is not None else "given in the scenario",
        "pue_by_month": around.pue_by_month,
        "pue_peak": around.meter_peak_w / around.it_peak_w,
        "free_cooling_hours": None if plant is None else plant.free_cooling_share * 8766,
        "partly_free_hours": None if plant is None else plant.partial_share * 8766,
        "evaporated_l_per_it_kwh": None if plant is None else plant.litres_per_it_kwh,
        "overhead_w_per_it_w": None if plant is None else _overhead(plant),
        "balance": balance(around, liquid),
    }


def _why(name: str, needed: str, rack_w: float, limit_w: float) -> str:
    """Why this class, in words: what a rack needs and what the class carries."""
    rack, limit = f"a rack of {rack_w / 1e3:.0f} kW", f"{name} carries {limit_w / 1e3:.0f} kW"
    if not needed:
        return f"no class of the catalog carries {rack}; {limit}"
    if needed == name:
        return f"{rack} needs it ({limit})" if name != "air" else f"air is enough for {rack} ({limit})"
    return (
        f"{needed} would do for {rack}; {limit}" if rack_w <= limit_w else f"{rack} needs {needed}; {limit}"
    )


def _overhead(plant: Any) -> dict[str, Any]:
    names = ("electrical", "fans", "pumps", "rejection", "chiller", "other")
    return {name: getattr(plant, name) for name in names}


def _supply(values: Values, settings: Any) -> Any:
    if settings.supply_temperature_c is not None:
        return settings.supply_temperature_c
    loop = "air" if settings.cooling == "air" else "liquid"
    return values[f"cooling.{settings.cooling}.{loop}_supply"]


def balance(around: Building, liquid: Any) -> dict[str, Any]:
    """Watts in at the meter and out as heat at the mean load: what enters leaves, in the air, the liquid, or outdoors."""
    mean = around.mean
    to_liquid = mean.it_w * liquid
    return {
        "it_w": mean.it_w,
        "hall_loss_w": mean.hall_loss_w,
        "outdoor_loss_w": mean.outdoor_loss_w,
        "plant_w": mean.plant_w,
        "meter_w": mean.meter_w,
        "heat_by_liquid_w": to_liquid,
        "heat_by_air_w": mean.it_w - to_liquid + mean.hall_loss_w,
        "heat_of_plant_w": mean.plant_w,
        "heat_outdoors_w": mean.outdoor_loss_w,
    }
