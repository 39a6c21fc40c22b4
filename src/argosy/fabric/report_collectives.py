"""Writes docs/collectives.md: the shipped α-β pairs, the sizes that each is for, and their errors by size and scale.

Run `python -m argosy.fabric.report_collectives FOLDER` (the folder of `argosy.fabric.fit_collectives`). Nothing is fitted
here but the one pair for all sizes that the text compares with; the shipped pairs are scored as they are.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from argosy.fabric import fit_collectives as fit
from argosy.fabric.imports.expected import model_of_run
from argosy.laws import collectives

DOCUMENT = Path(__file__).parents[3] / "docs" / "collectives.md"
SCALES = ((2, 2), (3, 4), (5, 8), (9, 72))  # ranks
LARGE = 2**33  # bytes: what "large" is read as, where a source states no size
ALIKE = 8  # ranks for which the range of a protocol is told
DEVICES = ("GB200", "B200", "H200", "H100")
HEAD = """# Collectives: the pairs, their ranges, their errors

Written by `python -m argosy.fabric.report_collectives FOLDER`; do not edit. Errors are predicted ÷ measured − 1 of a
collective's time.

A collective takes the fastest of NCCL's protocols, each with its own start, round and share of the wire:
t = c + P·(N − 1)·r + w/(e·B·(1 − κ/N)), with P passes, w wire bytes per rank, B the scale-up links' rate one way. On
scale-up switches that add up, an all-reduce may also take t = c·N + (1 + 1/N)·M/(e·B): the form (not a
number) was chosen because starts on 72 ranks are nine times those on 8. Pairs come from
`python -m argosy.fabric.fit_collectives FOLDER`; one curve in four (system, collective, ranks) was kept aside, and never
fitted. Between nodes, latencies are those of NCCL's own tuning model and the share of the wire is a fact of the transport
(`argosy catalog show infiniband`), so that nothing of the last table was fitted here but where it says so.
"""


def pairs_table(table: dict[str, Any]) -> Iterator[str]:
    """Per generation and family: every pair, and the messages for which it is the fastest at ALIKE ranks."""
    yield "\n## The pairs\n"
    yield f"| links | for | start | per round | share of the wire | fastest for (at {ALIKE} ranks) |"
    yield "|---|---|---|---|---|---|"
    message = 2.0 ** np.arange(8, 36)
    for generation, entry in table.items():
        for family, words in (("ring", "ring collectives"), ("exchange", "all-to-all")):
            own, link = entry[family], float(entry["link_bytes_per_s"])
            rows = [(p["base_s"], p["round_s"], p["delivered"]) for p in own["protocols"]]
            wire = message * (ALIKE - 1) / ALIKE / (1 - own["few_ranks"] / ALIKE) / link
            times = np.array([c + (ALIKE - 1) * r + wire / e for c, r, e in rows])
            best = times.argmin(axis=0)
            for number, (base, hop, share) in sorted(enumerate(rows), key=lambda row: row[1][2]):
                sizes = message[best == number]
                told = f"{size_words(sizes[0])} to {size_words(sizes[-1])}" if len(sizes) else "none alone"
                yield (
                    f"| {generation} | {words} | {base * 1e6:.1f} µs | {hop * 1e6:.2f} µs | {share:.3f} | {told} |"
                )
            for reduction in own.get("in_network", ()):
                yield (
                    f"| {generation} | all-reduce in the switch, from {reduction['members']} ranks | "
                    f"{reduction['rank_s'] * 1e6:.1f} µs per rank | – | {reduction['delivered']:.3f} | by time |"
                )


def size_words(size: float) -> str:
    """A power of two in binary units."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:.0f} {name}"
    return f"{size:.0f} B"


def errors_table(table: dict[str, Any], points: list[dict[str, Any]]) -> Iterator[str]:
    """Errors of the shipped pairs by size and number of ranks, fitted and kept aside; and of one pair for all sizes."""
    yield "\n## Errors on one scale-up domain, by size and scale\n"
    yield "Mean absolute error (bias), points; *one pair* is the best single α-β pair for the same points.\n"
    yield "| links | for | message | ranks | fitted | kept aside | one pair |"
    yield "|---|---|---|---|---|---|---|"
    for generation, entry in table.items():
        for family, words in (("ring", "ring collectives"), ("exchange", "all-to-all")):
            data = fit.curves(points, generation, family)
            if not len(data.message):
                continue
            predicted = shipped(entry, family, data)
            single = one_pair(data, float(entry["link_bytes_per_s"]))
            for low, high in fit.SIZES:
                for few, many in SCALES:
                    here = (data.message >= low) & (data.message < high)
                    here &= (data.ranks >= few) & (data.ranks <= many)
                    if here.any():
                        size = (
                            f"{size_words(max(low, 1))} to {size_words(high)}"
                            if np.isfinite(high)
                            else (f"from {size_words(low)}")
                        )
                        ranks = f"{few}" if few == many else f"{few}–{many}"
                        cells = [
                            error_words(predicted, data, here & (data.aside == aside))
                            for aside in (False, True)
                        ]
                        cells.append(error_words(single, data, here))
                        yield f"| {generation} | {words} | {size} | {ranks} | {' | '.join(cells)} |"


