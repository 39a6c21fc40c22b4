"""Rack profiles against their own arithmetic, and the table of prices by year against listings of our own."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from argosy.facts import load_catalog
from argosy.facts.compile import read_file

TOOL = Path(__file__).resolve().parents[2] / "tools" / "price_history.py"
LISTINGS = """category,item,date,value,source
gpu_hour_ondemand,NVIDIA H100 SXM5 80GB,2025-03-01,2.0,epoch-research/x
gpu_hour_ondemand,H100 SXM,catalog v8 (2025),4.0,skypilot-org/skypilot-catalog nebius/vms.csv
gpu_hour_ondemand,H100 SXM,2025-06-01,3.5,epoch-research/x
gpu_hour_3y,NVIDIA A100 PCIe,2022-05-26,1.36,epoch-research/x
capex_chip,Google TPU v4,2021-05-20,5176.0,epoch-research/x
electricity,industrial,2025-04,0.1,eia
"""


def fact(path: str) -> float:
    return load_catalog().facts[path].value


def test_a_rack_of_gb300() -> None:
    """18 trays of four boards of 1.4 kW, 1.0 and 0.9 kW of host: 135 kW; sources print 132 to 142, peaks of 155."""
    rack = load_catalog().entry("racks", "GB300-NVL72").facts
    assert rack["power_planning"].value == pytest.approx(18 * (4 * 1.4 + 1.0 + 0.9) * 1e3)
    nameplate = rack["power_nameplate"]
    assert (nameplate.low, nameplate.value, nameplate.high) == (132e3, 142e3, 155e3)
    assert rack["liquid_fraction"].value == 0.9
    assert rack["cooling_price"].value == 18 * 2260 + 9 * 1020


def test_a_rack_is_its_nodes() -> None:
    catalog = load_catalog()
    for name, nodes in (("DGX-H100-rack", 4), ("DGX-B300-rack", 4), ("GB200-NVL72", 18), ("GB300-NVL72", 18)):
        rack = catalog.entry("racks", name)
        node = catalog.entry("nodes", rack.text["node"])
        assert rack.facts["accelerators"].value == nodes * node.facts["accelerators"].value
        own = nodes * node.facts["power_nameplate"].value
        high = rack.facts["power_nameplate"].high or rack.facts["power_nameplate"].value
        assert 0.9 * own < high < 1.3 * own, name


def test_a_supernode_is_its_racks() -> None:
    """559 kW over twelve compute racks of 32 packages, the four of switches with them."""
    rack = load_catalog().entry("racks", "CloudMatrix384-rack").facts
    whole = load_catalog().entry("clusters", "CloudMatrix384").facts
    assert 12 * rack["accelerators"].value == whole["accelerators"].value
    assert 12 * rack["power_nameplate"].value == pytest.approx(whole["power"].value, rel=0.01)
    assert 16 * (rack["power_nameplate"].low or 0.0) == pytest.approx(whole["power"].value, rel=0.01)


def test_a_pod_of_tpu_v4_is_64_racks() -> None:
    assert 64 * fact("racks.TPU-v4-rack.accelerators") == fact("clusters.TPU-v4-pod.accelerators")
    assert 64 * fact("racks.TPU-v4-rack.power_chips") == pytest.approx(
        fact("clusters.TPU-v4-pod.power"), rel=0.01
    )


def test_prices_by_year(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listings, written = tmp_path / "listings.csv", tmp_path / "history.yaml"
    listings.write_text(LISTINGS, encoding="utf-8")
    runpy.run_path(str(TOOL))["main"](str(listings))
    written.write_text(capsys.readouterr().out, encoding="utf-8")
    facts = {(entry[1], row[0]): row for entry in read_file(written) for row in entry[4]}
    _, value, unit, low, high, kind, source, *_ = facts["H100-SXM", "on_demand_2025"]
    assert (value, unit, low, high, kind) == (3.5, "USD/GPU-h", 2.0, 4.0, "median of 3 listings")
    assert "epoch" in source and "nebius" in source
    assert facts["A100-PCIe", "reserved_3y_2022"][5] == "one listing"
    assert facts["TPU-v4", "capital_2021"][1:3] == [5176.0, "USD"]
    assert len(facts) == 3


def test_a_name_that_no_pattern_knows_is_refused() -> None:
    with pytest.raises(KeyError, match="no name is known"):
        runpy.run_path(str(TOOL))["name_of"]("Mystery 9000")
