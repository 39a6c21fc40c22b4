"""Traces that nobody would write: only faults of the file may come of them, quickly."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from argosy.scheduling.jobs import faults
from argosy.scheduling.traces import jobs_of_kueue, jobs_of_sacct, parse_jobs, parse_kueue, parse_sacct
from argosy.scheduling.traces.sacct import array_tasks, expand_hosts
from argosy.spec import ScenarioError

CSV = (
    "job,submit_s,duration_s,accelerators,kind,elastic_min,sizes,floor,topology,priority,walltime_s\n"
    "a,0,10,8,,,,,leaf,1,20\nb,1,10,16,elastic,8,,,,,\nc,2,5,8,moldable,,4:0.5 8:1,,,,\nd,3,5,0.25,,,,,,,\n"
)
SACCT = (
    "JobID|JobName|State|ExitCode|Submit|Start|End|Elapsed|Timelimit|SubmitLine|NNodes|AllocTRES|NodeList\n"
    "1|a|COMPLETED|0:0|2026-01-01T00:00:00|2026-01-01T00:00:05|2026-01-01T01:00:05|01:00:00|1-00:00:00|x | y|2|"
    "gres/gpu=16,gres/gpu:h100=16|n[001-002]\n"
    "2_[3-5%2]|b|PENDING|0:0|2026-01-01T00:10:00|Unknown|Unknown|00:00:00|04:00:00|z|1|gres/gpu=4|None assigned\n"
)
KUEUE = json.dumps(
    {
        "kind": "List",
        "items": [
            {
                "apiVersion": "kueue.x-k8s.io/v1beta1",
                "kind": "Workload",
                "metadata": {"name": "a", "namespace": "n", "creationTimestamp": "2026-01-01T00:00:00Z"},
                "spec": {
                    "queueName": "q",
                    "priority": 5,
                    "maximumExecutionTimeSeconds": 9,
                    "podSets": [
                        {
                            "count": 4,
                            "minCount": 2,
                            "template": {
                                "spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": "8"}}}]}
                            },
                        }
                    ],
                },
                "status": {
                    "accumulatedPastExecutionTimeSeconds": 3,
                    "conditions": [
                        {"type": "Admitted", "status": "True", "lastTransitionTime": "2026-01-01T00:10:00Z"}
                    ],
                },
            }
        ],
    }
)
WORST = [
    "",
    "9" * 30,
    "-1",
    "nan",
    "inf",
    "1e308",
    "²",
    "٣",
    "[",
    "]",
    "|",
    ",",
    '"',
    "\n",
    "null",
    "{}",
    "\x00",
    "😀",
]


def read(text: str, kind: str) -> None:
    """Reads the text as a format; the jobs that come of it must be sound."""
    try:
        if kind == "csv":
            trace = parse_jobs(text)
        elif kind == "sacct":
            trace = jobs_of_sacct(parse_sacct(text), "t")
        else:
            trace = jobs_of_kueue(parse_kueue(text), "t")
    except ScenarioError:
        return
    assert not [fault for job in trace.jobs for fault in faults(job)]


@pytest.mark.parametrize(("kind", "sound"), [("csv", CSV), ("sacct", SACCT), ("kueue", KUEUE)])
@given(data=st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_damage_is_told_as_damage(kind: str, sound: str, data: st.DataObject) -> None:
    text = sound
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + data.draw(st.sampled_from(WORST) | st.text(max_size=6)) + text[end:]
    read(text, kind)


@pytest.mark.parametrize(
    "value", [10**400, -(10**30), 1.5e308, True, [], {}, "x", None, "٣", [[1]], {"a": 1}]
)
def test_every_field_of_a_workload_may_hold_anything(value: object) -> None:
    def places(tree: object, path: tuple = ()):
        yield path
        inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
        for key, each in inner:
            yield from places(each, (*path, key))

    for path in list(places(json.loads(KUEUE)))[1:]:
        tree = json.loads(KUEUE)
        place = tree
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        read(json.dumps(tree), "kueue")


def test_what_would_fill_the_memory_does_not() -> None:
    assert expand_hosts("n[0-99999999999999]") == ("n0-99999999999999",)
    assert expand_hosts("n[0-999][0-999][0-999]") == ("n[0-999][0-999][0-999]",)
    assert array_tasks("[0-999999999]") == ()
    read("[" * 100_000, "kueue")
    read('{"a":' * 50_000, "kueue")
    read('{"items": [' + "9" * 10_000 + "]}", "kueue")
    read("job,submit_s,duration_s,accelerators\na,0,1," + "9" * 10_000 + "\n", "csv")
