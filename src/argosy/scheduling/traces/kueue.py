"""Kueue's workloads, as `kubectl get workloads --all-namespaces -o json` lists them (kueue.x-k8s.io/v1beta1 and v1beta2).

A workload's accelerators are those that the containers of its pods request, times the pods. It waits from its creation to the
condition Admitted, and runs to the condition Finished. Conditions keep only their last change: of a workload that was evicted
and admitted again, earlier runs are known as `accumulatedPastExecutionTimeSeconds` alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any

from argosy.scheduling.traces.faults import MOST_ACCELERATORS, MOST_SECONDS, Faults, text_of, whole

RESOURCES = (
    "nvidia.com/gpu", "amd.com/gpu", "google.com/tpu", "habana.ai/gaudi", "aws.amazon.com/neuron",
    "aws.amazon.com/neurondevice", "huawei.com/Ascend910", "gpu.intel.com/xe",
)  # fmt: skip
_LIMIT, _PAST = "maximumExecutionTimeSeconds", "accumulatedPastExecutionTimeSeconds"
COMMAND = "kubectl get workloads --all-namespaces -o json"


@dataclass(frozen=True, slots=True)
class Workload:
    """One workload. Times are seconds since 1970 (None: not yet); `line` is where it begins in the file.

    `pods` and `least_pods` (of partial admission; equal to `pods` without it) over all pod sets; `accelerators` of all of
    them, `least_accelerators` with the least pods; `topology` is the label of the level that is required, empty for none.
    """

    line: int
    name: str
    queue: str
    cluster_queue: str
    priority: int
    created_s: float
    admitted_s: float | None
    finished_s: float | None
    evicted: str
    past_s: float
    time_limit_s: float | None
    pods: int
    least_pods: int
    accelerators: int
    least_accelerators: int
    topology: str
    active: bool


def looks_like_kueue(text: str) -> bool:
    """Whether a text begins as the JSON of Kueue's workloads."""
    return text.lstrip().startswith("{") and "kueue.x-k8s.io/" in text


def read_kueue(path: Path) -> tuple[Workload, ...]:
    """The workloads of a file, in its order. ScenarioError with all faults at their places."""
    return parse_kueue(text_of(path), str(path))


def parse_kueue(text: str, file: str = "<text>") -> tuple[Workload, ...]:
    """The workloads of a text: a List, or a single Workload; see `read_kueue`."""
    faults = Faults(file)
    try:
        tree = json.loads(text)
    except json.JSONDecodeError as error:
        faults.add(error.lineno, error.colno, "", f"is no JSON: {error.msg}", f"write it with {COMMAND}")
    except (ValueError, RecursionError):
        faults.add(1, 1, "", "is no list of workloads: its numbers or its depth", f"write it with {COMMAND}")
    faults.raise_if_any()
    listed = isinstance(tree, dict) and isinstance(tree.get("items"), list)
    items = tree["items"] if listed else [tree]
    starts = _starts(text, len(items)) if listed else [0]
    workloads = []
    for number, (item, start) in enumerate(zip(items, starts, strict=True)):
        reader = _Reader(text, start, f"items[{number}]" if listed else "", faults)
        if not isinstance(item, dict) or item.get("kind", "Workload") != "Workload":
            kind = item.get("kind") if isinstance(item, dict) else type(item).__name__
            reader.fault((), f"is a {kind}, not a Workload", f"write it with {COMMAND}")
        else:
            workloads += reader.workload(item)
    faults.raise_if_any()
    return tuple(workloads)


