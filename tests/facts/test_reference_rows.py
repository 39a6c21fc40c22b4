"""Every row of the reference tables beside the checkout has its fact in the catalog, or a reason why not.

Where a cell holds prose ("747 with DAC; up to 1500 with multimode optics") its numbers are read one by one: all of them
must lie in the fact's band, which is how the catalog carries a disagreement.
"""

from __future__ import annotations

import csv
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from argosy.facts import load_catalog

Row = dict[str, str]
# row → (fact, factor from the cell's unit to the fact's, the column whose numbers must lie in its band)
NODES: dict[str, tuple[str, float, str]] = {
    "DGX-1 V100": ("nodes.DGX-1.power_nameplate", 1e3, "max_power_kW"),
    "DGX-2": ("nodes.DGX-2.power_nameplate", 1e3, "max_power_kW"),
    "DGX A100": ("nodes.DGX-A100.power_nameplate", 1e3, "max_power_kW"),
    "DGX H100": ("nodes.DGX-H100.power_nameplate", 1e3, "max_power_kW"),
    "DGX H200": ("nodes.DGX-H200.power_nameplate", 1e3, "max_power_kW"),
    "DGX B200": ("nodes.DGX-B200.power_nameplate", 1e3, "max_power_kW"),
    "DGX B300": ("nodes.DGX-B300.power_nameplate", 1e3, "max_power_kW"),
    "GB200 compute tray (Bianca x2)": ("nodes.GB200-tray.power_nameplate", 1e3, "max_power_kW"),
    "GB200 NVL72 rack": ("racks.GB200-NVL72.power_nameplate", 1e3, "max_power_kW"),
    "GB300 NVL72 rack": ("racks.GB300-NVL72.power_nameplate", 1e3, "max_power_kW"),
    "Vera Rubin NVL72 rack": ("racks.Vera-Rubin-NVL72.power_nameplate", 1e3, "max_power_kW"),
    "Kyber NVL576 rack": ("racks.Kyber-NVL576.power_nameplate", 1e3, "max_power_kW"),
    "CloudMatrix384": ("clusters.CloudMatrix384.power", 1e3, "max_power_kW"),
    "100k H100 cluster (model)": ("clusters.H100-100k-model.power", 1e3, "max_power_kW"),
    "NVIDIA DPS sample: 144x DGX GB300 nodes, 8 racks": ("clusters.DPS-sample.utility", 1e3, "max_power_kW"),
    "TPU v4 pod": ("clusters.TPU-v4-pod.accelerators", 1.0, "accelerators"),
    "TPU v5e pod": ("clusters.TPU-v5e-pod.accelerators", 1.0, "accelerators"),
    "TPU v5p pod": ("clusters.TPU-v5p-pod.accelerators", 1.0, "accelerators"),
    "TPU v6e pod": ("clusters.TPU-v6e-pod.accelerators", 1.0, "accelerators"),
    "TPU7x pod": ("clusters.TPU7x-pod.accelerators", 1.0, "accelerators"),
    "Trn2 UltraServer": ("clusters.Trn2-UltraServer.accelerators", 1.0, "accelerators"),
}
SWITCHES: dict[str, tuple[str, float, str]] = {
    "QM8700/8790": ("switches.QM8700.capacity", 1e12, "one_way_Tbps"),
    "QM9700/9790": ("switches.QM9700.capacity", 1e12, "one_way_Tbps"),
    "Q3400-RA": ("switches.Q3400-RA.capacity", 1e12, "one_way_Tbps"),
    "SN5600/SN5610": ("switches.SN5600.capacity", 1e12, "one_way_Tbps"),
    "SN5400": ("switches.SN5400.capacity", 1e12, "one_way_Tbps"),
    "SN6600-LD": ("switches.SN6600-LD.capacity", 1e12, "one_way_Tbps"),
    "SN6810-LD": ("switches.SN6810-LD.capacity", 1e12, "one_way_Tbps"),
    "SN6800-LD": ("switches.SN6800-LD.capacity", 1e12, "one_way_Tbps"),
    "Tomahawk 5 box": ("switches.Tomahawk5-64x800G.capacity", 1e12, "one_way_Tbps"),
    "Tomahawk 6": ("switches.Tomahawk6.capacity", 1e12, "one_way_Tbps"),
    "NVSwitch gen3 (HGX H100)": ("scale_up_switches.NVSwitch3.ports", 1.0, "ports"),
    "NVLink switch tray (NVL72)": ("scale_up_switches.NVL72-switch-tray.capacity", 1e12, "one_way_Tbps"),
    "CloudMatrix UB L1/L2": ("scale_up_switches.CloudMatrix-UB.level_1", 1.0, ""),
}
OPTICS: dict[str, tuple[str, float, str]] = {
    "MMA4Z00-NS twin-port OSFP SR8 (MMF)": ("optics.SR8-800G.power", 1.0, "power_W_max"),
    "MMA4Z00-NS400 / MMA1Z00-NS400 SR4": ("optics.SR4-400G.power", 1.0, "power_W_max"),
    "MMS4X00-NS400 DR4 (SMF)": ("optics.DR4-400G.power", 1.0, "power_W_max"),
    "MMS4X00-NS twin DR8 (SMF)": ("optics.DR8-800G.power", 1.0, "power_W_max"),
    "MMS4X50-NM twin 2xFR4": ("optics.FR4-800G.reach", 1.0, "reach_m"),
    "HDR cable/port": ("optics.HDR-200G.power", 1.0, "power_W_max"),
    "DAC passive": ("optics.DAC-800G.power", 1.0, "power_W_max"),
    "BlueField-3 vs ConnectX-7 as NIC": ("nics.BlueField-3.extra_power", 1.0, "power_W_max"),
    "CloudMatrix384 optics count": ("clusters.CloudMatrix384.optical_modules", 1.0, ""),
    "NIC-to-leaf 400G link MTBF 5 y (2x400G: 4 y)": ("links.NDR.mttf", 1.0, ""),
    "64x400G IB switch list (FS / NVIDIA)": ("switches.QM9700.price", 1.0, "price_usd"),
}
STORAGE = {
    "DGX H100 internal NVMe": "storage.DGX-H100-local.capacity",
    "DGX B300 internal NVMe": "storage.DGX-B300-local.capacity",
    "DGX H100 SuperPOD storage fabric per node": "storage.SuperPOD.bandwidth_per_node",
    "SuperPOD storage fabric oversubscription": "storage.SuperPOD.oversubscription",
    "small-file open local NVMe vs Lustre": "storage.small-files.shared_latency",
    "Storage share of AI DC capex": "facility.money.storage_share",
    "Storage+network+CPU nodes+optics share of IT power": "site.power-dynamics.other_it_share",
}
# beginning of (category, item) → (fact, factor[, which of the value's numbers]); they must lie in the band
COST: dict[tuple[str, str], tuple[Any, ...]] = {
    ("capex_server", "8x H100 server"): ("nodes.DGX-H100.price", 1.0),
    ("capex_server", "DGX H100 sale price"): ("nodes.DGX-H100.price", 1.0),
    ("capex_cluster", ""): ("prices.H100-SXM.capital_all_in", 1.0),
    ("capex_rack", "GB200 NVL72"): ("racks.GB200-NVL72.price", 1.0),
    ("capex_cooling", "GB300 NVL72"): ("racks.GB300-NVL72.cooling_price", 1.0, slice(1)),
    ("capex_share", "interconnect"): ("facility.money.network_share", 1.0),
    ("capex_share", ""): ("facility.money.network_share", 0.01, slice(1)),
    ("capex_factor", ""): ("facility.money.server_factor", 1.0),
    ("capex_total", ""): ("prices.capital.all_per_watt", 1e-9),
    ("residual", ""): ("prices.capital.residual_3y", 0.01),
    ("depreciation", ""): ("prices.capital.price_halving", 365.25 * 86400, slice(1, 2)),
    ("gpu_hour_index", ""): ("prices.H100-SXM.contract", 1.0),
    ("gpu_hour_median", ""): ("prices.H100-SXM.on_demand", 1.0),
    ("gpu_hour_ondemand_range", "A100 80GB"): ("prices.A100-80GB-SXM.on_demand", 1.0),
    ("gpu_hour_ondemand_range", "H100 SXM5"): ("prices.H100-SXM.on_demand", 1.0),
    ("gpu_hour_ondemand_range", "H200 SXM5"): ("prices.H200-SXM.on_demand", 1.0),
}
# What no fact of ours carries, and why. Beginnings of the row's name are enough.
REASONS = {
    "SN5600 port budget": "a limit of the cage, in switches.SN5600.power_nameplate",
    "SMF DR/FR vs MMF SR price ratio": "a ratio: the prices of DR modules are 2.5 times those of SR",
    "Coherent 800G campus vs SR price ratio": "no reach and no price are given: not a part that a cable list can choose",
    "conflict": "two secondary pages contradict each other; the table itself says to use neither",
    "tco_multiplier": "a rival's ranking of sellers; storage, network, support and goodput are lines of our own bill",
    "server_life": "accounting lives by year of purchase; prices.capital.lifetime_it holds today's five years",
    "grid-critical modes": "frequencies of generators' shafts: no law here uses them",
    "generator response time": "the utility's answer to a ramp; facility.ramp_limit is given by the scenario",
    "Llama-3 24k H100 cluster": "words (tens of MW): a test of the waveform, not a fact",
    "Llama-3 diurnal": "the throughput of one cluster on hot days: the power cap's model has its own uncertainty",
    "power model error": "an accuracy of other people's models",
    "ResNet batch": "image models are not modelled",
    "POLCA": "oversubscription for inference; the power tree takes the scenario's own",
    "H100 cap 600/700 W": "a vendor's claim without a measurement",
    "Hopper profile": "a summary of a claim",
    "MIT SuperCloud": "caps that a site chose: facility.power_cap is the scenario's",
    "No universal optimal cap": "words",
    "Emerald AI": "demand response of one trial: the scenario's own cap and schedule",
    "Power-optimal formula": "a formula: laws.power.power_at_utilization",
    "mixed batch": "words",
    "Firefly": "carried as mitigations.dummy.slowdown",
}
DYNAMICS = {
    "swing frequency": "site.power-dynamics.swing_frequency_high",
    "utility bands": "site.power-dynamics.utility_band_high",
    "spec: max spectral energy": "site.power-dynamics.spectral_limit",
    "GB200 minimum power floor": "site.power-dynamics.floor_low",
    "GB200 achievable residual swing": "site.power-dynamics.floor_low",
    "GB300 PSU energy storage": "site.power-dynamics.storage_peak_cut",
    "8xH100 node measured max": "nodes.DGX-H100.power_measured_max",
    "8xH100 heavy workloads": "nodes.DGX-H100.power_heavy",
    "server TDP fraction": "site.power-dynamics.server_average_share",
    "chip->server multiplier": "facility.node.chip_to_server",
    "B200 Max-Q": "site.power-dynamics.power_cap_performance",
    "GB200 tray idle": "nodes.GB200-tray.power_idle",
}
PATHS = {
    "gpu_hour_1y": "reserved_1y",
    "gpu_hour_3y": "reserved_3y",
    "gpu_hour_spot": "spot",
    "capex_chip": "capital",
}


