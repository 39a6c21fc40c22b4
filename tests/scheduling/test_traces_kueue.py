"""Kueue's workloads: what is read, and faults at their places in the JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from argosy.scheduling.traces import jobs_of_kueue, parse_kueue
from argosy.spec import ScenarioError

RACK = "cloud.provider.com/topology-rack"


def workload(name: str, **changes: Any) -> dict[str, Any]:
    item = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "team", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {
            "queueName": "q",
            "priority": 5,
            "podSets": [
                {
                    "name": "main",
                    "count": 4,
                    "template": {
                        "spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": "8"}}}]}
                    },
                }
            ],
        },
        "status": {
            "admission": {"clusterQueue": "research"},
            "conditions": [
                {"type": "Admitted", "status": "True", "lastTransitionTime": "2026-01-01T00:10:00Z"},
                {"type": "Finished", "status": "True", "lastTransitionTime": "2026-01-01T01:10:00Z"},
            ],
        },
    }
    for path, value in changes.items():
        place: Any = item
        *steps, last = path.split("__")
        for step in steps:
            place = place[int(step) if step.isdigit() else step]
        place[last] = value
    return item


def text(*items: dict[str, Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)}, indent=4)


def test_a_finished_gang() -> None:
    found = parse_kueue(text(workload("a", spec__podSets__0__topologyRequest={"required": RACK})))
    trace = jobs_of_kueue(found, "w")
    (job,) = trace.jobs
    assert (job.job, job.tenant, job.priority, job.accelerators) == ("team/a", "research", 5, 32)
    assert (job.duration_s, job.worker, job.topology, job.kind) == (3600.0, 8, "leaf", "rigid")
    assert trace.recorded_wait_s == {"team/a": 600.0}


def test_partial_admission_is_moldable() -> None:
    found = parse_kueue(text(workload("a", spec__podSets__0__minCount=2)))
    (job,) = jobs_of_kueue(found, "w").jobs
    assert (job.kind, job.sizes) == ("moldable", ((16, 0.5), (24, 0.75), (32, 1.0)))


def test_what_has_not_ended() -> None:
    running = workload("r", metadata__creationTimestamp="2026-01-01T00:30:00Z")
    running["status"]["conditions"].pop()
    waiting = workload("w", status={}, spec__maximumExecutionTimeSeconds=7200)
    lost = workload("l", status={})
    stopped = workload("s", status={}, spec__active=False)
    cpu = workload("c", spec__podSets__0__template={})
    evicted = workload("e", status__accumulatedPastExecutionTimeSeconds=100)
    items = (workload("a"), running, waiting, lost, stopped, cpu, evicted)
    trace = jobs_of_kueue(parse_kueue(text(*items)), "w")
    durations = {job.job: job.duration_s for job in trace.jobs}
    assert durations == {"team/a": 3600.0, "team/r": 3600.0, "team/w": 7200.0, "team/e": 3700.0}
    assert len(trace.notes) == 6
    assert "team/e" not in trace.recorded_wait_s


def test_one_workload_alone() -> None:
    assert parse_kueue(json.dumps(workload("a")))[0].name == "team/a"


def test_faults_at_their_places() -> None:
    bad = text(
        workload("a"),
        workload("b", metadata__creationTimestamp="yesterday", spec__podSets__0__count="x"),
        workload("c", spec__podSets=[]),
        {"kind": "Pod"},
    )
    with pytest.raises(ScenarioError) as caught:
        parse_kueue(bad, "w.json")
    lines = bad.splitlines()
    told = str(caught.value).splitlines()
    assert len(told) == 4
    for line, sought in zip(told, ('"yesterday"', '"x"', '"podSets": []', '"kind": "Pod"'), strict=True):
        number, column = (int(part) for part in line.split(":")[1:3])
        near = "\n".join(lines[number - 1 : number + 8])[column - 1 :]
        assert sought.strip('"') in near, (line, near)
    assert "items[1].spec.podSets[0].count" in told[1]


def test_broken_json() -> None:
    with pytest.raises(ScenarioError, match=r"w\.json:2:1: is no JSON"):
        parse_kueue('{"apiVersion": "kueue.x-k8s.io/v1beta1",\n', "w.json")


def test_nothing_to_schedule() -> None:
    with pytest.raises(ScenarioError, match="the list is empty"):
        jobs_of_kueue(parse_kueue(text()), "w")
