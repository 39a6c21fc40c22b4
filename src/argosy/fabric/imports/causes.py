"""Why a bus bandwidth is not what it should be: the likely causes, each with what in the run speaks for it and how to check.

Each rule compares the run with what the model says for that very fault: fewer cards, no NVLink, another algorithm.
What NCCL itself printed or was told by variables outweighs any rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.fabric.imports.expected import Expectation
from argosy.fabric.imports.machine import Machine
from argosy.fabric.imports.nccl_tests import Benchmark
from argosy.fabric.imports.spread import RANGES

NORMAL, SLOW, FAST = "normal", "slow", "fast"
SMALL, MIDDLE, LARGE = range(len(RANGES))
CERTAIN, LIKELY, POSSIBLE = "certain", "likely", "possible"
# Host memory in the path: what a card sends crosses the accelerator's PCIe link or the CPU's memory twice: half at most.
STAGED_SHARE = 0.5
# Assumption: sockets go over the hosts' other network, or one stream a card: no more than a quarter of the cards' rate.
SOCKET_SHARE = 0.25


@dataclass(frozen=True)
class Cause:
    """`cause` with `likelihood`, `because` of what in the run, and how to `check` or mend it."""

    cause: str
    likelihood: str
    because: str
    check: str


def verdicts(run: Benchmark, expected: Expectation) -> list[dict[str, Any]]:
    """Per range of message sizes that the run covers: rows judged, the median of measured ÷ expected, the verdict.

    Rows that took longer than larger messages were warming up, and are not judged. Of large messages the largest count,
    from a sixteenth of the largest on: there the bandwidth is level.
    """
    bus, size = (np.array([getattr(point, name) for point in run.points]) for name in ("bus", "bytes"))
    level = size >= size.max() / 16
    found = []
    for number, name in enumerate(RANGES):
        rows = (expected.range == number) & expected.judged
        rows = rows & level if number == LARGE else rows
        if not rows.any():
            continue
        ratio = float(np.median(bus[rows] / expected.nominal[rows]))
        below, above = (
            float(np.mean(bus[rows] < expected.low[rows])),
            float(np.mean(bus[rows] > expected.high[rows])),
        )
        verdict = SLOW if below > 0.5 else FAST if above > 0.5 else NORMAL
        found.append({"range": name, "rows": int(rows.sum()), "median_ratio": ratio, "verdict": verdict})
    return found


def likely_causes(
    run: Benchmark, expected: Expectation, ranges: list[dict[str, Any]], cards: int, machine: Machine | None
) -> list[Cause]:
    """The causes, the most certain first. `cards`: per node; `machine`: the node's inside, where a file of it was given."""
    verdict = {row["range"]: row["verdict"] for row in ranges}
    slow = SLOW in verdict.values()
    found = list(_told(run, slow))
    if verdict.get("large") == SLOW:
        found += _slow_plateau(run, expected, cards)
    elif slow:
        found += _slow_start(verdict)
    if verdict.get("large") == NORMAL and run.nodes > 1:
        found += _one_card_fewer(run, expected, cards)
    if FAST in verdict.values():
        found.append(
            Cause(
                "faster than the model of this hardware", POSSIBLE,
                "the measured bandwidth is above the expected range",
                "are accelerator, cards per node and their rate as given? is in-network reduction (SHARP) in use?",
            )
        )  # fmt: skip
    if machine is not None and slow:
        found += [
            Cause("the node's inside", LIKELY, problem, "nvidia-smi topo -m; PCIe slots; ACS off in switches")
            for problem in machine.problems()
        ]
    order = [CERTAIN, LIKELY, POSSIBLE]
    return sorted(dict.fromkeys(found), key=lambda cause: order.index(cause.likelihood))


