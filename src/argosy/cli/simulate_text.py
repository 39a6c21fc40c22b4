"""The simulation for people: the answer first, then where the time goes, what fails, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from argosy.report import text as write

_NAMES = {"spare_wait": "wait for spare"}
_EFFECTS = {
    "node": "its node is lost",
    "lose": "its nodes are lost",
    "slow": "the job slows",
    "stop": "the job stops",
    "job": "the job stops",
}
_YEAR = 365.25 * 86400.0
_MOST = 8  # categories of failures that are listed


def show(answer: Mapping[str, Any]) -> None:
    """Print a simulation (the payload of `argosy simulate`) to standard output."""
    from rich.console import Console

    console = Console(highlight=False)
    for line in _answer(answer):
        console.print(line)
    console.print(_ledger(answer))
    for name, value in answer["views"].items():
        console.print(f"{name:20} {write.percent(value, 2):>8}  {answer['definitions'][name]}")
    console.print(_failures(answer))
    console.print(_domains(answer))
    console.print("–: counted in another category, or without a rate of its own", style="dim")
    if "fix_first" in answer:
        console.print(_fixes(answer))
        spares, interval = answer["spares_curve"], answer["interval_curve"]
        console.print(
            f"recommended: {spares['recommended']} spare nodes ({spares['suffice_99_9']} suffice at 99.9 % of moments), "
            f"a checkpoint every {write.duration(interval['recommended_s'])}"
        )
    for note in answer["notes"]:
        console.print(f"note: {note}", style="dim")


def show_together(answer: Mapping[str, Any]) -> None:
    """Print several jobs' lives at once (the payload of `argosy simulate --with`) to standard output."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    jobs = answer["jobs"]
    if late := [job["job"] for job in jobs if not job["finishes"]]:
        console.print(f"[bold red]{', '.join(late)} will never finish[/]")
    lost = max(jobs, key=lambda job: job["alone"] - job["goodput"]["mean"])
    cost = lost["alone"] - lost["goodput"]["mean"]
    told = f"costs {lost['job']} most, {write.percent(cost, 2)} of goodput"
    if cost < 3.0 * lost["goodput"]["stderr"]:
        told = "costs nothing that these lives can tell"
    storage = (
        f" and storage of {write.scaled(answer['storage_bytes_per_s'], 'byte/s')}" * answer["one_storage"]
    )
    console.print(f"[bold]{len(jobs)} jobs[/] share {answer['spares']} spare nodes{storage}: that {told}")
    table = Table("job", box=None, pad_edge=False)
    for head in ("nodes", "days", "P10", "P90", "goodput", "alone", "spare wait", "rework", "saving"):
        table.add_column(head, justify="right")
    for job in jobs:
        total, ledger, days = job["total_gpu_s"] or 1.0, job["ledger_gpu_s"], job["days"]
        table.add_row(
            job["job"],
            f"{job['nodes']:,}",
            *(write.significant(days[key]) for key in ("p50", "p10", "p90")),
            write.percent(job["goodput"]["mean"], 2),
            write.percent(job["alone"], 2),
            *(write.percent(ledger[state] / total, 2) for state in ("spare_wait", "rework", "checkpoint")),
        )
    console.print(table)
    lives = f"{answer['replications']:,} lives of all jobs together; alone: with its own spares and storage"
    console.print(lives, style="dim")


