"""The application: what can be asked, and the page that asks it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from argosy import __version__
from argosy.web import answers
from argosy.web.diagnoses import Diagnoses
from argosy.web.handbook import router as handbook
from argosy.web.limits import Limits
from argosy.web.plans import router as plans
from argosy.web.security import LOOPBACK, Guard
from argosy.web.uploads import router as uploads
from argosy.web.workers import Failure, Workers, problem

STATIC = Path(__file__).parent / "static"


def create_app(
    limits: Limits | None = None, hosts: tuple[str, ...] = LOOPBACK, token: str | None = None
) -> FastAPI:
    """The ASGI application. `hosts` and `token` as for `security.Guard`; `limits` of sizes, times and numbers at once."""
    bounds = limits or Limits()

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        app.state.workers, app.state.diagnoses = Workers(bounds), Diagnoses(bounds)
        warming = [asyncio.create_task(app.state.workers.run(answers.warm)) for _ in range(bounds.workers)]
        try:
            yield
        finally:
            for task in warming:
                task.cancel()
            await asyncio.gather(*warming, return_exceptions=True)
            app.state.workers.close()
            app.state.diagnoses.close()

    app = FastAPI(
        title="Argosy",
        version=__version__,
        summary="Plans, simulates and diagnoses fleets of accelerators, on this machine.",
        docs_url=None,  # the usual pages load scripts from elsewhere; the schema itself is at /openapi.json
        redoc_url=None,
        lifespan=life,
    )
    app.add_exception_handler(Failure, _failed)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, _unreadable)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, _unfound)  # type: ignore[arg-type]
    for router in (plans, uploads, handbook):
        app.include_router(router, prefix="/api")
    app.add_api_route("/vega.js", _vega, methods=["GET", "HEAD"], include_in_schema=False)
    app.add_api_route("/", _page, methods=["GET", "HEAD"], include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC))
    app.add_middleware(Guard, limits=bounds, hosts=hosts, token=token)
    return app


async def _failed(request: Request, failure: Failure) -> JSONResponse:
    return JSONResponse({"problems": list(failure.problems)}, failure.status)


async def _unfound(request: Request, error: HTTPException) -> JSONResponse:
    """No such address, or not by this method: in the form that all problems have."""
    return JSONResponse({"problems": [problem(str(error.detail))]}, error.status_code, error.headers)


async def _unreadable(request: Request, error: RequestValidationError) -> JSONResponse:
    """A request of another shape than the schema's: each fault in the form that all problems have."""
    problems = [
        {
            "file": "",
            "line": 0,
            "column": 0,
            "path": ".".join(str(step) for step in each["loc"]),
            "message": each["msg"],
            "instead": "",
        }
        for each in error.errors()
    ]
    return JSONResponse({"problems": problems}, 422)


async def _page() -> FileResponse:
    return FileResponse(STATIC / "index.html", media_type="text/html")


async def _vega() -> Response:
    headers = {"cache-control": "public, max-age=86400"}  # the one large file, and the same for a version
    return Response(await asyncio.to_thread(_bundle), media_type="text/javascript", headers=headers)


@cache
def _bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as vl-convert carries them, as a module."""
    import vl_convert

    return str(vl_convert.javascript_bundle("export { vegaEmbed };"))
