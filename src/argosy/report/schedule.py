"""The cluster's queue for people: the answer first, then who waited, where accelerator-time went, policies side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table

from argosy.report import text as write

LEDGER_NAMES = {
    "productive": "productive",
    "lost": "lost: undone by failures and evictions",
    "checkpoint": "saving before leaving",
    "restart": "restarting",
    "held": "held by workers whose job is not whole",
    "idle_free": "free, of use to the mix",
    "idle_fragmented": "free, but in pieces of no use",
    "down": "failed nodes, until repaired",
    "drained": "maintenance, and drained for it",
}
FIGURE_NAMES = {
    "utilization": "productive",
    "allocation": "allocated",
    "fragmentation": "fragmentation",
    "goodput": "goodput",
    "wait_p50_s": "wait P50",
    "wait_p90_s": "wait P90",
    "wait_p99_s": "wait P99",
    "mean_wait_s": "wait, mean",
    "large_wait_p90_s": "largest jobs, P90",
    "preemptions": "preemptions",
    "restarts": "restarts",
    "migrations": "migrations",
    "lost_gpu_s": "lost, GPU-hours",
    "held_gpu_s": "partial gangs, GPU-hours",
    "finished": "jobs finished",
    "deadlines_missed": "deadlines missed",
}
_SHARES = ("utilization", "allocation", "fragmentation", "goodput")
_HOURS = ("lost_gpu_s", "held_gpu_s")
_MOST = 12  # tenants that are listed
_FIRST, _COLUMN = 26, 17  # columns of the terminal for the names of figures, and for one policy


def show_schedule(answer: Mapping[str, Any], console: Console | None = None) -> None:
    """Print the payload of `argosy schedule`."""
    console = console or Console(highlight=False)
    for part in schedule_parts(answer, console.width):
        console.print(part)


def schedule_parts(answer: Mapping[str, Any], width: int = 80) -> Iterator[RenderableType]:
    """The parts of the report, in order of reading; as many policies abreast as `width` columns take."""
    yield from headline(answer)
    yield groups("size", answer["by_size"])
    if len(answer["by_tenant"]) > 1:
        yield groups("tenant", answer["by_tenant"][:_MOST])
        if (more := len(answer["by_tenant"]) - _MOST) > 0:
            yield f"[dim]{more} more tenants: --json[/]"
    yield ledger(answer)
    if recorded := answer.get("recorded"):
        yield _recorded(recorded)
    if "compare" in answer:
        yield from comparison(answer["compare"], width)
    for note in answer["notes"]:
        yield f"[dim]note: {escape(note)}[/]"


def headline(answer: Mapping[str, Any]) -> list[str]:
    """Two lines: what the policy makes of the cluster, and how long jobs wait."""
    totals, cluster = answer["totals"], answer["cluster"]
    kinds = " and ".join(cluster["types"])
    nodes = "node" if cluster["nodes"] == 1 else "nodes"
    machine = f"{cluster['accelerators']:,} {kinds or 'accelerators'} in {cluster['nodes']:,} {nodes}"
    first = (
        f"[bold]{escape(answer['name'])}[/] under [bold]{answer['policy']}[/]: {write.percent(totals['utilization'])} of "
        f"{machine} productive over {write.duration(answer['horizon_s'])}, {write.percent(totals['allocation'])} "
        f"allocated, goodput {share(totals['goodput'])}"
    )
    waited = totals["wait_s"]
    if waited["p50"] is None:
        return [first, "no job waited that could have run"]
    second = (
        f"half of {totals['jobs']:,} jobs start within {time(waited['p50'])}, nine in ten within {time(waited['p90'])}, "
        f"99 in 100 within {time(waited['p99'])}; {totals['finished']:,} finished"
    )
    for name, told in (("running", "run on"), ("pending", "still wait"), ("gave_up", "gave up")):
        if totals[name]:
            second += f", {totals[name]:,} {told}"
    if totals["rejected"]:
        second += f", [bold red]{totals['rejected']:,} can never run here[/]"
    return [first, second]


def share(fraction: float | None) -> str:
    """A fraction as per cent, or a dash."""
    return "–" if fraction is None else write.percent(fraction)


def time(seconds: float | None) -> str:
    """A wait; below a second it is none."""
    return "–" if seconds is None else "0 s" if seconds < 0.5 else write.duration(seconds)


def groups(head: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """One row a class of sizes or a tenant."""
    table = Table(head, box=None, pad_edge=False)
    for name in ("jobs", "wait P50", "P90", "P99", "of fleet", "evicted", "lost h"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            escape(row["name"]),
            f"{row['jobs']:,}",
            *(time(row["wait_s"][key]) for key in ("p50", "p90", "p99")),
            share(row["allocation"]),
            f"{row['preemptions']:,}",
            write.large(row["lost_gpu_s"] / 3600.0),
        )
    return table


def ledger(answer: Mapping[str, Any]) -> Table:
    """Where accelerator-time goes; it adds up to all of it."""
    table = Table("where GPU-time goes", "GPU-hours", "share", "", box=None, pad_edge=False)
    table.columns[1].justify = table.columns[2].justify = "right"
    total = answer["total_gpu_s"] or 1.0
    for name, amount in answer["ledger_gpu_s"].items():
        bar = "█" * round(20 * amount / total)
        table.add_row(
            LEDGER_NAMES.get(name, name), write.large(amount / 3600.0), write.percent(amount / total, 2), bar
        )
    table.add_row("all", write.large(total / 3600.0), write.percent(1.0, 2), style="bold")
    return table


def _recorded(recorded: Mapping[str, Any]) -> Table:
    table = Table(f"waits of {recorded['jobs']:,} jobs", "P50", "P90", "P99", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for key, name in (("recorded_wait_s", "as recorded"), ("simulated_wait_s", "simulated")):
        table.add_row(name, *(time(recorded[key][q]) for q in ("p50", "p90", "p99")))
    return table


def comparison(compared: Mapping[str, Any], width: int = 80) -> Iterator[RenderableType]:
    """Figures by policy, with intervals; an asterisk where the paired difference from the first is not 0."""
    rows, seeds = compared["policies"], len(compared["seeds"])
    others = rows[1:]
    abreast = max(2, (width - _FIRST) // _COLUMN - 1)
    for start in range(0, max(len(others), 1), abreast):
        yield _columns([rows[0], *others[start : start + abreast]])
    if seeds > 1:
        yield (
            f"[dim]means over {seeds} seeds with {compared['confidence']:.0%} intervals; * differs from {rows[0]['policy']} on "
            "the same jobs and failures (paired)[/]"
        )
    else:
        yield "[dim]one seed: write --seeds 10 for intervals[/]"


def _columns(rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table("", box=None, pad_edge=False)
    for row in rows:
        table.add_column(row["policy"], justify="right")
    for name, told in FIGURE_NAMES.items():
        values = [row["figures"][name] for row in rows]
        if all(not value["mean"] for value in values):
            continue
        table.add_row(
            told, *(cell(name, value) + _mark(row, name) for row, value in zip(rows, values, strict=True))
        )
    return table


def cell(name: str, value: Mapping[str, float | None]) -> str:
    """A mean with the half of its interval, in the figure's unit."""
    mean, high = value["mean"], value["high"]
    if mean is None:
        return "–"
    factor, unit = 1.0, ""
    if name in _SHARES:
        factor, unit = 100.0, " %"
    elif name in _HOURS:
        factor = 1 / 3600.0
    elif name.endswith("_s"):
        factor, unit = next((1 / size, f" {told}") for limit, size, told in _UNITS if mean < limit)
    numbers = [mean] if high is None else [mean, high - mean]
    return " ± ".join(_short(number * factor) for number in numbers) + unit


