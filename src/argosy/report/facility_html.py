"""The facility as one HTML page: pictures first, then the tables behind them; no request leaves it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from argosy.report import facility_charts as charts
from argosy.report import text as write
from argosy.report.facility import watts
from argosy.report.html import _STYLE, _assumptions, _figure, _section, _table, _top


def facility_html(payload: Mapping[str, Any]) -> str:
    """A self-contained page for a payload of `argosy facility`."""
    name = payload["scenario"]["name"]
    sections = [_top(payload)]
    if payload.get("tree") is not None:
        sections += [part(payload) for part in (_power, _waveform, _cooling, _cap, _money, _assumptions)]
    version, date = escape(payload["version"]), escape(payload["facts_date"])
    sections.append(f'<p class="soft">Argosy {version}, facts of {date}.</p>')
    body = "\n".join(sections)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(name)}: facility by Argosy</title><style>{_STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )


def _power(payload: Mapping[str, Any]) -> str:
    levels = ("idle_w", "measured_w", "capped_w", "nameplate_w")
    rows = [[escape(row["boundary"]), *(watts(row[key]) for key in levels)] for row in payload["power"]]
    by_boundary = _table(["boundary", "idle", "measured", "capped", "nameplate"], rows, {1, 2, 3, 4})
    tree = [
        [
            escape(row["name"]),
            f"{write.count(row['units'])} ({row['redundancy']})",
            *(watts(row[key]) for key in ("unit_rating_w", "usable_w", "mean_w", "peak_w", "loss_peak_w")),
            write.percent(row["margin"]),
            escape(row["origin"]),
        ]
        for row in payload["levels"]
    ]
    heads = ["level", "units", "each", "usable", "mean", "peak", "loss at peak", "left", "origin"]
    racks = payload["racks"]
    words = (
        f"<p>{write.count(racks['count'])} racks of {write.significant(racks['nodes_per_rack'])} nodes, "
        f"{watts(racks['rack_w'])} and {write.count(racks['rack_kg'])} kg each; limited by {escape(racks['limited_by'])}.</p>"
    )
    figure = _figure(charts.tree_icicle(payload))
    return _section("Power", figure + by_boundary + _table(heads, tree, {1, 2, 3, 4, 5, 6, 7}) + words)


def _waveform(payload: Mapping[str, Any]) -> str:
    wave = payload["waveform"]
    if wave is None:
        return ""
    figures = "".join(_figure(draw(payload)) for draw in (charts.waveform, charts.spectrum, charts.life))
    rows = [
        [
            escape(row["name"]),
            escape(row["how"]),
            watts(row["swing_w"]),
            f"{watts(row['ramp_1s_w_per_s'])}/s",
            watts(row["dominant_w"]),
            f"{write.large(row['extra_kwh'])} kWh",
            write.percent(row["slowdown"]),
            write.dollars(row["usd"]),
        ]
        for row in wave["mitigations"]
    ]
    heads = [
        "remedy",
        "what it does",
        "swing",
        "over 1 s",
        "strongest line",
        "energy",
        "slower by",
        "cost of the run",
    ]
    return _section(
        "Waveform", figures + _table(heads, rows, {2, 3, 4, 5, 6, 7}) + f"<p>{escape(wave['boundary'])}</p>"
    )


def _cooling(payload: Mapping[str, Any]) -> str:
    cooling = payload["cooling"]
    rows = [
        ["class", f"{escape(cooling['class'])}: {escape(cooling['why'])}"],
        [
            "PUE",
            f"{cooling['pue']:.3f} over the year ({escape(cooling['pue_origin'])}), {cooling['pue_peak']:.3f} at the peak",
        ],
        ["heat in liquid", write.percent(cooling["liquid_fraction"], 0)],
        ["supply", f"{cooling['supply_temperature_c']:.0f} °C, rejected {escape(cooling['heat_rejection'])}"],
        ["air per rack", f"{cooling['airflow_m3_per_s_per_rack']:.2f} m³/s"],
    ]
    if cooling["free_cooling_hours"] is not None:
        free, partly = cooling["free_cooling_hours"], cooling["partly_free_hours"]
        rows.append(["free cooling", f"{free:,.0f} h a year, in part {partly:,.0f} h more"])
    return _section("Cooling", _figure(charts.pue_by_month(payload)) + _table(["", ""], rows, set()))


def _cap(payload: Mapping[str, Any]) -> str:
    cap = payload["power_cap"]
    if cap is None:
        return ""
    rows = [
        [
            watts(row["cap_w"]),
            write.percent(row["clock"], 0),
            write.percent(row["speed"]),
            write.count(row["accelerators"]),
            write.significant(row["joules_per_token"]),
            *(f"{100 * row['gain'][key]:+.1f} %" for key in ("nominal", "p10", "p90")),
        ]
        for row in cap["rows"]
    ]
    heads = ["cap", "clock", "speed", "accelerators", "J/token", "tokens", "P10", "P90"]
    return _section("Power cap", _figure(charts.cap_gain(payload)) + _table(heads, rows, set(range(8))))


def _money(payload: Mapping[str, Any]) -> str:
    tco, carbon, water = payload["tco"], payload["carbon"], payload["water"]
    lines = [
        [escape(line["name"]), write.dollars(line["usd"]), write.percent(line["usd"] / tco["total_usd"])]
        for line in tco["lines"]
    ]
    lines.append(
        [
            "<b>total</b>",
            f"<b>{write.dollars(tco['total_usd'])}</b>",
            f"${tco['usd_per_gpu_hour']:.3f} per GPU-hour",
        ]
    )
    grid, band = carbon["location_based"], carbon["embodied"]
    words = (
        f"<p>{escape(tco['boundary'])}.</p>"
        f"<p>Carbon: {grid['kg'] / 1e3:,.0f} t CO2e, {escape(grid['basis'])}; embodied "
        f"{band['low'] / 1e3:,.0f} to {band['high'] / 1e3:,.0f} t. "
        f"Water: {write.large(water['on_site_litres'])} L on site, "
        f"{write.large(water['at_source_litres'])} L at power stations.</p>"
    )
    return _section("Cost, carbon, water", _table(["line", "USD", "share"], lines, {1, 2}) + words)
