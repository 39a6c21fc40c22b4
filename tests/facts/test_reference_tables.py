"""The catalog against an independent compilation of the same hardware, where that lies beside the checkout.

Both were read from public sources by different hands: a slip in one shows as a difference. Where the two
differ for a known reason, the reason stands here.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from argosy.facts import FactError, load_catalog

# column of the table → our fact and the factor from the column's unit
COLUMNS = {
    "bf16_tflops_dense": ("peak_bf16", 1e12),
    "fp16_tflops_dense": ("peak_fp16", 1e12),
    "fp8_tflops_dense": ("peak_fp8", 1e12),
    "int8_tops_dense": ("peak_int8", 1e12),
    "fp4_tflops_dense": ("peak_fp4", 1e12),
    "tf32_tflops_dense": ("peak_tf32", 1e12),
    "fp32_tflops": ("peak_fp32", 1e12),
    "hbm_gb": ("memory_marketed", 1e9),
    "hbm_TBps": ("memory_bandwidth", 1e12),
    "scaleup_GBps_per_direction": ("scale_up_bandwidth", 1e9),
    "scaleup_domain_default": ("scale_up_domain", 1.0),
    "scaleout_nic_Gbps_per_accel": ("nic_bandwidth", 1e9),
    "power_w": ("power_nameplate", 1.0),
    "measured_max_matmul_bf16_tflops": ("achievable_matmul_bf16", 1e12),
}
DIFFERENT = {
    ("H800-SXM", "peak_tf32"): "the table itself calls its 454.5 a likely slip for 494.5",
    ("Gaudi3", "scale_up_bandwidth"): "the table counts the three scale-out ports, the catalog does not",
    ("H100-PCIe", "scale_up_domain"): "one without NVSwitch, eight over PCIe in the usual server",
    ("TPU-v4", "power_nameplate"): "the table has the mean, the catalog's nameplate is the maximum",
}


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "data" / "catalog" / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def agrees(path: str, value: float, tolerance: float = 0.01) -> bool:
    """True where the fact is `value`, or its band holds it."""
    fact = load_catalog().facts[path]
    low = min(x for x in (fact.low, fact.value) if x is not None)
    high = max(x for x in (fact.high, fact.value) if x is not None)
    return low * (1 - tolerance) <= value <= high * (1 + tolerance)


def test_accelerators(shared_directory: Path) -> None:
    catalog, compared, missing, differing = load_catalog(), 0, [], []
    for row in rows(shared_directory, "accelerators.csv"):
        try:
            entry = catalog.entry("accelerators", row["name"])
        except FactError:
            missing.append(row["name"])
            continue
        for column, (fact, factor) in COLUMNS.items():
            if row[column] and fact in entry.facts and (entry.name, fact) not in DIFFERENT:
                compared += 1
                if not agrees(entry.path(fact), float(row[column]) * factor):
                    differing.append((entry.path(fact), row[column], entry.facts[fact].value))
    assert missing == [] and differing == [] and compared > 250


def test_nodes(shared_directory: Path) -> None:
    catalog = load_catalog()
    found = 0
    for row in rows(shared_directory, "nodes.csv"):
        for section in ("nodes", "racks"):
            try:
                entry = catalog.entry(section, row["system"])
            except FactError:
                continue
            found += 1
            if row["max_power_kW"]:
                assert agrees(entry.path("power_nameplate"), float(row["max_power_kW"]) * 1e3), entry.name
    assert found >= 7


def test_carbon_of_every_country(shared_directory: Path) -> None:
    catalog = load_catalog()
    table = rows(shared_directory, "carbon_intensity_owid.csv")
    assert len(table) > 200
    for row in table:
        entry = catalog.entry("regions", row["zone"])
        assert entry.facts["carbon_intensity"].value * 1000 == pytest.approx(
            float(row["g_per_kwh_lifecycle"]), rel=1e-4
        )
        assert row["year"] in entry.facts["carbon_intensity"].kind
