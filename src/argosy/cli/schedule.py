"""`argosy schedule`: the cluster's queue, played under a policy."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from argosy.planning.queue import Queue

INFEASIBLE = 2


def schedule(
    source: Annotated[
        Path | None,
        typer.Argument(
            help="A trace (CSV, sacct --parsable2, Kueue's workloads as JSON), or a scenario (.yaml).",
            show_default=False,
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option("--policy", help="A name of --policies (default: the scenario's; easy for a trace)."),
    ] = None,
    why: Annotated[
        str | None, typer.Option("--why", help="What blocks this job, and what would unblock it.")
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            "--compare", help="Policies to set beside it, with commas: fifo,conservative. All: all."
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, max=1000, help="Draws of jobs and failures for intervals.")
    ] = 1,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="The same seed gives the same jobs and failures.")
    ] = 0,
    until: Annotated[
        str | None, typer.Option("--until", help="Stop here: 7 days. A scenario stops at its horizon.")
    ] = None,
    nodes: Annotated[
        int | None, typer.Option("--nodes", min=1, max=1_000_000, help="Nodes, for a trace.")
    ] = None,
    per_node: Annotated[
        int, typer.Option("--accelerators-per-node", min=1, max=1024, help="Of one node, for a trace.")
    ] = 8,
    per_domain: Annotated[
        int,
        typer.Option("--nodes-per-domain", min=1, help="Nodes that share one NVLink domain, for a trace."),
    ] = 1,
    per_leaf: Annotated[
        int, typer.Option("--nodes-per-leaf", min=1, help="Nodes below one leaf, for a trace.")
    ] = 32,
    per_pod: Annotated[
        int, typer.Option("--leaves-per-pod", min=1, help="Leaves of one pod, for a trace.")
    ] = 8,
    accelerator: Annotated[
        str,
        typer.Option(
            "--accelerator", help="Their type, for jobs of a trace that name one.", show_default=False
        ),
    ] = "",
    quota: Annotated[
        list[str] | None, typer.Option("--quota", help="research=512: accelerators of a tenant (repeatable).")
    ] = None,
    node_mttf: Annotated[
        str | None,
        typer.Option("--node-mttf", help="Mean time between failures of a node, for a trace: 2 yr."),
    ] = None,
    repair: Annotated[str, typer.Option("--repair", help="Mean time until a failed node is back.")] = "1 day",
    fleet: Annotated[
        Path | None,
        typer.Option("--fleet", help="A scenario whose fleet, failures and quotas a trace is played on."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Draw occupancy and jobs on nodes: .svg or .png.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write a page with pictures and tables.")
    ] = None,
    policies: Annotated[
        bool, typer.Option("--policies", help="The known policies, and what they do.")
    ] = False,
    paradigms: Annotated[
        bool,
        typer.Option(
            "--paradigms", help="The same load under hpc, wsc and ml-fleet, in the eight dimensions."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
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
