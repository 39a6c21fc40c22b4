"""Debian's chromium on a real server: every page watched for errors and for requests that leave the machine."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SHOTS = Path(os.environ.get("ARGOSY_SCREENSHOTS", "screenshots"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in Path(item.fspath).parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    import uvicorn

    from argosy.web import Limits, create_app

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = uvicorn.Server(
        uvicorn.Config(create_app(Limits(workers=2)), port=port, log_level="error", ws="none")
    )
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    running.should_exit = True
    thread.join(timeout=20)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="pip install playwright, as make verify-web does"
    )
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine; make verify-web installs Debian's")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Watched:
    """A page, and what went wrong on it."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.address = page, address
        self.errors: list[str] = []
        self.outside: list[str] = []
        page.set_default_timeout(240_000)  # the first answers compile
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._asked)

    def _said(self, message: Any) -> None:
        told = "status of 422" in message.text  # a fault of the input, which the page shows
        drawn_wrong = message.type == "warning" and message.text.startswith("WARN")  # Vega's own
        if (message.type == "error" and not told) or drawn_wrong:
            self.errors.append(message.text)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.outside.append(request.url)

    def open(self, name: str) -> Any:
        """Go to a page of the application."""
        self.page.goto(f"{self.address}/#/{name}")
        self.page.wait_for_selector("main > *")
        return self.page

    def shot(self, name: str) -> None:
        """Keep a picture."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name}.png", full_page=True)


@pytest.fixture
def watched(chromium: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Watched]:
    options = getattr(request, "param", {})
    context = chromium.new_context(
        **{"viewport": {"width": 1280, "height": 900}, "locale": "en-US", "accept_downloads": True, **options}
    )
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    found = Watched(context.new_page(), address)
    yield found
    context.close()
    assert found.outside == [] and found.errors == []
