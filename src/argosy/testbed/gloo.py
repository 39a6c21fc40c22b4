"""All-reduces of torch.distributed over gloo: what the ranks are asked to run, and what the flow simulator says of it.

gloo's all-reduce is one ring in rank order whose messages go to the rank before (gloo/allreduce.cc), its all-gather one whose
messages go to the rank after (gloo/allgather.cc). Over groups of neighbours it is put together here: a ring reduce-scatter
inside, gloo's all-reduce across, gloo's all-gather inside.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from argosy.fabric.wires import Wires
from argosy.testbed.fabrics import Case, Fabric, strided
from argosy.testbed.hosts import Hosts
from argosy.testbed.launch import RUN_SECONDS, WARM_UP
from argosy.testbed.predict import Baseline, Prediction, hot_links, predict_phase, wires_of
from argosy.testbed.torch_launch import START_SECONDS, Job

HIERARCHICAL = "hierarchical"
WAYS = 2  # a sender waits until it is told that the receiver is ready (gloo/transport/tcp/pair.cc): over long cables, a way more


def inside_and_across(case: Case, accelerators: int) -> tuple[list[list[int]], list[list[int]]]:
    """Groups of neighbours of a case, and those across; none across where gloo's ring does it all."""
    if case.algorithm != HIERARCHICAL:
        return [list(group) for group in case.groups], []
    size = case.domain or accelerators
    inside = [list(range(first, first + size)) for first in range(0, case.ranks, size)]
    return inside, [list(group) for group in strided(case.ranks, size)]


def as_plan(fabric: Fabric, cases: Sequence[Case]) -> list[dict[str, Any]]:
    """The cases as the ranks read them."""
    plan = []
    for case in cases:
        inside, across = inside_and_across(case, fabric.accelerators)
        plan.append({"bytes": case.bytes, "groups": inside, "across": across})
    return plan


def run_torch(
    fabric: Fabric, hosts: Hosts | None, cases: Sequence[Case], repeats: int
) -> list[dict[str, Any]]:
    """Run cases on all ranks of a fabric; what rank 0 wrote. TestbedError where torch fails or takes too long."""
    with tempfile.TemporaryDirectory(prefix=f"argosy-{os.getpid()}-testbed-") as name:
        folder = Path(name)
        output, plan = folder / "rows.json", folder / "plan.json"
        plan.write_text(
            json.dumps(
                {
                    "counted": hosts.namespaces if hosts else [],
                    "cases": as_plan(fabric, cases),
                    "repeats": repeats,
                    "warm_up": WARM_UP,
                    "output": str(output),
                }
            ),
            encoding="utf-8",
        )
        with Job(
            hosts,
            "argosy.testbed.torch_worker",
            [str(plan)],
            range(fabric.topology.cables.hosts),
            fabric.accelerators,
            folder,
            START_SECONDS + RUN_SECONDS * len(cases),
            card_of_rank=True,
            preload=["numpy"],
        ) as job:
            job.check(job.wait())
        found: list[dict[str, Any]] = json.loads(output.read_text(encoding="utf-8"))
        return found


def predict_gloo(fabric: Fabric, case: Case, baseline: Baseline) -> Prediction:
    """Seconds and loads of a case: of its phases, one after the other."""
    wires = wires_of(fabric)
    inside, across = inside_and_across(case, fabric.accelerators)
    if not across:
        return predict_phase(
            fabric, downwards(wires), "all_reduce", case.bytes, mirrored(inside, wires), baseline, ways=WAYS
        )
    size = len(inside[0])
    phases = [
        (downwards(wires), "all_reduce", case.bytes // size, mirrored(across, wires)),
    ]
    if size > fabric.accelerators:  # inside a host messages cross the loopback
        phases += [
            (wires, "reduce_scatter", case.bytes, inside),
            (wires, "all_gather", case.bytes, inside),
        ]
    each = [
        predict_phase(fabric, seen, kind, message, groups, baseline, ways=WAYS)
        for seen, kind, message, groups in phases
    ]
    carried = np.sum([one.bytes for one in each], axis=0)
    return Prediction(
        sum(one.seconds for one in each),
        sum(one.wire_s for one in each),
        sum(one.latency_s for one in each),
        carried,
        hot_links(carried, fabric.graph.rate),
    )


def downwards(wires: Wires) -> Wires:
    """The same wires with the ranks counted from the other end: a ring that goes up goes down."""
    return replace(wires, cards=wires.cards[::-1])


def mirrored(groups: Sequence[Sequence[int]], wires: Wires) -> list[list[int]]:
    """Groups in that count."""
    return [sorted(wires.accelerators - 1 - rank for rank in group) for group in groups]
