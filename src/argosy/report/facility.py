"""The facility in the terminal: verdict, power by boundary, tree, racks, cooling, waveform, power cap, money, carbon, water."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from argosy.report import text as write
from argosy.report.terminal import verdict

_WIDE = 120  # columns from which what a remedy does fits beside its numbers
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def show_facility(payload: Mapping[str, Any], console: Console | None = None) -> None:
    """Print a payload of `argosy facility` to `console`, or to standard output."""
    console = console or Console(highlight=False)
    console.print(verdict(payload))
    if payload.get("tree") is None:
        return
    first, last = (_power, _tree, _racks, _cooling), (_cap, _money)
    parts = [part(payload) for part in first]
    if payload["waveform"] is not None:
        parts.append(_waveform(payload, console.width >= _WIDE))
    for part in [*parts, *(part(payload) for part in last)]:
        console.print(part)
    for told in payload["left_out"]:
        console.print(Text(told, "dim"))


def _table(title: str, columns: str, names: int = 1) -> Table:
    """A table with a title; the first `names` of the columns (separated by |) are words, the others numbers."""
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns.split("|")):
        table.add_column(column, justify="left" if number < names else "right")
    return table


def watts(value: float | None) -> str:
    """Watts with a prefix, or a dash."""
    if value is None:
        return "–"
    return write.scaled(value, "W") if abs(value) >= 1 else "0 W"


def _power(payload: Mapping[str, Any]) -> Table:
    table = _table("Power by boundary", "boundary|idle|measured|capped|nameplate")
    for row in payload["power"]:
        levels = (watts(row[key]) for key in ("idle_w", "measured_w", "capped_w", "nameplate_w"))
        table.add_row(row["boundary"], *levels)
    return table


def _tree(payload: Mapping[str, Any]) -> RenderableType:
    title = "Power tree, with every node at its cap in the year's hottest hour"
    table = _table(title, "level|units|each|usable|load|left|loss|carries", 1)
    for row in payload["levels"]:
        units = write.count(row["units"]) + ("" if row["redundancy"] == "N" else f" {row['redundancy']}")
        numbers = (row["unit_rating_w"], row["usable_w"], row["peak_w"])
        shown = (watts(number) for number in numbers)
        table.add_row(
            row["name"],
            units,
            *shown,
            write.percent(row["margin"]),
            watts(row["loss_peak_w"]),
            write.count(row["carries"]),
        )
    first = next(row for row in payload["levels"] if row["name"] == payload["trips_first"])
    line = f"trips first: {first['name']}, {write.percent(first['margin'])} below what it may carry ({first['origin']})"
    return Group(table, Text(line))


def _racks(payload: Mapping[str, Any]) -> RenderableType:
    racks = payload["racks"]
    each = f"{write.significant(racks['nodes_per_rack'])} nodes, {watts(racks['rack_w'])}, {write.count(racks['rack_kg'])} kg"
    lines = [
        Text.assemble(
            ("Racks: ", "bold"), f"{write.count(racks['count'])} of {each}; limited by {racks['limited_by']}"
        )
    ]
    for row in racks["cabling"]:
        parts = ", ".join(f"{write.count(count)} {name}" for name, count in row["parts"].items())
        leaf = f"; racks per leaf: {write.count(row['racks_per_leaf'])}" if "racks_per_leaf" in row else ""
        lines.append(Text(f"  {row['boundary']}: up to {row['longest_m']:.0f} m, {parts}{leaf}"))
    existing = payload["retrofit"]
    if existing is not None:
        most = existing["carries_accelerators"]
        room = "any number" if most is None else f"{write.count(most)}"
        answer = "the hall takes the fleet" if existing["fits"] else "the hall does not take the fleet"
        wanted = write.count(existing["wanted_accelerators"])
        lines.append(Text(f"  {answer}: it carries {room} accelerators of {wanted}"))
    return Group(*lines, *(Text(f"  - {problem}") for problem in racks["problems"]))


def _cooling(payload: Mapping[str, Any]) -> RenderableType:
    cooling = payload["cooling"]
    head = Text.assemble(("Cooling: ", "bold"), f"{cooling['class']}; {cooling['why']}")
    lines = [
        head,
        Text(
            f"  PUE {cooling['pue']:.3f} over the year ({_pue_origin(cooling)}), {cooling['pue_peak']:.3f} at the peak; "
            f"{write.percent(cooling['liquid_fraction'], 0)} of the heat in liquid, "
            f"supply {cooling['supply_temperature_c']:.0f} °C, "
            f"{cooling['airflow_m3_per_s_per_rack']:.2f} m³/s of air per rack"
        ),
    ]
    if cooling["free_cooling_hours"] is not None:
        wholly, partly = cooling["free_cooling_hours"], cooling["partly_free_hours"]
        lines.append(Text(f"  free cooling {wholly:,.0f} h a year, in part {partly:,.0f} h more"))
    table = Table(box=None, pad_edge=False, show_header=True, header_style="dim")
    for month in MONTHS:
        table.add_column(month, justify="right")
    table.add_row(*(f"{pue:.2f}" for pue in cooling["pue_by_month"]))
    return Group(*lines, table)


def _pue_origin(cooling: Mapping[str, Any]) -> str:
    """Computed, with its band over the facts, or given."""
    band = cooling["pue_quantiles"]
    spread = ""
    if band is not None and band["p10"] < band["p90"]:
        spread = f", P10 to P90 {band['p10']:.3f} to {band['p90']:.3f}"
    return f"{cooling['pue_origin']}{spread}"


def _waveform(payload: Mapping[str, Any], wide: bool) -> RenderableType:
    """Swing, ramps and the strongest line of the step; remedies with what they leave and cost; `wide`: and what they do."""
    wave = payload["waveform"]
    beat = (
        "nothing in 0.1 to 20 Hz"
        if wave["dominant_hz"] is None
        else f"strongest at {wave['dominant_hz']:.2f} Hz"
    )
    head = Text.assemble(
        ("Waveform of a step: ", "bold"),
        f"{watts(wave['mean_w'])} mean, swings by {watts(wave['swing_w'])} (P10 to P90 {_between(wave, 'swing_w')}), "
        f"{watts(wave['ramp_1s_w_per_s'])}/s over a second (to {watts(wave['quantiles']['ramp_1s_w_per_s']['p90'])}/s), "
        f"{beat}; {write.percent(wave['band_share'], 0)} of its variance in the utility's band",
    )
    worst = max(wave["life"]["events"], key=lambda event: event["drop_w"])
    life = Text(f"  deepest drop: {watts(worst['drop_w'])} below the mean at a {worst['kind']}")
    table = _table(
        "", f"remedy|{'what it does|' if wide else ''}swing|in 1 s|slower|energy|cost", 2 if wide else 1
    )
    for row in wave["mitigations"]:
        limit = {None: "", True: " ok", False: " over"}[row["within_limit"]]
        table.add_row(
            row["name"], *([row["how"]] if wide else []), watts(row["swing_w"]), watts(row["ramp_1s_w_per_s"]) + limit,
            write.percent(row["slowdown"]), f"{row['extra_kwh'] / 1e3:,.0f} MWh", write.dollars(row["usd"]),
        )  # fmt: skip
    return Group(head, life, table)


def _between(wave: Mapping[str, Any], name: str) -> str:
    band = wave["quantiles"][name]
    return f"{watts(band['p10'])} to {watts(band['p90'])}"


def _cap(payload: Mapping[str, Any]) -> RenderableType:
    """Capped many against uncapped few."""
    cap = payload["power_cap"]
    if cap is None:
        return Text("" if payload["waveform"] is None else "Power cap: the board's limit is not known")
    table = _table("", "cap|clock|speed|accelerators|J/token|gain|P10|P90", 0)
    for row in cap["rows"]:
        gain = row["gain"]
        table.add_row(
            watts(row["cap_w"]), write.percent(row["clock"], 0), write.percent(row["speed"], 1),
            write.count(row["accelerators"]), write.significant(row["joules_per_token"]),
            *(f"{100 * gain[key]:+.1f} %" for key in ("nominal", "p10", "p90")),
        )  # fmt: skip
    return Group(Text.assemble(("Power cap: ", "bold"), cap["answer"]), table)


def _money(payload: Mapping[str, Any]) -> RenderableType:
    """Cost, carbon and water in a line each, with what they count."""
    tco, carbon, water = payload["tco"], payload["carbon"], payload["water"]
    lines = sorted((line for line in tco["lines"] if line["usd"]), key=lambda line: -line["usd"])
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("")
    table.add_column("", justify="right")
    table.add_column("", justify="right")
    for line in lines:
        share = write.percent(line["usd"] / tco["total_usd"])
        table.add_row("  " + line["name"], write.dollars(line["usd"]), share)
    total = (
        f"{write.dollars(tco['total_usd'])}, ${tco['usd_per_gpu_hour']:.3f} per GPU-hour; {tco['boundary']}"
    )
    band = carbon["embodied"]
    grid = carbon["location_based"]
    return Group(
        Text.assemble(("Cost: ", "bold"), total),
        table,
        Text.assemble(
            ("Carbon: ", "bold"),
            f"{grid['kg'] / 1e3:,.0f} t CO2e, {grid['basis']}; embodied {band['low'] / 1e3:,.0f} to {band['high'] / 1e3:,.0f} t",
        ),
        Text.assemble(
            ("Water: ", "bold"),
            f"{write.large(water['on_site_litres'])} L on site ({water['wue_litres_per_it_kwh']:.2f} L per IT kWh), "
            f"{write.large(water['at_source_litres'])} L at power stations",
        ),
    )
