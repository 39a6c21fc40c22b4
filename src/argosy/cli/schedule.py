"""`argosy schedule`: the cluster's queue, played under a policy."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from argosy.cli import schedule_options as options

if TYPE_CHECKING:
    from argosy.planning.queue import Queue

INFEASIBLE = 2


def schedule(
    source: options.Source = None,
    policy: options.Policy = None,
    why: options.Why = None,
    compare: options.Compare = None,
    seeds: options.Seeds = 1,
    seed: options.Seed = 0,
    until: options.Until = None,
    nodes: options.Nodes = None,
    per_node: options.PerNode = 8,
    per_domain: options.PerDomain = 1,
    per_leaf: options.PerLeaf = 32,
    per_pod: options.PerPod = 8,
    accelerator: options.Accelerator = "",
    quota: options.Quota = None,
    node_mttf: options.NodeMttf = None,
    repair: options.Repair = "1 day",
    fleet: options.Fleet = None,
    picture: options.Picture = None,
    html: options.Html = None,
    policies: options.Policies = False,
    paradigms: options.Paradigms = False,
    as_json: options.AsJson = False,
) -> None:
    """Play the cluster's queue under a policy: who waits, why, where accelerator-time goes; policies compared."""
    if policies:
        _policies(as_json)
        return
    if source is None:
        raise typer.BadParameter("name a trace or a scenario, or ask for --policies", param_hint="SOURCE")
    if picture is not None and picture.suffix not in (".svg", ".png"):
        raise typer.BadParameter(f"{picture}: a picture ends in .svg or .png", param_hint="--picture")
    from argosy.planning.queue import Machine, queue_of, quotas_of, seconds_of

    machine = Machine(
        nodes, per_node, per_domain, per_leaf, per_pod, accelerator, quotas_of(quota or []),
        seconds_of(node_mttf, "--node-mttf"), seconds_of(repair, "--repair") or 0.0, fleet,
    )  # fmt: skip
    queue = queue_of(source, machine, seconds_of(until, "--until"))
    if why is not None:
        _why(queue, why, policy, seed, as_json)
    elif paradigms:
        _paradigms(queue, seeds, seed, as_json)
    else:
        _play(queue, policy, compare, seeds, seed, picture, html, as_json)


def _play(
    queue: Queue,
    policy: str | None,
    against: str | None,
    seeds: int,
    seed: int,
    picture: Path | None,
    html: Path | None,
    as_json: bool,
) -> None:
    """The queue under a policy, and others beside it."""
    from argosy.planning.schedule import schedule as played
    from argosy.scheduling import PRESETS

    names = list(PRESETS) if against == "all" else [each.strip() for each in (against or "").split(",")]
    drawn = picture is not None or html is not None
    answer = played(queue, policy, [name for name in names if name], seeds, seed, drawn, _tell)
    if as_json:
        _print({key: value for key, value in answer.items() if key != "pictures"})
    else:
        from argosy.report.schedule import show_schedule

        show_schedule(answer)
    if picture is not None:
        from argosy.report.charts import save
        from argosy.report.schedule_charts import picture as drawing

        save(drawing(answer), picture)
        _tell(f"wrote {picture}")
    if html is not None:
        from argosy.report.schedule_html import schedule_html

        html.write_text(schedule_html(answer), encoding="utf-8")
        _tell(f"wrote {html}")
    if answer["totals"]["rejected"]:
        raise typer.Exit(INFEASIBLE)


def _why(queue: Queue, job: str, policy: str | None, seed: int, as_json: bool) -> None:
    """What blocks one job."""
    from argosy.planning.schedule import why

    answer = why(queue, job, policy, seed)
    if as_json:
        _print(answer)
    else:
        from argosy.report.schedule import show_why

        show_why(answer)


def _paradigms(queue: Queue, seeds: int, seed: int, as_json: bool) -> None:
    """The three paradigms on one load."""
    from argosy.handbook.paradigm_fleet import experiment

    answer = experiment(queue, seeds, seed, _tell)
    if as_json:
        _print(answer)
    else:
        from argosy.report.paradigms import show_paradigms

        show_paradigms(answer)


def _policies(as_json: bool) -> None:
    """The known policies."""
    from argosy.planning.schedule import policy_table

    answer = policy_table()
    if as_json:
        _print(answer)
    else:
        from argosy.report.schedule import show_policies

        show_policies(answer)


def _print(answer: dict[str, Any]) -> None:
    print(json.dumps(answer, indent=1, ensure_ascii=False, allow_nan=False))


def _tell(message: str) -> None:
    print(f"argosy: {message}", file=sys.stderr)
