"""The options of `argosy schedule`, each a type of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Source = Annotated[
    Path | None,
    typer.Argument(
        help="A trace (CSV, sacct --parsable2, Kueue's workloads as JSON), or a scenario (.yaml).",
        show_default=False,
    ),
]
Policy = Annotated[
    str | None,
    typer.Option("--policy", help="A name of --policies (default: the scenario's; easy for a trace)."),
]
Why = Annotated[str | None, typer.Option("--why", help="What blocks this job, and what would unblock it.")]
Compare = Annotated[
    str | None,
    typer.Option("--compare", help="Policies to set beside it, with commas: fifo,conservative. All: all."),
]
Seeds = Annotated[
    int, typer.Option("--seeds", min=1, max=1000, help="Draws of jobs and failures for intervals.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same jobs and failures.")]
Until = Annotated[
    str | None, typer.Option("--until", help="Stop here: 7 days. A scenario stops at its horizon.")
]
Nodes = Annotated[int | None, typer.Option("--nodes", min=1, max=1_000_000, help="Nodes, for a trace.")]
PerNode = Annotated[
    int, typer.Option("--accelerators-per-node", min=1, max=1024, help="Of one node, for a trace.")
]
PerDomain = Annotated[
    int,
    typer.Option("--nodes-per-domain", min=1, help="Nodes that share one NVLink domain, for a trace."),
]
PerLeaf = Annotated[int, typer.Option("--nodes-per-leaf", min=1, help="Nodes below one leaf, for a trace.")]
PerPod = Annotated[int, typer.Option("--leaves-per-pod", min=1, help="Leaves of one pod, for a trace.")]
Accelerator = Annotated[
    str,
    typer.Option("--accelerator", help="Their type, for jobs of a trace that name one.", show_default=False),
]
Quota = Annotated[
    list[str] | None, typer.Option("--quota", help="research=512: accelerators of a tenant (repeatable).")
]
NodeMttf = Annotated[
    str | None,
    typer.Option("--node-mttf", help="Mean time between failures of a node, for a trace: 2 yr."),
]
Repair = Annotated[str, typer.Option("--repair", help="Mean time until a failed node is back.")]
Fleet = Annotated[
    Path | None,
    typer.Option("--fleet", help="A scenario whose fleet, failures and quotas a trace is played on."),
]
Picture = Annotated[
    Path | None, typer.Option("--picture", help="Draw occupancy and jobs on nodes: .svg or .png.")
]
Html = Annotated[Path | None, typer.Option("--html", help="Write a page with pictures and tables.")]
Policies = Annotated[bool, typer.Option("--policies", help="The known policies, and what they do.")]
Paradigms = Annotated[
    bool,
    typer.Option("--paradigms", help="The same load under hpc, wsc and ml-fleet, in the eight dimensions."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