def _told(run: Benchmark, slow: bool) -> list[Cause]:
    """What the run's own text says."""
    found = []
    wrong = sum(point.wrong or 0 for point in run.points)
    if wrong:
        found.append(
            Cause(
                "wrong results", CERTAIN, f"{wrong:g} wrong elements",
                "stop using these nodes: memory, NVLink or PCIe corrupts data; dcgmi diag -r 3 on each",
            )
        )  # fmt: skip
    shared = len(run.hosts) - len(set(zip(run.hosts, run.slots, strict=True)))
    if shared:
        found.append(
            Cause(
                "ranks share an accelerator", CERTAIN, f"{shared} ranks are on a device that another rank has",
                "one rank per device: CUDA_VISIBLE_DEVICES, --map-by, the local rank of the launcher",
            )
        )  # fmt: skip
    variables = {name: value.lower() for name, value in run.variables.items()}
    text = " ".join(run.warnings).lower()
    rules = (
        (variables.get("NCCL_IB_DISABLE") == "1", "NCCL was told not to use RDMA", "NCCL_IB_DISABLE=1", "unset it"),
        ("libibverbs" in text, "no RDMA library: NCCL falls back to sockets", "NCCL WARN about libibverbs",
         "install rdma-core (libibverbs1) in the image"),
        ("net/socket" in text, "NCCL talks over sockets", "NET/Socket in its log",
         "NCCL_DEBUG=INFO; /dev/infiniband in the container; ibv_devinfo"),
        (variables.get("NCCL_P2P_DISABLE") == "1", "NCCL was told not to use NVLink", "NCCL_P2P_DISABLE=1", "unset it"),
        (variables.get("NCCL_NET_GDR_LEVEL") in ("0", "loc"), "GPUDirect RDMA was switched off",
         f"NCCL_NET_GDR_LEVEL={run.variables.get('NCCL_NET_GDR_LEVEL')}", "unset it"),
        ("NCCL_ALGO" in variables, "the algorithm was fixed by hand",
         f"NCCL_ALGO={run.variables.get('NCCL_ALGO')}", "unset it: NCCL chooses by size"),
        ("NCCL_PROTO" in variables, "the protocol was fixed by hand",
         f"NCCL_PROTO={run.variables.get('NCCL_PROTO')}", "unset it: NCCL chooses by size"),
        ("NCCL_MAX_NCHANNELS" in variables, "the channels were limited by hand",
         f"NCCL_MAX_NCHANNELS={run.variables.get('NCCL_MAX_NCHANNELS')}", "unset it"),
    )  # fmt: skip
    if slow:
        found += [Cause(cause, CERTAIN, because, check) for holds, cause, because, check in rules if holds]
    if run.truncated:
        found.append(
            Cause(
                "the run did not finish", POSSIBLE, "its closing lines are absent",
                "was it stopped, or did a rank fail? larger messages may be missing",
            )
        )  # fmt: skip
    return found


def _slow_plateau(run: Benchmark, expected: Expectation, cards: int) -> list[Cause]:
    """Large messages are slow: what the plateau's height speaks for."""
    largest = int(np.argmax([point.bytes for point in run.points]))
    measured, nominal = run.points[largest].bus, float(expected.nominal[largest])
    ratio = measured / nominal
    share = f"large messages reach {measured / 1e9:.0f} of {nominal / 1e9:.0f} GB/s, {ratio:.0%}"
    if run.nodes == 1:
        return _slow_inside(expected, largest, measured, share)
    found = []
    if ratio < SOCKET_SHARE:
        found.append(
            Cause(
                "NCCL talks over sockets, not RDMA", LIKELY, share,
                "NCCL_DEBUG=INFO: NET/Socket instead of NET/IB; libibverbs and /dev/infiniband in the container; "
                "ibstat on every node",
            )
        )  # fmt: skip
    # With k of n cards a node carries k/n: named when the plateau fits one k within the range's own width.
    width = max(float(expected.high[largest] - expected.low[largest]) / nominal / 2, 1 / (4 * cards))
    fits = [k for k in range(1, cards) if abs(ratio - k / cards) <= width]
    if fits and ratio >= SOCKET_SHARE:
        nearest = min(fits, key=lambda k: abs(ratio - k / cards))
        found.append(
            Cause(
                f"{cards - nearest} of {cards} cards of a node are missing or down", LIKELY,
                f"{share}, as {nearest} of {cards} cards would",
                "ibstat on every node; NCCL_IB_HCA; NCCL_DEBUG=INFO lists the cards in use; argosy fabric diff",
            )
        )  # fmt: skip
    staged = STAGED_SHARE * float(expected.high[largest]) / nominal  # of as good a platform as there may be
    if SOCKET_SHARE <= ratio <= staged:
        found.append(
            Cause(
                "no GPUDirect RDMA, or PCIe ACS on: traffic passes host memory", LIKELY,
                f"{share}: half or less is what a copy through the host leaves",
                "lsmod | grep nvidia_peermem (or DMA-BUF); lspci -vvv | grep ACSCtl: SrcValid- ; "
                "NCCL_DEBUG=INFO: GPU Direct RDMA Enabled",
            )
        )  # fmt: skip
    if ratio > 0.5:
        found.append(
            Cause(
                "a slow link or node holds back the ring", POSSIBLE, share,
                "run pairs of nodes apart; ibdiagnet or argosy fabric diff for links below their rate; "
                "congestion above the leaf (argosy fabric --traffic)",
            )
        )  # fmt: skip
    return found


