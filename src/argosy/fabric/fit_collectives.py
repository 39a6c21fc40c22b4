"""Fits the α-β pairs of collectives to measurements, one pair per NCCL protocol, and writes the shipped
table.

Run `python -m argosy.fabric.fit_collectives FOLDER`, the folder holding nccl_single_node.csv.gz (columns
system, collective, n_gpus, n_nodes, bytes, time_us, algo, source) and nccl_multi_node.csv. It prints the
errors by size and writes fabric/data/collectives.json. A quarter of the curves (one curve: system,
collective, GPUs) is kept aside: never fitted, only scored.

The form, per generation of scale-up links of B byte/s: t = min over protocols p of c_p + P·(N−1)·r_p +
w/(e_p·B), with P passes (2 for all_reduce, else 1), w wire bytes per rank and e_p = e∞_p·(1 − κ/N): few ranks
use fewer channels. NCCL switches protocol by size in the same way: one α-β pair for all sizes is wrong by
tens of per cent. All_reduce on 5 or more NVSwitch GPUs may also reduce in the switch (NVLS): t = c·N + (1 +
1/N)·M/(e·B), two such pairs; the start grows with the ranks, as 72 of them show,
which were not fitted (docs/collectives.md). The shipped starts per rank are an eighth of starts fitted before without
N, since nearly all points have 8 ranks: fitting anew moves no time by more than 4 %, and no error by more than 0.01.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

TABLE = Path(__file__).parent / "data" / "collectives.json"
# Generation of scale-up links: one-way byte/s per GPU, and the words by which a measured system names it.
GENERATIONS = {
    "nvlink3": (300e9, ("a100",)),
    "nvlink4": (450e9, ("h100", "h200")),
    "nvlink5": (900e9, ("b200", "b300", "gb200", "gb300")),
}
SIZES = (
    (0.0, 2.0**18),
    (2.0**18, 2.0**24),
    (2.0**24, np.inf),
)  # small, middle, large: where errors are reported
NVLS_FROM = (
    5  # GPUs; measured: 4 GPUs still ring, 5 use the switch (stas00/ml-engineering@744d01e network/README.md)
)
# Where the search starts: base, hop and share as NCCL's own tuning has them, then Simple with its buffers
# ever fuller.
STARTS = (
    ((7e-6, 0.6e-6, 0.25), (8e-6, 1.5e-6, 0.5), (25e-6, 1e-6, 0.7), (80e-6, 3e-6, 0.85)),
    ((6e-6, 0.6e-6, 0.05), (8e-6, 0.6e-6, 0.3), (20e-6, 0.6e-6, 0.6), (150e-6, 0.6e-6, 0.8)),
    ((6e-6, 0.3e-6, 0.02), (8e-6, 0.3e-6, 0.1), (15e-6, 0.3e-6, 0.5), (40e-6, 0.3e-6, 0.7)),
)


@dataclass(frozen=True)
class Curves:
    """Measured points of one generation and one family: arrays over points, and whether each point is kept
    aside.
    """

    message: np.ndarray
    ranks: np.ndarray
    passes: np.ndarray
    seconds: np.ndarray
    reduces: np.ndarray
    aside: np.ndarray


def passes_of(collective: str) -> int:
    """Passes round the ring: all_reduce scatters, then gathers."""
    return 2 if collective == "all_reduce" else 1


def read(folder: Path) -> list[dict[str, Any]]:
    """Every measured point on one node with a time, as {generation, family, curve, ranks, passes, message,
    seconds}.
    """
    with gzip.open(folder / "nccl_single_node.csv.gz", "rt", encoding="utf-8") as file:
        rows = [(row["system"], row["n_gpus"], row["bytes"], row) for row in csv.DictReader(file)]
    with open(folder / "nccl_multi_node.csv", encoding="utf-8") as file:
        rows += [
            (row["system"], row["gpus"], row["size_bytes"], row)
            for row in csv.DictReader(file)
            if row["nodes"] == "1"
        ]
    points = []
    for system, ranks, size, row in rows:
        generation = _generation(system)
        if not row["time_us"] or generation is None or not size.replace(".", "").isdigit():
            continue
        points.append(
            {
                "generation": generation,
                "family": "exchange" if row["collective"] == "alltoall" else "ring",
                "curve": f"{system}|{row['collective']}|{ranks}",
                "ranks": int(ranks),
                "passes": passes_of(row["collective"]),
                "message": float(size),
                "seconds": float(row["time_us"]) * 1e-6,
                "all_reduce": row["collective"] == "all_reduce",
                "source": row["source"].partition(":aic-core")[0],
            }
        )
    return points


def _generation(system: str) -> str | None:
    """The link generation that a system's name tells, or None where it tells none or two."""
    words = system.lower()
    found = {name for name, (_, marks) in GENERATIONS.items() if any(mark in words for mark in marks)}
    return found.pop() if len(found) == 1 else None