def shipped(entry: dict[str, Any], family: str, data: fit.Curves) -> np.ndarray:
    """Seconds of every point by the shipped pairs."""
    own = entry[family]
    numbers = [own["few_ranks"]]
    for pair in own["protocols"]:
        numbers += [pair["base_s"], pair["round_s"], pair["delivered"]]
    for pair in own.get("in_network", ()):
        numbers += [pair["rank_s"], pair["delivered"]]
    return fit.predict(np.log(numbers), data, float(entry["link_bytes_per_s"]), bool(own.get("in_network")))


def one_pair(data: fit.Curves, link: float) -> np.ndarray:
    """Seconds by one start, one round and one share for all sizes: least squares of relative errors."""
    rounds = data.passes * (data.ranks - 1)
    wire = data.passes * (data.ranks - 1) / data.ranks * data.message / link
    columns = np.stack([np.ones(len(rounds)), rounds, wire], axis=1)
    from scipy.optimize import nnls

    best, _ = nnls(columns / data.seconds[:, None], np.ones(len(rounds)))
    return np.asarray(columns @ best)


def error_words(predicted: np.ndarray, data: fit.Curves, chosen: np.ndarray) -> str:
    """`6.3 % (−1.7 %), 573`."""
    if not chosen.any():
        return "–"
    error = predicted[chosen] / data.seconds[chosen] - 1
    return f"{np.abs(error).mean():.1%} ({error.mean():+.1%}), {int(chosen.sum())}"


def between_nodes(folder: Path) -> Iterator[str]:
    """Measured all-reduces between nodes, every system apart."""
    yield "\n## Errors between nodes\n"
    yield "| system | ranks | message | points | mean absolute | bias |"
    yield "|---|---|---|---|---|---|"
    with open(folder / "nccl_multi_node.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if int(row["nodes"]) > 1]
    rows = [{**row, "size_bytes": str(LARGE)} if row["size_bytes"] == "large" else row for row in rows]
    for system in dict.fromkeys(row["system"] for row in rows):
        own = [row for row in rows if row["system"] == system]
        device = next(name for name in DEVICES if name in system)
        ranks, nodes = int(own[0]["gpus"]), int(own[0]["nodes"])
        size = np.array([float(row["size_bytes"]) for row in own])
        measured = np.array([seconds_of(row) for row in own])
        protocol = "efa" if "EFA" in system else "infiniband"
        error = model_of_run(device, ranks, nodes, protocol, size) / measured - 1
        for low, high in fit.SIZES:
            here = (size >= low) & (size < high)
            if here.any():
                span = f"{size_words(size[here].min())} to {size_words(size[here].max())}"
                yield (
                    f"| {system} | {ranks} on {nodes} nodes | {span} | {int(here.sum())} | "
                    f"{np.abs(error[here]).mean():.1%} | {error[here].mean():+.1%} |"
                )
    yield (
        "\nRows without a stated size are large ones, read as 8 GiB. EFA's start comes from the P6-B200 rows below\n"
        "128 MiB; the transports' shares of the wire rest on three large all-reduces of 32 ranks (`argosy catalog show\n"
        "infiniband`, `efa`). H100 has two points of its own between nodes: what is said of it leans on H200, B200 and\n"
        "GB200. All-reduces over two racks of NVLink are predicted too fast by a tenth. Nothing above 144\n"
        "ranks was measured."
    )


def seconds_of(row: dict[str, str]) -> float:
    """The measured seconds of an all-reduce: as stated, or from its bus bandwidth."""
    if row["time_us"]:
        return float(row["time_us"]) * 1e-6
    ranks = float(row["gpus"])
    share = float(collectives.all_reduce_wire_share(ranks))
    return float(row["size_bytes"]) * share / (float(row["busbw_GBps"]) * 1e9)


def document(folder: Path) -> str:
    """The whole page."""
    table = json.loads(fit.TABLE.read_text(encoding="utf-8"))
    points = fit.read(folder)
    lines = [HEAD, *pairs_table(table), *errors_table(table, points), *between_nodes(folder)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    DOCUMENT.write_text(document(Path(sys.argv[1])), encoding="utf-8")
