"""The answer in the terminal: verdict first, then the headline numbers, then their reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from argosy.report import sentences
from argosy.report import text as write

_COLOUR = {"feasible": "green", "violates": "yellow", "infeasible": "red"}
_BAR = 24  # characters of the widest bar
_WIDE = 120  # columns from which a law fits beside its number
_EXTRAS = ("vp", "ep", "etp", "micro_batch", "grad_accumulation", "zero", "recompute", "schedule")


def show_plan(plan: Mapping[str, Any], console: Console | None = None) -> None:
    """Print a plan (the contract's JSON) to `console`, or to standard output."""
    console = console or Console(highlight=False)
    for part in plan_parts(plan, console.width):
        console.print(part)


def plan_parts(plan: Mapping[str, Any], width: int = 80) -> list[RenderableType]:
    """The parts of the terminal report, in order of reading; where `width` columns allow, each law beside its number."""
    parts: list[RenderableType] = [verdict(plan)]
    if plan.get("headline"):
        parts.append(headline(plan, laws=width >= _WIDE))
    for job in plan["training"]:
        parts += [
            layout(job),
            Group(
                Text(
                    f"Memory per GPU, fullest at pipeline rank {job['memory_bytes']['stage']}", style="bold"
                ),
                memory(job),
            ),
        ]
        parts.append(
            Group(Text(f"One step: {write.duration(job['step_time_s']['nominal'])}", style="bold"), step(job))
        )
    if plan.get("serving"):
        from argosy.report.serving import service_parts

        parts += [part for entry in plan["serving"] for part in service_parts(entry, own_ledger=False)]
    if plan.get("shared_fleet"):
        parts.append(shared(plan["shared_fleet"]))
    if plan["fabrics"]:
        parts.append(fabrics(plan))
    if plan.get("ledger"):
        parts.append(
            Group(
                Text("Where every GPU-second goes, in GPU-hours at central facts", style="bold"),
                ledger(plan["ledger"]),
            )
        )
    if plan.get("cost"):
        parts.append(Group(Text("Cost", style="bold"), cost(plan)))
    return parts + closing(plan)


def verdict(plan: Mapping[str, Any]) -> RenderableType:
    """One line: feasible or not, what binds and by how much; then the reasons."""
    answer = plan["verdict"]
    line = Text()
    line.append(plan["scenario"]["name"], style="bold")
    line.append(": ")
    line.append(answer["status"], style=f"bold {_COLOUR[answer['status']]}")
    if answer["binding"]:
        line.append(f"; what binds: {answer['binding']}")
        if answer["margin"] is not None:
            line.append(f", margin {write.percent(answer['margin'])}")
    reasons = [Text(f"  - {reason}") for reason in answer["reasons"]]
    return Group(line, *reasons)


def headline(plan: Mapping[str, Any], laws: bool = False) -> Table:
    """The numbers that a decision rests on, each with its uncertainty and, with `laws`, its formula."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for column in ("P10", "P50", "P90"):
        table.add_column(column, justify="right", style="bold" if column == "P50" else None)
    if laws:
        table.add_column("why this number", style="dim", overflow="fold")
    for row in plan["headline"]:
        cells = [write.quantity(row[key], row["unit"]) for key in ("p10", "p50", "p90")]
        table.add_row(row["label"], *cells, *([row["law"]] if laws else []))
    return table


def layout(job: Mapping[str, Any]) -> RenderableType:
    """The layout with its arithmetic, how the search went, and why other layouts are out."""
    chosen, search = job["layout"], job.get("search")
    extras = [
        f"{key} {chosen[key]}"
        for key in _EXTRAS
        if chosen.get(key) not in (None, 1, "none") or key == "micro_batch"
    ]
    title = (f"Layout of {job['name']}: ", "bold")
    lines = [
        Text.assemble(title, write.layout_arithmetic(chosen), f"  ({', '.join(extras)})"),
        Text(f"  {write.significant(job['tokens_per_gpu_s'])} tokens/s per GPU; evidence: {job['grade']}"),
        Text(f"  {sentences.utilisation(job)}"),
    ]
    if search:
        lines.append(Text(f"  {sentences.searched(search)}", style="dim"))
        if search["excluded"]:
            lines.append(Text(f"  left out: {sentences.left_out(search, 4)}", style="dim"))
    return Group(*lines)


def _bars(rows: list[tuple[str, float, str]], whole: float) -> Table:
    """Rows of name, amount and its text, with a bar against the largest amount and the share of `whole`."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("", min_width=30, no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, overflow="crop")
    largest = max((amount for _, amount, _ in rows), default=1.0) or 1.0
    for name, amount, shown in rows:
        bar = "█" * round(_BAR * max(amount, 0.0) / largest)
        table.add_row(
            "  " + name, shown, write.percent(amount / whole if whole else 0.0), Text(bar, style="cyan")
        )
    return table


def memory(job: Mapping[str, Any]) -> RenderableType:
    """Memory of the fullest stage against what the accelerator has."""
    figures = job["memory_bytes"]
    parts = ("weights", "gradients", "optimizer", "activations", "buffers", "overhead")
    rows = [(name, figures[name], write.binary_bytes(figures[name])) for name in parts if figures[name]]
    total = Text(f"  {sentences.memory_peak(figures)}")
    return Group(_bars(rows, figures["capacity"]), total)


def step(job: Mapping[str, Any]) -> Table:
    """What one step's time is made of."""
    rows = [
        (sentences.STEP_NAMES.get(name, name), seconds, write.duration(seconds))
        for name, seconds in job["breakdown_s"].items()
        if seconds
    ]
    return _bars(rows, job["step_time_s"]["nominal"])


def fabrics(plan: Mapping[str, Any]) -> RenderableType:
    """Switches, cables and bandwidth of every fabric."""
    table = Table(title="Fabric", title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for name in ("role", "topology", "tier"):
        table.add_column(name)
    for name in ("switches", "cables to it"):
        table.add_column(name, justify="right")
    table.add_column("switch")
    for fabric in plan["fabrics"]:
        for number, tier in enumerate(fabric["tiers"]):
            role, topology = (fabric["role"], fabric["topology"]) if number == 0 else ("", "")
            switches, cables = write.count(tier["switches"]), write.count(tier["links"])
            table.add_row(role, topology, tier["name"], switches, cables, str(tier.get("switch") or "–"))
    carried = [Text(f"{fabric['role']}: {sentences.bandwidth(fabric)}") for fabric in plan["fabrics"]]
    return Group(table, *carried)


def ledger(tree: Mapping[str, Any], depth: int = 2) -> Table:
    """The loss tree, as GPU-hours and shares of the whole, `depth` levels deep."""
    rows: list[tuple[str, float, str]] = []

    def visit(node: Mapping[str, Any], level: int) -> None:
        rows.append(("  " * level + node["name"], node["amount"], write.large(node["amount"] / 3600.0)))
        if level < depth:
            for child in node["children"]:
                if child["amount"]:
                    visit(child, level + 1)

    visit(tree, 0)
    return _bars(rows, tree["amount"])


def shared(found: Mapping[str, Any]) -> RenderableType:
    """Serving by day, training by night: what elastic training gains, and what a GPU is worth on each side."""
    lines = [
        Text("One fleet for both", style="bold"),
        *(Text(f"  {line}") for line in sentences.shared(found)),
    ]
    return Group(*lines)


def cost(plan: Mapping[str, Any]) -> Table:
    """Cost by line, and what it comes to per GPU-hour."""
    lines = plan["cost"]["lines"]
    rows = [(line["name"], line["usd"], write.dollars(line["usd"])) for line in lines if line["usd"]]
    return _bars(rows, plan["cost"]["total_usd"])


def closing(plan: Mapping[str, Any]) -> list[RenderableType]:
    """What was assumed, what to be careful about."""
    parts: list[RenderableType] = []
    assumptions = plan.get("assumptions") or []
    if assumptions:
        parts.append(
            Text(
                f"{len(assumptions)} assumptions without a source (all listed with --html or --json); the first: "
                + "; ".join(a["path"] for a in assumptions[:4]),
                style="dim",
            )
        )
    parts += [Text(f"note: {note}", style="yellow") for note in plan.get("notes") or []]
    return parts