@dataclass
class _Reader:
    """Reads one workload; what is wrong is noted at its place in the text."""

    text: str
    start: int
    shown: str
    faults: Faults

    def fault(self, path: Sequence[str | int], message: str, instead: str) -> None:
        at = _position(self.text, self.start, path)
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        steps = [self.shown, *(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)]
        self.faults.add(line, column, "".join(steps).removeprefix("."), message, instead)

    def workload(self, item: Mapping[str, Any]) -> list[Workload]:
        """The workload, or nothing where it has faults."""
        before = len(self.faults.problems)
        meta, spec, status = (_mapping(item.get(key)) for key in ("metadata", "spec", "status"))
        if not isinstance(meta.get("name"), str):
            self.fault(("metadata",), "has no name", "write metadata.name")
        created = self._moment(meta.get("creationTimestamp"), ("metadata", "creationTimestamp"))
        if created is None and "creationTimestamp" not in meta:
            self.fault(("metadata",), "has no creationTimestamp", f"write it with {COMMAND}")
        sets = spec.get("podSets")
        if not isinstance(sets, list) or not sets:
            self.fault(("spec",), "has no podSets", "a workload has at least one pod set")
            sets = []
        counted = [self._pod_set(_mapping(each), number) for number, each in enumerate(sets)]
        when = {
            each["type"]: each
            for number, given in enumerate(_list(status.get("conditions")))
            if (each := self._condition(_mapping(given), number))["holds"]
        }
        priority = self._number(spec.get("priority"), ("spec", "priority"), 2**53)
        limit = self._number(spec.get(_LIMIT), ("spec", _LIMIT), MOST_SECONDS)
        past = self._number(status.get(_PAST), ("status", _PAST), MOST_SECONDS)
        if sum(pods * each for pods, _, each in counted) > MOST_ACCELERATORS:
            self.fault(
                ("spec", "podSets"), f"asks for more than {MOST_ACCELERATORS:,} accelerators", "check count"
            )
        if len(self.faults.problems) > before or created is None:
            return []
        admission = _mapping(status.get("admission"))
        name = f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])
        return [
            Workload(
                line=self.text.count("\n", 0, self.start) + 1,
                name=name,
                queue=str(spec.get("queueName") or ""),
                cluster_queue=str(admission.get("clusterQueue") or ""),
                priority=int(priority or 0),
                created_s=created,
                admitted_s=when.get("Admitted", {}).get("at"),
                finished_s=when.get("Finished", {}).get("at"),
                evicted=str(when.get("Evicted", {}).get("reason", "")),
                past_s=past or 0.0,
                time_limit_s=limit or None,
                pods=sum(pods for pods, _, _ in counted),
                least_pods=sum(least for _, least, _ in counted),
                accelerators=sum(pods * each for pods, _, each in counted),
                least_accelerators=sum(least * each for _, least, each in counted),
                topology=next((label for each in sets if (label := _required(_mapping(each)))), ""),
                active=spec.get("active") is not False,
            )
        ]

    def _pod_set(self, given: Mapping[str, Any], number: int) -> tuple[int, int, int]:
        """Pods, least pods, accelerators of one pod."""
        path = ("spec", "podSets", number)
        pods, least = given.get("count"), given.get("minCount")
        pods = 1 if pods is None else pods
        for key, value in (("count", pods), ("minCount", least)):
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
                self.fault((*path, key), f"{value!r} is no number of pods", "write a whole number")
                return 0, 0, 0
        pod = _mapping(_mapping(given.get("template")).get("spec"))
        containers = [_mapping(each) for each in _list(pod.get("containers"))]
        total = 0
        for index, container in enumerate(containers):
            resources = _mapping(container.get("resources"))
            asked = {**_mapping(resources.get("limits")), **_mapping(resources.get("requests"))}
            for resource in (each for each in RESOURCES if each in asked):
                amount = str(asked[resource])
                devices = whole(amount)
                if devices is not None:
                    total += devices
                else:
                    where = (*path, "template", "spec", "containers", index, "resources")
                    self.fault(where, f"{resource}: {amount!r} is no whole number", "write for example 8")
        return pods, pods if least is None else min(least, pods), total

    def _condition(self, given: Mapping[str, Any], number: int) -> dict[str, Any]:
        at = self._moment(
            given.get("lastTransitionTime"), ("status", "conditions", number, "lastTransitionTime")
        )
        return {
            "type": str(given.get("type")),
            "holds": given.get("status") == "True",
            "at": at,
            "reason": given.get("reason", ""),
        }

    def _number(self, given: Any, path: Sequence[str | int], most: float) -> float | None:
        """A finite number no larger than `most`; None where none is given, or with a fault."""
        if given is None:
            return None
        if isinstance(given, bool) or not isinstance(given, int | float) or not -most <= given <= most:
            self.fault(path, f"{given!r:.40} is no number that can be", "write a number")
            return None
        return float(given)

    def _moment(self, given: Any, path: Sequence[str | int]) -> float | None:
        if given is None:
            return None
        try:
            moment = datetime.fromisoformat(str(given))
            if moment.tzinfo is None:
                raise ValueError
        except ValueError:
            self.fault(path, f"{given!r:.40} is no time", "write for example 2026-03-01T12:30:00Z")
            return None
        return moment.timestamp()


def _mapping(given: Any) -> Mapping[str, Any]:
    return given if isinstance(given, dict) else {}


def _list(given: Any) -> list[Any]:
    return given if isinstance(given, list) else []


def _required(pod_set: Mapping[str, Any]) -> str:
    """The label of the topology level that a pod set requires."""
    request = _mapping(pod_set.get("topologyRequest"))
    annotations = _mapping(_mapping(_mapping(pod_set.get("template")).get("metadata")).get("annotations"))
    return str(request.get("required") or annotations.get("kueue.x-k8s.io/podset-required-topology") or "")


# --- places in the text ----------------------------------------------------------------

_DECODER = json.JSONDecoder()


def _skip(text: str, at: int, letters: str = " \t\r\n") -> int:
    while at < len(text) and text[at] in letters:
        at += 1
    return at


def _starts(text: str, count: int) -> list[int]:
    """Where the members of the top mapping's `items` begin."""
    at = _position(text, 0, ("items",))
    starts = []
    at = _skip(text, at + 1)
    for _ in range(count):
        starts.append(at)
        _, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at, " \t\r\n,")
    return starts


def _position(text: str, at: int, path: Sequence[str | int]) -> int:
    """Where the value at `path` begins, in the JSON value that begins at `at`; as deep as the path exists."""
    at = _skip(text, at)
    for step in path:
        inner = _member(text, at, step) if isinstance(step, str) else _element(text, at, step)
        if inner is None:
            return at
        at = inner
    return at


def _member(text: str, at: int, key: str) -> int | None:
    if text[at] != "{":
        return None
    at = _skip(text, at + 1)
    while text[at] == '"':
        name, at = scanstring(text, at + 1)
        at = _skip(text, at, " \t\r\n:")
        if name == key:
            return at
        _, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at, " \t\r\n,")
    return None


def _element(text: str, at: int, index: int) -> int | None:
    if text[at] != "[":
        return None
    at = _skip(text, at + 1)
    while text[at] != "]":
        if index == 0:
            return at
        index -= 1
        _, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at, " \t\r\n,")
    return None
