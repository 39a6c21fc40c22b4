"""What the page asks for, computed: text in, JSON out. Each function runs in a worker process.

No arithmetic here: the rooms below compute, and the charts are the report's own.
"""

from __future__ import annotations

import re
from typing import Any

from argosy.report import charts
from argosy.report.pictures import pictures
from argosy.spec import Scenario
from argosy.spec.sealed import loads_sealed

DRAWS = 2000


def warm() -> bool:
    """Load what an answer needs, so that the first one does not wait for it."""
    import argosy.planning
    import argosy.study.layout_map
    import argosy.study.what_if
    from argosy.facts import load_catalog

    return bool(load_catalog().facts_date and argosy.planning and argosy.study)


def plan(text: str) -> dict[str, Any]:
    """A whole plan with its draws, and its charts."""
    from argosy.planning import plan as run

    payload = run(loads_sealed(text), DRAWS).payload
    return {"plan": payload, "charts": plan_charts(payload)}


def what_if(text: str, layouts: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """The plan at layouts that are held, without draws."""
    from argosy.study.what_if import at_layouts

    payload = at_layouts(loads_sealed(text), layouts)
    return {"plan": payload, "charts": plan_charts(payload)}


def plan_charts(payload: dict[str, Any]) -> dict[str, Any]:
    """The pictures of a plan, as Vega-Lite specifications; jobs' pictures by the job's name, fabrics' in their order."""
    found = _drawn(pictures(payload))
    return {
        **{name: found[name] for name in ("ledger", "intervals") if name in found},
        "jobs": {
            job["name"]: {
                name: found[f"{job['name']} {name}"]
                for name in ("step", "memory", "layouts")
                if f"{job['name']} {name}" in found
            }
            for job in payload["training"]
        },
        "fabrics": [found.get(f"{each['role']} fabric") for each in payload["fabrics"]],
    }


def _drawn(found: dict[str, charts.Chart]) -> dict[str, Any]:
    """Charts as Vega-Lite specifications."""
    return {name: charts.specification(each) for name, each in found.items()}


def layouts(text: str, job: str | None) -> dict[str, Any]:
    """The map of layouts of a training job, and its chart."""
    from argosy.report.layout_chart import layout_heat_map
    from argosy.study.layout_map import layout_map

    found = layout_map(loads_sealed(text), job)
    return {"map": found, "chart": charts.specification(layout_heat_map(found))}


def timeline(text: str, job: str | None) -> dict[str, Any]:
    """One step of a training job, stage by stage."""
    from argosy.report.timeline import caption, chart
    from argosy.study.timeline import timeline as run

    payload, _ = run(loads_sealed(text), job)
    return {
        "caption": caption(payload),
        "bubble_fraction": payload["bubble_fraction"],
        "chart": charts.specification(chart(payload)),
    }


def life(text: str, replications: int) -> dict[str, Any]:
    """Simulated lives of a job, and their charts."""
    from argosy.planning.simulation import simulate

    answer = simulate(loads_sealed(text), replications)
    return {"life": answer, "charts": _drawn(pictures(answer))}


def facility(text: str) -> dict[str, Any]:
    """The facility second by second and month by month, and its charts."""
    from argosy.planning.facility import facility_payload

    answer = facility_payload(loads_sealed(text))
    return {"facility": answer, "charts": _drawn(pictures(answer))}


def compare(a: str, b: str) -> dict[str, Any]:
    """Two plans and what differs between them, with the tables that the terminal shows."""
    from argosy.planning import plan as run
    from argosy.report.differences import headline, sections
    from argosy.study.compare import compare as difference

    left, right = (run(loads_sealed(text), DRAWS).payload for text in (a, b))
    answer = difference(left, right)
    return {
        "diff": answer,
        "headline": headline(answer),
        "tables": [{"title": title, "heads": heads, "rows": rows} for title, heads, rows in sections(answer)],
        "charts": {
            side: charts.specification(charts.ledger_waterfall(each))
            for side, each in (("a", left), ("b", right))
            if each.get("ledger")
        },
    }


def report(text: str, form: str) -> str:
    """A plan as a page of its own, or as Markdown."""
    from argosy.planning import plan as run
    from argosy.report.html import plan_html
    from argosy.report.markdown import plan_markdown

    payload = run(loads_sealed(text), DRAWS).payload
    return plan_html(payload) if form == "html" else plan_markdown(payload)


def choices() -> dict[str, list[Any]]:
    """What the form's fields may be: names of the catalog, and the schema's own words."""
    from argosy.facts import Values, load_catalog
    from argosy.planning.sites import known_sites
    from argosy.spec import json_schema, model_names

    sections = json_schema()["$defs"]
    words = {
        "policies": ("Reliability", "policy"),
        "cooling": ("Facility", "cooling"),
        "checkpoint": ("Checkpoint", "mode"),
        "compute": ("Precision", "compute"),
        "formats": ("Serving", "kv_precision"),
        "routers": ("Serving", "router"),
        "engines": ("Engine", "name"),
    }
    return {
        "models": model_names(),
        "accelerators": [each.name for each in load_catalog().section("accelerators")],
        "sites": known_sites(Values(load_catalog().facts)),
        **{name: sections[section]["properties"][field]["enum"] for name, (section, field) in words.items()},
    }


def check(text: str) -> dict[str, Any]:
    """The scenario's name, hash and values as they are taken."""
    from argosy.spec.canonical import canonical

    scenario = loads_sealed(text)
    return {"name": scenario.name, "hash": scenario.hash, "inputs": canonical(scenario)}


def change(text: str, changes: dict[str, Any]) -> dict[str, Any]:
    """The text with fields changed, its comments kept."""
    from argosy.spec.edit import edited

    return {"text": edited(text, changes)}


def diagnose(folder: str, text: str | None) -> dict[str, Any]:
    """The diagnosis of a folder of files, against a scenario where one is given, its headline and its charts."""
    from pathlib import Path

    from argosy.observe.diagnosis import diagnose as run
    from argosy.report import diagnosis, diagnosis_charts

    answer = by_name(
        run([Path(folder)], None if text is None else loads_sealed(text)).to_dict(), f"{folder}/"
    )
    found = pictures(answer)
    return {
        "diagnosis": answer,
        "headline": diagnosis.headline(answer),
        "charts": _drawn(found),
        "captions": {name: diagnosis_charts.caption(name, answer) for name in found},
    }


def by_name(value: Any, folder: str) -> Any:
    """The same answer with files named as they were given: without the folder where they are kept, and its number."""
    if isinstance(value, str):
        return re.sub(rf"{re.escape(folder)}\d{{4}}/", "", value).replace(folder, "")
    if isinstance(value, dict):
        return {key: by_name(each, folder) for key, each in value.items()}
    return [by_name(each, folder) for each in value] if isinstance(value, list | tuple) else value


def serving(text: str, trace: str | None = None, service: str | None = None) -> dict[str, Any]:
    """Every service of a scenario: the smallest fleet that keeps its promises, sentences and charts.

    `trace`: a file of requests that was given for the service of that name (else the first), in place of its rate and lengths.
    """
    from argosy.facts import FactError
    from argosy.planning.serving import serving_payload
    from argosy.report import serving as told

    scenario = loads_sealed(text)
    if not scenario.serving:
        raise FactError(f"{scenario.name} has no service; add serving:")
    if trace is not None:
        scenario = _with_trace(scenario, trace, service)
    entries = [serving_payload(scenario, each.name) for each in scenario.serving]
    answer = {
        "services": [
            {
                **entry,
                "sentences": told.sentences(entry) if entry["fleet"] else [],
                "gap": told.gap(entry) if entry["fleet"] else [],
            }
            for entry in entries
        ],
        "charts": {entry["name"]: _drawn(pictures(entry)) for entry in entries},
    }
    return answer if trace is None else dict(by_name(answer, f"{trace.rpartition('/')[0]}/"))


def _with_trace(scenario: Scenario, trace: str, service: str | None) -> Scenario:
    """The scenario with a service's requests read from a file."""
    from argosy.planning.serving import serving_job

    chosen = serving_job(scenario, service)
    named = chosen.model_copy(update={"traffic": chosen.traffic.model_copy(update={"trace": trace})})
    services = tuple(named if each is chosen else each for each in scenario.serving)
    return scenario.model_copy(update={"serving": services})