def _one_card_fewer(run: Benchmark, expected: Expectation, cards: int) -> list[Cause]:
    """Within the range, but low: platforms differ by more than one card of eight makes."""
    largest = int(np.argmax([point.bytes for point in run.points]))
    ratio = run.points[largest].bus / float(expected.nominal[largest])
    if cards < 2 or ratio > 1 - 0.5 / cards:
        return []
    return [
        Cause(
            "a card of a node is missing or slow", POSSIBLE,
            f"{ratio:.0%} of the nominal is within the range of platforms, but {cards - 1} of {cards} cards give as much",
            "compare with your own earlier runs; ibstat on every node; NCCL_DEBUG=INFO lists the cards in use",
        )
    ]  # fmt: skip


def _slow_inside(expected: Expectation, largest: int, measured: float, share: str) -> list[Cause]:
    """Slow within one node: another algorithm than NCCL should take, or no NVLink."""
    found = []
    for name, bus in expected.algorithms.items():
        alone = float(bus[largest])
        if alone < float(expected.low[largest]) and abs(measured / alone - 1) < 2 * float(
            expected.error[largest]
        ):
            found.append(
                Cause(
                    f"the wrong algorithm: {name}", LIKELY,
                    f"{share}; {name} alone gives {alone / 1e9:.0f} GB/s",
                    "NCCL_ALGO, NCCL_NVLS_ENABLE; in-switch reduction needs the fabric manager and IMEX",
                )
            )  # fmt: skip
    found.append(
        Cause(
            "NVLink is not in use, or some of it is down", LIKELY if not found else POSSIBLE, share,
            "nvidia-smi nvlink -s; nvidia-smi topo -m shows NV#; fabric manager running; ACS and IOMMU for PCIe",
        )
    )  # fmt: skip
    return found


def _slow_start(verdict: dict[str, str]) -> list[Cause]:
    """Small or middle messages are slow, large ones are not: latency, not bandwidth."""
    found = []
    if verdict.get("small") == SLOW:
        found.append(
            Cause(
                "latency: processes on the wrong cores, sleeping CPUs, or a protocol without low latency", LIKELY,
                "small messages are slow while large ones are not",
                "CPU affinity to the card's NUMA node; C-states off; NCCL_PROTO unset; adaptive interrupts off",
            )
        )  # fmt: skip
    if verdict.get("middle") == SLOW:
        found.append(
            Cause(
                "the wrong algorithm or protocol in the middle range", LIKELY,
                "middle-sized messages are slow while large ones are not",
                "NCCL_ALGO and NCCL_PROTO unset; the tuner plug-in that belongs to this platform; NCCL's version",
            )
        )  # fmt: skip
    return found
