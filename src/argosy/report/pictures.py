"""Every chart of an answer by its name, and writing them all: what a page draws is what a folder of pictures holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from argosy.report import charts


def pictures(answer: Mapping[str, Any]) -> dict[str, charts.Chart]:
    """The charts of the JSON of plan, simulate, facility, serving or diagnose, by name; KeyError for another schema."""
    draw = {
        "argosy.plan/1": _plan,
        "argosy.simulate/1": _life,
        "argosy.facility/1": _facility,
        "argosy.serving/1": _serving,
        "argosy.diagnose/1": _diagnosis,
    }[answer["schema"]]
    with charts.unchecked():
        drawn = draw(answer)
    return {name: chart for name, chart in drawn.items() if chart is not None}


def write_pictures(answer: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write every chart of an answer to `folder`, as SVG and as PNG; the files written."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, chart in pictures(answer).items():
        for ending in (".svg", ".png"):
            files.append(folder / f"{_file_name(name)}{ending}")
            charts.save(chart, files[-1])
    return files


def of_job(job: Mapping[str, Any]) -> dict[str, charts.Chart | None]:
    """The charts of one training job of a plan."""
    return {
        "step": charts.step_breakdown(job),
        "memory": charts.memory_bar(job),
        "layouts": charts.layout_ranking(job),
    }


def _plan(answer: Mapping[str, Any]) -> dict[str, charts.Chart | None]:
    found: dict[str, charts.Chart | None] = {}
    if answer.get("ledger"):
        found["ledger"] = charts.ledger_waterfall(answer)
    if any(row["p50"] for row in answer["headline"]):
        found["intervals"] = charts.headline_intervals(answer)
    for job in answer["training"]:
        found |= {f"{job['name']} {name}": chart for name, chart in of_job(job).items()}
    for fabric in answer["fabrics"]:
        if fabric["tiers"]:
            found[f"{fabric['role']} fabric"] = charts.fabric_drawing(fabric)
    return found


def _life(answer: Mapping[str, Any]) -> dict[str, charts.Chart | None]:
    from argosy.report.lives import life_charts

    return dict(life_charts(answer))


def _facility(answer: Mapping[str, Any]) -> dict[str, charts.Chart | None]:
    from argosy.report import facility_charts as drawn

    if not answer.get("tree"):
        return {}
    found: dict[str, charts.Chart | None] = {
        "tree": drawn.tree_icicle(answer),
        "pue": drawn.pue_by_month(answer),
    }
    if answer["waveform"] is not None:
        found |= {"waveform": drawn.waveform(answer), "spectrum": drawn.spectrum(answer)}
    if answer["power_cap"] is not None:
        found["cap"] = drawn.cap_gain(answer)
    return found


def _serving(answer: Mapping[str, Any]) -> dict[str, charts.Chart | None]:
    from argosy.report import serving_charts as drawn

    if answer.get("fleet") is None:
        return {}
    return {
        "latency": drawn.latency(answer),
        "throughput against speed": drawn.frontier(answer),
        "over time": drawn.over_time(answer),
        "queue": drawn.inside(answer),
        "cost against latency": drawn.front(answer),
        "ledger": charts.ledger_waterfall(answer),
    }


def _diagnosis(answer: Mapping[str, Any]) -> dict[str, charts.Chart | None]:
    from argosy.report.diagnosis_charts import charts as drawn

    return dict(drawn(answer))


def _file_name(name: str) -> str:
    """A name that every file system takes."""
    return "".join(each if each.isalnum() or each in "-_." else "-" for each in name)