_UNITS = ((120.0, 1.0, "s"), (7200.0, 60.0, "min"), (172800.0, 3600.0, "h"), (float("inf"), 86400.0, "days"))


def _short(number: float) -> str:
    """Three digits at most, none behind a point from 100 on."""
    if abs(number) >= 1e4:
        return write.large(number)
    return f"{number:,.0f}" if abs(number) >= 100 or number == 0 else f"{number:.1f}"


def _mark(row: Mapping[str, Any], name: str) -> str:
    """Whether the paired difference from the first policy excludes 0."""
    against = row["against_first"]
    if against is None or against[name]["low"] is None:
        return "  "
    return " *" if against[name]["low"] > 0 or against[name]["high"] < 0 else "  "


def show_why(answer: Mapping[str, Any], console: Console | None = None) -> None:
    """Print the payload of `argosy schedule --why JOB`."""
    console = console or Console(highlight=False)
    life = answer["life"]
    shown = f"[bold]{escape(answer['job'])}[/] ({life['accelerators']:g} accelerators"
    shown += f", {escape(life['tenant'])}" if life["tenant"] else ""
    if answer["pending"]:
        waits = answer["waited_s"]
        console.print(f"{shown}) has waited {time(waits)} and is [bold]pending[/] under {answer['policy']}")
    elif life["start_s"] is None:
        console.print(f"{shown}) is {life['status']} under {answer['policy']}")
    else:
        console.print(
            f"{shown}) started after {time(life['wait_s'])} under {answer['policy']}; {life['status']}"
        )
    for blocker in answer["blockers"]:
        console.print(f"  [bold]{blocker['kind']}[/]: {escape(blocker['detail'])}")
        console.print(f"    unblocked by: {escape(blocker['unblocked_by'])}")
    if history := answer["history"]:
        table = Table("from", "for", "blocked by", box=None, pad_edge=False)
        table.columns[0].justify = table.columns[1].justify = "right"
        for row in history:
            table.add_row(
                time(row["from_s"] - life["submit_s"]),
                time(row["to_s"] - row["from_s"]),
                escape(f"{', '.join(row['kinds'])}: {row['detail']}"),
            )
        console.print(table)
        console.print("[dim]from: since it was submitted[/]")


def show_policies(answer: Mapping[str, Any], console: Console | None = None) -> None:
    """Print the known policies, what each does."""
    console = console or Console(highlight=False)
    table = Table("policy", "order", "backfill", "preempts", "places by", "and", box=None, pad_edge=False)
    for row in answer["policies"]:
        more = [
            told
            for told, true in (
                ("no gangs", not row["gang"]),
                (f"quota: {row['quota']}", row["quota"] != "none"),
                ("reclaims", row["reclaim"]),
                ("migrates", row["defragment"]),
                ("requeues on failure", not row["replace"]),
                ("evicts without notice", row["grace_s"] == 0),
            )
            if true
        ]
        table.add_row(
            row["name"], row["order"], row["backfill"], row["preemption"], row["placement"], ", ".join(more)
        )
    console.print(table)
    console.print("[dim]docs/scheduling.md says what each word means[/]")
