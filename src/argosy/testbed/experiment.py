"""Collectives on the testbed against the flow simulator: seconds, bytes of every link, the busiest link."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from argosy.testbed import hosts as machine
from argosy.testbed.comparison import answer, bounded, compared, counted
from argosy.testbed.fabrics import CARD_BPS, GLOO, MPI, SITE_DELAY_S, Case, Fabric, fabric, one_group, pair
from argosy.testbed.gloo import predict_gloo, run_torch
from argosy.testbed.hosts import Hosts
from argosy.testbed.launch import REPEATS, as_plan, run_ranks
from argosy.testbed.predict import SEGMENT_BYTES, Baseline, Prediction, predict, ring_bytes
from argosy.testbed.torch_launch import missing
from argosy.testbed.wiring import BURST_BYTES, MTU, Wiring

BASELINE_BYTES = 4 << 20
HEADROOM_BYTES = 4 << 20
BYTES = (0.999, 1.03)  # counted over predicted, on every link: headers and acknowledgements are 1 to 2 %
COUNTED_BYTES = 1 << 20  # smaller messages are lost among barriers and acknowledgements
FEW = 5  # lost segments that may also be none
HEADROOM = 3.0  # what the cores must move unshaped, over what is asked of them
BANDWIDTH_BOUND = 0.05  # most latency in a predicted time that is still held to its bar


def collectives(
    fabrics: Sequence[Fabric],
    repeats: int = REPEATS,
    say: Callable[[str], None] = lambda line: None,
    short: bool = False,
) -> dict[str, Any]:
    """Run the cases of fabrics of one scale and hold them against the flow simulator; the payload of `argosy testbed
    collectives`, without its head. Without namespaces the collectives run on the loopback, and nothing is predicted.
    TestbedError where a program fails.
    """
    reason = machine.why_not()
    if reason is not None:
        say(f"plain processes on the loopback: {reason}")
        return _on_loopback(fabrics, repeats, reason, short)
    say("baseline: two hosts on one switch")
    base, told = baseline(fabrics[0], repeats)
    say("headroom: eight hosts without tc")
    room = headroom(told)
    rows = []
    for one in fabrics:
        say(f"{one.name}: {len(one.cases)} cases on {one.topology.cables.hosts} hosts")
        rows += measure(one, base, repeats, say)
    found = answer(
        comparisons(rows, room["ratio"]),
        _notes(),
        short=short,
        scale={one.name: one.scale for one in fabrics},
        mtu_bytes=MTU,
        bucket_bytes=BURST_BYTES,
        repeats=repeats,
        baseline=told,
        headroom=room,
        rows=rows,
    )
    return {**found, "summary": {**found["summary"], **_counts(rows)}}


def title(row: Mapping[str, Any]) -> str:
    """A case's name."""
    groups = len(row["groups"])
    name = row["algorithm"].replace("-", " ") + (f", {groups} groups at once" if groups > 1 else "")
    return f"{row['fabric']}: {row['library']} {name}"


def comparisons(rows: Sequence[Mapping[str, Any]], room: float | None) -> list[dict[str, Any]]:
    """The cases as every experiment's: their times, then what holds of all of them."""
    found = [
        compared(
            title(row),
            row["predicted_time_s"],
            row["measured_time_s"],
            "s",
            None if row["within_bar"] is None else row["bar"],
        )
        for row in rows
        if row["predicted_time_s"] is not None
    ]
    found.append(counted("cases whose every sum is right", len(rows), sum(row["sums_right"] for row in rows)))
    if room is None:
        return found
    large = [row["bytes_over_predicted"] for row in rows if row["bytes"] >= COUNTED_BYTES]
    low, high = (
        min((one["min"] for one in large), default=1.0),
        max((one["max"] for one in large), default=1.0),
    )
    hot = sum(row["hot_link"]["right"] for row in rows)
    return [
        *found,
        bounded("bytes over predicted, the least of all links", *BYTES, low, ""),
        bounded("bytes over predicted, the most of all links", *BYTES, high, ""),
        *_lost(rows),
        counted("packets dropped", 0, sum(row["dropped_packets"] for row in rows)),
        counted("cases whose busiest link was the predicted one", len(rows), hot),
        bounded("what the cores move without shaping, over what is asked", HEADROOM, None, room, ""),
    ]