def curves(points: list[dict[str, Any]], generation: str, family: str) -> Curves:
    """The points of one generation and family as arrays. A curve is kept aside by a hash of its name: one in
    four.
    """
    chosen = [p for p in points if p["generation"] == generation and p["family"] == family]
    column = {
        key: np.array([p[key] for p in chosen], dtype=float)
        for key in ("message", "ranks", "passes", "seconds")
    }
    reduces = np.array([p["all_reduce"] and p["ranks"] >= NVLS_FROM for p in chosen], dtype=bool)
    aside = np.array([zlib.crc32(p["curve"].encode()) % 4 == 0 for p in chosen], dtype=bool)
    return Curves(column["message"], column["ranks"], column["passes"], column["seconds"], reduces, aside)


def predict(parameters: np.ndarray, data: Curves, link: float, nvls: bool) -> np.ndarray:
    """Seconds of every point: the fastest protocol. `parameters`: logs of κ, of (c, r, e∞) per protocol, then
    of NVLS (c, e), twice.
    """
    few_ranks, parameters = np.exp(parameters[0]), parameters[1:]
    protocols = np.exp(parameters[: len(parameters) - 4 * nvls]).reshape(-1, 3)
    wire = data.passes * (data.ranks - 1) / data.ranks * data.message
    rounds = data.passes * (data.ranks - 1)
    wire = wire / (1 - few_ranks / data.ranks)
    times = [base + rounds * hop + wire / (share * link) for base, hop, share in protocols]
    if nvls:
        for base, share in np.exp(parameters[-4:]).reshape(-1, 2):
            in_switch = base * data.ranks + (1 + 1 / data.ranks) * data.message / (share * link)
            times.append(np.where(data.reduces, in_switch, np.inf))
    return np.asarray(np.min(times, axis=0))


def fit(data: Curves, link: float, protocols: int, nvls: bool) -> np.ndarray:
    """Logs of the parameters with the least robust squared log error over the points not kept aside."""
    used = ~data.aside

    def errors(parameters: np.ndarray) -> np.ndarray:
        return np.asarray(np.log(predict(parameters, data, link, nvls) / data.seconds)[used])

    upper = np.append(0.0, np.tile(np.log([1e-3, 1e-4, 1.0]), protocols))
    upper = np.append(upper, np.log([1e-3, 1.0] * 2)) if nvls else upper
    solutions = []
    for pairs in STARTS:
        start = np.log(np.append(0.2, np.array(pairs[:protocols]).ravel()))
        start = np.append(start, np.log([3e-6, 0.5, 12e-6, 0.7])) if nvls else start
        solutions.append(least_squares(errors, start, bounds=(-20.0, upper), loss="soft_l1", f_scale=0.1))
    return np.asarray(min(solutions, key=lambda solution: solution.cost).x)


