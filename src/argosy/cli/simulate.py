"""`argosy simulate`: a job's life, many times over, node by node."""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import typer


def simulate(
    scenario: Annotated[Path, typer.Argument(help="The scenario, a YAML file.", show_default=False)],
    replications: Annotated[int, typer.Option("--replications", min=2, help="Lives to simulate.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same lives.")] = 0,
    job: Annotated[str | None, typer.Option("--job", help="The training job (default: the first).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    html: Annotated[Path | None, typer.Option("--html", help="Also write charts to this file.")] = None,
    advice: Annotated[
        bool, typer.Option("--advice/--no-advice", help="What to fix first; spares and interval curves.")
    ] = True,
) -> None:
    """Simulate a job's life: when it finishes, where the time goes, what to fix first."""
    from argosy import load

    answer = run(load(scenario), replications, seed, job, advice)
    if as_json:
        print(json.dumps(answer, indent=1, ensure_ascii=False, allow_nan=False))
    else:
        from argosy.cli.simulate_report import show

        show(answer)
    if html is not None:
        from argosy.cli.simulate_report import page

        html.write_text(page(answer), encoding="utf-8")
        print(f"argosy: wrote {html}", file=sys.stderr)


def run(scenario: Any, replications: int, seed: int, job: str | None, advice: bool) -> dict[str, Any]:
    """The contract's payload of `argosy simulate`, and what its report needs beside it; central facts."""
    import numpy as np

    from argosy.planning.payload import plain
    from argosy.reliability.account import VIEWS, account
    from argosy.reliability.events import compiled_before

    name, accelerators, system, faster_storage = _system(scenario, job)
    if not compiled_before():
        print("argosy: compiling the engine, once (some twenty seconds)", file=sys.stderr)
    with ThreadPoolExecutor() as pool:
        system.lives(2, seed)  # compiled and loaded before the clock starts
        began = time.perf_counter()
        lives = system.lives(replications, seed, pool)
        took = time.perf_counter() - began
        answer = account(lives, accelerators, system.work_s)
        answer["replications_per_s"] = replications / took
        days = lives.wall_s / 86400.0
        counts, edges = np.histogram(days, bins=min(40, max(5, replications // 10)))
        answer |= {
            "job": name,
            "work_s": system.work_s,
            "finished_share": float(lives.finished.mean()),
            "finishes": bool(lives.finished.mean() > 0.5),
            "days": dict(zip(("p10", "p50", "p90"), np.quantile(days, [0.1, 0.5, 0.9]), strict=True)),
            "histogram": {"edges_days": edges, "lives": counts},
            "interval_s": float(lives.closed_form.interval_s),
            "spares": system.recovery.spare_nodes,
            "definitions": VIEWS,
            "timeline": _timeline(system, seed),
            "notes": _notes(lives, system),
        }
        if advice:
            answer |= _advice(system, faster_storage, replications, seed, pool)
    return dict(plain(answer))


def _system(scenario: Any, job: str | None) -> tuple[str, int, Any, Any]:
    """(job's name, its accelerators, its system, the same with storage twice as fast)."""
    from dataclasses import replace

    from argosy.facts import FactError
    from argosy.planning.context import context
    from argosy.planning.job import checkpoint_bytes, laid_out
    from argosy.planning.life import fleet_life
    from argosy.reliability.improve import System

    names = [given.name for given in scenario.training]
    if not names or (job is not None and job not in names):
        raise FactError(
            f"no training job {job or ''!r} to simulate; the scenario has: {', '.join(names) or 'none'}"
        )
    setting = context(scenario)
    planned = laid_out(setting, scenario.training[names.index(job) if job else 0])

    state, replicas = checkpoint_bytes(planned), int(planned.main.layouts.dp[0])
    now = fleet_life(setting, state, replicas)
    faster = fleet_life(setting, state, replicas, 2 * setting.fleet.storage_bandwidth_bytes_per_s)
    system = System(
        float(planned.work_s), setting.nodes, now.rates, now.cost, now.recovery, now.maintenance, now.interval_s,
        now.hazards,
    )  # fmt: skip
    return planned.training.name, setting.fleet.count, system, replace(system, cost=faster.cost)


def _advice(system: Any, faster: Any, replications: int, seed: int, pool: Any) -> dict[str, Any]:
    from argosy.reliability.improve import fix_first, improvements, interval_curve, spares_curve

    draws = min(replications, 200)
    changes = {**improvements(system), "storage ×2": faster}
    return {
        "fix_first": fix_first(system, changes, draws, seed, pool),
        "spares_curve": spares_curve(system, min(draws, 100), seed, pool),
        "interval_curve": interval_curve(system, min(draws, 100), seed, pool),
    }


def _timeline(system: Any, seed: int) -> dict[str, Any]:
    """The first life: its stretches, and its failures."""
    from argosy.reliability import timeline

    one = timeline(
        system.work_s, system.nodes, system.rates, system.cost, system.recovery, system.maintenance,
        system.interval_s, system.hazards, seed,
    )  # fmt: skip
    return {
        "stretches": [{"start_s": a, "end_s": b, "state": state} for a, b, state in one.stretches],
        "failures": [{"start_s": f.start_s, "category": f.category, "node": f.node} for f in one.failures],
    }


def _notes(lives: Any, system: Any) -> list[str]:
    notes = list(lives.closed_form.notes)
    cut = 1.0 - float(lives.finished.mean())
    if cut > 0:
        notes.insert(0, f"{cut:.0%} of the lives will never finish: cut at 20 times their work")
    notes.append(
        "failures are memoryless and independent here, at central facts; the Python interface has ages, lemons, shocks, "
        "bursts, slow episodes and silent corruption (reliability.Hazards)"
    )
    return notes
