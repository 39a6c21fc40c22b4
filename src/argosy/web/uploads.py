"""Files in, findings or fleets out: the diagnosis of what was given, and its deletion; a service under a trace of requests."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Path, Request, UploadFile

from argosy.web import answers
from argosy.web.plans import PROBLEMS
from argosy.web.workers import Failure, told

router = APIRouter(tags=["files"])


@router.post("/diagnose", responses=PROBLEMS)
async def diagnose(
    request: Request,
    files: Annotated[list[UploadFile], File(max_length=10_000, description="logs, traces, metrics")],
    text: Annotated[
        str | None, Form(max_length=1_000_000, description="a scenario to hold them against; none without")
    ] = None,
) -> dict[str, Any]:
    """What the files say: where the time went, and who is to blame. They stay on this machine until they are deleted."""
    kept = request.app.state.diagnoses
    name, folder = await kept.keep(files)
    try:
        answer: dict[str, Any] = await request.app.state.workers.run(
            answers.diagnose, str(folder), text or None
        )
    except Failure as failure:
        kept.delete(name)
        raise Failure(failure.status, tuple(answers.by_name(list(failure.problems), f"{folder}/"))) from None
    return {"id": name, **answer}


@router.delete("/diagnose/{name}", responses={**PROBLEMS, 404: {"description": "none of that name"}})
async def delete(name: Annotated[str, Path(max_length=64)], request: Request) -> dict[str, bool]:
    """Delete the files of a diagnosis."""
    if not request.app.state.diagnoses.delete(name):
        raise told("there is no such diagnosis", 404)
    return {"deleted": True}


@router.post("/serving/trace", responses=PROBLEMS)
async def serving(
    request: Request,
    file: Annotated[
        UploadFile,
        File(description="requests: arrival_s, input_tokens, output_tokens; Azure's or Mooncake's"),
    ],
    text: Annotated[str, Form(max_length=1_000_000, description="the scenario")],
    service: Annotated[
        str | None, Form(max_length=200, description="whose requests they are; none: the first's")
    ] = None,
) -> dict[str, Any]:
    """The smallest fleet that keeps a service's promises under a trace, which is deleted when the answer is there."""
    kept = request.app.state.diagnoses
    name, folder = await kept.keep([file])
    path = next(folder.glob("*/*"))
    try:
        answer: dict[str, Any] = await request.app.state.workers.run(
            answers.serving, text, str(path), service or None
        )
        return answer
    except Failure as failure:
        raise Failure(failure.status, tuple(answers.by_name(list(failure.problems), f"{folder}/"))) from None
    finally:
        kept.delete(name)