def rows(folder: Path, name: str) -> list[Row]:
    with (folder / "data" / "catalog" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def numbers(cell: str) -> list[float]:
    """The numbers of a cell that may be prose: "3.1M" is 3.1e6, "38e9" is one number, "50-60e9" are 50e9 and 60e9."""
    cell = re.sub(r"(\d)-(\d+(?:\.\d+)?)(e\d+)", r"\1\3-\2\3", cell)
    scale = {"M": 1e6, "k": 1e3}
    found = re.findall(r"(?<![\w.])(\d+(?:\.\d+)?(?:e\d+)?)\s?([Mk]?)(?![\w.]*\d)", cell)
    return [float(number) * scale.get(suffix, 1.0) for number, suffix in found]


def outside(path: str, values: list[float], factor: float) -> list[float]:
    """Which of `values` lie outside the fact's band by more than one per cent."""
    fact = load_catalog().facts[path]
    low = (fact.value if fact.low is None else fact.low) * 0.99
    high = (fact.value if fact.high is None else fact.high) * 1.01
    return [value for value in values if not low <= value * factor <= high]


def reason(text: str) -> str | None:
    return next((why for beginning, why in REASONS.items() if text.startswith(beginning)), None)


def unplaced(table: list[Row], column: str, mapped: dict[str, tuple[str, float, str]]) -> Iterator[str]:
    """Rows without a fact or a reason, and rows whose numbers the fact's band does not hold."""
    for row in table:
        name = row[column]
        if name in mapped:
            path, factor, cell = mapped[name]
            if path not in load_catalog().facts:
                yield f"{name}: the catalog has no {path}"
            elif cell and row[cell] and outside(path, numbers(row[cell]), factor):
                yield f"{name}: {row[cell]} is outside of {path}"
        elif reason(name) is None:
            yield f"{name}: no fact and no reason"


@pytest.mark.parametrize(
    ("name", "column", "mapped"),
    [("nodes", "system", NODES), ("switches", "switch", SWITCHES), ("optics_cables", "part", OPTICS)],
)
def test_machines_and_parts(
    shared_directory: Path, name: str, column: str, mapped: dict[str, tuple[str, float, str]]
) -> None:
    assert list(unplaced(rows(shared_directory, name), column, mapped)) == []


@pytest.mark.parametrize(
    ("switch", "column", "path", "factor"),
    [
        ("QM9700/9790", "power_W", "switches.QM9700.power_nameplate", 1.0),
        ("QM9700/9790", "latency_ns", "switches.QM9700.latency", 1e-9),
    ],
)
def test_prose_in_a_numeric_cell_is_a_band(
    shared_directory: Path, switch: str, column: str, path: str, factor: float
) -> None:
    row = next(row for row in rows(shared_directory, "switches") if row["switch"] == switch)
    found = numbers(row[column])
    assert len(found) >= 2
    facts = load_catalog().facts
    lowest = facts["switches.QM9700.power"].value if column == "power_W" else None
    assert [value for value in outside(path, found, factor) if value != lowest] == []


def test_storage(shared_directory: Path) -> None:
    facts = load_catalog().facts
    missing = [
        row["item"] for row in rows(shared_directory, "storage") if STORAGE.get(row["item"]) not in facts
    ]
    assert missing == []


def test_power_dynamics(shared_directory: Path) -> None:
    facts, lost = load_catalog().facts, []
    for row in rows(shared_directory, "power_dynamics"):
        path = next((path for key, path in DYNAMICS.items() if row["quantity"].startswith(key)), None)
        if path not in facts and reason(row["quantity"]) is None:
            lost.append(row["quantity"])
    assert lost == []


def test_prices(shared_directory: Path) -> None:
    """Hour prices and chip prices lie in the band of their accelerator's year, all others in the band of their fact."""
    history = runpy.run_path(str(Path(__file__).resolve().parents[2] / "tools" / "price_history.py"))
    name_of, year_of = history["name_of"], history["year_of"]
    facts, lost, placed = load_catalog().facts, [], 0
    for row in rows(shared_directory, "cost"):
        category, item = row["category"], row["item"]
        known = next((it for key, it in COST.items() if category == key[0] and item.startswith(key[1])), None)
        if known is not None:
            path, factor, *chosen = known
            wrong = outside(path, numbers(row["value"])[chosen[0] if chosen else slice(None)], factor)
        elif category == "electricity":
            place = row["region_or_vendor"].replace(" ", "-")
            own = f"power_prices.{place}.electricity"
            year = own if own in facts else f"power_prices.United-States.y{row['date'][:4]}"
            wrong = outside(year, [float(row["value"])], 1.0)
        elif category in PATHS or category == "gpu_hour_ondemand":
            path = f"price_history.{name_of(item)}.{PATHS.get(category, 'on_demand')}_{year_of(row['date'])}"
            wrong = outside(path, [float(row["value"])], 1.0) if path in facts else [0.0]
        else:
            wrong = [] if reason(category) else [0.0]
        placed += not wrong
        lost += [(category, item, row["value"])] if wrong else []
    assert lost == [] and placed > 550


def test_no_row_has_both_a_fact_and_a_reason() -> None:
    assert [name for name in (*NODES, *SWITCHES, *OPTICS, *STORAGE) if reason(name)] == []


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("747 with DAC; up to 1500 with multimode optics", [747, 1500]),
        ("conflict: <130, <150, ~330", [130, 150, 330]),
        ("3.1M", [3.1e6]),
        ("35e9 (Bernstein) ; 50-60e9 (NVIDIA)", [35e9, 50e9, 60e9]),
        ("", []),
    ],
)
def test_numbers_are_read_out_of_prose(cell: str, expected: list[float]) -> None:
    assert numbers(cell) == expected