def _answer(answer: Mapping[str, Any]) -> list[str]:
    """When it finishes, how often it fails, and what the lives are."""
    days, good = answer["days"], answer["goodput"]
    if answer["finishes"]:
        first = (
            f"[bold]{answer['job']}[/] finishes after {write.significant(days['p50'])} days "
            f"(P10 {write.significant(days['p10'])}, P90 {write.significant(days['p90'])}, at central facts); goodput "
            f"{write.percent(good['mean'])} ± {write.percent(good['stderr'], 2)}, closed form "
            f"{write.percent(answer['closed_form_goodput'])}"
        )
    else:
        first = f"[bold red]{answer['job']} will never finish[/]: goodput {write.percent(good['mean'], 3)}"
    failures = sum(each["mean"] for each in answer["failures"].values())
    often = (
        "never fails"
        if answer["mtbf_s"] is None
        else f"fails every {write.duration(answer['mtbf_s'])} of running"
    )
    recovery = answer["recovery_s"]
    return [
        first,
        f"{answer['accelerators']:,} accelerators: the fleet {often}, {failures:,.1f} times in a life; policy "
        f"{answer['policy']}: found in {write.duration(recovery['detection'])}, restarted in "
        f"{write.duration(recovery['restart'])}"
        + (f", {write.duration(recovery['queue'])} in the queue" if recovery["queue"] else "")
        + f"; {answer['spares']} spare nodes, repair {write.duration(recovery['repair'])}",
        f"{answer['replications']:,} lives, {answer['replications_per_s']:,.0f} a second; a checkpoint every "
        f"{write.duration(answer['interval_s'])}",
    ]


def _ledger(answer: Mapping[str, Any]) -> Any:
    from rich.table import Table

    table = Table("where the time goes", "GPU-hours", "share", "", box=None, pad_edge=False)
    table.columns[1].justify = table.columns[2].justify = "right"
    total = answer["total_gpu_s"] or 1.0
    for state, amount in answer["ledger_gpu_s"].items():
        bar = "█" * round(30 * amount / total)
        table.add_row(
            _NAMES.get(state, state), write.large(amount / 3600.0), write.percent(amount / total, 2), bar
        )
    return table


def _failures(answer: Mapping[str, Any]) -> Any:
    """Categories by how often they struck, the rest in one line."""
    from rich.table import Table

    table = Table("failures in a life", "expected", "simulated", box=None, pad_edge=False)
    table.columns[1].justify = table.columns[2].justify = "right"
    ranked = sorted(answer["failures"].items(), key=lambda each: -each[1]["mean"])
    rows = ranked[:_MOST]
    if rest := ranked[_MOST:]:
        known = [each["expected"] for _, each in rest]
        expected = None if None in known else sum(known)
        rows.append(
            (f"{len(rest)} more kinds", {"expected": expected, "mean": sum(e["mean"] for _, e in rest)})
        )
    for name, each in rows:
        expected = "–" if each["expected"] is None else f"{each['expected']:,.1f}"
        table.add_row(name, expected, f"{each['mean']:,.1f}")
    return table


def _domains(answer: Mapping[str, Any]) -> Any:
    """The tree of failure domains: how many, what one holds, how often one fails."""
    from rich.table import Table

    rows = answer["domains"]
    depth: dict[str, int] = {}
    for row in rows:
        depth[row["name"]] = depth.get(row["inside"], -1) + 1
    table = Table(
        "domain", "count", "nodes", "one fails every", "in a life", "effect", box=None, pad_edge=False
    )
    for column in table.columns[1:5]:
        column.justify = "right"
    for row in rows:
        rate = row["rate_per_s"]
        table.add_row(
            "  " * depth[row["name"]] + row["name"],
            f"{row['count']:,}",
            f"{row['nodes']:,}" if row["nodes"] else "",
            _every(rate),
            "–" if row["expected"] is None else f"{row['expected']:,.1f}",
            _EFFECTS[row["effect"]] if rate else "–",
        )
    return table


def _fixes(answer: Mapping[str, Any]) -> Any:
    from rich.table import Table

    table = Table("what to fix first", "goodput gained", "±", "days saved", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in answer["fix_first"]:
        table.add_row(row["name"], f"{row['gain']:+.2%}", f"{row['stderr']:.2%}", f"{row['days_saved']:+.2f}")
    return table


def _every(rate_per_s: float | None) -> str:
    """The mean time between failures of one, in years where it is long."""
    if not rate_per_s:
        return "–"
    years = 1.0 / rate_per_s / _YEAR
    return f"{write.significant(years)} years" if years >= 2 else write.duration(1.0 / rate_per_s)
