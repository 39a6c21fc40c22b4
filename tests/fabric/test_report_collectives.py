"""The page of the collectives' errors: scored by hand on a small folder, and the committed page regenerated."""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

from argosy.fabric import fit_collectives, report_collectives

# A few all-reduces of one 8-GPU H100 node and of 32 GPUs between nodes: bytes, microseconds (Azure/AI-benchmarking-
# guide@8fd0c6e; stas00/ml-engineering@744d01e).
NODE = [(2**16, 42.16), (2**26, 324.62), (2**30, 4029.27), (2**33, 31391.37)]
NODES = [(2**30, 5903.0), (2**33, 44000.0)]
COLUMNS = [
    "collective",
    "system",
    "gpus",
    "nodes",
    "size_bytes",
    "time_us",
    "algbw_GBps",
    "busbw_GBps",
    "note",
    "source",
]


@pytest.fixture
def folder(tmp_path):
    with gzip.open(tmp_path / "nccl_single_node.csv.gz", "wt", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["system", "collective", "n_gpus", "n_nodes", "bytes", "time_us", "algo", "source"])
        table.writerows(["h100 node", "all_reduce", 8, 1, size, time, "", "own"] for size, time in NODE)
    with open(tmp_path / "nccl_multi_node.csv", "w", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for size, time in NODES:
            table.writerow(["all_reduce", "4 nodes B200 EFA", 32, 4, size, time, "", "", "", "own"])
        table.writerow(["all_reduce", "2 nodes H100", 16, 2, "large", "", "", 470, "", "own"])
    return tmp_path


def test_errors_are_those_of_the_shipped_pairs(folder):
    page = report_collectives.document(folder)
    entry = json.loads(fit_collectives.TABLE.read_text(encoding="utf-8"))["nvlink4"]
    one = entry["ring"]
    size, measured = (np.array(column) for column in zip(*NODE, strict=True))
    wire = 2 * 7 / 8 * size / (1 - one["few_ranks"] / 8)
    times = [
        p["base_s"] + 14 * p["round_s"] + wire / p["delivered"] / entry["link_bytes_per_s"]
        for p in one["protocols"]
    ]
    times += [
        8 * p["rank_s"] + 9 / 8 * size / p["delivered"] / entry["link_bytes_per_s"] for p in one["in_network"]
    ]
    error = np.min(times, axis=0) / (measured * 1e-6) - 1
    large = error[2:] if size[1] < 2**24 else error[1:]
    (row,) = [
        line for line in page.splitlines() if line.startswith("| nvlink4 | ring") and "from 16 MiB" in line
    ]
    assert f"{np.abs(large).mean():.1%} ({large.mean():+.1%}), {len(large)}" in row
    assert "| 4 nodes B200 EFA | 32 on 4 nodes | 1 GiB to 8 GiB | 2 |" in page
    assert "| 2 nodes H100 | 16 on 2 nodes | 8 GiB to 8 GiB | 1 |" in page


def test_bus_bandwidth_gives_the_seconds():
    row = {"time_us": "", "gpus": "16", "size_bytes": "8e9", "busbw_GBps": "470"}
    assert report_collectives.seconds_of(row) == pytest.approx(8e9 * 2 * 15 / 16 / 470e9)


def test_one_pair_recovers_a_straight_line():
    message = 2.0 ** np.arange(10, 34)
    ranks, ones = np.full(24, 8.0), np.ones(24)
    seconds = 5e-6 + 7 * 1e-6 + 7 / 8 * message / (0.8 * 450e9)
    data = fit_collectives.Curves(message, ranks, ones, seconds, ones < 0, ones < 0)
    assert report_collectives.one_pair(data, 450e9) == pytest.approx(seconds, rel=1e-6)
    bent = replace(data, seconds=seconds * np.where(message < 2**20, 1.0, 1.5))
    error = report_collectives.one_pair(bent, 450e9) / bent.seconds - 1
    assert np.abs(error).max() > 0.1


def test_the_committed_page_is_current(shared_directory):
    assert report_collectives.document(shared_directory / "data") == report_collectives.DOCUMENT.read_text(
        "utf-8"
    )
