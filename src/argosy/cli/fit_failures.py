"""`argosy fit-failures`: a log of failures in, an overrides file out."""

from __future__ import annotations

import csv
import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

_DAY = 86400.0


def fit_failures(
    log: Annotated[
        Path, typer.Argument(help="CSV with columns time (ISO 8601), category, and node.", show_default=False)
    ],
    nodes: Annotated[
        int, typer.Option("--nodes", min=1, help="Nodes that were watched.", show_default=False)
    ],
    accelerators: Annotated[
        int | None, typer.Option("--accelerators", min=1, help="Accelerators in them (default: 8 a node).")
    ] = None,
    start: Annotated[str | None, typer.Option("--start", help="When watching began (ISO 8601).")] = None,
    end: Annotated[str | None, typer.Option("--end", help="When watching ended (ISO 8601).")] = None,
    new: Annotated[bool, typer.Option("--new", help="The fleet was new at the start.")] = False,
    preset: Annotated[
        str, typer.Option("--preset", help="The set of rates that the overrides change.")
    ] = "llama3-table5",
    output: Annotated[Path | None, typer.Option("--output", help="Write the overrides here (YAML).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Failure rates and Weibull shapes from a log, as an overrides file."""
    answer = run(log, nodes, accelerators or 8 * nodes, start, end, new, preset)
    if accelerators is None:
        answer["warnings"].append(f"assumed 8 accelerators a node, {8 * nodes:,} in all; say --accelerators")
    if output is not None:
        from io import StringIO

        from ruamel.yaml import YAML

        text = StringIO()
        YAML(typ="safe").dump(answer["overrides"], text)
        output.write_text(text.getvalue(), encoding="utf-8")
        print(f"argosy: wrote {output}", file=sys.stderr)
    if as_json:
        print(json.dumps(answer, indent=1, ensure_ascii=False))
    else:
        _show(answer)


def run(
    path: Path, nodes: int, accelerators: int, start: str | None, end: str | None, new: bool, preset: str
) -> dict[str, Any]:
    """{overrides, before, after, tests, warnings}; rates per hour of one part, with their central 90 % interval."""
    from argosy.facts import FactError, Values, load_catalog
    from argosy.reliability import fit, presets
    from argosy.reliability.rates import categories

    values = Values(load_catalog().facts)
    if preset not in presets(values):
        raise FactError(f"unknown preset {preset!r}; known: {', '.join(presets(values))}")
    log, window = _read(path, start, end)
    warnings = _limits(log, window, nodes, start, end)
    overrides, before, after = {}, {}, {}
    for category in sorted({each.category for each in log}):
        own = [each for each in log if each.category == category]
        per = categories()[category].per if category in categories() else "node"
        rate, low, high = fit.rate_interval(len(own), window * (accelerators if per == "gpu" else nodes))
        after[category] = {
            "count": len(own), "per": per, "rate_per_h": rate * 3600, "low": low * 3600, "high": high * 3600,
            **_shape(own, window, nodes, new),
        }  # fmt: skip
        fact = f"reliability.{preset}.{category}"
        if fact in values:
            known = float(values[fact])
            before[category] = {"per": per, "rate_per_h": known * 3600}
            source = f"{path.name}: {len(own)} in {window / _DAY:.3g} days on {nodes:,} nodes, {accelerators:,} accelerators"
            overrides[fact] = {
                "value": f"{rate * 3600:.6g} /h", "low": f"{low * 3600:.6g} /h", "high": f"{high * 3600:.6g} /h",
                "source": source,
            }  # fmt: skip
        else:
            warnings.append(
                f"{category}: the preset {preset} has no such category, so that the overrides file leaves it out; a "
                "scenario may add it under reliability: overrides:"
            )
        if len(own) < 5:
            warnings.append(
                f"{category}: {len(own)} failures: known within a factor of {high / rate:.1f} at best"
            )
    unseen = [name for name in categories() if f"reliability.{preset}.{name}" in values and name not in after]
    if unseen:
        warnings.append(f"never seen here, so left at the preset's rates: {', '.join(unseen)}")
    tests = {
        "burstiness": fit.burstiness([each.at_s for each in log], window),
        "location": fit.location([each.node for each in log], nodes),
    }
    warnings += _verdicts(tests)
    return {"overrides": overrides, "before": before, "after": after, "tests": tests, "warnings": warnings}


def _shape(own: list[Any], window: float, nodes: int, new: bool) -> dict[str, Any]:
    """The Weibull shape where the log can tell it, else why not."""
    from argosy.reliability import fit

    complete, censored = fit.lifetimes(own, window, nodes, new)
    if len(complete) < fit.FEWEST_GAPS or len(set(complete)) < 2:
        reason = f"{len(complete)} lifetimes seen to their end; {fit.FEWEST_GAPS} are needed"
        return {"weibull": None, "weibull_reason": reason}
    return {"weibull": fit.weibull_fit(complete, censored)}


def _limits(log: list[Any], window: float, nodes: int, start: str | None, end: str | None) -> list[str]:
    """Where the fit must not be carried to."""
    days = window / _DAY
    told = [
        f"seen: {days:.3g} days of {nodes:,} nodes. These rates hold for fleets of this kind, age and size; nothing here "
        f"tells of lifetimes beyond {days:.3g} days, of other hardware, or of failures that only larger jobs meet"
    ]
    if start is None or end is None:
        told.append(
            "the watch is taken to begin or end with a failure of the log, which overstates rates; say --start and --end"
        )
    if not any(each.node for each in log):
        told.append("no node column: neither lifetimes nor places can be told")
    return told


def _verdicts(tests: dict[str, Any]) -> list[str]:
    told = []
    burst, place = tests["burstiness"], tests["location"]
    if burst and burst["p"] < 0.01:
        told.append(
            f"failures come in bursts (index of dispersion {burst['dispersion']:.1f}, p = {burst['p']:.2g}): intervals of "
            "rates are too narrow, and spares are needed sooner than independent failures say"
        )
    if place and place["p"] < 0.01:
        told.append(
            f"failures gather at few nodes (p = {place['p']:.2g}); {', '.join(place['top3'])} had "
            f"{place['top3_share']:.0%} of them: look at these before buying spares"
        )
    return told


def _read(path: Path, start: str | None, end: str | None) -> tuple[list[Any], float]:
    """The log's failures within the window, and the window's seconds. FactError tells file and line."""
    from argosy.facts import FactError
    from argosy.reliability.fit import LoggedFailure

    rows: list[tuple[datetime, str, str]] = []
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        missing = {"time", "category"} - set(reader.fieldnames or ())
        if missing:
            raise FactError(f"{path}:1: no column {', '.join(sorted(missing))}; write time,category,node")
        for row in reader:
            moment = _moment(row["time"] or "", f"{path}:{reader.line_num}")
            rows.append((moment, (row["category"] or "").strip(), (row.get("node") or "").strip()))
    if len(rows) < 2:
        raise FactError(f"{path}: {len(rows)} failures: nothing to fit")
    first = _moment(start, "--start") if start else min(moment for moment, _, _ in rows)
    last = _moment(end, "--end") if end else max(moment for moment, _, _ in rows)
    window = (last - first).total_seconds()
    if window <= 0:
        raise FactError(f"{path}: the watch ends before it begins; write --start and --end")
    inside = [
        LoggedFailure((moment - first).total_seconds(), category, node)
        for moment, category, node in rows
        if first <= moment <= last
    ]
    if not inside:
        raise FactError(f"{path}: no failure between --start and --end")
    return inside, window


def _moment(text: str, where: str) -> datetime:
    from datetime import timezone

    from argosy.facts import FactError

    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise FactError(f"{where}: {text!r} is no time; write for example 2026-03-01T12:30:00") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)  # noqa: UP017


def _show(answer: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table("category", "count", "per", "rate /h (90 %)", "before", "Weibull shape (90 %)", box=None)
    for name, found in answer["after"].items():
        known, weibull = answer["before"].get(name), found["weibull"]
        table.add_row(
            name,
            str(found["count"]),
            found["per"],
            f"{found['rate_per_h']:.3g} ({found['low']:.2g} to {found['high']:.2g})",
            f"{known['rate_per_h']:.3g}" if known else "–",
            f"{weibull['shape']:.2f} ({weibull['low']:.2f} to {weibull['high']:.2f})"
            if weibull
            else "not told",
        )
    console.print(table)
    for warning in answer["warnings"]:
        console.print(f"warning: {warning}")
    console.print(
        "A scenario reads the overrides: assumptions: {overrides: FILE} (write it with --output FILE)"
    )
