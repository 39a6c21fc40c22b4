"""What can be asked about a scenario: plan, what if, layouts, step, life, facility, comparison, report."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from argosy.web import answers
from argosy.web.starts import starts

router = APIRouter(tags=["scenarios"])

Text = Annotated[str, Field(max_length=1_000_000, description="a scenario as YAML; it may name no files")]
Name = Annotated[str, Field(max_length=200)]
MAX_DEPTH = 40  # of a value of JSON, as of a scenario's text: deeper ones do not travel to a worker


def _shallow(value: Any, depth: int = MAX_DEPTH) -> Any:
    """The value itself; ValueError where lists and mappings are nested too deeply."""
    if isinstance(value, list | dict):
        if not depth:
            raise ValueError(f"is nested deeper than {MAX_DEPTH} levels")
        for each in value.values() if isinstance(value, dict) else value:
            _shallow(each, depth - 1)
    return value


Given = Annotated[Any, AfterValidator(_shallow)]
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": what}
    for status, what in (
        (400, "no JSON"),
        (401, "no token, where one is needed"),
        (403, "a request of another page"),
        (413, "too large"),
        (421, "a host name that is not the server's"),
        (422, "the input's faults, each with its place"),
        (503, "too busy, or it took too long"),
    )
}


class Asked(BaseModel):
    """A request: unknown fields are faults."""

    model_config = ConfigDict(extra="forbid")
    text: Text


class OfJob(Asked):
    """A request about one training job (null: the first)."""

    job: Name | None = None


class Held(Asked):
    """A what-if: layouts by job, one a stage, as a plan gave them."""

    layouts: Annotated[
        dict[Name, Annotated[list[dict[str, Given]], Field(max_length=64)]], Field(max_length=64)
    ]


class Changed(Asked):
    """Fields to change by their dotted path; null takes one away."""

    changes: Annotated[dict[Name, Given], Field(max_length=200)]


class Lives(Asked):
    """How many lives of the job to simulate."""

    replications: Annotated[int, Field(ge=10, le=20_000)] = 1000


class Pair(BaseModel):
    """Two scenarios."""

    model_config = ConfigDict(extra="forbid")
    a: Text
    b: Text


class Report(Asked):
    """A report to keep."""

    form: Literal["html", "md"] = "html"


@router.get("/starts")
def all_starts() -> dict[str, str]:
    """Scenarios to start from: name → text."""
    return starts()


@router.get("/choices")
async def choices(request: Request) -> dict[str, Any]:
    """Names that fields of a scenario may have: models, accelerators, sites, presets of failure rates."""
    return await _run(request, answers.choices)


@router.post("/check", responses=PROBLEMS)
async def check(asked: Asked, request: Request) -> dict[str, Any]:
    """The scenario as it is taken, or its faults."""
    return await _run(request, answers.check, asked.text)


@router.post("/change", responses=PROBLEMS)
async def change(asked: Changed, request: Request) -> dict[str, Any]:
    """The text with fields changed."""
    return await _run(request, answers.change, asked.text, asked.changes)


@router.post("/plan", responses=PROBLEMS)
async def plan(asked: Asked, request: Request) -> dict[str, Any]:
    """A whole plan: the search, the draws, the charts."""
    return await _run(request, answers.plan, asked.text)


@router.post("/what-if", responses=PROBLEMS)
async def what_if(asked: Held, request: Request) -> dict[str, Any]:
    """The same at layouts that are held, at once."""
    return await _run(request, answers.what_if, asked.text, asked.layouts)


@router.post("/layouts", responses=PROBLEMS)
async def layouts(asked: OfJob, request: Request) -> dict[str, Any]:
    """Every shape of layout: its best MFU, or why it is out."""
    return await _run(request, answers.layouts, asked.text, asked.job)


@router.post("/timeline", responses=PROBLEMS)
async def timeline(asked: OfJob, request: Request) -> dict[str, Any]:
    """One step, stage by stage."""
    return await _run(request, answers.timeline, asked.text, asked.job)


@router.post("/life", responses=PROBLEMS)
async def life(asked: Lives, request: Request) -> dict[str, Any]:
    """Simulated lives: when it finishes, where the time goes."""
    return await _run(request, answers.life, asked.text, asked.replications)


@router.post("/facility", responses=PROBLEMS)
async def facility(asked: Asked, request: Request) -> dict[str, Any]:
    """Power tree, waveform, cooling, cap."""
    return await _run(request, answers.facility, asked.text)


@router.post("/serving", responses=PROBLEMS)
async def serving(asked: Asked, request: Request) -> dict[str, Any]:
    """The smallest fleet that keeps a service's promises."""
    return await _run(request, answers.serving, asked.text)


@router.post("/compare", responses=PROBLEMS)
async def compare(asked: Pair, request: Request) -> dict[str, Any]:
    """Two scenarios: inputs, losses, days and dollars that differ."""
    return await _run(request, answers.compare, asked.a, asked.b)


@router.post("/report", responses=PROBLEMS, response_class=Response)
async def report(asked: Report, request: Request) -> Response:
    """A plan as one file: a page, or Markdown."""
    body = await request.app.state.workers.run(answers.report, asked.text, asked.form)
    kind = "text/html" if asked.form == "html" else "text/markdown"
    headers = {"content-disposition": f'attachment; filename="plan.{asked.form}"'}
    return Response(body, media_type=f"{kind}; charset=utf-8", headers=headers)


async def _run(request: Request, work: Any, *arguments: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await request.app.state.workers.run(work, *arguments)
    return answer
