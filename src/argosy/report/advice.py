"""The answer of `argosy recommend` for people: what to do, what binds and what more of it buys, and why others lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from argosy.report import text as write

_UNITS = {"days": "days", "usd": "usd", "facility_peak_w": "w", "carbon_kg": "kg", "mfu": "fraction"}
_UNITS |= {"usd_per_million_tokens": "usd_per_million_tokens", "energy_kwh": "kWh", "loss": "nats per token"}
_HEADS = {
    "usd": "cost",
    "facility_peak_w": "peak power",
    "carbon_kg": "CO2e",
    "mfu": "MFU",
    "energy_kwh": "energy",
}


def figure(value: float, name: str) -> str:
    """One figure of a plan with its unit."""
    shown = write.quantity(value, _UNITS[name])
    return f"{shown} days" if name == "days" else shown


def chosen(free: Mapping[str, Any]) -> str:
    """The free fields of a plan: `fleet.count 12,288, facility.site us-texas`."""
    return ", ".join(
        f"{path} {write.count(value) if path == 'fleet.count' else value}" for path, value in free.items()
    )


def headline(answer: Mapping[str, Any]) -> str:
    """What to do, in a sentence; or that nothing keeps the limits."""
    if not answer["options"]:
        return f"no plan of {answer['planned']} keeps all limits"
    best = answer["options"][0]
    figures = best["figures"]
    told = ", ".join(figure(figures[name], name) for name in ("days", "usd", "facility_peak_w"))
    return f"{answer['goal']}: {chosen(best['free'])}: {told} at peak, MFU {figure(figures['mfu'], 'mfu')}"


def binding_sentence(row: Mapping[str, Any]) -> str:
    """What a limit keeps out, and what one unit more of it buys."""
    shadow, unit = row["shadow"], row["shadow"]["unit"]
    bought = []
    if shadow["gpus"]:
        bought.append(f"{write.count(abs(shadow['gpus']))} GPUs {'more' if shadow['gpus'] > 0 else 'fewer'}")
    if unit != "day":
        days = shadow["days"]
        bought.append(f"{write.significant(abs(days))} days {'less' if days < 0 else 'more'}")
    usd = shadow["usd"]
    bought.append(f"{write.dollars(abs(usd))} {'less' if usd < 0 else 'more'}")
    needs = write.significant(row["needs"])
    units = "days" if unit == "day" and needs != "1" else unit
    return (
        f"{row['constraint']} binds: the next better plan ({chosen(row['next'])}) needs {needs} {units} more; "
        f"one {unit} more is worth {', '.join(bought)}"
    )


def relaxation_sentence(row: Mapping[str, Any]) -> str:
    """By how much one limit would have to give way."""
    if row["to"] is None:
        return f"{row['constraint']} alone does not help: {row['why']}"
    names = {"finish": "days", "budget": "usd", "envelope": "facility_peak_w", "carbon": "carbon_kg"}
    return f"relax {row['constraint']} to {figure(row['to'], names[row['constraint']])} ({row['by']:+.1%}): {chosen(row['free'])}"


def show_recommendation(answer: Mapping[str, Any]) -> None:
    """Headline, options, what binds, runners-up and what cannot run."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(headline(answer), style="bold")
    for row in answer["relax"]:
        console.print(relaxation_sentence(row))
    if answer["options"]:
        grid = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        names = ["days", "usd", "facility_peak_w", "carbon_kg", "mfu"]
        if answer["figure"] not in names:
            names.append(answer["figure"])
        for path in answer["options"][0]["free"]:
            grid.add_column(path.rpartition(".")[2], justify="right", overflow="fold")
        for name in names:
            grid.add_column(_HEADS.get(name, name.replace("_", " ")), justify="right")
        rows = [*answer["options"], *(row for row in answer["rejected"] if row["figures"])]
        for row in rows:
            free = [
                write.count(value) if path == "fleet.count" else str(value)
                for path, value in row["free"].items()
            ]
            grid.add_row(
                *free,
                *(figure(row["figures"][name], name).removesuffix(" days") for name in names),
                style=None if "rank" in row else "dim",
            )
        console.print(grid)
    for row in answer["binding"]:
        console.print(binding_sentence(row))
    if answer["options"] and not answer["binding"] and answer["limits"]:
        console.print("no limit keeps a better plan out")
    for option in answer["options"][:1]:
        for caution in option["cautions"]:
            console.print(f"caution: {caution}")
    for row in answer["rejected"]:
        console.print(f"not {chosen(row['free'])}: {row['why']}" if row["free"] else row["why"])
    console.print(
        f"{answer['planned']:,} plans, {answer['runnable']:,} can run, {answer['within']:,} within all limits"
    )