def errors_by_size(predicted: np.ndarray, data: Curves) -> dict[str, dict[str, Any]]:
    """Mean absolute and signed relative error by size range, of fitted points and of those kept aside."""
    report = {}
    for name, kept_aside in (("fitted", False), ("aside", True)):
        for low, high in SIZES:
            chosen = (data.aside == kept_aside) & (data.message >= low) & (data.message < high)
            error = predicted[chosen] / data.seconds[chosen] - 1
            report[f"{name} {low:.0f}-{high:.0f} bytes"] = {
                "points": int(chosen.sum()),
                "mean_absolute": round(float(np.abs(error).mean()), 4) if chosen.any() else None,
                "bias": round(float(error.mean()), 4) if chosen.any() else None,
            }
    return report


def fitted_table(folder: Path) -> dict[str, Any]:
    """The whole table: per generation and family the pairs, their errors, and the sources."""
    points = read(folder)
    table: dict[str, Any] = {}
    for generation, (link, _) in GENERATIONS.items():
        table[generation] = {"link_bytes_per_s": link}
        for family, protocols in (("ring", 4), ("exchange", 3)):
            data = curves(points, generation, family)
            if not len(data.message):
                continue
            nvls = bool(generation in ("nvlink4", "nvlink5") and data.reduces.any())
            parameters = fit(data, link, protocols, nvls)
            pairs = np.exp(parameters[1 : 1 + 3 * protocols]).reshape(-1, 3)
            entry: dict[str, Any] = {
                "few_ranks": float(f"{np.exp(parameters[0]):.4g}"),
                "protocols": [
                    {
                        "base_s": float(f"{c:.4g}"),
                        "round_s": float(f"{r:.4g}"),
                        "delivered": float(f"{e:.4g}"),
                    }
                    for c, r, e in pairs
                ],
                "errors": errors_by_size(predict(parameters, data, link, nvls), data),
                "sources": sorted(
                    {p["source"] for p in points if p["generation"] == generation and p["family"] == family}
                ),
            }
            if nvls:
                entry["in_network"] = [
                    {"rank_s": float(f"{base:.4g}"), "delivered": float(f"{share:.4g}"), "members": NVLS_FROM}
                    for base, share in np.exp(parameters[-4:]).reshape(-1, 2)
                ]
            table[generation][family] = entry
    return table


def scale_out_start(folder: Path) -> dict[str, Any]:
    """What EFA takes to start a collective between nodes: the median of what the model lacks below 128 MiB, 4
    × 8 B200.

    The two smallest sizes are left out: they fall as the size grows, so they are the benchmark's own warm-up.
    """
    from argosy.fabric.build import Outer, tiered_network

    with open(folder / "nccl_multi_node.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["gpus"] == "32" and row["time_us"]]
    size = np.array([float(row["size_bytes"]) for row in rows[2:]])
    seconds = np.array([float(row["time_us"]) for row in rows[2:]]) * 1e-6
    network = tiered_network("nvlink5", 8, 900e9, [Outer("all", np.inf, 50e9, 0.933)], 1.0, 32)
    lacking = (seconds - network.collective("all_reduce", size, 32, 1))[size < 2**27]
    start = float(np.median(lacking))
    error = (start + network.collective("all_reduce", size, 32, 1)) / seconds - 1
    quantiles = np.quantile(lacking, [0.05, 0.95])
    return {
        "start_s": start,
        "low": float(quantiles[0]),
        "high": float(quantiles[1]),
        "mean_absolute_error": float(np.abs(error).mean()),
        "points": len(size),
    }


def main(folder: str) -> None:
    """Fit, print the errors, write the table."""
    table = fitted_table(Path(folder))
    for generation, entry in table.items():
        for family in ("ring", "exchange"):
            if family in entry:
                print(generation, family, entry[family]["protocols"], entry[family].get("in_network", ""))
                for where, error in entry[family]["errors"].items():
                    print(f"   {where:32} {error}")
    TABLE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    print("efa start (facts/data/networks.yaml):", scale_out_start(Path(folder)))


if __name__ == "__main__":
    main(sys.argv[1])
