"""`argosy testbed`: real fleets on network namespaces of this machine, beside what the simulators say of them."""

from __future__ import annotations

import typer

from argosy.cli.testbed import (
    checkpoints,
    clean,
    collectives,
    every,
    failover,
    hang,
    planes,
    policies,
    sites,
    training,
)

app = typer.Typer(
    help="Run on this very machine what the simulators claim: network namespaces, shaped links, MPI and torch."
)
app.command("collectives")(collectives.collectives)
app.command("planes")(planes.planes)
app.command("all")(every.every)
app.command("pages")(every.pages)
app.command("training")(training.training)
app.command("checkpoints")(checkpoints.checkpoints)
app.command("failover")(failover.failover)
app.command("policies")(policies.policies)
app.command("hang")(hang.hang)
app.command("sites")(sites.sites)
app.command("clean")(clean.clean)
