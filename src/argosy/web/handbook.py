"""The two documents and the facts, for the Handbook and Catalog pages."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, ConfigDict, Field

from argosy.web import handbook_answers as answers
from argosy.web.plans import PROBLEMS

router = APIRouter(tags=["handbook"])
Word = Annotated[str, Path(max_length=200)]


class Settings(BaseModel):
    """Numbers of one's own by name, as text with a unit; a seed draws the others."""

    model_config = ConfigDict(extra="forbid")
    settings: Annotated[dict[str, Annotated[str, Field(max_length=200)]], Field(max_length=50)] = {}
    seed: Annotated[int, Field(ge=0, le=2**31)] | None = None


@router.get("/handbook/numbers", responses=PROBLEMS)
async def numbers(request: Request) -> dict[str, Any]:
    """The quick-reference card and its tables."""
    return await _run(request, answers.numbers)


@router.get("/handbook/claims", responses=PROBLEMS)
async def claims(request: Request) -> dict[str, Any]:
    """Every claim with its verdict, the right value and the reason."""
    return await _run(request, answers.claims)


@router.get("/handbook/exercises", responses=PROBLEMS)
async def exercises(request: Request) -> dict[str, Any]:
    """The exercises, solved."""
    return await _run(request, answers.exercises)


@router.post("/handbook/exercises/{number}", responses=PROBLEMS)
async def exercise(number: Word, asked: Settings, request: Request) -> dict[str, Any]:
    """One exercise with numbers of one's own."""
    return await _run(request, answers.exercise, number, asked.settings, asked.seed)


@router.get("/handbook/guide", responses=PROBLEMS)
async def guide(request: Request) -> dict[str, Any]:
    """From a symptom to the constraint to the lever; paradigms; takeaways."""
    return await _run(request, answers.guide)


@router.get("/handbook/words", responses=PROBLEMS)
async def words(request: Request) -> dict[str, Any]:
    """Every quantity: name in both languages, symbol, unit, formula, source."""
    return await _run(request, answers.words)


@router.get("/catalog", responses=PROBLEMS)
async def catalog(request: Request) -> dict[str, Any]:
    """Sections and the names of their entries."""
    return await _run(request, answers.catalog)


@router.get("/catalog/{name}", responses=PROBLEMS)
async def entry(name: Word, request: Request) -> dict[str, Any]:
    """The facts of an entry, an alias, or a path, with sources and disagreement."""
    return await _run(request, answers.entry, name)


async def _run(request: Request, work: Any, *arguments: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await request.app.state.workers.run(work, *arguments)
    return answer
