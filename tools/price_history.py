"""Writes src/argosy/facts/data/price-history.yaml: published prices by accelerator, path and year, from a CSV of listings.

    python tools/price_history.py listings.csv > src/argosy/facts/data/price-history.yaml

Columns: category, item, date, value, source. Each fact is the median of a year's listings with the lowest and highest as
its band; how many there were stands in its kind.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import defaultdict
from statistics import median

PATHS = {
    "gpu_hour_ondemand": "on_demand",
    "gpu_hour_1y": "reserved_1y",
    "gpu_hour_3y": "reserved_3y",
    "gpu_hour_spot": "spot",
    "capex_chip": "capital",
}
# Listings name one thing in many ways; the first pattern that fits decides.
NAMES = (
    (r"H100 (SXM|SXM5)", "H100-SXM"),
    (r"H100 NVL", "H100-NVL"),
    (r"H100 PCIe", "H100-PCIe"),
    (r"H200", "H200-SXM"),
    (r"B200", "B200-SXM"),
    (r"GH200", "GH200"),
    (r"H800 PCIe", "H800-PCIe"),
    (r"H800", "H800-SXM"),
    (r"HGX H20\b", "H20"),
    (r"L40S", "L40S"),
    (r"A100 SXM4 40", "A100-40GB-SXM"),
    (r"A100 SXM4 80", "A100-80GB-SXM"),
    (r"A100 PCIe", "A100-PCIe"),
    (r"A100", "A100-unspecified"),
    (r"V100", "V100"),
    (r"TPU v1", "TPU-v1"),
    (r"TPU v2", "TPU-v2"),
    (r"TPU v3", "TPU-v3"),
    (r"TPU v4", "TPU-v4"),
    (r"TPU v5e", "TPU-v5e"),
    (r"TPU v5p", "TPU-v5p"),
    (r"TPU v6e", "TPU-v6e"),
    (r"MI300A", "MI300A"),
    (r"MI300X", "MI300X"),
    (r"MI250X", "MI250X"),
    (r"MI250\b", "MI250"),
)
HEAD = """\
# Published prices by year: the median of a year's listings, with the lowest and the highest as the band. Written by
# tools/price_history.py from listings of Epoch AI's hardware prices (CC-BY) and of SkyPilot's catalog (Apache-2.0).
# `capital` is of one chip, as sold alone or in a server; of a TPU it is an estimate of its cost to its maker.
sources:
  epoch: epoch-research/training-cost-trends@263c40a1, data/Hardware prices.csv
  nebius: "skypilot-org/skypilot-catalog@0082b043, catalogs/v8/nebius/vms.csv"
  lambda: "skypilot-org/skypilot-catalog@0f407038, catalogs/v8/lambda/vms.csv"
  other: "https://www.useluminix.com (a secondary page), 2026"
defaults: {verified: 2026-11}

price_history:"""


def name_of(item: str) -> str:
    """The entry of a listing's item; KeyError for one that no pattern knows."""
    for pattern, name in NAMES:
        if re.search(pattern, item):
            return name
    raise KeyError(f"no name is known for {item!r}")


def year_of(date: str) -> str:
    """The year in a date such as 2021-06-15 or "catalog v8 (2025)"."""
    return re.search(r"20\d\d", date)[0]  # type: ignore[index]


def source_of(text: str) -> str:
    """Which of the named sources a listing comes from."""
    return next((name for name in ("epoch", "nebius", "lambda") if name in text), "other")


def main(path: str) -> None:
    """Print the YAML of all listings in `path`."""
    found: dict[str, dict[str, list[tuple[float, str]]]] = defaultdict(lambda: defaultdict(list))
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["category"] in PATHS:
                fact = f"{PATHS[row['category']]}_{year_of(row['date'])}"
                listing = (float(row["value"]), source_of(row["source"]))
                found[name_of(row["item"])][fact].append(listing)
    print(HEAD)
    for name in sorted(found):
        print(f"  {name}:")
        for fact in sorted(found[name]):
            values = [value for value, _ in found[name][fact]]
            unit = "USD" if fact.startswith("capital") else "USD/GPU-h"
            sources = ", ".join(sorted({source for _, source in found[name][fact]}))
            band, kind = (
                f"low: {min(values):g} {unit}, high: {max(values):g} {unit}, ",
                f"median of {len(values)} listings",
            )
            if len(values) == 1:
                band, kind = "", "one listing"
            print(
                f"    {fact}: {{value: {median(values):g} {unit}, {band}kind: {kind}, source: [{sources}]}}"
            )


if __name__ == "__main__":
    main(sys.argv[1])