def _lost(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of cases over cables that lose packets: segments sent again, beside those that the cables took away."""
    return [
        bounded(
            f"{title(row)}: segments sent again (lost as predicted)",
            1,
            None,
            row["retransmitted_segments"],
            "",
            row["predicted_lost_segments"],
        )
        for row in rows
        if row["predicted_lost_segments"] > FEW
    ]


def _counts(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Cases, right sums, right links."""
    counts = {"cases": len(rows), "sums_right": sum(row["sums_right"] for row in rows)}
    if all("hot_link" in row for row in rows):
        counts["hot_link_right"] = sum(row["hot_link"]["right"] for row in rows)
    return counts


def baseline(one: Fabric, repeats: int = REPEATS) -> tuple[Baseline, dict[str, Any]]:
    """Two hosts, their links as fast as the cards of `one`: the share of a link's rate that a large message gets, and a
    small one's seconds one way.
    """
    two = pair(CARD_BPS / float(one.graph.rate[one.graph.endpoints.up].min()))
    with Hosts(Wiring.of(two)) as hosts:
        row = run_ranks(two, hosts, [{"algorithm": "exchange", "bytes": BASELINE_BYTES}], repeats)[0]
    small = statistics.median(row["small_s"]) / 2
    seconds = statistics.median(row["times_s"]) - 2 * small
    rate = float(two.graph.rate[0])
    share = BASELINE_BYTES * 8 / seconds / rate
    return Baseline(share, small), {
        "bytes": BASELINE_BYTES,
        "rate_bps": rate,
        "time_s": seconds,
        "share_of_wire": share,
        "message_s": small,
    }


def headroom(told: Mapping[str, Any]) -> dict[str, Any]:
    """What the machine moves when nothing is shaped, over what the shaped ring asks of it: well above 1, or the cores are
    what is measured.
    """
    free = replace(fabric("flat", HEADROOM_BYTES), shaped=False)
    case = Case("ring", HEADROOM_BYTES, one_group(free.ranks))
    with Hosts(Wiring.of(free)) as hosts:
        row = run_ranks(free, hosts, as_plan(free, [case]))[0]
    got = ring_bytes(free.ranks, HEADROOM_BYTES) * free.ranks / statistics.median(row["times_s"])
    asked = free.ranks * told["rate_bps"] / 8 * told["share_of_wire"]
    return {"bytes_per_s": got, "asked_bytes_per_s": asked, "ratio": got / asked}


def measure(
    one: Fabric, base: Baseline, repeats: int = REPEATS, say: Callable[[str], None] = lambda line: None
) -> list[dict[str, Any]]:
    """All cases of a fabric, run and predicted; those of gloo where torch is there."""
    wiring = Wiring.of(one)
    by_mpi = [case for case in one.cases if case.library == MPI]
    by_gloo = [case for case in one.cases if case.library == GLOO]
    if by_gloo and (what := missing()) is not None:
        say(f"{one.name}: gloo left out: {what}")
        by_gloo = []
    with Hosts(wiring) as hosts:
        found = run_ranks(one, hosts, as_plan(one, by_mpi), repeats)
        prefix = hosts.prefix
        found += run_torch(one, hosts, by_gloo, repeats) if by_gloo else []
    rows = []
    for case, row in zip([*by_mpi, *by_gloo], found, strict=True):
        predicted = (predict if case.library == MPI else predict_gloo)(one, case, base)
        rows.append(_row(wiring, case, predicted, row, prefix, repeats))
    return rows


def _row(
    wiring: Wiring,
    case: Case,
    predicted: Prediction,
    row: Mapping[str, Any],
    prefix: str,
    repeats: int,
) -> dict[str, Any]:
    """One case: both times, the counters beside the predicted bytes, the hot link."""
    sent, dropped = sent_bytes(wiring, row["before"], row["after"], prefix)
    sent = sent / repeats
    seconds = statistics.median(row["times_s"])
    busy = sent * 8 / wiring.graph.rate
    hottest = int(busy.argmax())
    error = predicted.seconds / seconds - 1
    used = predicted.bytes > 0
    bound = predicted.latency_s <= BANDWIDTH_BOUND * predicted.seconds
    return {
        "fabric": wiring.fabric.name,
        "library": case.library,
        "algorithm": case.algorithm,
        "bytes": case.bytes,
        "ranks": case.ranks,
        "groups": [list(group) for group in case.groups],
        "predicted_time_s": predicted.seconds,
        "predicted_wire_s": predicted.wire_s,
        "predicted_latency_s": predicted.latency_s,
        "measured_time_s": seconds,
        "measured_times_s": row["times_s"],
        "error": error,
        "bar": case.bar,
        "within_bar": bool(abs(error) <= case.bar) if bound else None,
        "sums_right": bool(row["right"]),
        "bytes_over_predicted": {
            "min": float((sent[used] / predicted.bytes[used]).min()),
            "max": float((sent[used] / predicted.bytes[used]).max()),
        },
        "ring_bytes": ring_counters(wiring, case, sent),
        "dropped_packets": dropped,
        "retransmitted_segments": row["retransmitted"],
        "predicted_lost_segments": repeats
        * sum(
            lost * float(predicted.bytes[2 * cable : 2 * cable + 2].sum()) / SEGMENT_BYTES
            for cable, lost in wiring.fabric.loss.items()
        ),
        "hot_link": {
            "measured": link_name(wiring, hottest),
            "predicted": [link_name(wiring, link) for link in predicted.hot],
            "busy_fraction": float(busy[hottest] / seconds),
            "right": hottest in predicted.hot,
        },
    }


def sent_bytes(
    wiring: Wiring, before: Mapping[str, Any], after: Mapping[str, Any], prefix: str
) -> tuple[np.ndarray, int]:
    """Bytes that went into every one-way link between two readings of the counters, (links,), and packets dropped."""
    sent, dropped = np.zeros(len(wiring.graph)), 0
    for link in range(len(sent)):
        end = wiring.sender(link)
        first, last = (reading[prefix + end.node][end.interface] for reading in (before, after))
        sent[link] = last[0] - first[0]
        dropped += last[1] - first[1]
    return sent, dropped


def ring_counters(wiring: Wiring, case: Case, sent: np.ndarray) -> dict[str, float] | None:
    """For a ring: what every card sent over what 2(N − 1)M/N says; with as many rings as a host has ranks, and cards,
    each card has that of one ring. None for others.
    """
    if case.algorithm != "ring":
        return None
    ends = wiring.graph.endpoints
    said = ring_bytes(len(case.groups[0]), case.bytes) / wiring.fabric.accelerators
    ratio = sent[ends.up] / said
    return {"said": said, "min": float(ratio.min()), "max": float(ratio.max())}


def link_name(wiring: Wiring, link: int) -> str:
    """`leaf-1>spine-1` with the cable's number, as several may join two nodes."""
    return (
        f"{wiring.nodes[wiring.graph.tail[link]]}>{wiring.nodes[wiring.graph.head[link]]} (cable {link // 2})"
    )


def _on_loopback(fabrics: Sequence[Fabric], repeats: int, reason: str, short: bool) -> dict[str, Any]:
    """The same collectives between plain processes: sums are checked, times say nothing of a fabric."""
    rows = []
    for one in fabrics:
        cases = [case for case in one.cases if case.library == MPI]
        found = run_ranks(one, None, as_plan(one, cases), repeats)
        for case, row in zip(cases, found, strict=True):
            rows.append(
                {
                    "fabric": one.name,
                    "library": case.library,
                    "algorithm": case.algorithm,
                    "bytes": case.bytes,
                    "ranks": case.ranks,
                    "groups": [list(group) for group in case.groups],
                    "predicted_time_s": None,
                    "measured_time_s": statistics.median(row["times_s"]),
                    "measured_times_s": row["times_s"],
                    "within_bar": None,
                    "sums_right": bool(row["right"]),
                }
            )
    notes = ["no namespaces: no links, no shaping, nothing to predict; only the sums are checked"]
    told = answer(comparisons(rows, None), notes, reason, short, repeats=repeats, rows=rows)
    return {**told, "summary": {**told["summary"], **_counts(rows)}}


def _notes() -> list[str]:
    """What the reader must know of the testbed."""
    return [
        "TCP with a fixed congestion control (reno) and queues that drop nothing stands for a lossless fabric",
        "the share of the wire and a message's latency are the two-host baseline's, the same for every case",
        "ranks of one host talk over its loopback, which is not shaped and taken to cost no time",
        f"the cable between two sites takes {SITE_DELAY_S * 1000:g} ms one way, in a process of ours: not tc's netem",
        "the process manager's own channel is the control plane: only data crosses the cards that are counted",
    ]
