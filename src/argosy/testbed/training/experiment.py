"""The training experiment: steps of real jobs beside their predictions, and what `argosy diagnose` reads from their traces."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from argosy.testbed import hosts as machine
from argosy.testbed.comparison import answer
from argosy.testbed.fabrics import fabric
from argosy.testbed.hosts import Hosts, TestbedError
from argosy.testbed.torch_launch import Job
from argosy.testbed.training import cases, diagnosed
from argosy.testbed.training.beside import Found, starts, timed_rows
from argosy.testbed.wiring import Wiring

RANKS, CUBE, GROUPS, STARTS = 4, 8, (2, 4, 8, 16), 7
JOB_SECONDS = 240.0
BEGIN_SECONDS = 60.0  # until the first rank runs: three, where the machine has nothing else to do
POLL_S = 0.05
NOTES = [
    "the accelerator's time is a wait of a stated length per layer; weights, gradients, losses, messages are real",
    "a message's rate and seconds between two hosts, and what a step takes beyond its waits where nothing is exchanged, are "
    "measured once and the same for every case",
    "a step is the median of those after the first, from the last rank's end to the last rank's end",
    "torch's reduce_scatter over gloo is an all-reduce whose result is cut: parts are sent directly to their owners here",
    "profilers slow the steps they record: traced cases are diagnosed, not timed",
]


def run(short: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Data parallel in four forms, pipelines by schedule, diagnosed traces, starts of groups: the payload of `argosy testbed
    training` without its head. Without namespaces on the loopback, where times are not judged. TestbedError where a job
    fails.
    """
    reason = machine.why_not()
    one = fabric("flat", 1 << 20)
    plan, traced = cases.timed(short), cases.traced(short)
    with _folder() as folder, nullcontext() if reason else Hosts(Wiring.of(one)) as hosts:
        say(f"four ranks: {len(plan)} timed cases, {len(traced)} profiled")
        found = _job(hosts, folder / "four", [*plan, *traced], range(RANKS), 1)
        rows, told = timed_rows(plan, found, one, reason is None)
        if hosts is not None and not short:
            say("eight ranks: a cube of groups, then with a degraded cable")
            _job(hosts, folder / "eight", cases.on_a_cube(), range(CUBE), 1, _cable(hosts))
            say("starts of groups of up to 16 ranks")
            sizes = {"sizes": GROUPS, "repeats": STARTS}
            told["starts"] = starts(
                _job(hosts, folder / "starts", [sizes], range(CUBE), 2, program="start_up")[0]
            )
        say("diagnosis of the traces")
        told["recorded_again"] = _again(hosts, folder, traced, say)
        rows += diagnosed.comparisons(folder / "four") + diagnosed.comparisons(folder / "eight")
    return answer(rows, NOTES, reason, short, **told)


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=f"argosy-{os.getpid()}-testbed-") as name:
        yield Path(name)


def _job(
    hosts: Hosts | None,
    folder: Path,
    plan: Sequence[Mapping[str, Any]],
    nodes: Sequence[int],
    ranks_per_node: int,
    held: Callable[[str], None] = lambda name: None,
    program: str = "rank_main",
) -> list[Found]:
    """Run a plan's cases; what every rank found of each. `held` does what a case of kind `hold` asks for."""
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps({"cases": list(plan)}), encoding="utf-8")
    try:
        _run(hosts, folder, nodes, ranks_per_node, held, program)
    except NotBegunError:  # agents that did not find each other on a machine busy with others
        shutil.rmtree(folder / "ranks")
        _run(hosts, folder, nodes, ranks_per_node, held, program)
    found: list[Found] = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    return found


class NotBegunError(TestbedError):
    """No rank of a job has begun after BEGIN_SECONDS."""


def _run(
    hosts: Hosts | None,
    folder: Path,
    nodes: Sequence[int],
    ranks_per_node: int,
    held: Callable[[str], None],
    program: str,
) -> None:
    """Run a job to its end."""
    module = "argosy.testbed.training"
    preload = [f"{module}.data_parallel", f"{module}.pipelined"]
    words = f"{module}.{program}", [str(folder)], list(nodes), ranks_per_node, folder, JOB_SECONDS
    with Job(hosts, *words, preload=preload) as job:
        limit = time.monotonic() + BEGIN_SECONDS
        while len(codes := job.poll()) < len(job.agents):
            for asked in folder.glob("hold-*"):
                name = asked.name.removeprefix("hold-")
                asked.unlink()
                held(name)
                (folder / f"go-{name}").touch()
            if time.monotonic() > limit and not job.ranks():
                raise NotBegunError(f"no rank has begun after {BEGIN_SECONDS:g} s")
            time.sleep(POLL_S)
        job.check(codes)


def _again(
    hosts: Hosts | None, folder: Path, traced: Sequence[Mapping[str, Any]], say: Callable[[str], None]
) -> list[dict[str, str]]:
    """Record once more what did not blame as planted: on a busy machine a rank may really have been slow. Their names, and
    whom the first traces blamed.
    """
    wrong = diagnosed.wrong(folder / "four")
    found = [{"name": name, "first": who} for name, who in wrong.items()]
    if wrong:
        say(f"once more: {', '.join(wrong)}")
        once = [case for case in traced if case["trace"] in wrong]
        _job(hosts, folder / "again", once, range(RANKS), 1)
        for name in wrong:
            shutil.rmtree(folder / "four" / name)
            (folder / "again" / name).rename(folder / "four" / name)
    wrong = diagnosed.wrong(folder / "eight")
    if wrong and hosts is not None:
        say(f"once more: {', '.join(wrong)}")
        _cable(hosts, 1.0)("mend")
        shutil.rmtree(folder / "eight")
        _job(hosts, folder / "eight", cases.on_a_cube(), range(CUBE), 1, _cable(hosts))
        found += [{"name": name, "first": who} for name, who in wrong.items()]
    return found


def _cable(hosts: Hosts, share: float = cases.LEFT) -> Callable[[str], None]:
    """Leaves the cable of one host this share of its rate, both ways."""

    def act(name: str) -> None:
        ends = hosts.wiring.graph.endpoints
        for link in (ends.up[cases.SLOW_HOST], ends.down[cases.SLOW_HOST]):
            hosts.keep(int(link), share)

    return act
