"""How far whole platforms differ from the model of the collectives, by message size, so that "normal" has a width.

Run `python -m argosy.fabric.imports.spread FOLDER` (the folder of nccl_single_node.csv.gz and nccl_multi_node.csv); it
writes fabric/data/platform_spread.json. Every platform (one publisher's system) counts once per range of sizes: the
median over its all-reduces of log(measured ÷ modelled bus bandwidth). Small messages depend on what the model does not
know: launches, CUDA graphs, CPUs.
"""

from __future__ import annotations

import csv
import gzip
import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from argosy.fabric.fit_collectives import SIZES
from argosy.fabric.imports.expected import model_of_run

TABLE = Path(__file__).parents[1] / "data" / "platform_spread.json"
RANGES = ("small", "middle", "large")  # of SIZES
WARM = 1.2  # a message that takes this many times as long as a larger one was still warming up
DEVICES = ("GB300", "GB200", "B300", "B200", "H200", "H100", "A100")
Curves = dict[tuple[str, str, int, int], list[tuple[float, float]]]


def range_of(size: np.ndarray) -> np.ndarray:
    """The index into RANGES of message sizes (bytes)."""
    return np.searchsorted([low for low, _ in SIZES[1:]], size, side="right")


def warmed_up(size: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Which rows (bytes, seconds; shape (rows,)) take no more than WARM times what any larger message takes."""
    order = np.argsort(size)
    best_above = np.minimum.accumulate(seconds[order][::-1])[::-1]
    kept = np.empty(len(size), dtype=bool)
    kept[order] = seconds[order] <= WARM * best_above
    return kept


@cache
def platform_spread() -> list[tuple[float, float]]:
    """Per range the mean and the standard deviation of log(measured ÷ modelled bus bandwidth) of a platform not yet seen:
    the latter with the mean's own uncertainty, sd·√(1 + 1/n).
    """
    ranges = json.loads(TABLE.read_text(encoding="utf-8"))["ranges"]
    return [
        (float(one["mean_log"]), float(one["sd_log"]) * math.sqrt(1 + 1 / one["platforms"]))
        for one in (ranges[name] for name in RANGES)
    ]


def main(folder: str) -> None:
    """Compare every curve with the model, print the platforms, write the table."""
    logs: dict[str, list[list[float]]] = defaultdict(lambda: [[], [], []])
    for (platform, device, ranks, nodes), rows in read(Path(folder)).items():
        size, seconds = (np.array(column) for column in zip(*rows, strict=True))
        protocol = "efa" if "EFA" in platform else "infiniband"
        ratio = np.log(model_of_run(device, ranks, nodes, protocol, size) / seconds)
        which, kept = range_of(size), warmed_up(size, seconds)
        for number, own in enumerate(logs[platform]):
            own.extend(ratio[kept & (which == number)])
    ranges = {}
    for number, name in enumerate(RANGES):
        medians = {platform: float(np.median(own[number])) for platform, own in logs.items() if own[number]}
        values = list(medians.values())
        ranges[name] = {
            "platforms": len(values),
            "mean_log": round(float(np.mean(values)), 4),
            "sd_log": round(float(np.std(values, ddof=1)), 4),
        }
        print(name, ranges[name], {platform: round(math.exp(log), 2) for platform, log in medians.items()})
    record = {"by": "python -m argosy.fabric.imports.spread", "platforms": sorted(logs), "ranges": ranges}
    TABLE.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def read(folder: Path) -> Curves:
    """Measured all-reduces, (bytes, seconds), by (platform, device, ranks, nodes)."""
    curves: Curves = defaultdict(list)
    for platform, system, ranks, nodes, size, microseconds in _rows(folder):
        device = next((name for name in DEVICES if name.lower() in system.lower()), None)
        if device and microseconds and ranks.isdigit() and size.replace(".", "").isdigit():
            curves[platform, device, int(ranks), int(nodes or 1)].append(
                (float(size), float(microseconds) * 1e-6)
            )
    return curves


def _rows(folder: Path) -> Iterator[tuple[str, str, str, str, str, str]]:
    """(platform, system, ranks, nodes, bytes, µs) of both files' all-reduces."""
    with gzip.open(folder / "nccl_single_node.csv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["collective"] == "all_reduce":
                platform = f"{_publisher(row['source'])} {row['system']}"
                yield platform, row["system"], row["n_gpus"], row["n_nodes"], row["bytes"], row["time_us"]
    with open(folder / "nccl_multi_node.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            platform = f"{_publisher(row['source'])} {row['system']}"
            yield platform, row["system"], row["gpus"], row["nodes"], row["size_bytes"], row["time_us"]


def _publisher(source: str) -> str:
    return source.removeprefix("github:").removeprefix("github.com/").partition("@")[0].partition(" ")[0]


if __name__ == "__main__":
    main(sys.argv[1])
